/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* States of queue pairs and their ends, for the rest of the provider; vib_qp_end.c. */
#ifndef VIB_QP_END_H
#define VIB_QP_END_H

#include "vib.h"

/* Prepare what the other functions need; the queue pair is in IDLE. */
void vib_qp_end_init(struct vib_qp *qp);
/* Go from IDLE to ERROR, without an event; what is posted is flushed. The caller owns no lock. */
void vib_qp_end_idle(struct vib_qp *qp);
/* Prepare and stop what vib_qp_renew.c needs; stop before the queue pair is destroyed. */
void vib_qp_renew_init(struct vib_qp *qp);
void vib_qp_renew_stop(struct vib_qp *qp);
/* An event of a port, before it is raised: queue pairs that are not connected may be broken. On the service thread. */
void vib_qp_port_event(struct ri_rnic *rnic, uint32_t event);
/* After the return no event is raised or under way. Before the queue pair is destroyed; not on the service thread. */
void vib_qp_end_stop(struct vib_qp *qp);
/* ERROR to IDLE [RI 4.3.2]: `anew` as of ri_qp_attr::skip_time_wait. The caller owns no lock. */
enum ri_status vib_qp_end_reset(struct vib_qp *qp, bool anew) RI_MUST_CHECK;
/*
 * The state that the layers above see. A queue pair for datagrams is in ERROR as soon as a completion reports a failure,
 * although its end begins later, on the service thread. The caller owns qp->lock.
 */
uint32_t vib_qp_state(const struct vib_qp *qp);
/*
 * The device has refused a post with this errno. Has its connection ended? If so, no further post
 * reaches the device, and the end flushes the rings. An event usually reports the end soon; if none
 * comes within a second, the connection ends as broken. Called by the thread that posts, or the one
 * that sends the chain.
 */
bool vib_qp_lost(struct ri_uqp *qp, int error);
/* IBV_EVENT_QP_LAST_WQE_REACHED: it takes no more receives from its SRQ. */
void vib_qp_end_last_wqe(struct vib_qp *qp);
/* The device has failed: begin the end of every connection. */
void vib_qp_end_all(struct ri_rnic *rnic);
/* Is an end under way, whose event is not raised yet? */
bool vib_qp_end_pending(struct ri_rnic *rnic);
/* IDLE to RTS: a queue pair for datagrams, whose device's queue pair runs. The caller owns no lock. */
void vib_qp_end_running(struct vib_qp *qp);
/* Reset to ready to send: of datagrams. */
enum ri_status vib_qp_device_run(struct vib_qp *qp) RI_MUST_CHECK;
/* Reset to init: the device's queue pair takes receives. */
enum ri_status vib_qp_device_init(struct vib_qp *qp) RI_MUST_CHECK;

#endif /* VIB_QP_END_H */
