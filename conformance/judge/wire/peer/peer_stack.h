/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */
#ifndef PEER_STACK_H
#define PEER_STACK_H

/**
 * @file peer_stack.h @brief The helper's interface to the stack under test. peer_itapi.c and
 * peer_verbs.c implement it, one for each program.
 *
 * Only one thread calls these functions. A function that returns FALSE has set its GError.
 */

#include <glib.h>

#define PEER_PRIVATE_MAX 512u /**< octets of private data that are told */

/** @brief Memory that is registered. */
struct peer_region {
	guint8 *octets; /**< where it is */
	gsize size;     /**< octets */
	guint32 stag;   /**< what a peer calls it */
	guint64 to;     /**< the address of its first octet for a peer */
	void *self;     /**< of the stack */
};

/** @brief How an endpoint is to be. */
struct peer_ep_spec {
	guint ird;                    /**< Reads of the judge that are served at once */
	guint ord;                    /**< own Reads at once */
	guint receives;               /**< receives that are posted before it is connected */
	guint size;                   /**< octets of each of them */
	gboolean reads_off;           /**< the endpoint takes no Reads */
	gboolean writes_off;          /**< the endpoint takes no Writes */
	const struct peer_region *in; /**< where they are */
};

/** @brief One endpoint or queue pair. */
struct peer_ep;

/** @brief An event of a connection. */
struct peer_event {
	const char *kind; /**< established, rejected, failed, disconnected, broken */
	char why[64];     /**< the stack's own word for it */
	guint8 data[PEER_PRIVATE_MAX];
	gsize len;
};

/** @brief A request or receive that is complete. */
struct peer_done {
	const char *op;     /**< send, receive, write, read, atomic */
	const char *status; /**< success, flushed, access, length, error */
	char why[64];       /**< the stack's own word for it */
	guint64 len;        /**< of a receive */
};

/** @brief A request to post. */
struct peer_work {
	const char *op;               /**< receive, send, write, read, fetch-add, compare-swap */
	const struct peer_region *at; /**< local memory */
	gsize offset;                 /**< in it */
	gsize len;                    /**< octets */
	guint32 stag;                 /**< remote */
	guint64 to;                   /**< remote */
	guint64 value;                /**< to add or to store */
	guint64 compare;              /**< of a compare-swap */
};

/** @brief Open the adapter and listen on a free port. */
gboolean peer_open(const char *adapter, GError **error);

/** @brief Close what peer_open() opened. */
void peer_close(void);

/** @brief Words about the stack: kind, adapter, port, what it is able to. Free with g_free(). */
char *peer_about(void);

/**
 * @brief Register memory.
 * @param[in] rights  r: a peer may read; w: write; a: run atomics; o: in another protection domain
 */
gboolean peer_region_make(struct peer_region *region, const char *rights, GError **error);

/** @brief Give the registration back. */
void peer_region_unmake(struct peer_region *region);

/** @brief A new endpoint; NULL: @p error says why. */
struct peer_ep *peer_ep_new(const struct peer_ep_spec *spec, GError **error);

/** @brief Free it, with its connection. */
void peer_ep_free(struct peer_ep *ep);

/** @brief Wait for a request to connect and accept it; @p request gets its private data. */
gboolean peer_ep_accept(struct peer_ep *ep, guint within_ms, const GByteArray *private_data,
			struct peer_event *request, GError **error);

/** @brief Wait for a request to connect and reject it. */
gboolean peer_reject(guint within_ms, const GByteArray *private_data, struct peer_event *request,
		     GError **error);

/** @brief Listen again, perhaps on another port: peer_about() tells which. */
gboolean peer_listen_again(GError **error);

/** @brief Reject every request that waits, of judges that are gone. */
void peer_reject_all(void);

/** @brief Where and how to connect. */
struct peer_target {
	const char *host;
	guint16 port;
	guint within_ms; /**< for everything, if the stack can limit that ("timeout"); 0: as long as usual */
};

/** @brief Begin to connect. The answer is an event. */
gboolean peer_ep_connect(struct peer_ep *ep, const struct peer_target *target,
			 const GByteArray *private_data, GError **error);

/** @brief Disconnect in an orderly way. */
gboolean peer_ep_disconnect(struct peer_ep *ep, GError **error);

/** @brief Post a request. */
gboolean peer_ep_post(struct peer_ep *ep, const struct peer_work *work, GError **error);

/** @brief Wait for the next event of the connection. */
gboolean peer_ep_event(struct peer_ep *ep, guint within_ms, struct peer_event *event,
		       GError **error);

/** @brief Wait for the next completion. */
gboolean peer_ep_done(struct peer_ep *ep, guint within_ms, struct peer_done *done, GError **error);

/** @brief Set @p error and give FALSE. */
gboolean peer_fail(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

#endif
