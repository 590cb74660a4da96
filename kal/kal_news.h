/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Pieces of news on their way to the client. News come up where nobody can be told that there is no memory, so
 * each node is allocated before: a completion queue has its own; connections, requests and questions reserve
 * what they will have to tell when they begin (kal_news_cm_new). Asynchronous events allocate, and fall back on
 * spare nodes of the client.
 */
#ifndef KAL_NEWS_H
#define KAL_NEWS_H

#include <stdbool.h>

#include "kal_call.h"

/* Where a node goes when its news was taken. */
enum kal_news_home {
	KAL_NEWS_HEAP = 0, /* freed */
	KAL_NEWS_OWN,      /* part of a longer-lived object */
	KAL_NEWS_SPARE     /* a spare node of the client */
};

struct kal_news {
	struct kal_news *next;
	bool queued;
	uint8_t home;  /* enum kal_news_home */
	uint32_t kind; /* enum kal_event_kind */
	uint64_t ctx;
};

/* KAL_EVENT_ASYNC. */
struct kal_news_async {
	struct kal_news news;
	struct ri_async_event event;
};

/* KAL_EVENT_CM. */
struct kal_news_cm {
	struct kal_news news;
	struct kal_cm_event event;
};

/* An empty node from the heap; NULL: no memory. */
struct kal_news_cm *kal_news_cm_new(void);
/* One that was not used, or NULL. */
void kal_news_cm_free(struct kal_news_cm *news);

#endif /* KAL_NEWS_H */
