/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

#include "notice.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int notices; /* the descriptor of the filter + 1 */
static notice_answer answers;

/* This thread is there before the filter, which it has not. */
static void *
take_notices(void *unused)
{
	const struct timespec nap = {.tv_nsec = 100 * 1000};
	struct seccomp_notif call;
	struct seccomp_notif_resp response;
	int error;

	while (atomic_load(&notices) == 0)
		(void)nanosleep(&nap, NULL);
	for (;;) {
		memset(&call, 0, sizeof(call));
		if (ioctl(atomic_load(&notices) - 1, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
			continue;
		error = answers(&call);
		response = (struct seccomp_notif_resp){
			.id = call.id,
			.error = -error,
			.flags = error == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0};
		(void)ioctl(atomic_load(&notices) - 1, SECCOMP_IOCTL_NOTIF_SEND, &response);
	}
	return unused;
}

bool
notice_calls(const struct sock_fprog *filter, notice_answer answer)
{
	pthread_t thread;
	long fd;

	answers = answer;
	if (pthread_create(&thread, NULL, take_notices, NULL) != 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return false;
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		     filter);
	atomic_store(&notices, (int)fd + 1);
	return fd >= 0;
}
