/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Datagrams to other processes.
 *
 * A datagram goes through a link that this process has dialed, by the name of the receiver's block of numbers. Links that other
 * processes have dialed are not used: such a process could claim any numbers, while the process that listens at the name owns the block.
 * A link for datagrams stays until one of its processes ends.
 *
 * Groups: a group has GROUP_SLOTS names, and a process with members of the group takes the first free one. A sender has
 * a link for each name that is taken. Before each datagram it looks for a new process, by a connect to the first free
 * name, which the next process takes; and every LOOK_AGAIN it tries all names, since processes that end leave gaps. The
 * receiving process delivers to its own members, so if a process takes a name for another purpose, a datagram is copied
 * there and dropped.
 *
 * A sender waits for room in a ring for at most UD_PATIENCE, and for a new link for at most UD_GREETING. Then it drops the datagram, and
 * drops those that follow without waiting, until the link has room again. So a receiver that has stopped delays its senders only
 * once. The sender waits at all because programs expect that a receiver that works gets most of its datagrams.
 *
 * Threads: senders own vem_qp::tx and look for links under vem_shm::ud_lock. The service thread makes links (dial_all). A link is
 * removed under that lock, and freed when vem_link::senders is 0.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ri_calls.h"
#include "vem_fault.h"
#include "vem_link_path.h"
#include "vem_remote.h"
#include "vem_tap.h"
#include "vem_ud.h"
#include "vsw_relax.h"

#define GROUP       (UINT64_C(1) << 63) /* in the key of a link: it is a name of a group */
#define GROUP_SLOTS 64u
#define UD_PATIENCE UINT64_C(500000000)  /* ns, for room */
#define UD_GREETING UINT64_C(5000000000) /* ns, for a link that begins */
#define UD_LINGER   UINT64_C(200000000)  /* ns: programs send, and destroy at once */
#define LOOK_AGAIN  100000000u           /* ns */

/* --- keys and names ----------------------------------------------------------------------- */

/* The key of the first name of a group. Groups may share keys, see above. */
static uint64_t
key_of_group(const uint8_t gid[16])
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (unsigned i = 0; i < 16; i++)
		sum = (sum ^ gid[i]) * UINT64_C(0x100000001b3);
	return GROUP | (sum & ~(uint64_t)(GROUP_SLOTS - 1));
}

static void
name_of_key(const struct vem_shm *shm, uint64_t key, char name[VEM_PLACE_NAME])
{
	if ((key & GROUP) == 0)
		vem_shm_name_of_block(shm, (uint32_t)key, name);
	else
		(void)snprintf(name, VEM_PLACE_NAME, "ib.group-%016llx", (unsigned long long)key);
}

/* --- links -------------------------------------------------------------------------------- */

/* With ud_lock. */
static struct vem_link *
link_find(const struct vem_shm *shm, uint64_t key)
{
	unsigned linked = atomic_load_explicit(&shm->linked, memory_order_acquire);

	for (unsigned i = 0; i < linked; i++) {
		struct vem_link *link = atomic_load_explicit(&shm->links[i], memory_order_acquire);

		if (link != NULL && link->key == key &&
		    !atomic_load_explicit(&link->broken, memory_order_relaxed))
			return link;
	}
	return NULL;
}

/* Begin a use of the link with that key, for datagrams; NULL: no link has it. Ends with link_put. */
static struct vem_link *
link_get(struct vem_shm *shm, uint64_t key)
{
	vsw_lock(&shm->ud_lock);
	struct vem_link *link = link_find(shm, key);
	if (link != NULL)
		atomic_fetch_add(&link->senders, 1);
	vsw_unlock(&shm->ud_lock);
	return link;
}

static void
link_put(struct vem_link *link)
{
	atomic_fetch_sub(&link->senders, 1);
}

void
vem_remote_ud_unlink(struct vem_link *link)
{
	struct vem_shm *shm = link->shm;

	vsw_lock(&shm->ud_lock);
	link->key = VEM_KEY_NONE;
	vsw_unlock(&shm->ud_lock);
	for (unsigned round = 0; atomic_load(&link->senders) != 0; round++)
		vsw_relax(shm->host, round); /* for one copy */
}

/* With ud_lock. */
static bool
is_dialed(const struct vem_shm *shm, uint64_t key)
{
	for (unsigned i = 0; i < shm->dial_count; i++)
		if (shm->dials[i].key == key)
			return true;
	return false;
}

