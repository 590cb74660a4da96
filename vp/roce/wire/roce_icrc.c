/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "roce_icrc.h"

#include <isa-l/crc.h>
#include <string.h>

#include "ri_wire.h"

#define MANY       64u /* octets from which ISA-L computes the CRC */
#define POLYNOMIAL 0xedb88320u
#define SEED       0xdebb20e3u /* the register behind the eight octets of ones that stand for the LRH */
#define ONE        0x80000000u /* the polynomial 1, whose coefficients are reflected */
#define SLICES     8
#define IDENT_END  6u /* offset behind the identification in an IPv4 header */
#define DF         0x40u

#define FAR   22u /* zeros behind the last octet of the identification in the headers */
#define MEMOS 8u

static uint32_t tables[SLICES][256];
static uint32_t distant[4][256]; /* as tables[], with FAR zeros and more behind the octet */
#ifdef __x86_64__
static bool have_avx;
#endif
static uint32_t back[16]; /* x^(-8 * 2^k): shifts a register back by 2^k octets */

/* a * b modulo the polynomial. */
static uint32_t
product(uint32_t a, uint32_t b)
{
	uint32_t sum = 0;

	for (uint32_t bit = ONE; bit != 0; bit >>= 1) {
		if ((a & bit) != 0)
			sum ^= b;
		b = b >> 1 ^ ((b & 1) != 0 ? POLYNOMIAL : 0);
	}
	return sum;
}

static __attribute__((constructor)) void
tables_fill(void)
{
#ifdef __x86_64__
	__builtin_cpu_init();
	have_avx = __builtin_cpu_supports("avx") != 0;
#endif
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ ((crc & 1) != 0 ? POLYNOMIAL : 0);
		tables[0][i] = crc;
	}
	for (int slice = 1; slice < SLICES; slice++)
		for (uint32_t i = 0; i < 256; i++)
			tables[slice][i] =
				tables[slice - 1][i] >> 8 ^ tables[0][tables[slice - 1][i] & 0xff];
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = tables[SLICES - 1][i];

		for (uint32_t zeros = SLICES; zeros < FAR + 4; zeros++) {
			crc = crc >> 8 ^ tables[0][crc & 0xff];
			if (zeros >= FAR)
				distant[zeros - FAR][i] = crc;
		}
	}

	uint32_t step = ONE;

	for (int bit = 0; bit < 8;
	     bit++) /* one bit back: the top bit tells whether the polynomial was added */
		step = (step & ONE) != 0 ? (step ^ POLYNOMIAL) << 1 | 1 : step << 1;
	for (int k = 0; k < 16; k++) {
		back[k] = step;
		step = product(step, step);
	}
}

/* Four octets, the first one lowest. */
static uint32_t
four(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

/* The register behind eight octets: the first four, with the register before them, and the others. */
static uint32_t
eight(uint32_t low, uint32_t high)
{
	return tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^
	       tables[4][low >> 24] ^ tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff] ^
	       tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
}

/*
 * ISA-L's code for AVX-512 leaves the upper parts of registers in use. After that, each SSE
 * instruction of this library and of the program would depend on the former content of its
 * register, and so first on the end of this CRC.
 */
static uint32_t
crc_many(uint32_t crc, const uint8_t *at, size_t len)
{
	crc = ~crc32_gzip_refl(~crc, at, len);
#ifdef __x86_64__
	if (have_avx)
		__asm__ volatile("vzeroupper" ::: "memory");
#endif
	return crc;
}

