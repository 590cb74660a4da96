/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The client half of kald: the connection of this process to the daemon, if ITAPI_KALD or the administrator wants one. It is made
 * with the first client of the kAL, and ends with the last one. Without it the process works as on a host without kald.
 *
 * What kald has lent is taken without a call. If kald goes away, the process keeps what it has, connects again, and claims it.
 */
#ifndef KAL_REMOTE_H
#define KAL_REMOTE_H

#include "kal_config.h"
#include "rnicpi_host.h"

/*
 * A client of the kAL begins. The rules of the daemon change `config`: they only ever narrow it, but for the privilege.
 * RI_ERR_PERMISSION: the daemon refuses this process; RI_ERR_RESOURCES: a daemon is required, and none answers. The log says why.
 */
enum ri_status kal_remote_join(struct kal_config *config) RI_MUST_CHECK;
/* A client of the kAL ends. */
void kal_remote_leave(void);
/* May the adapter be opened? RI_ERR_PERMISSION: no. With a success, kal_remote_close() follows. */
enum ri_status kal_remote_open(const char *adapter) RI_MUST_CHECK;
void kal_remote_close(const char *adapter);

#endif /* KAL_REMOTE_H */
