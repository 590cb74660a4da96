/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Doubly linked lists of structs that have an item for each list that they can be in. The caller has the lock of the list. */
#ifndef VSW_ITEM_H
#define VSW_ITEM_H

#include <stdbool.h>
#include <stddef.h>

/* An object in a list; the head of a list is one, too. */
struct vsw_item {
	struct vsw_item *next;
	struct vsw_item *prev;
};

/* The struct around an item, or around any other member. */
#define vsw_of(item_, type_, member_) ((type_ *)(void *)((char *)(item_)-offsetof(type_, member_)))

/* A list without an item. */
static inline void
vsw_list_begin(struct vsw_item *list)
{
	list->next = list->prev = list;
}

static inline bool
vsw_list_empty(const struct vsw_item *list)
{
	return list->next == list;
}

/* Put it at the end. */
static inline void
vsw_list_add(struct vsw_item *list, struct vsw_item *item)
{
	item->next = list;
	item->prev = list->prev;
	list->prev->next = item;
	list->prev = item;
}

/* Take it out of its list, if it is in one. */
static inline void
vsw_list_remove(struct vsw_item *item)
{
	if (item->next == NULL)
		return;
	item->next->prev = item->prev;
	item->prev->next = item->next;
	item->next = item->prev = NULL;
}

#endif /* VSW_ITEM_H */