/*
 * No link has that key: connect to its process soon. False: the datagram is lost, because no
 * process has the name, too many connections are being made, or one to that name failed a moment
 * ago.
 */
static bool
dial_soon(struct vem_shm *shm, uint64_t key)
{
	uint64_t now = shm->host->now(shm->host->self);
	char name[VEM_PLACE_NAME];
	bool known, vain, added = false;
	const char *call;
	int fd;

	vsw_lock(&shm->ud_lock);
	known = is_dialed(shm, key) || link_find(shm, key) != NULL;
	vain = shm->undialed == key && now - shm->undialed_at < LOOK_AGAIN;
	vsw_unlock(&shm->ud_lock);
	if (known || vain)
		return known;
	name_of_key(shm, key, name);
	fd = vem_place_connect(&shm->place, name, &call);
	if (fd < 0) {
		vem_shm_refused(shm, call, errno);
		return false;
	}
	vsw_lock(&shm->ud_lock);
	known = is_dialed(shm, key);
	if (!known && shm->dial_count < VEM_DIALS) {
		shm->dials[shm->dial_count++] = (struct vem_dial){.key = key, .fd = fd};
		added = true;
	}
	vsw_unlock(&shm->ud_lock);
	if (added)
		shm->host->task_run(shm->host->self, &shm->dial);
	else
		ri_close(fd);
	return known || added;
}

/* vem_shm::dial, on the service thread: make links of what senders have dialed. A dial is in the list until its link is found. */
void
vem_remote_ud_dial_all(void *arg)
{
	struct vem_shm *shm = arg;

	for (;;) {
		char name[VEM_PLACE_NAME] = {0};
		struct vem_dial dial = {.fd = -1};

		pthread_mutex_lock(&shm->fabric->lock);
		vsw_lock(&shm->ud_lock);
		bool any = shm->dial_count != 0;
		if (any)
			dial = shm->dials[0];
		vsw_unlock(&shm->ud_lock);
		struct vem_link *link = NULL;
		if (any && !shm->closing) {
			name_of_key(shm, dial.key, name);
			link = vem_link_over(shm, dial.fd, name);
		} else if (any) {
			ri_close(dial.fd);
		}
		vsw_lock(&shm->ud_lock);
		if (link != NULL) {
			link->key = dial.key;
		} else if (any) {
			/* Those that wait for it would dial it again at once, for as long as they wait. */
			shm->undialed = dial.key;
			shm->undialed_at = shm->host->now(shm->host->self);
		}
		if (any)
			shm->dials[0] = shm->dials[--shm->dial_count];
		vsw_unlock(&shm->ud_lock);
		pthread_mutex_unlock(&shm->fabric->lock);
		if (!any)
			return;
		vem_ud_go_on(shm->fabric);
	}
}

bool
vem_remote_ud_block_is_good(const struct vem_link *link, uint32_t block)
{
	return link->key == VEM_KEY_NONE || (link->key & GROUP) != 0 || link->key == block;
}

/* --- sending ------------------------------------------------------------------------------ */

/* The send queue waits for a link. */
static void
wait_begin(struct vem_qp *qp, uint64_t patience)
{
	const struct ri_host *host = qp->rnic->host;
	uint64_t until = host->now(host->self) + patience;

	if (atomic_load(&qp->rnr_until) != 0)
		return;
	atomic_store(&qp->rnr_until, until);
	host->timer_start(host->self, &qp->rnr_timer, until);
}

/* It is sent, or dropped. */
static bool
wait_end(struct vem_qp *qp)
{
	atomic_store(&qp->ud_waits, false);
	if (atomic_load(&qp->rnr_until) != 0)
		atomic_store(&qp->rnr_until, 0);
	return true;
}

/* Send or drop it. False: it waits. `link`: there is one with that key. */
static bool
link_takes(struct vem_qp *qp, struct vem_link *link, const struct vem_datagram *datagram,
	   bool *there)
{
	const struct vem_wire wire = {.kind = VEM_WIRE_DATAGRAM,
				      .to = qp->tx_wqe->u.ud.qpn,
				      .number = datagram->from,
				      .flags =
					      datagram->flags & (RI_WR_SOLICITED | RI_WR_IMMEDIATE),
				      .extra = datagram->extra,
				      .length = datagram->length,
				      .stag = datagram->key};
	const struct vem_octets octets = {.front = datagram->grh,
					  .front_length = VEM_GRH,
					  .spans = datagram->octets,
					  .length = datagram->length};
	bool late = atomic_load(&qp->rnr_until) == VEM_RNR_LATE, lost = false;

	if (vem_link_write(link, &wire, &octets, &lost)) {
		atomic_store_explicit(&link->stuck, false, memory_order_relaxed);
		return true;
	}
	*there = !lost;
	if (late)
		atomic_store(&link->stuck, true);
	return lost || atomic_load(&link->stuck) || atomic_load(&link->broken);
}

