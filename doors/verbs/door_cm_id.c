/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Ids, what they have, and the numbers by which programs name them and their multicast groups. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "door_cm_internal.h"

/* --- numbers ---------------------------------------------------------------------------------------- */

/* Small numbers for objects, from 1; under door_cm_lock(). */
struct numbers {
	void **objects;   /* by number - 1 */
	uint32_t room;    /* entries of `objects` */
	uint32_t no_free; /* all below are taken */
};

static struct numbers ids, groups;

/* 0: no memory. */
static uint32_t
number_enter(struct numbers *numbers, void *object)
{
	uint32_t at = numbers->no_free;

	while (at < numbers->room && numbers->objects[at] != NULL)
		at++;
	if (at == numbers->room) {
		uint32_t room = numbers->room != 0 ? numbers->room * 2 : 64;
		void **objects = (void **)realloc(numbers->objects, room * sizeof(*objects));

		if (objects == NULL || room >= INT32_MAX)
			return 0;
		memset(objects + numbers->room, 0, (room - numbers->room) * sizeof(*objects));
		numbers->objects = objects;
		numbers->room = room;
	}
	numbers->objects[at] = object;
	numbers->no_free = at + 1;
	return at + 1;
}

static void *
number_find(const struct numbers *numbers, uint32_t number)
{
	return number >= 1 && number <= numbers->room ? numbers->objects[number - 1] : NULL;
}

static void
number_leave(struct numbers *numbers, uint32_t number)
{
	numbers->objects[number - 1] = NULL;
	if (numbers->no_free > number - 1)
		numbers->no_free = number - 1;
}

/* --- life ---------------------------------------------------------------------------------------------- */

struct door_cm_id *
door_cm_id_new(uint16_t port_space)
{
	struct door_cm_id *id = (struct door_cm_id *)calloc(1, sizeof(*id));

	if (id == NULL)
		return NULL;
	id->port_space = port_space;
	id->reservation = -1;
	id->refs = 1;
	pthread_mutex_init(&id->control, NULL);
	door_cm_retry_init(id);
	return id;
}

void
door_cm_id_put(struct door_cm_id *id)
{
	bool last;

	door_cm_lock();
	last = --id->refs == 0;
	door_cm_unlock();
	if (!last)
		return;
	assert(id->adapter == NULL && id->reservation < 0 && id->hearings == NULL);
	pthread_mutex_destroy(&id->control);
	free(id);
}

/* Under the lock. */
static void
join_channel(struct door_cm_id *id, struct door_cm_channel *channel)
{
	id->channel = channel;
	id->prev = NULL;
	id->next = channel->ids;
	if (id->next != NULL)
		id->next->prev = id;
	channel->ids = id;
}

bool
door_cm_id_enter(struct door_cm_id *id, struct door_cm_channel *channel)
{
	id->number = number_enter(&ids, id);
	if (id->number == 0)
		return false;
	join_channel(id, channel);
	return true;
}

/* Take the id from the list of its channel. Called under the lock. */
static void
leave_channel(struct door_cm_id *id)
{
	if (id->prev != NULL)
		id->prev->next = id->next;
	else
		id->channel->ids = id->next;
	if (id->next != NULL)
		id->next->prev = id->prev;
	id->next = id->prev = NULL;
}

/* Find the id with a number. ENOENT: no id has it; EINVAL: it belongs to another channel. Called under the lock. */
static int
find(const struct door_cm_channel *channel, uint32_t number, struct door_cm_id **id)
{
	*id = (struct door_cm_id *)number_find(&ids, number);
	if (*id == NULL)
		return ENOENT;
	return (*id)->channel == channel ? 0 : EINVAL;
}

int
door_cm_id_begin(struct door_cm_channel *channel, uint32_t number, struct door_cm_id **id)
{
	int error;
	bool dying;

	door_cm_lock();
	error = find(channel, number, id);
	if (error == 0)
		(*id)->refs++;
	door_cm_unlock();
	if (error != 0)
		return error;
	pthread_mutex_lock(&(*id)->control);
	door_cm_lock();
	dying = (*id)->dying; /* by another thread, meanwhile */
	door_cm_unlock();
	if (dying)
		error = ENOENT;
	else if ((*id)->adapter != NULL && atomic_load(&(*id)->adapter->session.dead))
		error = EIO;
	if (error != 0)
		door_cm_id_leave(*id);
	return error;
}

void
door_cm_id_leave(struct door_cm_id *id)
{
	pthread_mutex_unlock(&id->control);
	door_cm_id_put(id);
}

/* Under the lock. */
static void
take(struct door_cm_id *id)
{
	number_leave(&ids, id->number);
	id->dying = true;
}

