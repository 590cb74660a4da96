/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The common header of a MAD, and the messages with short bodies; vrc_mad_req.c has the long one. */
#include "vrc_mad.h"
#include "ri_wire.h"

#define BASE_VERSION  1
#define CLASS_CM      7
#define CLASS_VERSION 2

#define HEADER_SIZE 24

#define AT_BASE_VERSION  0
#define AT_CLASS         1
#define AT_CLASS_VERSION 2
#define AT_METHOD        3
#define AT_STATUS        4
#define AT_TID           8
#define AT_ATTRIBUTE     16

#define STATUS_BAD_VERSION 0x0004 /* of the class or of the base */
#define STATUS_UNSUPPORTED 0x000c /* method and attribute do not go together */
#define LOW(value_, bits_) ((value_) & ((1u << (bits_)) - 1))

size_t
vrc_private_room(uint16_t attribute)
{
	static const uint8_t rooms[] = {
		[VRC_REQ] = 92,  [VRC_MRA] = 222,  [VRC_REJ] = 148,      [VRC_REP] = 196,
		[VRC_RTU] = 224, [VRC_DREQ] = 220, [VRC_DREP] = 224,     [VRC_SIDR_REQ] = 216,
		[VRC_LAP] = 0,   [VRC_APR] = 148,  [VRC_SIDR_REP] = 136,
	};

	return attribute < sizeof(rooms) ? rooms[attribute] : 0;
}

static bool
is_message(uint16_t attribute)
{
	return attribute >= VRC_REQ && attribute <= VRC_APR;
}

/* --- bodies, behind the ids ---------------------------------------------------------------- */

static void
rep_read(struct wire_reader *r, struct vrc_mad_rep *rep)
{
	rep->qkey = wire_be32(r);

	uint32_t word = wire_be32(r);
	rep->qpn = word >> 8;
	rep->vendor_id = LOW(word, 8) << 16;
	rep->vendor_id |= LOW(wire_be32(r), 8) << 8;
	word = wire_be32(r);
	rep->psn = word >> 8;
	rep->vendor_id |= LOW(word, 8);
	rep->responder_depth = wire_u8(r);
	rep->initiator_depth = wire_u8(r);

	uint8_t octet = wire_u8(r);
	rep->ack_delay = octet >> 3;
	rep->failover = octet >> 1 & 3;
	rep->flow_control = (octet & 1) != 0;
	octet = wire_u8(r);
	rep->rnr_retry = octet >> 5;
	rep->srq = (octet & 0x10) != 0;
	rep->guid = wire_be64(r);
}

static void
rep_write(struct wire_writer *w, const struct vrc_mad_rep *rep)
{
	wire_put_be32(w, rep->qkey);
	wire_put_be32(w, rep->qpn << 8 | LOW(rep->vendor_id >> 16, 8));
	wire_put_be32(w, LOW(rep->vendor_id >> 8, 8));
	wire_put_be32(w, rep->psn << 8 | LOW(rep->vendor_id, 8));
	wire_put_u8(w, rep->responder_depth);
	wire_put_u8(w, rep->initiator_depth);
	wire_put_u8(
		w, (uint8_t)(rep->ack_delay << 3 | LOW(rep->failover, 2) << 1 | rep->flow_control));
	wire_put_u8(w, (uint8_t)(rep->rnr_retry << 5 | rep->srq << 4));
	wire_put_be64(w, rep->guid);
}

static void
rej_read(struct wire_reader *r, struct vrc_mad_rej *rej)
{
	rej->about = wire_u8(r) >> 6;
	rej->info_len = wire_u8(r) >> 1;
	rej->reason = wire_be16(r);
	wire_copy(r, rej->info, sizeof(rej->info));
}

static void
rej_write(struct wire_writer *w, const struct vrc_mad_rej *rej)
{
	wire_put_u8(w, (uint8_t)(rej->about << 6));
	wire_put_u8(w, (uint8_t)(rej->info_len << 1));
	wire_put_be16(w, rej->reason);
	wire_put(w, rej->info, sizeof(rej->info));
}

static void
sidr_rep_read(struct wire_reader *r, struct vrc_mad_sidr_rep *rep)
{
	rep->status = wire_u8(r);
	rep->info_len = wire_u8(r);
	rep->vendor_id = (uint32_t)wire_be16(r) << 8;

	uint32_t word = wire_be32(r);
	rep->qpn = word >> 8;
	rep->vendor_id |= LOW(word, 8);
	rep->service_id = wire_be64(r);
	rep->qkey = wire_be32(r);
	wire_copy(r, rep->info, sizeof(rep->info));
}

