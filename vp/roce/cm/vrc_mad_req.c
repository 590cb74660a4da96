/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The body of a REQ, InfiniBand Architecture 1.2, volume 1, chapter 12.6. */
#include "ri_wire.h"
#include "vrc_mad.h"

#define LOW(value_, bits_) ((value_) & ((1u << (bits_)) - 1))

static void
path_read(struct wire_reader *r, struct vrc_mad_path *path)
{
	path->local_lid = wire_be16(r);
	path->remote_lid = wire_be16(r);
	wire_copy(r, path->local_gid, sizeof(path->local_gid));
	wire_copy(r, path->remote_gid, sizeof(path->remote_gid));

	uint32_t word = wire_be32(r);
	path->flow_label = word >> 12;
	path->rate = LOW(word, 6);
	path->traffic_class = wire_u8(r);
	path->hop_limit = wire_u8(r);

	uint8_t octet = wire_u8(r);
	path->sl = octet >> 4;
	path->subnet_local = (octet & 8) != 0;
	path->ack_timeout = wire_u8(r) >> 3;
}

static void
path_write(struct wire_writer *w, const struct vrc_mad_path *path)
{
	wire_put_be16(w, path->local_lid);
	wire_put_be16(w, path->remote_lid);
	wire_put(w, path->local_gid, sizeof(path->local_gid));
	wire_put(w, path->remote_gid, sizeof(path->remote_gid));
	wire_put_be32(w, path->flow_label << 12 | LOW(path->rate, 6));
	wire_put_u8(w, path->traffic_class);
	wire_put_u8(w, path->hop_limit);
	wire_put_u8(w, (uint8_t)(path->sl << 4 | path->subnet_local << 3));
	wire_put_u8(w, (uint8_t)(path->ack_timeout << 3));
}

/* A number of 24 bits and the octet behind it. */
static uint32_t
number_read(struct wire_reader *r, uint8_t *octet)
{
	uint32_t word = wire_be32(r);

	*octet = (uint8_t)word;
	return word >> 8;
}

void
vrc_mad_req_read(struct wire_reader *r, struct vrc_mad_req *req)
{
	uint8_t octet;

	req->vendor_id = LOW(wire_be32(r), 24);
	req->service_id = wire_be64(r);
	req->guid = wire_be64(r);
	wire_skip(r, 4);
	req->qkey = wire_be32(r);
	req->qpn = number_read(r, &req->responder_depth);
	(void)number_read(r, &req->initiator_depth); /* EE contexts: of reliable datagrams only */
	(void)number_read(r, &octet);
	req->remote_timeout = octet >> 3;
	req->transport = octet >> 1 & 3;
	req->flow_control = (octet & 1) != 0;
	req->psn = number_read(r, &octet);
	req->local_timeout = octet >> 3;
	req->retry_count = LOW(octet, 3);
	req->pkey = wire_be16(r);
	octet = wire_u8(r);
	req->mtu = octet >> 4;
	req->rdc_exists = (octet & 8) != 0;
	req->rnr_retry = LOW(octet, 3);
	octet = wire_u8(r);
	req->cm_retries = octet >> 4;
	req->srq = (octet & 8) != 0;
	req->extended = LOW(octet, 3);
	path_read(r, &req->primary);
	path_read(r, &req->alternate);
}

void
vrc_mad_req_write(struct wire_writer *w, const struct vrc_mad_req *req)
{
	wire_put_be32(w, LOW(req->vendor_id, 24));
	wire_put_be64(w, req->service_id);
	wire_put_be64(w, req->guid);
	wire_put_zero(w, 4);
	wire_put_be32(w, req->qkey);
	wire_put_be32(w, req->qpn << 8 | req->responder_depth);
	wire_put_be32(w, req->initiator_depth);
	wire_put_be32(w, LOW(req->remote_timeout, 5) << 3 | LOW(req->transport, 2) << 1 |
				 req->flow_control);
	wire_put_be32(w,
		      req->psn << 8 | LOW(req->local_timeout, 5) << 3 | LOW(req->retry_count, 3));
	wire_put_be16(w, req->pkey);
	wire_put_u8(w, (uint8_t)(req->mtu << 4 | req->rdc_exists << 3 | LOW(req->rnr_retry, 3)));
	wire_put_u8(w, (uint8_t)(req->cm_retries << 4 | req->srq << 3 | LOW(req->extended, 3)));
	path_write(w, &req->primary);
	path_write(w, &req->alternate);
}