/* ISA-L multiplies without carries where the processor can; for a few octets the tables are faster. */
uint32_t
roce_crc(uint32_t crc, const void *octets, size_t len)
{
	const uint8_t *at = octets;

	if (len >= MANY)
		return crc_many(crc, at, len);
	for (; len >= 8; len -= 8, at += 8)
		crc = eight(crc ^ four(at), four(at + 4));
	if (len >= 4) {
		uint32_t low = crc ^ four(at);

		crc = tables[3][low & 0xff] ^ tables[2][low >> 8 & 0xff] ^
		      tables[1][low >> 16 & 0xff] ^ tables[0][low >> 24];
		len -= 4;
		at += 4;
	}
	for (; len > 0; len--, at++)
		crc = tables[0][(crc ^ *at) & 0xff] ^ crc >> 8;
	return crc;
}

/* The register that becomes `crc` after `octets` zeros. */
static uint32_t
shift_back(uint32_t crc, size_t octets)
{
	for (int k = 0; octets != 0; k++, octets >>= 1)
		if ((octets & 1) != 0)
			crc = product(crc, back[k]);
	return crc;
}

/* --- headers ------------------------------------------------------------------------------ */

static const uint8_t v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool
roce_gid_is_v4(const uint8_t gid[16])
{
	return memcmp(gid, v4_prefix, sizeof(v4_prefix)) == 0;
}

void
roce_gid_of_v4(uint8_t gid[16], const void *address)
{
	memcpy(gid, v4_prefix, sizeof(v4_prefix));
	memcpy(gid + sizeof(v4_prefix), address, 4);
}

static void
udp_write(struct wire_writer *w, const struct roce_flow *flow, size_t len)
{
	wire_put_be16(w, flow->source_port);
	wire_put_be16(w, flow->destination_port);
	wire_put_be16(w, (uint16_t)(len + ROCE_UDP));
	wire_put_be16(w, 0);
}

static void
v4_write(struct wire_writer *w, const struct roce_flow *flow, size_t len)
{
	wire_put_u8(w, 0x45);
	wire_put_u8(w, flow->traffic_class);
	wire_put_be16(w, (uint16_t)(len + ROCE_UDP + ROCE_IPV4));
	wire_put_be16(w, flow->ident);
	wire_put_u8(w, flow->fragments ? 0 : DF);
	wire_put_u8(w, 0);
	wire_put_u8(w, flow->hop_limit);
	wire_put_u8(w, 17);
	wire_put_be16(w, 0);
	wire_put(w, flow->source + 12, 4);
	wire_put(w, flow->destination + 12, 4);
}

/* The Internet checksum of an IPv4 header whose checksum is 0. */
static void
v4_sum(uint8_t header[ROCE_IPV4])
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < ROCE_IPV4; i += 2)
		sum += wire_load_be16(header + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	wire_store_be16(header + 10, (uint16_t)~sum);
}

uint32_t
roce_ip_write(uint8_t *to, const struct roce_flow *flow, size_t len)
{
	struct wire_writer w = wire_writer_of(to, ROCE_IP_MAX);

	if (roce_gid_is_v4(flow->source)) {
		v4_write(&w, flow, len);
		v4_sum(to);
	} else {
		wire_put_be32(&w, 6u << 28 | (uint32_t)flow->traffic_class << 20 |
					  (flow->flow_label & 0xfffff));
		wire_put_be16(&w, (uint16_t)(len + ROCE_UDP));
		wire_put_u8(&w, 17);
		wire_put_u8(&w, flow->hop_limit);
		wire_put(&w, flow->source, 16);
		wire_put(&w, flow->destination, 16);
	}
	udp_write(&w, flow, len);
	return (uint32_t)wire_written(&w);
}

void
roce_grh_write(uint8_t to[ROCE_GRH], const struct roce_flow *flow, size_t len)
{
	uint8_t headers[ROCE_IP_MAX];
	uint32_t size = roce_ip_write(headers, flow, len) - ROCE_UDP;

	memset(to, 0, ROCE_GRH - size);
	memcpy(to + ROCE_GRH - size, headers, size);
}

