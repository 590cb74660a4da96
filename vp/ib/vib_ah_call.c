/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Address handles over Ethernet. There ibv_create_ah waits until the link address of the neighbour is known, up to several
 * seconds, but a control verb may not wait for a peer [RI 2.1]. So the call has a thread of its own (vib_call.c). A verb waits
 * until that thread has begun and LOCAL_NS more: enough for a neighbour that the kernel knows already. Then the verb returns.
 * Datagrams of the object are lost until the call is done, and always if the neighbour does not exist. A verb that modifies
 * or destroys the object meanwhile drops the call, whose thread destroys the handle that it has made.
 *
 * ri_rnic::ah_lock guards all calls of an adapter and ri_ah::call. It is taken before ri_context::lock. A protection
 * domain that is destroyed while calls use it stays: the last of them deallocates it. The adapter is not closed
 * before they are all done.
 */
#include <errno.h>
#include <stdlib.h>

#include "vib_ah.h"
#include "vib_objects.h"

#define LOCAL_NS (20 * UINT64_C(1000000))

struct vib_ah_call {
	struct ri_rnic *rnic;
	struct ri_pd *pd;
	struct ibv_ah_attr attr;
	struct ri_parker parker; /* of the verb */
	struct vib_path *path;   /* for an object that gets what is made */
	/* Under ri_rnic::ah_lock: */
	bool given;       /* the verb has given it away */
	struct ri_ah *ah; /* that gets what is made, when it was given away; NULL: it is dropped */
	bool began;
	bool done;
	struct ibv_ah *made;
	int error;
};

/* --- the end of a call ------------------------------------------------------------------------- */

static void
call_free(struct vib_ah_call *call)
{
	call->rnic->host->parker_close(call->rnic->host->self, &call->parker);
	free(call->path);
	free(call);
}

/* One call less uses the domain. The caller owns the lock. */
static void
pd_leave(struct ri_pd *pd)
{
	if (--pd->calls != 0 || !pd->deferred)
		return;
	(void)ibv_dealloc_pd(pd->pd);
	free(pd);
}

/* The call is done, and its result was passed on: call_tell reports it. The caller owns the lock. */
static int
call_settle(struct vib_ah_call *call)
{
	struct ri_ah *ah = call->ah;
	int error = 0;

	if (ah != NULL)
		ah->call = NULL;
	if (ah != NULL && call->made != NULL) {
		call->path->ah = call->made;
		vib_ah_replace(ah, call->path);
		call->path = NULL;
	} else if (call->made != NULL) {
		(void)ibv_destroy_ah(call->made);
	} else if (ah != NULL) {
		error = call->error != 0 ? call->error : EHOSTUNREACH;
	}
	call_free(call);
	return error;
}

/* Why an object does not get a path, if that is so. The lock is not owned. */
static void
call_tell(const struct ri_rnic *rnic, int error)
{
	if (error != 0)
		vib_log(rnic, RI_LOG_WARNING,
			"a neighbour is not found, so datagrams to it are lost: %s",
			ri_errno_text(error));
}

/* A verb may wait for what happens. The caller owns the lock. */
static void
verb_wake(struct vib_ah_call *call)
{
	const struct ri_host *host = call->rnic->host;

	if (!call->given)
		host->wake(host->self, &call->parker);
}

/* On the thread of the call. */
static void
call_run(void *arg)
{
	struct vib_ah_call *call = (struct vib_ah_call *)arg;
	struct ri_rnic *rnic = call->rnic;
	struct ri_pd *pd = call->pd;
	struct ibv_ah *made;
	int error, lost = 0;

	pthread_mutex_lock(&rnic->ah_lock);
	call->began = true;
	verb_wake(call);
	pthread_mutex_unlock(&rnic->ah_lock);
	errno = 0;
	made = ibv_create_ah(pd->pd, &call->attr);
	error = errno;
	pthread_mutex_lock(&rnic->ah_lock);
	call->done = true;
	call->made = made;
	call->error = error;
	verb_wake(call);
	if (call->given)
		lost = call_settle(call);
	pd_leave(pd);
	pthread_mutex_unlock(&rnic->ah_lock);
	call_tell(rnic, lost);
	/* From here on the adapter may be closed. */
	pthread_mutex_lock(&rnic->ah_lock);
	rnic->ah_calls--;
	pthread_cond_broadcast(&rnic->ah_idle);
	pthread_mutex_unlock(&rnic->ah_lock);
}

