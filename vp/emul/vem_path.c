/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "vem_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ri_calls.h"
#include "vem_fault.h"
#include "vem_link_path.h"
#include "vem_tap.h"
#include "vem_wire.h"

#define US           UINT64_C(1000)
#define DELAY_MAX    UINT64_C(3600000000)     /* us */
#define PATIENCE_IB  (8 * UINT64_C(67108864)) /* eight tries of 67 ms: timeout 14, retry count 7 */
#define PATIENCE_TCP (UINT64_C(100) * 1000000000) /* R2 of RFC 1122 4.2.3.5, at its least */

/* --- commands ------------------------------------------------------------------------------ */

static bool
is_name(const char *word)
{
	size_t len = strlen(word);

	return len > 0 && len < VEM_NAME &&
	       strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
		       len;
}

static bool
read_number(const char *word, uint64_t max, uint64_t *out)
{
	char *end = NULL;

	if (*word < '0' || *word > '9')
		return false;
	*out = strtoull(word, &end, 10);
	return *end == '\0' && *out <= max;
}

static const char *
read_path(struct ri_command *command, struct vem_path_order *order)
{
	static const char *const states[] = {"open", "hold", "cut"};
	struct vem_path *path = &order->path;
	uint64_t drop = 0;

	snprintf(path->name, sizeof(path->name), "%s", command->word[1]);
	for (unsigned i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (command->count != 3 || !ri_command_is(command, 2, states[i]))
			continue;
		order->what = VEM_PATH_STATE;
		path->state = (enum vem_path_state)i;
		return NULL;
	}
	if (command->count == 5 && ri_command_is(command, 2, "delay") &&
	    read_number(command->word[3], DELAY_MAX, &path->delay_min) &&
	    read_number(command->word[4], DELAY_MAX, &path->delay_max) &&
	    path->delay_min <= path->delay_max) {
		order->what = VEM_PATH_DELAY;
		path->delay_min *= US;
		path->delay_max *= US;
		return NULL;
	}
	if (command->count == 4 && ri_command_is(command, 2, "drop") &&
	    read_number(command->word[3], 100, &drop)) {
		order->what = VEM_PATH_DROP;
		path->drop = (uint32_t)drop;
		return NULL;
	}
	return "wanted: path NAME open, hold, cut, delay MIN MAX in us, or drop PERCENT";
}

const char *
vem_path_read(struct ri_command *command, struct vem_path_order *order)
{
	if (ri_command_is(command, 0, "tell")) {
		order->what = VEM_PATH_TELL;
		return command->count == 2 && ri_command_is(command, 1, "messages")
			       ? NULL
			       : "wanted: tell messages";
	}
	if (!is_name(command->word[1]))
		return "a name has letters, digits, - and _, at most 31";
	if (ri_command_is(command, 0, "path"))
		return read_path(command, order);
	order->what = VEM_PATH_NAME;
	snprintf(order->path.name, sizeof(order->path.name), "%s", command->word[1]);
	return command->count == 2 ? NULL : "wanted: name NAME";
}

/* The rules, made when they are needed; with the lock. If there is no memory, they stay NULL. */
static void
paths_need(struct ri_rnic *rnic)
{
	if (atomic_load(&rnic->faults.paths) == NULL)
		atomic_store(&rnic->faults.paths, calloc(1, sizeof(struct vem_paths)));
}

static struct vem_path *
path_find(struct vem_paths *paths, const char *name)
{
	for (unsigned i = 0; i < paths->count; i++)
		if (strcmp(paths->path[i].name, name) == 0)
			return &paths->path[i];
	return NULL;
}

const char *
vem_path_change(struct vem_paths *paths, const struct vem_path_order *order)
{
	struct vem_path *path = path_find(paths, order->path.name);

	if (path == NULL && paths->count == VEM_PATHS)
		return "too many paths";
	if (path == NULL) {
		path = &paths->path[paths->count++];
		memcpy(path->name, order->path.name, sizeof(path->name));
	}
	switch (order->what) {
	case VEM_PATH_STATE:
		path->state = order->path.state;
		break;
	case VEM_PATH_DELAY:
		path->delay_min = order->path.delay_min;
		path->delay_max = order->path.delay_max;
		break;
	case VEM_PATH_DROP:
	case VEM_PATH_NAME:
	case VEM_PATH_TELL:
	default:
		path->drop = order->path.drop;
		break;
	}
	return NULL;
}

void
vem_path_prepare(struct ri_rnic *rnic)
{
	pthread_mutex_lock(&rnic->faults.lock);
	paths_need(rnic);
	pthread_mutex_unlock(&rnic->faults.lock);
}