static enum roce_fault
v4_read(struct wire_reader *r, struct roce_flow *flow, size_t size)
{
	uint8_t version = wire_u8(r);

	flow->traffic_class = wire_u8(r);

	uint16_t total = wire_be16(r);

	flow->ident = wire_be16(r);

	uint16_t fragment = wire_be16(r);

	flow->fragments = (fragment & DF << 8) == 0;
	flow->hop_limit = wire_u8(r);

	uint8_t protocol = wire_u8(r);

	(void)wire_skip(r, 2);
	memcpy(flow->source, v4_prefix, sizeof(v4_prefix));
	memcpy(flow->destination, v4_prefix, sizeof(v4_prefix));
	(void)wire_copy(r, flow->source + sizeof(v4_prefix), 4);
	(void)wire_copy(r, flow->destination + sizeof(v4_prefix), 4);
	return r->ok && version == 0x45 && total == size && (fragment & ~(DF << 8)) == 0 &&
			       protocol == 17
		       ? ROCE_OK
		       : ROCE_IP;
}

static enum roce_fault
v6_read(struct wire_reader *r, struct roce_flow *flow, size_t size)
{
	uint32_t word = wire_be32(r);
	uint16_t length = wire_be16(r);
	uint8_t next = wire_u8(r);

	flow->hop_limit = wire_u8(r);
	flow->traffic_class = (uint8_t)(word >> 20);
	flow->flow_label = word & 0xfffff;
	(void)wire_copy(r, flow->source, 16);
	(void)wire_copy(r, flow->destination, 16);
	return r->ok && word >> 28 == 6 && length == size - ROCE_IPV6 && next == 17 ? ROCE_OK
										    : ROCE_IP;
}

enum roce_fault
roce_ip_read(const uint8_t *frame, size_t size, struct roce_flow *flow, const uint8_t **octets,
	     size_t *len)
{
	struct wire_reader r = wire_reader_of(frame, size);

	memset(flow, 0, sizeof(*flow));
	if (size == 0)
		return ROCE_IP;

	enum roce_fault fault =
		frame[0] >> 4 == 6 ? v6_read(&r, flow, size) : v4_read(&r, flow, size);

	if (fault != ROCE_OK)
		return fault;

	size_t left = r.left;

	flow->source_port = wire_be16(&r);
	flow->destination_port = wire_be16(&r);

	uint16_t length = wire_be16(&r);

	(void)wire_skip(&r, 2); /* the checksum, which the kernel has checked */
	if (!r.ok || length != left || flow->destination_port != ROCE_UDP_PORT)
		return ROCE_IP;
	*octets = r.at;
	*len = r.left;
	return ROCE_OK;
}

/* --- the ICRC ----------------------------------------------------------------------------- */

/* The headers for `len` octets behind them, ICRC included, with ones for what routers change. Returns their octets. */
static uint32_t
masked_write(uint8_t masked[ROCE_IP_MAX], const struct roce_flow *flow, size_t len)
{
	uint32_t size = roce_ip_write(masked, flow, len);

	if (roce_gid_is_v4(flow->source)) {
		masked[1] = masked[8] = masked[10] = masked[11] = 0xff;
	} else {
		wire_store_be32(masked, 0x6fffffff);
		masked[7] = 0xff;
	}
	masked[size - 2] = masked[size - 1] = 0xff;
	return size;
}

/* The register behind the headers of IPv4 with zeros for the two lengths and the identification: what a thread had last is kept. */
static uint32_t
flow_crc(const struct roce_flow *flow)
{
	static _Thread_local struct {
		struct roce_flow flow;
		uint32_t crc;
		bool set;
	} memos[MEMOS];
	uint8_t masked[ROCE_IP_MAX];
	uint32_t i = flow->source[15] % MEMOS;

	/* A port may have been written just now: the processor waits if it is read with what lies beside it. */
	if (memos[i].set && memcmp(memos[i].flow.source, flow->source, 16) == 0 &&
	    memcmp(memos[i].flow.destination, flow->destination, 16) == 0 &&
	    memos[i].flow.source_port == flow->source_port &&
	    memos[i].flow.destination_port == flow->destination_port &&
	    memos[i].flow.fragments == flow->fragments)
		return memos[i].crc;
	(void)masked_write(masked, flow, 0);
	memset(masked + 2, 0, 4);
	memset(masked + ROCE_IPV4 + 4, 0, 2);
	memos[i].flow = *flow;
	memos[i].crc = roce_crc(SEED, masked, ROCE_IPV4 + ROCE_UDP);
	memos[i].set = true;
	return memos[i].crc;
}

