/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kald_net.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "ri_setting.h"

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

/* Are the first `bits` of both the same? */
static bool
same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;
	uint8_t mask = (uint8_t)(0xff00u >> rest);

	return memcmp(a, b, whole) == 0 &&
	       (rest == 0 || ((unsigned)(a[whole] ^ b[whole]) & mask) == 0);
}

bool
kald_net_read(const char *text, struct kald_net *net)
{
	static const uint8_t zeros[16];
	const char *slash = strchr(text, '/');
	size_t length = slash != NULL ? (size_t)(slash - text) : strlen(text);
	char addr[INET6_ADDRSTRLEN];
	uint64_t prefix;
	unsigned bits;

	memset(net, 0, sizeof(*net));
	if (length >= sizeof(addr))
		return false;
	memcpy(addr, text, length);
	addr[length] = '\0';
	if (inet_pton(AF_INET, addr, net->octets) == 1)
		net->family = AF_INET;
	else if (inet_pton(AF_INET6, addr, net->octets) == 1)
		net->family = AF_INET6;
	else
		return false;
	bits = net->family == AF_INET ? 32 : 128;
	prefix = bits;
	if (slash != NULL && !ri_setting_digits(slash + 1, 0, bits, &prefix))
		return false;
	net->prefix = (uint8_t)prefix;
	/* A network with bits of a host in it is a mistake. */
	for (unsigned bit = net->prefix; bit < bits; bit++)
		if ((net->octets[bit / 8] & (0x80u >> (bit % 8))) != 0)
			return false;
	return memcmp(net->octets + bits / 8, zeros, 16 - bits / 8) == 0;
}

bool
kald_nets_have(const struct kald_net *nets, uint32_t count, uint8_t family, const uint8_t *octets)
{
	if (family == AF_INET6 && memcmp(octets, mapped, sizeof(mapped)) == 0) {
		family = AF_INET;
		octets += sizeof(mapped);
	}
	for (uint32_t i = 0; i < count; i++)
		if (nets[i].family == family && same_bits(nets[i].octets, octets, nets[i].prefix))
			return true;
	return false;
}