/* To the process with that name; false: the datagram waits for it. */
static bool
key_takes(struct vem_qp *qp, uint64_t key, const struct vem_datagram *datagram, bool *there)
{
	struct vem_shm *shm = qp->rnic->fabric->shm;
	bool done, up = false;

	atomic_store(&qp->ud_waits, true); /* first: what it waits for may come at once */
	struct vem_link *link = link_get(shm, key);
	if (link != NULL) {
		up = atomic_load(&link->up);
		done = link_takes(qp, link, datagram, there);
		link_put(link);
	} else {
		done = atomic_load(&qp->rnr_until) == VEM_RNR_LATE || !dial_soon(shm, key);
	}
	if (done)
		return wait_end(qp);
	wait_begin(qp, up ? UD_PATIENCE : UD_GREETING);
	return false;
}

/* The port is down; otherwise a capture may get the datagram. */
static __attribute__((cold, noinline)) bool
is_offline(struct vem_qp *qp)
{
	if (vem_fault_offline(qp->rnic))
		return true;
	vem_tap_datagram(qp, NULL);
	return false;
}

bool
vem_remote_ud_send(struct vem_qp *qp, const struct vem_datagram *datagram, bool *there)
{
	if ((vem_fault_apart(qp->rnic) && is_offline(qp)) ||
	    atomic_load(&qp->rnic->fabric->shm->forked))
		return wait_end(qp);
	return key_takes(qp, qp->tx_wqe->u.ud.qpn >> VEM_BLOCK_BITS, datagram, there);
}

/* Is it a name of this process, which delivers to its members itself? */
static bool
is_own(struct vem_shm *shm, uint64_t key)
{
	bool own = false;

	vsw_lock(&shm->ud_lock);
	for (const struct vem_group *group = shm->groups; group != NULL; group = group->next)
		own = own || group->key == key;
	vsw_unlock(&shm->ud_lock);
	return own;
}

static bool
has_link(struct vem_shm *shm, uint64_t key)
{
	vsw_lock(&shm->ud_lock);
	bool has = link_find(shm, key) != NULL;
	vsw_unlock(&shm->ud_lock);
	return has;
}

/* A datagram to a group begins. */
static void
around_begin(struct vem_qp *qp, uint64_t group)
{
	const struct ri_host *host = qp->rnic->host;
	struct vem_around *around = &qp->tx_around;
	uint64_t now = host->now(host->self);

	around->missed = false;
	around->all = around->group != group || now - around->looked >= LOOK_AGAIN;
	around->group = group;
	if (around->all)
		around->looked = now;
}

bool
vem_remote_ud_around(struct vem_qp *qp, const struct vem_datagram *datagram, bool *there)
{
	struct vem_shm *shm = qp->rnic->fabric->shm;
	struct vem_around *around = &qp->tx_around;
	uint64_t group = key_of_group(datagram->grh + 24);

	if ((vem_fault_apart(qp->rnic) && is_offline(qp)) || atomic_load(&shm->forked)) {
		/* The next one begins with the first process. */
		around->slot = 0;
		return wait_end(qp);
	}
	if (around->slot == 0 && atomic_load(&qp->rnr_until) == 0)
		around_begin(qp, group);
	for (; around->slot < GROUP_SLOTS && *there; around->slot++) {
		uint64_t key = group + around->slot;

		if (is_own(shm, key))
			continue;
		if (!has_link(shm, key) && atomic_load(&qp->rnr_until) == 0) {
			if (!around->all && around->missed)
				continue;
			if (!dial_soon(shm, key)) {
				around->missed = true;
				continue;
			}
		}
		if (!key_takes(qp, key, datagram, there))
			return false;
	}
	around->slot = 0;
	return true;
}

void
vem_remote_ud_linger(struct vem_qp *qp)
{
	const struct ri_host *host = qp->rnic->host;
	uint64_t until = host->now(host->self) + UD_LINGER;

	if (qp->rnic->fabric->shm == NULL || atomic_load(&qp->rnic->fabric->shm->forked))
		return;
	for (unsigned round = 0; !vem_ud_is_idle(qp) && host->now(host->self) < until; round++)
		vsw_relax(host, round);
}

