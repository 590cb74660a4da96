/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The removal of a device that is open. If the driver cannot take the device away from programs, the kernel waits until each
 * program has closed it, and no descriptor of the device reports that [RI 12.1.12]. The kernel reports it in two other ways:
 * an event of the connection manager for each id of the device (vib_cm_events.c), and a uevent that the device's file is
 * removed. An adapter without ids gets only the uevent, which is read here.
 *
 * Any process may listen. A network namespace whose user namespace is not the first one has no such messages; there the
 * connection manager alone reports the removal.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ri_fd.h"
#include "vib_events.h"

#define KERNEL_GROUP 1u   /* of uevents that the kernel sends; those of udev are another one */
#define MESSAGE      4096 /* octets; the kernel's are shorter */
#define AT_ONCE      64

/* Is it "remove@", the device in sysfs, and the end of that the device's file? */
static bool
tells_removal(const char *message, const char *file)
{
	static const char verb[] = "remove@", folder[] = "/infiniband_verbs/";
	const char *last = strrchr(message, '/');
	size_t before = strlen(folder);

	return strncmp(message, verb, strlen(verb)) == 0 && last != NULL &&
	       strcmp(last + 1, file) == 0 && (size_t)(last + 1 - message) > before &&
	       strncmp(last + 1 - before, folder, before) == 0;
}

/* It is gone, or its file goes just now. */
static bool
is_gone(const struct ibv_device *device)
{
	return access(device->dev_path, F_OK) != 0 && errno == ENOENT;
}

bool
vib_removal_done(const struct ri_rnic *rnic)
{
	return atomic_load(&rnic->failed) && is_gone(rnic->verbs->device);
}

/* True: another message may follow. */
static bool
message_read(struct ri_rnic *rnic)
{
	const struct ibv_device *device = rnic->verbs->device;
	struct sockaddr_nl from = {.nl_family = AF_UNSPEC};
	socklen_t room = sizeof(from);
	char message[MESSAGE + 1];
	ssize_t length = recvfrom(rnic->removal.fd, message, MESSAGE, 0,
				  (struct sockaddr *)(void *)&from, &room);

	if (length < 0 && errno != ENOBUFS)
		return errno == EINTR;
	if (length < 0) {
		if (is_gone(device)) /* some messages are lost */
			vib_device_failed(rnic);
		return true;
	}
	message[length] = '\0';
	/* Any program may send such a message; the kernel's come from port 0. */
	if (from.nl_family == AF_NETLINK && from.nl_pid == 0 &&
	    tells_removal(message, device->dev_name))
		vib_device_failed(rnic);
	return true;
}

static void
on_message(void *arg, uint32_t events)
{
	(void)events;
	for (int i = 0; i < AT_ONCE; i++) {
		if (!message_read(arg))
			return;
	}
}

enum ri_status
vib_removal_start(struct ri_rnic *rnic)
{
	struct sockaddr_nl addr = {.nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP};
	int fd = ri_fd_socket(AF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);

	rnic->removal =
		(struct ri_watch){.fd = fd, .fire = on_message, .arg = rnic, .events = RI_WATCH_IN};
	if (fd < 0 || bind(fd, (struct sockaddr *)(void *)&addr, sizeof(addr)) != 0 ||
	    rnic->host->watch_start(rnic->host->self, &rnic->removal) != RI_SUCCESS) {
		vib_log(rnic, RI_LOG_INFO, "the kernel's messages about devices cannot be read");
		if (fd >= 0)
			close(fd);
		rnic->removal.fd = -1;
	}
	/* The message may have come before. */
	if (!is_gone(rnic->verbs->device))
		return RI_SUCCESS;
	vib_removal_stop(rnic);
	return RI_ERR_NO_DEVICE;
}

void
vib_removal_stop(struct ri_rnic *rnic)
{
	if (rnic->removal.fd < 0)
		return;
	rnic->host->watch_stop(rnic->host->self, &rnic->removal);
	close(rnic->removal.fd);
	rnic->removal.fd = -1;
}