int
door_cm_id_take(struct door_cm_channel *channel, uint32_t number, struct door_cm_id **id)
{
	int error;

	door_cm_lock();
	error = find(channel, number, id);
	if (error == 0)
		take(*id);
	door_cm_unlock();
	return error;
}

struct door_cm_id *
door_cm_id_take_any(struct door_cm_channel *channel)
{
	struct door_cm_id *id = channel->ids;

	/* Those that a thread destroys leave the channel by themselves. */
	while (id != NULL && id->dying)
		id = id->next;
	if (id != NULL)
		take(id);
	return id;
}

struct door_cm_id *
door_cm_id_after(uint32_t number)
{
	while (number < ids.room && ids.objects[number] == NULL)
		number++;
	return number < ids.room ? (struct door_cm_id *)ids.objects[number] : NULL;
}

int
door_cm_id_migrate(struct door_cm_channel *from, struct door_cm_channel *to, uint32_t number,
		   uint32_t *reported)
{
	struct door_cm_id *id;
	int error;

	door_cm_lock();
	error = find(from, number, &id);
	if (error == 0 && to->closed)
		error = EBADF;
	if (error == 0) {
		*reported = id->reported;
		if (from != to) {
			door_cm_move_events(id, to);
			leave_channel(id);
			join_channel(id, to);
		}
	}
	door_cm_unlock();
	return error;
}

/* Under the lock. */
static void
free_groups(struct door_cm_id *id)
{
	while (id->groups != NULL) {
		struct door_cm_group *next = id->groups->next;

		number_leave(&groups, id->groups->number);
		free(id->groups);
		id->groups = next;
	}
}

uint32_t
door_cm_id_end(struct door_cm_id *id)
{
	struct door_cm_id *requests = NULL;
	struct door_adapter *adapter;
	uint32_t reported;

	/* Commands that are under way end first. */
	pthread_mutex_lock(&id->control);
	door_cm_deafen(id);
	door_cm_hang_up(id);
	door_cm_port_release(id);
	door_cm_lock();
	if (id->channel != NULL) {
		requests = door_cm_drop(id, NULL);
		leave_channel(id);
		id->channel = NULL;
	}
	free_groups(id);
	reported = id->reported;
	adapter = id->adapter;
	id->adapter = NULL;
	door_cm_unlock();
	pthread_mutex_unlock(&id->control);
	while (requests != NULL) {
		struct door_cm_id *next = requests->next;

		requests->next = NULL;
		(void)door_cm_id_end(requests);
		requests = next;
	}
	if (adapter != NULL)
		door_adapter_put(adapter);
	door_cm_id_put(id);
	return reported;
}

void
door_cm_id_set(struct door_cm_id *id, enum door_cm_state state)
{
	door_cm_lock();
	id->state = state;
	door_cm_unlock();
}

enum door_cm_state
door_cm_id_state(const struct door_cm_id *id)
{
	enum door_cm_state state;

	door_cm_lock();
	state = id->state;
	door_cm_unlock();
	return state;
}

/* Under the lock, in the child of a fork. Their memory stays: other objects of the program may point to it. */
void
door_cm_id_forked(void)
{
	struct door_cm_id *id = door_cm_id_after(0);

	for (; id != NULL; id = door_cm_id_after(id->number))
		if (id->reservation >= 0)
			(void)syscall(SYS_close, id->reservation);
	memset(&ids, 0, sizeof(ids));
	memset(&groups, 0, sizeof(groups));
}

/* --- multicast groups -------------------------------------------------------------------------------------- */

struct door_cm_group *
door_cm_group_enter(struct door_cm_id *id, uint64_t uid)
{
	struct door_cm_group *group = (struct door_cm_group *)calloc(1, sizeof(*group));

	if (group == NULL)
		return NULL;
	group->number = number_enter(&groups, group);
	if (group->number == 0) {
		free(group);
		return NULL;
	}
	group->id = id;
	group->uid = uid;
	group->next = id->groups;
	id->groups = group;
	return group;
}

int
door_cm_group_leave(struct door_cm_channel *channel, uint32_t number, uint32_t *reported)
{
	struct door_cm_group *group, **link;
	int error = ENOENT;

	door_cm_lock();
	group = (struct door_cm_group *)number_find(&groups, number);
	if (group != NULL)
		error = group->id->channel == channel ? 0 : EINVAL;
	if (error == 0) {
		(void)door_cm_drop(group->id, group);
		for (link = &group->id->groups; *link != group; link = &(*link)->next)
			;
		*link = group->next;
		number_leave(&groups, number);
		*reported = group->reported;
		free(group);
	}
	door_cm_unlock();
	return error;
}
