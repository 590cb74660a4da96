/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Which addresses a station has, and when it takes their UDP ports. An adapter that is only looked at takes none, so its address stays
 * free for the process that uses it. The loopback has an address for each process; so that the one which the adapter reports is the
 * one which it has, that is taken when the adapter is opened.
 */
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "ri_log.h"
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

/* Open the next socket, for this address, and count it. */
static enum ri_status
address_open(struct vro_station *station, const struct ri_addr *addr, uint32_t *count)
{
	struct vro_udp *udp = &station->udps[*count];
	const struct ri_log_about about = {.layer = "roce", .adapter = station->name};
	struct epoll_event event = {.events = EPOLLIN};
	enum vro_ident ident = VRO_IDENT_NOT_SEEN;
	enum ri_status status;
	uint8_t gid[16];

	vro_gid_of_addr(gid, addr);
	status = vro_udp_open(udp, gid, station->port.index, &ident);
	if (status == RI_SUCCESS && epoll_ctl(station->epfd, EPOLL_CTL_ADD, udp->fd, &event) != 0) {
		vro_udp_close(udp);
		status = RI_ERR_RESOURCES;
	}
	if (status != RI_SUCCESS)
		return status;
	if (ident == VRO_IDENT_OTHER)
		ri_log(station->engine.host, RI_LOG_WARNING, &about,
		       "this kernel puts an identification other than 0 into IPv4 packets, so that "
		       "peers with hardware or with the kernel's rxe drop them: use IPv6");
	udp->absent = vro_station_absent;
	udp->owner = station;
	vro_tap_open(station, udp);
	udp->out = &station->udps[0].own;
	++*count;
	return RI_SUCCESS;
}

/* The address that the setting names instead of those of the interface, or RI_ADDR_NONE. */
static struct ri_addr
address_chosen(void)
{
	const char *text = vsw_setting_text(&vro_settings[VRO_SETTING_ADDRESS]);
	struct ri_addr addr = {.family = RI_ADDR_NONE};
	unsigned a, b, c, d;
	char rest;

	if (text != NULL && sscanf(text, "%3u.%3u.%3u.%3u%c", &a, &b, &c, &d, &rest) == 4 &&
	    (a | b | c | d) < 256) {
		addr.family = RI_ADDR_IPV4;
		addr.octets[0] = (uint8_t)a;
		addr.octets[1] = (uint8_t)b;
		addr.octets[2] = (uint8_t)c;
		addr.octets[3] = (uint8_t)d;
	}
	return addr;
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
	uint32_t count = 0;

	for (uint32_t i = 0; i < station->port.num_addrs; i++) {
		struct ri_addr *addr = &station->port.addrs[i];
		enum ri_status one = address_open(station, addr, &count);

		if (one == RI_ERR_IN_USE && is_loopback_first(addr))
			one = loopback_next(station, addr, &count);
		atomic_store(&station->lost[i], one != RI_SUCCESS);
		if (one == RI_SUCCESS)
			continue;
		status = one;
		if (count == 0)
			address_failed(station, addr, one);
	}
	atomic_store(&station->num_udps, count);
	return count != 0 ? RI_SUCCESS : status;
}

enum ri_status
vro_claim_begin(struct vro_station *station)
{
	struct ri_addr chosen = address_chosen();
	uint8_t gid[16];

	if (chosen.family == RI_ADDR_NONE)
		return station->port.loopback ? loopback_claim(station) : RI_SUCCESS;
	station->port.num_addrs = 1;
	station->port.addrs[0] = chosen;
	vro_gid_of_addr(gid, &chosen);
	if (vro_route_here(gid, 0))
		return RI_SUCCESS;
	address_failed(station, &chosen, RI_ERR_NO_ROUTE);
	return RI_ERR_RESOURCES;
}

static void
sockets_close(struct vro_station *station, uint32_t count)
{
	while (count > 0)
		vro_udp_close(&station->udps[--count]);
}

/* One address that somebody else has is too much, since this adapter has reported it as its own. One that has gone is not. */
enum ri_status
vro_claim(struct vro_station *station)
{
	enum ri_status status = RI_ERR_RESOURCES;
	uint32_t count = 0;

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
