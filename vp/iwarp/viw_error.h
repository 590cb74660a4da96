/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* From a cause to the end of a stream; viw_error.c. */
#ifndef VIW_ERROR_H
#define VIW_ERROR_H

#include "rdmap_terminate.h"
#include "rnicpi.h"
#include "viw_qp_states.h"
#include "vsw_mem.h"

struct viw_qp;

/* How the stream ends; written once, under viw_qp::lock. */
struct viw_end {
	uint32_t event; /* enum ri_event; 0: not yet */
	uint32_t detail;
	uint8_t move;          /* enum viw_qp_move: the cause */
	uint8_t fault;         /* enum rdmap_fault: what VIW_MOVE_FAULT found */
	uint32_t last;         /* head of the send queue at that moment */
	bool orderly;          /* FINs are exchanged; this end sends no Terminate */
	bool terminate_sent;   /* the copy is of a Terminate that this end sends */
	uint8_t terminate_len; /* octets of the copy */
	uint8_t terminate[RI_TERMINATE_MAX];
	uint8_t fpdu_len; /* octets of the Terminate to send; 0: none */
	uint8_t fpdu[RDMAP_TERMINATE_FPDU_MAX];
};

/* An error found at this end. The first wins. `event` 0: the one that belongs to the fault. */
void viw_fault(struct viw_qp *qp, enum rdmap_fault fault, const struct rdmap_offender *offender,
	       uint32_t event);
/* A Terminate arrived: the octets behind its DDP header. */
void viw_terminate_in(struct viw_qp *qp, const uint8_t *payload, uint32_t len);
/* A FIN between two messages. */
void viw_peer_fin(struct viw_qp *qp);
/* TCP failed with this errno. */
void viw_stream_lost(struct viw_qp *qp, int error);
/* Moves of modify. A code goes out as Terminate. */
enum ri_status viw_end_by_caller(struct viw_qp *qp, enum viw_qp_move move, uint32_t event,
				 uint16_t code) RI_MUST_CHECK;
/* The end of the stream has begun: viw_timer runs at viw_stream::deadline. */
void viw_end_timer_start(struct viw_qp *qp);
/* The fault of a refused access of the peer. */
enum rdmap_fault viw_fault_tagged(enum vsw_mem_result result);
enum rdmap_fault viw_fault_read(enum vsw_mem_result result);

#endif /* VIW_ERROR_H */
