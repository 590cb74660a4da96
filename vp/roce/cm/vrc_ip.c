/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vrc_ip.h"
#include "ri_wire.h"

#define SPACE_SHIFT 16
#define SPACE_TCP   0x0106u
#define SPACE_UDP   0x0111u

/* An address fills the last octets of 16. */
static bool
addr_read(struct wire_reader *r, uint8_t version, struct ri_addr *addr)
{
	*addr = (struct ri_addr){0};
	if (version == 6) {
		addr->family = RI_ADDR_IPV6;
		return wire_copy(r, addr->octets, 16);
	}
	addr->family = RI_ADDR_IPV4;
	wire_skip(r, 12);
	return wire_copy(r, addr->octets, 4);
}

bool
vrc_ip_header_read(const void *octets, size_t len, struct vrc_ip_header *header)
{
	struct wire_reader r = wire_reader_of(octets, len);

	if (wire_u8(&r) != 0)
		return false;
	uint8_t version = wire_u8(&r) >> 4;
	header->port = wire_be16(&r);
	if (version != 4 && version != 6)
		return false;
	return addr_read(&r, version, &header->source) && addr_read(&r, version, &header->dest);
}

static void
addr_write(struct wire_writer *w, const struct ri_addr *addr)
{
	if (addr->family != RI_ADDR_IPV4) {
		wire_put(w, addr->octets, 16);
		return;
	}
	wire_put_zero(w, 12);
	wire_put(w, addr->octets, 4);
}

void
vrc_ip_header_write(const struct vrc_ip_header *header, uint8_t octets[VRC_IP_HEADER_SIZE])
{
	struct wire_writer w = wire_writer_of(octets, VRC_IP_HEADER_SIZE);

	wire_put_u8(&w, 0);
	wire_put_u8(&w, header->source.family == RI_ADDR_IPV4 ? 0x40 : 0x60);
	wire_put_be16(&w, header->port);
	addr_write(&w, &header->source);
	addr_write(&w, &header->dest);
}

void
vrc_gid_of_addr(const struct ri_addr *addr, uint8_t gid[VRC_GID_SIZE])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (addr->family != RI_ADDR_IPV4) {
		memcpy(gid, addr->octets, VRC_GID_SIZE);
		return;
	}
	memcpy(gid, mapped, sizeof(mapped));
	memcpy(gid + sizeof(mapped), addr->octets, 4);
}

bool
vrc_addr_same(const struct ri_addr *a, const struct ri_addr *b)
{
	uint8_t gids[2][VRC_GID_SIZE];

	vrc_gid_of_addr(a, gids[0]);
	vrc_gid_of_addr(b, gids[1]);
	return memcmp(gids[0], gids[1], VRC_GID_SIZE) == 0;
}

uint64_t
vrc_service_id(const struct ri_service *service, bool datagram)
{
	if (service->kind != RI_SERVICE_PORT)
		return wire_swap64(service->id);
	return (uint64_t)(datagram ? SPACE_UDP : SPACE_TCP) << SPACE_SHIFT |
	       wire_swap16(service->port);
}

bool
vrc_service_is_port(uint64_t service_id, bool datagram)
{
	return service_id >> SPACE_SHIFT == (datagram ? SPACE_UDP : SPACE_TCP);
}

uint32_t
vrc_flow_label(uint16_t source_port, uint16_t dest_port)
{
	return (source_port * 31u + dest_port) & 0xfffff;
}
