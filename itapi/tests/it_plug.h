/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A device of the kernel that a test may delete and make again, and the interface below it: a software device (rxe or
 * siw) over an interface of its own. ITAPI_TEST_LINK=NAME:TYPE:INTERFACE:ADDRESS in the environment names it; the lab
 * sets this. Without the variable the tests are skipped.
 */
#ifndef IT_PLUG_H
#define IT_PLUG_H

#include "it_pair.h"

struct plug_link {
	const char *name, *type, *interface, *address;
};

extern struct plug_link plug_link;

/* The interface, up and with its address. */
void plug_interface_make(void);
/* Words for ip(8), to which "dev" and the interface are added. */
void plug_interface_do(const char *words);
/* Make the device over its interface. */
void plug_device_make(void);
/* Begin to take the device away, by any command or by rdma(8): the kernel may need this program for that. */
GPid plug_begin(const char *first, const char *second, const char *third, const char *fourth);
GPid plug_device_remove(void);
/* Has it gone before the program has closed it? */
bool plug_is_over(GPid *pid);
/* The removal ends, and the same device is made anew. */
void plug_device_again(GPid pid);

/* Queued events come first, then the one that the adapter has failed. Returns how many events came. */
unsigned plug_await_catastrophe(it_evd_handle_t evd);
/*
 * Expect that the connection of an end has ended. The event may look like an orderly end if this end
 * learns first that the other end has ended, or if siw's interface went down [RI 12.1.5], [RI 12.3.11].
 */
void plug_expect_ended(const struct end *end);
/* A message from the active end. */
void plug_exchange(struct pair *pair, uint64_t value);
/* A device that was made anew works, in this process. */
void plug_expect_works(void);

/* A test with an open pair, which it closes. */
void plug_add(const char *path, void (*test)(struct pair *pair));
/* main() of a test program. */
int plug_main(int argc, char **argv, void (*add)(void));

#endif /* IT_PLUG_H */
