/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The table of connection requests by their identifiers, cn_est_id [IT 2.3], [IT 9.4], and of requests for datagram
 * services by their identifiers [IT 13]. Both kinds use one sequence of numbers.
 *
 * An identifier is a number that the process never uses twice. It is valid until a call that consumes it succeeds, or
 * until the request ends. A call takes its request while it makes a kAL call, and owns no lock then; a request that ends
 * meanwhile is marked, and freed when the call gives it back. There is one table for the process, since it_reject has
 * no other argument; table_lock is an event lock under which no other lock is taken. In a forked child the table is empty: the
 * requests belong to adapters of the parent.
 */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ri_owned.h"
#include "ual.h"
#include "ual_request.h"

#define BUCKETS 256u

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ual_request *table[BUCKETS];
static it_cn_est_identifier_t last_id;

static void
requests_forked(void)
{
	pthread_mutex_init(&table_lock, NULL);
	memset(table, 0, sizeof(table));
}

__attribute__((constructor)) static void
requests_watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, requests_forked);
}

static struct ual_request **
bucket_of(it_cn_est_identifier_t id)
{
	return &table[id % BUCKETS];
}

static struct ual_request *
request_find(it_cn_est_identifier_t id)
{
	struct ual_request *request = *bucket_of(id);

	RI_ASSERT_OWNED(&table_lock);
	while (request != NULL && request->id != id)
		request = request->next;
	return request;
}

static void
request_remove(struct ual_request *request)
{
	struct ual_request **link = bucket_of(request->id);

	RI_ASSERT_OWNED(&table_lock);
	while (*link != request)
		link = &(*link)->next;
	*link = request->next;
	free(request);
}

/* The request has ended: free it now, or when the call that has it gives it back. */
static void
request_end(struct ual_request *request)
{
	RI_ASSERT_OWNED(&table_lock);
	if (request->busy)
		request->gone = true;
	else
		request_remove(request);
}

struct ual_request *
ual_request_add(const struct ual_request *what)
{
	struct ual_request *request = malloc(sizeof(*request));
	struct ual_request **bucket;

	if (request == NULL)
		return NULL;
	*request = *what;
	request->busy = request->gone = false;
	pthread_mutex_lock(&table_lock);
	request->id = ++last_id;
	bucket = bucket_of(request->id);
	request->next = *bucket;
	*bucket = request;
	pthread_mutex_unlock(&table_lock);
	return request;
}

static struct ual_request *
request_take(it_cn_est_identifier_t id, bool service)
{
	struct ual_request *request;

	pthread_mutex_lock(&table_lock);
	request = request_find(id);
	if (request != NULL &&
	    (request->busy || request->gone || request->awaited || request->service != service))
		request = NULL;
	if (request != NULL) {
		request->busy = true;
		/* While the request is in the table, its adapter exists; from here on the visit keeps the adapter. */
		ual_object_visit(&request->ia->object);
	}
	pthread_mutex_unlock(&table_lock);
	return request;
}

void
ual_request_came(it_cn_est_identifier_t id)
{
	struct ual_request *request;

	pthread_mutex_lock(&table_lock);
	request = request_find(id);
	if (request != NULL)
		request->awaited = false;
	pthread_mutex_unlock(&table_lock);
}

struct ual_request *
ual_request_take(it_cn_est_identifier_t id)
{
	return request_take(id, false);
}

struct ual_request *
ual_request_take_service(it_ud_svc_req_identifier_t id)
{
	return request_take(id, true);
}

void
ual_request_give_back(struct ual_request *request)
{
	struct ual_ia *ia = request->ia;

	pthread_mutex_lock(&table_lock);
	request->busy = false;
	if (request->gone)
		request_remove(request);
	pthread_mutex_unlock(&table_lock);
	ual_object_leave(&ia->object);
}

void
ual_request_used(struct ual_request *request)
{
	struct ual_ia *ia = request->ia;

	pthread_mutex_lock(&table_lock);
	request_remove(request);
	pthread_mutex_unlock(&table_lock);
	ual_object_leave(&ia->object);
}

void
ual_request_gone(const struct ual_ia *ia, uint32_t kal_id)
{
	struct ual_request *request, *next;

	pthread_mutex_lock(&table_lock);
	for (unsigned int i = 0; i < BUCKETS; i++) {
		for (request = table[i]; request != NULL; request = next) {
			next = request->next;
			if (request->ia == ia && request->ep == 0 && request->kal_id == kal_id)
				request_end(request);
		}
	}
	pthread_mutex_unlock(&table_lock);
}

void
ual_request_forget(it_cn_est_identifier_t id)
{
	struct ual_request *request;

	pthread_mutex_lock(&table_lock);
	request = request_find(id);
	if (request != NULL)
		request_end(request);
	pthread_mutex_unlock(&table_lock);
}

void
ual_request_forget_all(const struct ual_ia *ia)
{
	struct ual_request *request, *next;

	pthread_mutex_lock(&table_lock);
	for (unsigned int i = 0; i < BUCKETS; i++) {
		for (request = table[i]; request != NULL; request = next) {
			next = request->next;
			if (request->ia == ia)
				request_end(request);
		}
	}
	pthread_mutex_unlock(&table_lock);
}
