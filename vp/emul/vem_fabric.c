/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The fabric: its references, its addresses, and the pairs of connected queue pairs.
 *
 * All adapters of one personality that were opened with the same host table are nodes of one fabric. Every
 * address of this machine is an address of the fabric, so applications can use the same addresses as on a
 * real network.
 */
#include "vem_link.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "vem_tap.h"
#include "vem_wire.h"
#include "vsw_order.h"
#include "vsw_relax.h"

/* --- fabrics ------------------------------------------------------------------------------ */

static pthread_mutex_t fabrics_lock = PTHREAD_MUTEX_INITIALIZER;
static struct vem_fabric *fabrics;
static uint32_t fabrics_made;

/* The child of a fork has fabrics of its own: the parent's adapters, listeners and connections are not reachable from it. */
static void
fabrics_forked(void)
{
	pthread_mutex_init(&fabrics_lock, NULL);
	fabrics = NULL;
}

__attribute__((constructor)) static void
fabrics_watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, fabrics_forked);
}

/* With the lock of all fabrics: the fabric with that number, or NULL. */
static struct vem_fabric *
fabric_numbered(uint32_t number)
{
	struct vem_fabric *fabric = fabrics;

	while (fabric != NULL && fabric->number != number)
		fabric = fabric->next;
	return fabric;
}

static struct vem_fabric *
fabric_create(const struct ri_host *host, enum vem_personality personality, bool between)
{
	struct vem_fabric *fabric = calloc(1, sizeof(*fabric));

	if (fabric == NULL)
		return NULL;
	vsw_order_setup(); /* before the first pair is made */
	fabric->host = host;
	fabric->personality = personality;
	fabric->between = between;
	do
		fabric->number = ++fabrics_made & ((1u << VEM_FABRIC_BITS) - 1);
	while (fabric_numbered(fabric->number) != NULL);
	fabric->last_port = 32767;
	fabric->last_service = 0x1000000;
	pthread_mutex_init(&fabric->lock, NULL);
	vsw_list_begin(&fabric->listens);
	vsw_list_begin(&fabric->conns);
	vsw_list_begin(&fabric->queries);
	for (uint32_t i = 0; i < VEM_UD_ROWS; i++) {
		vsw_list_begin(&fabric->numbered[i]);
		vsw_list_begin(&fabric->ud_rows[i]);
		vsw_list_begin(&fabric->groups[i]);
	}
	host->random(host->self, &fabric->last_qpn, sizeof(fabric->last_qpn));
	if (between && vem_shm_open(fabric) == NULL) {
		pthread_mutex_destroy(&fabric->lock);
		free(fabric);
		return NULL;
	}
	fabric->next = fabrics;
	fabrics = fabric;
	return fabric;
}

struct vem_fabric *
vem_fabric_get(const struct ri_host *host, enum vem_personality personality, bool between)
{
	pthread_mutex_lock(&fabrics_lock);
	struct vem_fabric *fabric = fabrics;
	while (fabric != NULL && (fabric->host != host || fabric->personality != personality ||
				  fabric->between != between))
		fabric = fabric->next;
	if (fabric == NULL)
		fabric = fabric_create(host, personality, between);
	if (fabric != NULL)
		fabric->opens++;
	pthread_mutex_unlock(&fabrics_lock);
	return fabric;
}

struct vem_fabric *
vem_fabric_of_request(uint64_t id)
{
	uint32_t number = id & ((1u << VEM_FABRIC_BITS) - 1);

	pthread_mutex_lock(&fabrics_lock);
	struct vem_fabric *fabric = fabric_numbered(number);
	if (fabric != NULL)
		fabric->opens++;
	pthread_mutex_unlock(&fabrics_lock);
	return fabric;
}

void
vem_fabric_put(struct vem_fabric *fabric)
{
	pthread_mutex_lock(&fabrics_lock);
	bool last = --fabric->opens == 0;
	for (struct vem_fabric **at = &fabrics; last && *at != NULL; at = &(*at)->next) {
		if (*at == fabric) {
			*at = fabric->next;
			break;
		}
	}
	pthread_mutex_unlock(&fabrics_lock);
	if (!last)
		return;
	if (fabric->shm != NULL)
		vem_shm_close(fabric->shm);
	pthread_mutex_destroy(&fabric->lock);
	free(fabric);
}

/* --- addresses ---------------------------------------------------------------------------- */

static const struct ri_addr loopback4 = {.family = RI_ADDR_IPV4, .octets = {127, 0, 0, 1}};
static const struct ri_addr loopback6 = {.family = RI_ADDR_IPV6, .octets = {[15] = 1}};
static const struct ri_addr own_gid = {
	.family = RI_ADDR_GID,
	.octets = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 'e', 'm', 'u', 'l', 0, 0, 1}};

/* A GID has the form of an IPv6 address, and every IPv6 address of this machine is a GID, too. */
static bool
same_family(const struct ri_addr *a, const struct ri_addr *b)
{
	bool wide_a = a->family == RI_ADDR_IPV6 || a->family == RI_ADDR_GID;
	bool wide_b = b->family == RI_ADDR_IPV6 || b->family == RI_ADDR_GID;

	return a->family == b->family || (wide_a && wide_b);
}

static bool
same_octets(const struct ri_addr *a, const struct ri_addr *b)
{
	return same_family(a, b) &&
	       memcmp(a->octets, b->octets, a->family == RI_ADDR_IPV4 ? 4 : 16) == 0;
}

