/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Queue pairs that an application brings up itself; vib_peer.c. */
#ifndef VIB_PEER_H
#define VIB_PEER_H

#include "vib.h"

extern const struct ri_peer_ops vib_peer_ops;

#endif /* VIB_PEER_H */
