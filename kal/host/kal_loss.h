/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A list of parts of the library that must be notified when the program has closed descriptors of
 * the library, as a loop over all descriptor numbers does. After that no adapter works, and the
 * layers above would wait for events that never come.
 */
#ifndef KAL_LOSS_H
#define KAL_LOSS_H

struct kal_loss {
	struct kal_loss *next, **at; /* in the list; at: NULL, it is not there */
	void (*fire)(void *arg);
	void *arg;
};

/* fire(arg) is called on the service thread, at most once and perhaps at once, until kal_loss_end() has returned. */
void kal_loss_begin(struct kal_loss *loss, void (*fire)(void *arg), void *arg);
void kal_loss_end(struct kal_loss *loss);
/* For the service thread, which owns no lock: notify all of them. */
void kal_loss_fire(void);

#endif /* KAL_LOSS_H */
