/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The addresses of a station, and when it binds their UDP ports. An adapter that is only queried
 * binds none, so its address stays free for the process that uses it. The loopback interface has a
 * different address for each process. That address is bound when the adapter is opened, so that the
 * adapter reports the address that it will have.
 */
#include <arpa/inet.h>
#include <string.h>
#include <sys/epoll.h>

#include "ri_calls.h"
#include "ri_log.h"
#include "vrc_ip.h"
#include "vro_address.h"
#include "vro_owner.h"
#include "vro_setting.h"
#include "vro_station.h"
#include "vro_tap.h"
#include "vsw_setting.h"

/* Why an address has no socket, in the log. */
static void
address_failed(const struct vro_station *station, const struct ri_addr *addr, enum ri_status status)
{
	const struct ri_log_about about = {.layer = "roce", .adapter = station->name};
	char text[RI_LOG_ADDRESS], owner[VRO_OWNER_TEXT];

	ri_log_addr(addr, 0, text, sizeof(text));
	if (status == RI_ERR_IN_USE) {
		vro_owner_name(addr, owner, sizeof(owner));
		ri_log(station->engine.host, RI_LOG_WARNING, &about,
		       "UDP port 4791 of %s has %s: an address serves one process; %s names "
		       "another address of this host, such as 127.0.0.2",
		       text, owner, vro_settings[VRO_SETTING_ADDRESS].name);
	} else {
		ri_log(station->engine.host, RI_LOG_WARNING, &about,
		       "UDP port 4791 of %s cannot be opened: %s", text, ri_status_name(status));
	}
}

static bool
sharing_wanted(void)
{
	const char *text = vsw_setting_text(&vro_settings[VRO_SETTING_SHARE]);

	return text != NULL && strcmp(text, "on") == 0;
}

/* Share the address of the next socket with other processes, if that is wanted and somebody does it. */
static enum ri_status
address_share(struct vro_station *station, const struct ri_addr *addr, struct ri_share *share)
{
	const struct ri_log_about about = {.layer = "roce", .adapter = station->name};
	enum ri_status status;

	*share = (struct ri_share){
		.addr = *addr, .port = ROCE_UDP_PORT, .scope = station->port.index, .fd = -1};
	if (!sharing_wanted() || station->alone)
		return RI_SUCCESS;
	/* It may take 5 s: who opens or closes another adapter, or forks, does not wait for it. */
	vro_station_let_go();
	status = ri_share(station->engine.host, share);
	vro_station_hold();
	if (status == RI_ERR_UNSUPPORTED) {
		station->alone = true;
		ri_log(station->engine.host, RI_LOG_WARNING, &about,
		       "%s is on, but no kald shares addresses: this process has them alone",
		       vro_settings[VRO_SETTING_SHARE].name);
		return RI_SUCCESS;
	}
	if (status != RI_SUCCESS)
		return status;
	/* Before any number was drawn, and the same at all addresses. */
	station->slot = share->slot;
	station->shared = true;
	if (station->service != NULL) {
		vrc_slot(vrc_service_enter(station->service), share->slot);
		vrc_service_leave(station->service);
	}
	return RI_SUCCESS;
}

static void
address_unshare(struct vro_station *station, struct ri_share *share)
{
	const struct ri_host *host = station->engine.host;

	if (share->fd < 0)
		return;
	share->fd = -1;
	host->share_over(host->self, share);
}

static void
service_over(struct vro_station *station, uint32_t service, uint32_t count)
{
	const struct ri_host *host = station->engine.host;

	for (uint32_t i = 0; i < count; i++)
		if (station->shares[i].fd >= 0)
			(void)host->share_service(host->self, &station->shares[i], service, true);
}

static enum ri_status
service_begin(struct vro_station *station, uint32_t service)
{
	const struct ri_host *host = station->engine.host;
	enum ri_status status = RI_SUCCESS;

	for (uint32_t i = 0; i < station->num_udps; i++) {
		if (station->shares[i].fd >= 0)
			status = host->share_service(host->self, &station->shares[i], service,
						     false);
		if (status == RI_SUCCESS)
			continue;
		service_over(station, service, i);
		return status;
	}
	return RI_SUCCESS;
}

/* A port is one service of connections, and one of datagrams; other services have one id. */
#define IDS(service) ((service)->kind == RI_SERVICE_PORT ? 2u : 1u)

static uint64_t
service_id(const struct ri_service *service, unsigned i)
{
	return vrc_service_id(service, i > 0);
}

