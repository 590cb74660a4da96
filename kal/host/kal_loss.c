/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "kal_loss.h"

#include <pthread.h>
#include <stddef.h>

#include "ri_owned.h"

static pthread_mutex_t list_lock =
	PTHREAD_MUTEX_INITIALIZER; /* held while the function of one of them runs */
static struct kal_loss *list;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The objects of the parent are not the child's, and a thread of the parent may have owned the lock. */
static void
loss_forked(void)
{
	pthread_mutex_init(&list_lock, NULL);
	list = NULL;
}

static void
loss_register_fork(void)
{
	(void)pthread_atfork(NULL, NULL, loss_forked);
}

/* The caller owns the lock. */
static void
loss_unlink(struct kal_loss *loss)
{
	RI_ASSERT_OWNED(&list_lock);
	if (loss->at == NULL)
		return;
	*loss->at = loss->next;
	if (loss->next != NULL)
		loss->next->at = loss->at;
	loss->at = NULL;
}

void
kal_loss_begin(struct kal_loss *loss, void (*fire)(void *arg), void *arg)
{
	pthread_once(&once, loss_register_fork);
	pthread_mutex_lock(&list_lock);
	*loss = (struct kal_loss){.next = list, .at = &list, .fire = fire, .arg = arg};
	if (list != NULL)
		list->at = &loss->next;
	list = loss;
	pthread_mutex_unlock(&list_lock);
}

void
kal_loss_end(struct kal_loss *loss)
{
	pthread_mutex_lock(&list_lock);
	loss_unlink(loss);
	pthread_mutex_unlock(&list_lock);
}

void
kal_loss_fire(void)
{
	pthread_mutex_lock(&list_lock);
	while (list != NULL) {
		struct kal_loss *loss = list;

		loss_unlink(loss);
		loss->fire(loss->arg);
	}
	pthread_mutex_unlock(&list_lock);
}
