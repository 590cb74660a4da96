/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Work on descriptors of clients, outside of the main loop. Almost every call on a descriptor that
 * a client has, too, can block as long as the client likes: a close waits for a peer or a file
 * system, and most calls on a socket wait for its lock, which a system call of the client may own.
 * So threads make such calls. The number of threads for each user is limited, so a client that
 * makes them wait delays only its own user.
 */
#ifndef KALD_APART_H
#define KALD_APART_H

#include <stdbool.h>
#include <stdint.h>

struct kald_apart;

/* NULL: no descriptor is left. */
struct kald_apart *kald_apart_new(void);
/* Waits a moment for work under way. `done` is not called after that; threads that wait go on until the process ends. */
void kald_apart_free(struct kald_apart *apart);
/* Run `work` on a thread for that user, as soon as the limit of the user permits, and then `done` in the main loop. */
void kald_apart_do(struct kald_apart *apart, uint32_t uid, void (*work)(void *arg),
		   void (*done)(void *arg), void *arg);

/* A thread that nobody joins. False: there is no memory for it. */
bool kald_thread_begin(void *(*run)(void *arg), void *arg);

#endif /* KALD_APART_H */
