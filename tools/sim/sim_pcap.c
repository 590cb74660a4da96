/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Captures of a run: a file for each node, with the frames that its adapters send and receive, in virtual time. So a seed always
 * gives the same files. A node that is restarted appends to its file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "kal_capture.h"
#include "ri_fd.h"
#include "sim/sim.h"

#define ADAPTERS 4096 /* ever opened in a run */

static uint64_t
pcap_now(void *unused)
{
	(void)unused;
	return sim_now();
}

static void
pcap_say(void *node, const char *text)
{
	sim_fail("no capture", "%s: %s", ((struct sim_node *)node)->plan->name, text);
}

static struct kal_capture *
node_capture(struct sim_node *node)
{
	const struct kal_capture_params params = {
		.now = pcap_now, .say = pcap_say, .self = node, .direct = true};
	g_autofree char *path =
		g_strdup_printf("%s/%s.pcapng", sim_options()->pcap, node->plan->name);
	int fd = ri_fd_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);

	if (fd < 0)
		sim_fail("no capture", "%s cannot be written: %s", path, g_strerror(errno));
	return kal_capture_begin(fd, &params);
}

/* Adapters that were opened, and the nodes that opened them. */
static struct {
	const void *which;
	struct sim_node *node;
} adapters[ADAPTERS];
static unsigned count;

static struct sim_node *
node_of(const void *which)
{
	/* The newest first: a closed adapter may have had the same address. */
	for (unsigned i = count; i > 0; i--)
		if (adapters[i - 1].which == which)
			return adapters[i - 1].node;
	return NULL;
}

void
sim_pcap_put(void *unused, const struct ri_captured *what)
{
	struct sim_node *node = node_of(what->which);
	struct ri_captured own = *what;

	(void)unused;
	own.twin = false; /* the other end has a file of its own */
	if (what->kind == RI_CAPTURED_ADAPTER && sim_me != NULL && sim_me->node != NULL &&
	    count < ADAPTERS) {
		node = sim_me->node;
		adapters[count].which = what->which;
		adapters[count++].node = node;
	}
	if (node == NULL)
		return;
	if (node->capture == NULL)
		node->capture = node_capture(node);
	if (node->capture != NULL)
		kal_capture_put(node->capture, &own);
}