/*
 * The CRC register after the headers and BTH octet 4, with all fields that routers change replaced
 * by ones. The CRC is linear: each octet that differs between packets of a flow adds its
 * contribution at its position to the register of the flow.
 */
static uint32_t
headers_crc(const struct roce_flow *flow, const uint8_t *bth, size_t len)
{
	uint8_t masked[ROCE_IP_MAX];
	uint32_t crc;

	len += ROCE_ICRC;
	if (roce_gid_is_v4(flow->source)) {
		uint32_t total = (uint32_t)len + ROCE_IPV4 + ROCE_UDP;
		uint32_t udp = (uint32_t)len + ROCE_UDP;

		crc = flow_crc(flow) ^ distant[3][total >> 8 & 0xff] ^ distant[2][total & 0xff] ^
		      distant[1][flow->ident >> 8] ^ distant[0][flow->ident & 0xff] ^
		      tables[3][udp >> 8 & 0xff] ^ tables[2][udp & 0xff];
	} else {
		size_t length = masked_write(masked, flow, len);

		crc = roce_crc(SEED, masked, length);
	}
	return eight(crc ^ four(bth), four(bth + 4) | 0xff);
}

uint32_t
roce_icrc(const struct roce_flow *flow, const uint8_t *octets, size_t len)
{
	return ~roce_crc(headers_crc(flow, octets, len), octets + 8, len - 8);
}

static void
icrc_store(uint8_t *to, uint32_t crc)
{
	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)(crc >> 8 * i);
}

size_t
roce_icrc_seal(const struct roce_flow *flow, uint8_t *octets, size_t len)
{
	icrc_store(octets + len, roce_icrc(flow, octets, len));
	return len + ROCE_ICRC;
}

bool
roce_icrc_check(struct roce_flow *flow, bool find, const uint8_t *octets, size_t len)
{
	uint32_t sent = 0;

	if (len < ROCE_BTH + ROCE_ICRC)
		return false;
	len -= ROCE_ICRC;
	for (int i = 0; i < 4; i++)
		sent |= (uint32_t)octets[len + i] << 8 * i;
	if (roce_icrc(flow, octets, len) == sent)
		return true;
	if (!find || !roce_gid_is_v4(flow->source))
		return false;
	/* The octets from the end of the identification to the ICRC, and the two of the identification itself. */
	size_t behind = ROCE_IPV4 - IDENT_END + ROCE_UDP + len + 2;

	for (int fragments = 0; fragments < 2; fragments++) {
		struct roce_flow other = *flow;

		other.ident = 0;
		other.fragments = fragments != 0;

		uint32_t ident = shift_back(roce_icrc(&other, octets, len) ^ sent, behind);

		if (ident >> 16 == 0) {
			*flow = other;
			flow->ident = (uint16_t)(ident << 8 | ident >> 8);
			return true;
		}
	}
	return false;
}

/* --- source ports ------------------------------------------------------------------------- */

uint16_t
roce_port_of_label(uint32_t label)
{
	return (uint16_t)(0xc000 | ((label & 0x3fff) ^ (label & 0xfffff) >> 14));
}

uint32_t
roce_label_of_qpns(uint32_t a, uint32_t b)
{
	uint64_t v = (uint64_t)a * b;

	v ^= v >> 20;
	v ^= v >> 40;
	return v & 0xfffff;
}