/* --- receiving ---------------------------------------------------------------------------- */

void
vem_remote_ud_entry(struct vem_link *link, const struct vem_wire *wire,
		    const struct vem_ring_entry *entry)
{
	struct vem_fabric *fabric = link->shm->fabric;
	struct vsw_spans octets;
	uint8_t grh[VEM_GRH];

	if (__builtin_expect(link->path.drop != 0 || link->lost_to != 0, 0) &&
	    vem_link_path_loses(link))
		return;
	if (fabric->personality != VEM_IB || entry->length < VEM_GRH ||
	    entry->length - VEM_GRH != wire->length || wire->length > VEM_MAX_DATAGRAM) {
		vem_link_break(link, "the length of a datagram cannot be");
		return;
	}
	if (wire->number >> VEM_BLOCK_BITS != link->block)
		return; /* it is not the sender's number */
	memcpy(grh, entry->octets, sizeof(grh));
	vsw_spans_of(&octets, entry->octets + VEM_GRH, wire->length);

	const struct vem_datagram datagram = {.grh = grh,
					      .octets = &octets,
					      .length = wire->length,
					      .from = wire->number,
					      .key = wire->stag,
					      .flags = wire->flags,
					      .extra = wire->extra};

	vem_ud_arrived(fabric, wire->to, &datagram);
}

/* --- groups ------------------------------------------------------------------------------- */

/* With the fabric's lock. */
static struct vem_group *
group_find(const struct vem_shm *shm, uint64_t key)
{
	struct vem_group *group = shm->groups;

	while (group != NULL &&
	       ((group->key & ~(uint64_t)(GROUP_SLOTS - 1)) != key || group->members == 0))
		group = group->next;
	return group;
}

/* With the fabric's lock. */
static enum ri_status
group_new(struct vem_shm *shm, uint64_t key)
{
	struct vem_group *group = calloc(1, sizeof(*group));
	enum ri_status status = group != NULL ? RI_ERR_IN_USE : RI_ERR_RESOURCES;

	for (uint32_t slot = 0; slot < GROUP_SLOTS && status == RI_ERR_IN_USE; slot++) {
		group->key = key + slot;
		name_of_key(shm, group->key, group->text);
		status = vem_shm_name_new(shm, group->text, group->key, &group->name);
	}
	if (status != RI_SUCCESS) {
		free(group);
		return RI_ERR_RESOURCES;
	}
	group->members = 1;
	vsw_lock(&shm->ud_lock);
	group->next = shm->groups;
	shm->groups = group;
	vsw_unlock(&shm->ud_lock);
	return RI_SUCCESS;
}

enum ri_status
vem_remote_ud_join(struct vem_fabric *fabric, const uint8_t gid[16])
{
	uint64_t key = key_of_group(gid);
	enum ri_status status = RI_SUCCESS;

	pthread_mutex_lock(&fabric->lock);
	struct vem_group *group = group_find(fabric->shm, key);
	if (group != NULL)
		group->members++;
	else
		status = group_new(fabric->shm, key);
	pthread_mutex_unlock(&fabric->lock);
	return status;
}

/* With the fabric's lock: senders that have dialed the name must look for its next owner. */
static void
group_end(struct vem_shm *shm, const struct vem_group *group)
{
	for (unsigned i = 0; i < VEM_LINKS_MAX; i++) {
		struct vem_link *link = atomic_load(&shm->links[i]);

		if (link != NULL && link->via == group->key)
			vem_link_break(link, "this process has left the group");
	}
	vsw_lock(&shm->ud_lock);
	for (struct vem_group **at = &shm->groups; *at != NULL; at = &(*at)->next) {
		if (*at == group) {
			*at = group->next;
			break;
		}
	}
	vsw_unlock(&shm->ud_lock);
}

void
vem_remote_ud_part(struct vem_fabric *fabric, const uint8_t gid[16])
{
	pthread_mutex_lock(&fabric->lock);
	struct vem_group *group = group_find(fabric->shm, key_of_group(gid));
	bool last = group != NULL && --group->members == 0;
	pthread_mutex_unlock(&fabric->lock);
	if (!last)
		return;
	vem_shm_name_give(group->name); /* it waits for a connect that is being accepted */
	pthread_mutex_lock(&fabric->lock);
	group_end(fabric->shm, group);
	pthread_mutex_unlock(&fabric->lock);
	free(group);
}
