/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Writes captures of the engine's packets, for test_roce_wire.py: all opcodes over IPv4 and over
 * IPv6, with one packet lost. Usage: roce-frames FILE4 FILE6
 */
#include <string.h>

#include "vro_sim.h"

#define LINK_RAW 101u /* of pcap: packets begin with their IP header */

static void
talk(struct sim *sim, struct sim_qp *pair[2], enum roce_transport transport)
{
	static const uint8_t opcodes[] = {RI_OP_SEND, RI_OP_RDMA_WRITE, RI_OP_RDMA_READ,
					  RI_OP_FETCH_ADD, RI_OP_CMP_SWAP};

	for (guint o = 0; o < (transport == ROCE_RC ? G_N_ELEMENTS(opcodes) : 2); o++)
		for (uint32_t i = 0; i < 6; i++) {
			uint32_t length = o > 2 ? 8 : i % 3 * 333;
			struct ri_sge sge = sim_sge(pair[0], 512, length);
			struct ri_wr wr = sim_request(pair[0], i, opcodes[o], &sge, 4096);

			sim_receive(pair[1], i, 8192, 1024);
			wr.imm = 0x01020304;
			wr.flags |= i >= 3 && o < 2 ? RI_WR_IMMEDIATE | RI_WR_SOLICITED : 0;
			sim_post(pair[0], &wr);
			sim_run(sim, 1000000000);
		}
}

static void
capture(const char *path, bool v6)
{
	const uint32_t head[6] = {0xa1b2c3d4, 2 | 4u << 16, 0, 0, 65535, LINK_RAW};
	struct sim *sim RI_AT_END(sim_free) = sim_new(1, v6);
	struct sim_qp *pair[2];
	struct ri_sge sge;
	struct ri_wr wr = {.opcode = RI_OP_SEND_UD, .num_sge = 1, .sgl = &sge};

	sim->capture = fopen(path, "wb");
	if (sim->capture == NULL || fwrite(head, sizeof(head), 1, sim->capture) != 1)
		g_error("%s cannot be written", path);
	sim->drop[0] = 3;
	sim_pair(sim, ROCE_RC, 256, 0xfffff0, 7, pair);
	talk(sim, pair, ROCE_RC);
	sim_pair(sim, ROCE_UC, 512, 1, 7, pair);
	talk(sim, pair, ROCE_UC);
	for (int i = 0; i < 2; i++) {
		pair[i] = sim_qp_new(sim, i, ROCE_UD);
		vro_qp_to_rtr(&pair[i]->qp, 0);
		vro_qp_to_rts(&pair[i]->qp, 5);
	}
	sge = sim_sge(pair[0], 0, 77);
	wr.u.ud = (struct ri_wr_ud){.ah = 1, .qpn = pair[1]->qp.qpn, .qkey = 0x11111111};
	sim_post(pair[0], &wr);
	wr.flags = RI_WR_IMMEDIATE;
	sim_post(pair[0], &wr);
	sim_run(sim, 1000000000);
	if (fclose(sim->capture) != 0)
		g_error("%s cannot be written", path);
	sim->capture = NULL;
}

int
main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	if (argc != 3)
		g_error("usage: roce-frames FILE4 FILE6");
	capture(argv[1], false);
	capture(argv[2], true);
	return 0;
}