const char *
vem_path_do(struct ri_rnic *rnic, const struct vem_path_order *order)
{
	struct vem_faults *faults = &rnic->faults;
	struct vem_paths *paths;
	const char *why = NULL;

	if (rnic->fabric->shm != NULL)
		return vem_link_path_do(rnic->fabric->shm, order);
	if (rnic->wire_delay == 0)
		return "paths are for adapters whose messages take time; set ITAPI_EMUL_WIRE_US";
	pthread_mutex_lock(&faults->lock);
	paths_need(rnic);
	paths = atomic_load(&faults->paths);
	if (paths == NULL)
		why = "no memory";
	else if (order->what == VEM_PATH_NAME)
		memcpy(paths->name, order->path.name, sizeof(paths->name));
	else if (order->what == VEM_PATH_TELL)
		paths->tells = true;
	else
		why = vem_path_change(paths, order);
	pthread_mutex_unlock(&faults->lock);
	if (why == NULL && order->what == VEM_PATH_STATE)
		vem_fault_each_qp(rnic, vem_wire_wake);
	return why;
}

void
vem_path_fini(struct ri_rnic *rnic)
{
	free(atomic_load(&rnic->faults.paths));
}

void
vem_path_find(struct vem_paths *paths, const char *name, struct vem_path *path)
{
	const struct vem_path *found = path_find(paths, name);

	if (found != NULL)
		*path = *found;
}

/* --- what rules say --------------------------------------------------------------------------- */

void
vem_path_name(struct ri_rnic *rnic, char name[VEM_NAME])
{
	struct vem_paths *paths = atomic_load(&rnic->faults.paths);

	name[0] = '\0';
	if (paths == NULL)
		return;
	pthread_mutex_lock(&rnic->faults.lock);
	memcpy(name, paths->name, VEM_NAME);
	pthread_mutex_unlock(&rnic->faults.lock);
}

struct vem_path
vem_path_to(struct ri_rnic *rnic, const char *name)
{
	struct vem_paths *paths = atomic_load(&rnic->faults.paths);
	struct vem_path path = {.state = VEM_PATH_OPEN};

	if (paths == NULL || *name == '\0')
		return path;
	pthread_mutex_lock(&rnic->faults.lock);
	vem_path_find(paths, name, &path);
	pthread_mutex_unlock(&rnic->faults.lock);
	return path;
}

bool
vem_path_loses(struct vem_qp *qp, struct vem_qp *receiver)
{
	struct ri_rnic *rnic = qp->rnic, *to = receiver->rnic;
	const struct ri_host *host = rnic->host;
	struct vem_path path;
	char name[VEM_NAME];
	uint64_t number = 0;

	if (atomic_load(&rnic->faults.paths) == NULL)
		return false;
	vem_path_name(to, name);
	path = vem_path_to(rnic, name);
	if (path.state == VEM_PATH_OPEN && path.drop != 0)
		host->random(host->self, &number, sizeof(number));
	bool lost = path.state != VEM_PATH_OPEN || (path.drop != 0 && number % 100 < path.drop);
	vem_tap_datagram(qp, receiver);
	return lost;
}

uint64_t
vem_path_patience(const struct vem_fabric *fabric)
{
	return fabric->personality == VEM_IB ? PATIENCE_IB : PATIENCE_TCP;
}

/* --- news for the tester -------------------------------------------------------------------------- */

bool
vem_path_tells(struct ri_rnic *rnic)
{
	struct vem_paths *paths = atomic_load(&rnic->faults.paths);
	bool tells = false;

	if (paths == NULL)
		return false;
	pthread_mutex_lock(&rnic->faults.lock);
	tells = paths->tells;
	pthread_mutex_unlock(&rnic->faults.lock);
	return tells;
}

uint64_t
vem_path_count(struct ri_rnic *rnic)
{
	struct vem_paths *paths = atomic_load(&rnic->faults.paths);
	uint64_t number = 0;

	if (paths == NULL)
		return 0;
	pthread_mutex_lock(&rnic->faults.lock);
	number = ++paths->messages;
	pthread_mutex_unlock(&rnic->faults.lock);
	return number;
}

void
vem_path_tell(struct ri_rnic *rnic, uint64_t number, bool write, uint32_t placed, uint32_t length)
{
	char text[RI_COMMAND_LINE];
	int len;

	if (!vem_path_tells(rnic) || rnic->faults.control.fd < 0)
		return;
	len = snprintf(text, sizeof(text), "message %llu %s %u of %u", (unsigned long long)number,
		       write ? "write" : "whole", placed, length);
	(void)!ri_send(rnic->faults.control.fd, text, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
}