/* --- verbs --------------------------------------------------------------------------------------- */

enum ri_status
vib_ah_failure(const struct ri_rnic *rnic, int error)
{
	/* libibverbs resolves the neighbour of a RoCE path itself, and has several ways to say that it finds none. */
	return error == ENOMEM || error == EAGAIN || atomic_load(&rnic->failed)
		       ? vib_failure(rnic, error)
		       : RI_ERR_NO_ROUTE;
}

/* False: it cannot be started. */
static bool
call_start(struct vib_ah_call *call)
{
	struct ri_rnic *rnic = call->rnic;

	pthread_mutex_lock(&rnic->ah_lock);
	rnic->ah_calls++;
	call->pd->calls++;
	pthread_mutex_unlock(&rnic->ah_lock);
	if (vib_call_start(call_run, call) == 0)
		return true;
	pthread_mutex_lock(&rnic->ah_lock);
	rnic->ah_calls--;
	call->pd->calls--;
	pthread_mutex_unlock(&rnic->ah_lock);
	return false;
}

/* Wait until it has begun, which is local work, and a little more. True: it is done. */
static bool
call_await(struct vib_ah_call *call)
{
	const struct ri_host *host = call->rnic->host;
	enum ri_status status = RI_SUCCESS;
	uint64_t until = RI_NEVER;
	bool done;

	pthread_mutex_lock(&call->rnic->ah_lock);
	while (!call->done && (status == RI_SUCCESS || status == RI_ERR_INTERRUPTED)) {
		if (call->began && until == RI_NEVER)
			until = host->now(host->self) + LOCAL_NS;
		pthread_mutex_unlock(&call->rnic->ah_lock);
		status = host->park(host->self, &call->parker, NULL, 0, until);
		pthread_mutex_lock(&call->rnic->ah_lock);
	}
	done = call->done;
	pthread_mutex_unlock(&call->rnic->ah_lock);
	return done;
}

enum ri_status
vib_ah_call(struct ri_pd *pd, const struct ibv_ah_attr *attr, struct ibv_ah **out,
	    struct vib_ah_call **call)
{
	struct ri_rnic *rnic = pd->context->rnic;
	struct vib_ah_call *made = (struct vib_ah_call *)calloc(1, sizeof(*made));
	enum ri_status status;

	*out = NULL;
	*call = NULL;
	if (made == NULL)
		return RI_ERR_RESOURCES;
	made->rnic = rnic;
	made->pd = pd;
	made->attr = *attr;
	made->path = (struct vib_path *)calloc(1, sizeof(*made->path));
	if (made->path == NULL || !call_start(made)) {
		call_free(made);
		return RI_ERR_RESOURCES;
	}
	if (!call_await(made)) {
		*call = made;
		return RI_SUCCESS;
	}
	*out = made->made;
	status = *out != NULL ? RI_SUCCESS : vib_ah_failure(rnic, made->error);
	call_free(made);
	return status;
}

/* The verb gives it to an object, or with NULL drops it. */
static void
call_give(struct vib_ah_call *call, struct ri_ah *ah)
{
	struct ri_rnic *rnic = call->rnic;
	int lost = 0;

	pthread_mutex_lock(&rnic->ah_lock);
	call->given = true;
	call->ah = ah;
	if (ah != NULL)
		ah->call = call;
	if (call->done)
		lost = call_settle(call);
	pthread_mutex_unlock(&rnic->ah_lock);
	call_tell(rnic, lost);
}

void
vib_ah_call_tie(struct vib_ah_call *call, struct ri_ah *ah)
{
	call_give(call, ah);
}

void
vib_ah_call_drop(struct vib_ah_call *call)
{
	if (call != NULL)
		call_give(call, NULL);
}

void
vib_ah_call_untie(struct ri_ah *ah)
{
	struct ri_rnic *rnic = ah->pd->context->rnic;

	pthread_mutex_lock(&rnic->ah_lock);
	if (ah->call != NULL)
		ah->call->ah = NULL;
	ah->call = NULL;
	pthread_mutex_unlock(&rnic->ah_lock);
}

void
vib_ah_calls_end(struct ri_rnic *rnic)
{
	pthread_mutex_lock(&rnic->ah_lock);
	while (rnic->ah_calls != 0)
		pthread_cond_wait(&rnic->ah_idle, &rnic->ah_lock);
	pthread_mutex_unlock(&rnic->ah_lock);
}
