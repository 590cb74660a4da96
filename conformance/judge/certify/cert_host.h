/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef CERT_HOST_H
#define CERT_HOST_H

/**
 * @file cert_host.h @brief The certifying host: a wrapper of the production host table that counts
 * calls, makes them fail on demand, and gives repeatable random numbers.
 *
 * Each case has one. The entries are those of production, so a provider is judged on what it will run on.
 */

#include "cert_case.h"

struct cert_host;

/** What a provider has asked of the host so far. */
struct cert_host_counts {
	unsigned now;
	unsigned random;
	unsigned timers; /**< Starts. */
	unsigned tasks;
	unsigned watches; /**< Starts that were granted. */
	unsigned parks;
	unsigned attaches; /**< Attachments that were granted. */
	unsigned logs;
	unsigned relaxes;
};

/** The host of the case. */
struct cert_host *cert_host(const struct cert *cert);
/** The table for ri_open::host and ri_user_ops::rnic_open. */
const struct ri_host *cert_host_table(const struct cert_host *host);

struct cert_host_counts cert_host_counts(const struct cert_host *host);
/** Random numbers from now on: the same sequence from its beginning, a function of @p seed; 0: true ones again. */
void cert_host_repeat(struct cert_host *host, uint64_t seed);
/** The n-th attachment of memory from now on (1: the next) is refused with this status; 0: none is. */
void cert_host_refuse_attach(struct cert_host *host, unsigned n, enum ri_status status);
/** The n-th start of a watch from now on (1: the next) is refused with RI_ERR_RESOURCES; 0: none is. */
void cert_host_refuse_watch(struct cert_host *host, unsigned n);
/** Memory that is attached from now on has no base address: the engine must use ri_host::mem_copy. */
void cert_host_copy_only(struct cert_host *host, bool on);
/** Ranges of memory that are attached now, and watches that are started now. */
unsigned cert_host_attached(const struct cert_host *host);
unsigned cert_host_watched(struct cert_host *host);
/**
 * @name Memory that runs out
 * Allocations of the calling thread, by malloc and its like and by anonymous mmap, fail as ordered.
 * Those of the host's own services neither count nor fail.
 * @{
 */
/** False: the allocator of this process is a sanitizer's or valgrind's. */
bool cert_host_can_starve(void);
/** The n-th allocation from now on (1: the next) fails, with @p for_good all later ones, too; 0: none does. */
void cert_host_starve(unsigned n, bool for_good);
/** All succeed again. Returns how many were refused. */
unsigned cert_host_feed(void);
/** Blocks that the calling thread has allocated less those that it has freed; for differences. */
long cert_host_blocks(void);
/** @} */
/** Is the calling thread the service thread of the host? */
bool cert_host_on_service_thread(const struct cert_host *host);
/**
 * Counts the entries of a folder: /proc/self/fd gives the descriptors, /proc/self/task the threads. UINT_MAX: no
 * descriptor is left to open the folder. 0: there is no such folder.
 */
unsigned cert_entries_of(const char *folder);
/** ri_owner::mem_owner of this process. */
uint64_t cert_host_owner(void);

/** For the frame: NULL without resources. */
struct cert_host *cert_host_new(void);
/** For the frame: what a provider has not given back, in words that the caller frees; NULL: nothing. */
char *cert_host_left(struct cert_host *host);
/** For the frame; nothing is left. */
void cert_host_free(struct cert_host *host);

#endif /* CERT_HOST_H */