static void
sidr_rep_write(struct wire_writer *w, const struct vrc_mad_sidr_rep *rep)
{
	wire_put_u8(w, rep->status);
	wire_put_u8(w, rep->info_len);
	wire_put_be16(w, (uint16_t)(rep->vendor_id >> 8));
	wire_put_be32(w, rep->qpn << 8 | LOW(rep->vendor_id, 8));
	wire_put_be64(w, rep->service_id);
	wire_put_be32(w, rep->qkey);
	wire_put(w, rep->info, sizeof(rep->info));
}

static void
body_read(struct wire_reader *r, struct vrc_mad *mad)
{
	bool sidr = mad->attribute == VRC_SIDR_REQ || mad->attribute == VRC_SIDR_REP;

	mad->local_id = wire_be32(r);
	mad->remote_id = sidr || mad->attribute == VRC_REQ ? 0 : wire_be32(r);
	switch (mad->attribute) {
	case VRC_REQ:
		vrc_mad_req_read(r, &mad->req);
		break;
	case VRC_REP:
		rep_read(r, &mad->rep);
		break;
	case VRC_REJ:
		rej_read(r, &mad->rej);
		break;
	case VRC_MRA:
		mad->mra.about = wire_u8(r) >> 6;
		mad->mra.timeout = wire_u8(r) >> 3;
		break;
	case VRC_DREQ:
		mad->dreq_qpn = wire_be32(r) >> 8;
		break;
	case VRC_SIDR_REQ:
		mad->sidr_req.pkey = wire_be16(r);
		wire_skip(r, 2);
		mad->sidr_req.service_id = wire_be64(r);
		break;
	case VRC_SIDR_REP:
		sidr_rep_read(r, &mad->sidr_rep);
		break;
	case VRC_APR:
		mad->apr.info_len = wire_u8(r);
		mad->apr.status = wire_u8(r);
		wire_skip(r, 2);
		wire_copy(r, mad->apr.info, sizeof(mad->apr.info));
		break;
	default: /* RTU and DREP have the ids only; of a LAP nothing else matters */
		break;
	}
	wire_copy(r, mad->private_data, vrc_private_room(mad->attribute));
}

static void
body_write(struct wire_writer *w, const struct vrc_mad *mad)
{
	bool sidr = mad->attribute == VRC_SIDR_REQ || mad->attribute == VRC_SIDR_REP;

	wire_put_be32(w, mad->local_id);
	if (!sidr && mad->attribute != VRC_REQ)
		wire_put_be32(w, mad->remote_id);
	switch (mad->attribute) {
	case VRC_REQ:
		vrc_mad_req_write(w, &mad->req);
		break;
	case VRC_REP:
		rep_write(w, &mad->rep);
		break;
	case VRC_REJ:
		rej_write(w, &mad->rej);
		break;
	case VRC_MRA:
		wire_put_u8(w, (uint8_t)(mad->mra.about << 6));
		wire_put_u8(w, (uint8_t)(mad->mra.timeout << 3));
		break;
	case VRC_DREQ:
		wire_put_be32(w, mad->dreq_qpn << 8);
		break;
	case VRC_SIDR_REQ:
		wire_put_be16(w, mad->sidr_req.pkey);
		wire_put_zero(w, 2);
		wire_put_be64(w, mad->sidr_req.service_id);
		break;
	case VRC_SIDR_REP:
		sidr_rep_write(w, &mad->sidr_rep);
		break;
	case VRC_APR:
		wire_put_u8(w, mad->apr.info_len);
		wire_put_u8(w, mad->apr.status);
		wire_put_zero(w, 2);
		wire_put(w, mad->apr.info, sizeof(mad->apr.info));
		break;
	default:
		break;
	}
	wire_put(w, mad->private_data, vrc_private_room(mad->attribute));
}

/* --- values ------------------------------------------------------------------------------- */

static bool
is_qpn(uint32_t qpn)
{
	return qpn >= VRC_QPN_MIN && qpn <= VRC_QPN_MAX;
}

