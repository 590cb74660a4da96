/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A table of host services for tests of providers. Without a thread, time is virtual and nothing runs outside vth_run
 * and vth_advance, in which the test is the service thread. With a thread: real time and a real service thread.
 * Random bytes come from GLib's generator, which a test may seed.
 */
#ifndef VSW_TEST_HOST_H
#define VSW_TEST_HOST_H

#include <glib.h>

#include "ri_at_end.h"
#include "rnicpi_host.h"

struct vth;

struct vth *vth_new(bool threaded);
/* For RI_AT_END, as other functions that take a pointer to a pointer. */
void vth_free(struct vth **vth);
const struct ri_host *vth_host(struct vth *vth);
/* Lines of the log with this text. */
guint vth_logged(struct vth *vth, const char *text);

/* Without a thread only: run the tasks, ready watches and timers that are due, until none is left. */
void vth_run(struct vth *vth);
/* Without a thread only: let time pass, and run everything that becomes due. */
void vth_advance(struct vth *vth, uint64_t ns);

/* The number of memory ranges that are attached. */
guint vth_attached(struct vth *vth);
/* From now on attached memory has no base address and must be copied through the host. */
void vth_copy_only(struct vth *vth, bool on);
/* From now on mem_attach returns this. */
void vth_attach_answer(struct vth *vth, enum ri_status status);
/* The number of bytes that mem_copy has copied. */
guint64 vth_copied(struct vth *vth);

/* How often the provider has waited for another thread. */
guint vth_relaxed(struct vth *vth);
/* How often it has slept meanwhile. */
guint vth_napped(struct vth *vth);
/* From now on the host is one of RNIC-PI 1.6, which has no call that announces a wait. */
void vth_make_old(struct vth *vth);

/*
 * True if accesses to lost pages are not caught here (vsw_guard.h); the test is then skipped. That
 * is so under valgrind, which does not keep all registers up to date at each access.
 */
bool vth_no_guards(void);
/*
 * End the child of a fork, with status 0 if `good`, by executing another program. Otherwise
 * valgrind would report memory as lost to which only the parent's threads point.
 */
void vth_child_exit(bool good) G_GNUC_NORETURN;

#endif /* VSW_TEST_HOST_H */
