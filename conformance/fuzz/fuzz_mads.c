/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Connection management of vp/roce: the input is one datagram for the codec, or it controls two
 * connection managers, their users and a network between them that creates, repeats, changes and
 * loses datagrams (vp/roce/cm/tests/cm_hostile.c).
 */
#include "cm_hostile.h"
#include "fuzz.h"
#include "vrc_ip.h"
#include "vrc_mad.h"

/* What is read is written to a datagram that reads the same, and that is then written to the same octets. */
static void
datagram_run(const uint8_t *octets, size_t len)
{
	uint8_t *exact = fuzz_copy(octets, len);
	uint8_t once[VRC_MAD_SIZE];
	uint8_t twice[VRC_MAD_SIZE];
	struct vrc_mad mad;
	struct vrc_ip_header header;
	enum vrc_found found = vrc_mad_read(exact, len, &mad);

	if (vrc_mad_refuse(exact, len, found, once))
		FUZZ_REQUIRE(vrc_mad_read(once, sizeof(once), &mad) != VRC_FOUND_CM);
	if (found == VRC_FOUND_CM) {
		vrc_mad_write(&mad, once);
		FUZZ_REQUIRE(vrc_mad_read(once, sizeof(once), &mad) == VRC_FOUND_CM);
		vrc_mad_write(&mad, twice);
		FUZZ_REQUIRE(memcmp(once, twice, sizeof(once)) == 0);
		FUZZ_REQUIRE(vrc_private_room(mad.attribute) <= VRC_PRIVATE_MAX);
	}
	if (vrc_ip_header_read(exact, len, &header)) {
		FUZZ_REQUIRE(len >= VRC_IP_HEADER_SIZE);
		vrc_ip_header_write(&header, once);
		FUZZ_REQUIRE(header.source.family == header.dest.family);
		FUZZ_REQUIRE(memcmp(once + 2, exact + 2, 2) == 0);
	}
	FUZZ_REQUIRE(vrc_found_name(found)[0] != '?');
	fuzz_messages(1);
	free(exact);
}

int
LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
	if (len > 0 && octets[0] % 4 == 0)
		datagram_run(octets + 1, len - 1);
	else if (len > 0)
		fuzz_messages(cm_hostile_run(octets + 1, len - 1).datagrams);
	return 0;
}
