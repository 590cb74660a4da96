/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef CERT_EXTENT_H
#define CERT_EXTENT_H

/*
 * The resources of a process. A case compares them before and after the same work was done many
 * times.
 */

#include <stdint.h>

#include "cert_case.h"

/* What must not grow. */
struct cert_extent {
	uint64_t memory; /* resident bytes; 0 without cert_host_can_starve */
	unsigned files;
	unsigned threads;
	unsigned attached; /* ranges of memory that the host has attached for the provider */
	unsigned watched;  /* descriptors that the host watches for it */
};

struct cert_extent cert_extent_now(struct cert *cert);
/* Is nothing more than @p before now, nor the memory by more than 4 MiB? */
bool cert_extent_fits(struct cert *cert, const struct cert_extent *before);
/*
 * Fails the case if the resources have grown. Waits up to cert_patience for resources that are
 * released a little later: a thread that is being joined, a descriptor that the service thread
 * closes.
 */
void cert_extent_expect(struct cert *cert, const struct cert_extent *before);

#endif /* CERT_EXTENT_H */
