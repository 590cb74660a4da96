/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Where the processes of one user find each other: names of local sockets (SOCK_SEQPACKET), in the user's runtime folder, or
 * abstract ones where there is none. A name belongs to one process at a time, and ends with it.
 *
 * The folder $XDG_RUNTIME_DIR/itapi/fabric/NAME is private: $XDG_RUNTIME_DIR and each folder below it must belong to
 * this user, and no other user may enter it. If a connect to a name is refused, a dead process has left the name; it is
 * replaced under a lock of the folder. Abstract names vanish with their process, but any user of the host may take one
 * first. So both sides of a connection check the user of the other side.
 *
 * Control path; any thread.
 */
#ifndef VEM_PLACE_H
#define VEM_PLACE_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#define VEM_PLACE_NAME 32 /* octets of the name of a fabric, or in it, with the 0 */
#define VEM_PLACE_WHY  160

struct vem_place {
	bool abstract;
	char fabric[VEM_PLACE_NAME];
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/*
 * Open the place of a fabric. `runtime`: the user's runtime folder; NULL or "" if the user has
 * none. False: the name is invalid, or the folder is not private; `why` gives the reason.
 */
bool vem_place_open(struct vem_place *place, const char *fabric, const char *runtime,
		    char why[VEM_PLACE_WHY]);
/* Take a name and listen there. -1 with errno set, and *call is the system call that failed; EADDRINUSE: a process has it. */
int vem_place_listen(const struct vem_place *place, const char *name, const char **call);
/* Give a name back, and close its socket. */
void vem_place_leave(const struct vem_place *place, const char *name, int fd);
/* Connect to a name, without waiting. -1 with errno set, and *call as above; ECONNREFUSED, ENOENT: no process has it. */
int vem_place_connect(const struct vem_place *place, const char *name, const char **call);
/* Remove the names that dead processes have left. */
void vem_place_sweep(const struct vem_place *place);
/* Is the process at the other end one of this user? *uid: whose it is. *call: NULL, or what the system did not say, with errno set. */
bool vem_place_is_ours(int fd, unsigned *uid, const char **call);
/* The number of the process at the other side of a socket; 0: it cannot be seen from here. */
pid_t vem_place_pid(int fd);

#endif /* VEM_PLACE_H */