static bool
interface_has(const struct ifaddrs *ifa, const struct ri_addr *addr)
{
	if (ifa->ifa_addr == NULL)
		return false;
	if (ifa->ifa_addr->sa_family == AF_INET && addr->family == RI_ADDR_IPV4) {
		struct sockaddr_in sin;
		memcpy(&sin, ifa->ifa_addr, sizeof(sin));
		return memcmp(&sin.sin_addr, addr->octets, 4) == 0;
	}
	if (ifa->ifa_addr->sa_family == AF_INET6 && addr->family != RI_ADDR_IPV4) {
		struct sockaddr_in6 sin6;
		memcpy(&sin6, ifa->ifa_addr, sizeof(sin6));
		return memcmp(&sin6.sin6_addr, addr->octets, 16) == 0;
	}
	return false;
}

static bool
machine_has(const struct ri_addr *addr)
{
	struct ifaddrs *all = NULL;
	bool found = false;

	if (getifaddrs(&all) != 0)
		return false;
	for (const struct ifaddrs *ifa = all; ifa != NULL && !found; ifa = ifa->ifa_next)
		found = interface_has(ifa, addr);
	freeifaddrs(all);
	return found;
}

bool
vem_addr_is_local(const struct vem_fabric *fabric, const struct ri_addr *addr)
{
	switch (addr->family) {
	case RI_ADDR_IPV4:
		return addr->octets[0] == 127 || machine_has(addr);
	case RI_ADDR_IPV6:
		return same_octets(addr, &loopback6) || machine_has(addr);
	case RI_ADDR_GID:
		return fabric->personality == VEM_IB &&
		       (same_octets(addr, &own_gid) || same_octets(addr, &loopback6) ||
			machine_has(addr));
	default:
		return false;
	}
}

uint32_t
vem_addrs(const struct vem_fabric *fabric, struct ri_addr addrs[RI_PORT_ADDR_MAX])
{
	uint32_t count = 0;

	addrs[count++] = loopback4;
	addrs[count++] = loopback6;
	if (fabric->personality == VEM_IB)
		addrs[count++] = own_gid;
	return count;
}

bool
vem_addr_source(const struct vem_fabric *fabric, const struct ri_addr *peer, struct ri_addr *local)
{
	if (!vem_addr_is_local(fabric, peer))
		return false;
	if (local->family != RI_ADDR_NONE)
		return same_family(local, peer) && vem_addr_is_local(fabric, local);
	*local = *peer;
	if (peer->family == RI_ADDR_IPV4 && peer->octets[0] == 127)
		*local = loopback4;
	return true;
}

/* --- pairs -------------------------------------------------------------------------------- */

struct vem_end {
	alignas(VSW_CACHE_LINE) atomic_uint uses; /* by any thread */
	atomic_bool driven; /* a use by the thread that runs the other end's send queue */
	_Atomic(struct vem_qp *) qp;
};

struct vem_pair {
	struct vem_end end[2];
	atomic_uint refs;
};

struct vem_qp *
vem_peer_get(struct vem_qp *qp)
{
	struct vem_end *end = &qp->pair->end[!qp->side];

	atomic_fetch_add(&end->uses, 1);
	struct vem_qp *peer = atomic_load(&end->qp);
	if (peer == NULL)
		atomic_fetch_sub_explicit(&end->uses, 1, memory_order_release);
	return peer;
}

void
vem_peer_put(struct vem_qp *qp)
{
	atomic_fetch_sub_explicit(&qp->pair->end[!qp->side].uses, 1, memory_order_release);
}

/* There is one such use at a time, so a flag is enough. It needs no locked instruction: vem_pair_leave pays for the order. */
struct vem_qp *
vem_peer_enter(struct vem_qp *qp)
{
	struct vem_end *end = &qp->pair->end[!qp->side];

	if (ri_order_is_light(&vsw_order_light)) {
		atomic_store_explicit(&end->driven, true, memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
	} else {
		atomic_store(&end->driven, true);
	}
	struct vem_qp *peer = atomic_load(&end->qp);
	if (peer == NULL)
		vem_peer_exit(qp);
	return peer;
}

void
vem_peer_exit(struct vem_qp *qp)
{
	atomic_store_explicit(&qp->pair->end[!qp->side].driven, false, memory_order_release);
}

enum ri_status
vem_pair_create(struct vem_qp *active, struct vem_qp *passive)
{
	void *pages = NULL;

	if (posix_memalign(&pages, VSW_CACHE_LINE, sizeof(struct vem_pair)) != 0)
		return RI_ERR_RESOURCES;

	struct vem_pair *pair = memset(pages, 0, sizeof(*pair));
	atomic_store(&pair->end[0].qp, active);
	atomic_store(&pair->end[1].qp, passive);
	atomic_store(&pair->refs, 2);
	active->side = 0;
	active->pair = pair;
	vem_wire_pair(active, passive);
	vem_tap_pair(active, passive);
	passive->side = 1; /* of one that is connected with itself both ends are this one */
	passive->pair = pair;
	return RI_SUCCESS;
}

void
vem_pair_leave(struct vem_qp *qp)
{
	struct vem_pair *pair = qp->pair;

	if (pair == NULL)
		return;

	unsigned mine = 0;

	for (unsigned side = 0; side < 2; side++) {
		struct vem_end *end = &pair->end[side];

		if (atomic_load(&end->qp) != qp)
			continue;
		mine++;
		atomic_store(&end->qp, NULL);
		ri_order_others(&vsw_order_light);
		for (unsigned round = 0; atomic_load(&end->uses) != 0 || atomic_load(&end->driven);
		     round++)
			vsw_relax(qp->rnic->host, round);
	}
	qp->pair = NULL;
	if (atomic_fetch_sub(&pair->refs, mine) == mine)
		free(pair);
}
