/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef RI_OWNED_H
#define RI_OWNED_H

/**
 * @file ri_owned.h
 * @brief Assert that the calling thread owns a mutex, in functions whose caller must own it.
 *
 * glibc records the owner of every mutex. The check takes a mutex of its own and compares the two records, so it needs
 * no system call and holds in a forked child, too. With NDEBUG, or with another C library, it checks nothing.
 */

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

#if defined(__GLIBC__) && !defined(NDEBUG)
/** @brief Does this thread own the mutex? A plain, recursive or error-checking one. */
static inline bool
ri_mutex_is_owned(const pthread_mutex_t *mutex)
{
	pthread_mutex_t probe = PTHREAD_MUTEX_INITIALIZER;
	bool owned;

	pthread_mutex_lock(&probe);
	owned = probe.__data.__owner == mutex->__data.__owner;
	pthread_mutex_unlock(&probe);
	pthread_mutex_destroy(&probe);
	return owned;
}

/** @brief End the process if this thread does not own the mutex. */
#define RI_ASSERT_OWNED(mutex) assert(ri_mutex_is_owned(mutex))
#else
#define RI_ASSERT_OWNED(mutex) ((void)(mutex))
#endif

#endif
