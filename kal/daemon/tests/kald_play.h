/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* The daemon as a program of its own, and clients that are played by hand, one packet after the other. */
#ifndef KALD_PLAY_H
#define KALD_PLAY_H

#include <glib.h>

#include "kal_config.h"
#include "kald_wire.h"
#include "ri_at_end.h"

/* A daemon that runs, with its socket and its rules in a folder of the test. */
struct play {
	char *folder;
	char *socket;
	char *policy;
	GPid pid; /* 0: it does not run */
};

/* Start one, whose program KALD names, and wait until it serves. policy NULL: the defaults. */
struct play play_begin(const char *policy);
/* End it by SIGTERM, or by SIGKILL; its socket stays then. */
void play_end(struct play *play, bool kill_it);
/* Where daemons that start from now on write their lines; -1, which is the default: nowhere. */
void play_stderr(int fd);
/* Start it again in the same place. */
void play_again(struct play *play);
/* Write other rules, and have it read them. */
void play_policy(struct play *play, const char *policy);
void play_free(struct play *play);

/* A connected socket whose receives fail the test after 10 s. */
int play_connect(const struct play *play);
/* Connect and say KALD_HELLO; the welcome is checked, and is stored if the pointer is not NULL. */
int play_join(const struct play *play, enum kald_kind kind, struct kald_message *welcome);
/* A client that has an adapter of roce, so that it may ask to share an address. */
int play_sharer(const struct play *play);
/* An address for RoCE that tests of other processes do not share. */
struct kald_addr play_address(uint8_t last);
void play_send(int fd, const struct kald_message *message);
/* The same with up to 200 descriptors, which stay the caller's. */
void play_send_with(int fd, const struct kald_message *message, const int *fds, size_t count);
/* False: the connection is over. */
bool play_receive(int fd, struct kald_message *message);
/* A packet, not checked, and the descriptors that came with it; returns how many. */
size_t play_receive_with(int from, struct kald_message *message, int fds[KALD_SHARE_FDS]);
/* Is the connection ended within 10 s? What comes before is dropped. */
bool play_is_ended(int fd);
/* Send a request and receive its answer; events before it are dropped. */
void play_ask(int fd, const struct kald_message *request, struct kald_message *reply);
/* Borrow: the amount, or 0: refused, and the reply has the reason. */
uint64_t play_borrow(int fd, enum kal_resource resource, uint64_t amount,
		     struct kald_message *reply);
void play_return(int fd, enum kal_resource resource, uint64_t amount);
/* What is lent to a user of that resource, and how many processes it has. */
uint64_t play_lent(int tool, enum kald_level level, uint32_t id, enum kal_resource resource,
		   uint32_t *processes);
/* All entries of the list. */
GArray *play_list(int tool);

#endif /* KALD_PLAY_H */