/* What another listener of this process hears, too, stays its. */
static void
services_over(struct vro_station *station, const struct vrc_listen *listen,
	      const struct ri_service *service, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct vrc_cm *cm = vrc_service_enter(station->service);
		bool heard = vrc_listen_serves(cm, service_id(service, i), listen);

		vrc_service_leave(station->service);
		if (!heard)
			service_over(station, (uint32_t)service_id(service, i), station->num_udps);
	}
}

enum ri_status
vro_service_begin(struct vro_station *station, const struct vrc_listen *listen,
		  const struct ri_service *service)
{
	enum ri_status status = RI_SUCCESS;

	for (unsigned i = 0; station->shared && i < IDS(service) && status == RI_SUCCESS; i++) {
		status = service_begin(station, (uint32_t)service_id(service, i));
		if (status != RI_SUCCESS)
			services_over(station, listen, service, i);
	}
	return status;
}

void
vro_service_over(struct vro_station *station, const struct vrc_listen *listen,
		 const struct ri_service *service)
{
	if (station->shared)
		services_over(station, listen, service, IDS(service));
}

/* Open the next socket, for this address, and count it. */
static enum ri_status
address_open(struct vro_station *station, const struct ri_addr *addr, uint32_t *count)
{
	struct vro_udp *udp = &station->udps[*count];
	struct ri_share *share = &station->shares[*count];
	const struct ri_log_about about = {.layer = "roce", .adapter = station->name};
	struct epoll_event event = {.events = EPOLLIN};
	enum vro_ident ident = VRO_IDENT_NOT_SEEN;
	enum ri_status status;
	uint8_t gid[16];

	vro_gid_of_addr(gid, addr);
	status = address_share(station, addr, share);
	if (status != RI_SUCCESS)
		return status;
	status = vro_udp_open(udp, gid, station->port.index, share->fd, &ident);
	if (status != RI_SUCCESS && share->fd >= 0)
		ri_close(share->fd);
	if (status == RI_SUCCESS && epoll_ctl(station->epfd, EPOLL_CTL_ADD, udp->fd, &event) != 0) {
		vro_udp_close(udp);
		status = RI_ERR_RESOURCES;
	}
	if (status != RI_SUCCESS) {
		address_unshare(station, share);
		return status;
	}
	if (ident == VRO_IDENT_OTHER)
		ri_log(station->engine.host, RI_LOG_WARNING, &about,
		       "this kernel puts an identification other than 0 into IPv4 packets, so that "
		       "peers with hardware or with the kernel's rxe drop them: use IPv6");
	udp->absent = vro_station_absent;
	udp->denied = vro_station_denied;
	udp->owner = station;
	vro_tap_open(station, udp);
	udp->out = &station->udps[0].own;
	station->opened = ++*count;
	return RI_SUCCESS;
}

/* The address that the setting names instead of those of the interface, or RI_ADDR_NONE. False: the text is no address. */
static bool
address_chosen(struct ri_addr *addr)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}, none[16];
	const char *text = vsw_setting_text(&vro_settings[VRO_SETTING_ADDRESS]);
	uint8_t gid[16];

	*addr = (struct ri_addr){.family = RI_ADDR_NONE};
	if (text == NULL || text[0] == '\0')
		return true;
	if (inet_pton(AF_INET, text, addr->octets) == 1)
		addr->family = RI_ADDR_IPV4;
	else if (inet_pton(AF_INET6, text, addr->octets) == 1 &&
		 memcmp(addr->octets, mapped, sizeof(mapped)) != 0)
		addr->family = RI_ADDR_IPV6;
	else
		return false;
	vro_gid_of_addr(gid, addr);
	return !vro_gid_is_group(gid) && memcmp(addr->octets, none, sizeof(none)) != 0;
}

static bool
is_loopback_first(const struct ri_addr *addr)
{
	static const uint8_t first[4] = {127, 0, 0, 1};

	return addr->family == RI_ADDR_IPV4 && memcmp(addr->octets, first, sizeof(first)) == 0;
}

/* Another process has the loopback's address: take the next one that is free, since each of 127.0.0.0/8 is this host's. */
static enum ri_status
loopback_next(struct vro_station *station, struct ri_addr *addr, uint32_t *count)
{
	const struct ri_log_about about = {.layer = "roce", .adapter = station->name};
	struct ri_addr first = *addr;
	enum ri_status status = RI_ERR_IN_USE;
	char text[RI_LOG_ADDRESS], owner[VRO_OWNER_TEXT];

	for (unsigned last = 2; last < 255 && status == RI_ERR_IN_USE; last++) {
		addr->octets[3] = (uint8_t)last;
		status = address_open(station, addr, count);
	}
	if (status != RI_SUCCESS) {
		*addr = first;
		return status;
	}
	vro_owner_name(&first, owner, sizeof(owner));
	ri_log_addr(addr, 0, text, sizeof(text));
	ri_log(station->engine.host, RI_LOG_INFO, &about, "127.0.0.1 has %s; this process has %s",
	       owner, text);
	return RI_SUCCESS;
}