/* No sender may send other values; a sender that lies about the length of what follows is found here, too. */
static bool
fields_are_legal(const struct vrc_mad *mad)
{
	switch (mad->attribute) {
	case VRC_REQ:
		return is_qpn(mad->req.qpn);
	case VRC_REP:
		return is_qpn(mad->rep.qpn);
	case VRC_REJ:
		return mad->rej.about < VRC_ABOUT_COUNT && mad->rej.info_len <= VRC_INFO_MAX;
	case VRC_MRA:
		return mad->mra.about < VRC_ABOUT_COUNT;
	case VRC_SIDR_REP:
		if (mad->sidr_rep.status == VRC_SIDR_FOUND && !is_qpn(mad->sidr_rep.qpn))
			return false;
		return mad->sidr_rep.status < VRC_SIDR_COUNT &&
		       mad->sidr_rep.info_len <= VRC_INFO_MAX;
	case VRC_APR:
		return mad->apr.info_len <= VRC_INFO_MAX;
	default:
		return true;
	}
}

enum vrc_found
vrc_mad_read(const void *octets, size_t len, struct vrc_mad *mad)
{
	struct wire_reader r = wire_reader_of(octets, len);

	if (len != VRC_MAD_SIZE)
		return VRC_FOUND_LENGTH;
	if (wire_u8(&r) != BASE_VERSION)
		return VRC_FOUND_BASE_VERSION;
	if (wire_u8(&r) != CLASS_CM)
		return VRC_FOUND_CLASS;
	if (wire_u8(&r) != CLASS_VERSION)
		return VRC_FOUND_CLASS_VERSION;
	if (wire_u8(&r) != VRC_METHOD_SEND)
		return VRC_FOUND_METHOD;
	if (wire_be16(&r) != 0)
		return VRC_FOUND_STATUS;
	wire_skip(&r, 2);
	mad->tid = wire_be64(&r);
	mad->attribute = wire_be16(&r);
	wire_skip(&r, 6); /* reserved, and a modifier that no message of this class has */
	if (!is_message(mad->attribute))
		return VRC_FOUND_ATTRIBUTE;
	body_read(&r, mad);
	return fields_are_legal(mad) ? VRC_FOUND_CM : VRC_FOUND_FIELD;
}

void
vrc_mad_write(const struct vrc_mad *mad, uint8_t octets[VRC_MAD_SIZE])
{
	struct wire_writer w = wire_writer_of(octets + HEADER_SIZE, VRC_MAD_SIZE - HEADER_SIZE);

	memset(octets, 0, VRC_MAD_SIZE);
	octets[AT_BASE_VERSION] = BASE_VERSION;
	octets[AT_CLASS] = CLASS_CM;
	octets[AT_CLASS_VERSION] = CLASS_VERSION;
	octets[AT_METHOD] = VRC_METHOD_SEND;
	wire_store_be64(octets + AT_TID, mad->tid);
	wire_store_be16(octets + AT_ATTRIBUTE, mad->attribute);
	body_write(&w, mad);
}

bool
vrc_mad_refuse(const void *octets, size_t len, enum vrc_found found, uint8_t answer[VRC_MAD_SIZE])
{
	const uint8_t *at = octets;
	bool version = found == VRC_FOUND_CLASS_VERSION;

	if (len != VRC_MAD_SIZE || (!version && found != VRC_FOUND_METHOD))
		return false;
	if (at[AT_METHOD] != VRC_METHOD_GET && at[AT_METHOD] != VRC_METHOD_SET)
		return false;
	memcpy(answer, at, VRC_MAD_SIZE);
	answer[AT_METHOD] = VRC_METHOD_GET_RESP;
	wire_store_be16(answer + AT_STATUS, version ? STATUS_BAD_VERSION : STATUS_UNSUPPORTED);
	return true;
}

/* --- names -------------------------------------------------------------------------------- */

const char *
vrc_found_name(enum vrc_found found)
{
	static const char *const names[VRC_FOUND_COUNT] = {
		[VRC_FOUND_CM] = "CM message",
		[VRC_FOUND_LENGTH] = "length is not 256",
		[VRC_FOUND_BASE_VERSION] = "base version is not 1",
		[VRC_FOUND_CLASS] = "class is not 7",
		[VRC_FOUND_CLASS_VERSION] = "class version is not 2",
		[VRC_FOUND_METHOD] = "method is not Send",
		[VRC_FOUND_STATUS] = "status is not 0",
		[VRC_FOUND_ATTRIBUTE] = "unknown attribute",
		[VRC_FOUND_FIELD] = "illegal value of a field",
	};

	return (unsigned)found < VRC_FOUND_COUNT ? names[found] : "?";
}

const char *
vrc_attribute_name(uint16_t attribute)
{
	static const char *const names[] = {"REQ",  "MRA",      "REJ",      "REP", "RTU", "DREQ",
					    "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR"};

	return is_message(attribute) ? names[attribute - VRC_REQ] : "?";
}
