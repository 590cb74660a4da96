/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* Lists of objects. An object has an item for each list that it may be in. */
#ifndef VIB_ITEM_H
#define VIB_ITEM_H

#include <stdbool.h>
#include <stddef.h>

/* An item of a doubly linked list; the head of the list is one, too. */
struct vib_item {
	struct vib_item *next;
	struct vib_item *prev;
};

static inline void
vib_list_init(struct vib_item *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool
vib_list_empty(const struct vib_item *head)
{
	return head->next == head;
}

static inline void
vib_list_add(struct vib_item *head, struct vib_item *item)
{
	item->prev = head->prev;
	item->next = head;
	head->prev->next = item;
	head->prev = item;
}

/* The item is then a list of its own, so that it can be removed again. */
static inline void
vib_list_remove(struct vib_item *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	vib_list_init(item);
}

/* The struct around a list item. */
#define vib_of(item_, type_, member_) ((type_ *)(void *)((char *)(item_)-offsetof(type_, member_)))

#endif /* VIB_ITEM_H */