/* Nobody has looked at the adapter yet, so an address of the loopback may still be another one, or be left out. */
static enum ri_status
loopback_claim(struct vro_station *station)
{
	enum ri_status status = RI_ERR_RESOURCES;
	bool lacked =
		false; /* memory or descriptors for one of them: another attempt may succeed */
	uint32_t count = 0;

	for (uint32_t i = 0; i < station->port.num_addrs; i++) {
		struct ri_addr *addr = &station->port.addrs[i];
		enum ri_status one = address_open(station, addr, &count);

		if (one == RI_ERR_IN_USE && is_loopback_first(addr))
			one = loopback_next(station, addr, &count);
		atomic_store(&station->lost[i], one != RI_SUCCESS);
		if (one == RI_SUCCESS)
			continue;
		lacked |= one == RI_ERR_RESOURCES;
		status = lacked ? RI_ERR_RESOURCES : one;
		if (count == 0)
			address_failed(station, addr, one);
	}
	atomic_store(&station->num_udps, count);
	return count != 0 ? RI_SUCCESS : status;
}

enum ri_status
vro_claim_begin(struct vro_station *station)
{
	const struct ri_log_about about = {.layer = "roce", .adapter = station->name};
	struct ri_addr chosen;
	uint8_t gid[16];

	if (!address_chosen(&chosen)) {
		ri_log(station->engine.host, RI_LOG_WARNING, &about,
		       "%s is not an address of IPv4 or IPv6, such as 127.0.0.2: \"%s\"",
		       vro_settings[VRO_SETTING_ADDRESS].name,
		       vsw_setting_text(&vro_settings[VRO_SETTING_ADDRESS]));
		return RI_ERR_RESOURCES;
	}
	if (chosen.family == RI_ADDR_NONE)
		return station->port.loopback ? loopback_claim(station) : RI_SUCCESS;
	station->port.num_addrs = 1;
	station->port.addrs[0] = chosen;
	vro_gid_of_addr(gid, &chosen);
	if (vro_route_here(gid, station->port.index))
		return RI_SUCCESS;
	address_failed(station, &chosen, RI_ERR_NO_ROUTE);
	return RI_ERR_RESOURCES;
}

static void
sockets_close(struct vro_station *station, uint32_t count)
{
	while (count > 0) {
		station->opened = count - 1;
		/* Others may have the same socket, so that it does not leave the list by itself. */
		(void)epoll_ctl(station->epfd, EPOLL_CTL_DEL, station->udps[--count].fd, NULL);
		vro_udp_close(&station->udps[count]);
		address_unshare(station, &station->shares[count]);
	}
}

/* One address that somebody else has is too much, since this adapter has reported it as its own. One that has gone is not. */
enum ri_status
vro_claim(struct vro_station *station)
{
	enum ri_status status = RI_ERR_RESOURCES;
	uint32_t count = 0;

	station->alone = false;
	for (uint32_t i = 0; i < station->port.num_addrs; i++) {
		const struct ri_addr *addr = &station->port.addrs[i];
		enum ri_status one = address_open(station, addr, &count);

		atomic_store(&station->lost[i], one != RI_SUCCESS && one != RI_ERR_IN_USE);
		if (one == RI_SUCCESS)
			continue;
		address_failed(station, addr, one);
		if (one == RI_ERR_IN_USE) {
			sockets_close(station, count);
			return one;
		}
	}
	/* A thread that reads the count finds the sockets. */
	atomic_store_explicit(&station->num_udps, count, memory_order_release);
	return count != 0 ? RI_SUCCESS : status;
}

void
vro_claim_drop(struct vro_station *station)
{
	sockets_close(station, atomic_exchange(&station->num_udps, 0));
}

uint32_t
vro_station_addrs(const struct vro_station *station, struct ri_addr addrs[VRO_ADDRS_MAX])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < station->port.num_addrs; i++)
		if (!atomic_load_explicit(&station->lost[i], memory_order_relaxed))
			addrs[count++] = station->port.addrs[i];
	return count;
}
