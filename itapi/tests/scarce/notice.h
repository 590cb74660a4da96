/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A thread of this process sees system calls of the others before they are made, and may refuse
 * them, by seccomp's notifications. All calls are seen: those of the library, those of the C
 * library on its behalf, and inline system calls.
 */
#ifndef NOTICE_H
#define NOTICE_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>

/* 0: the call is made. Otherwise it is not, and gives that errno. Called in a thread whose own calls nobody sees. */
typedef int (*notice_answer)(const struct seccomp_notif *call);

/*
 * From now on `answer` sees those calls of this thread, and of all threads that it makes, for which the filter returns
 * SECCOMP_RET_USER_NOTIF. Once in a process. False: the kernel does not allow it.
 */
bool notice_calls(const struct sock_fprog *filter, notice_answer answer);

#endif /* NOTICE_H */
