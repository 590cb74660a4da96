/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A program: steps as data, and as text that can be stored, read and run again. The world of a program is fixed: two
 * nodes, each an adapter of its own with two protection zones and an arena of memory, and numbered places for
 * objects. Even places are on node 0, odd places on node 1. A step names places, and acts on the objects that are
 * there when it runs.
 */
#ifndef DF_PROGRAM_H
#define DF_PROGRAM_H

#include <glib.h>
#include <stdbool.h>

#define DF_NODES   2
#define DF_PZS     4
#define DF_EPS     6
#define DF_LMRS    8
#define DF_RMRS    4
#define DF_SRQS    4
#define DF_AHS     4
#define DF_UDS     4     /* datagram endpoints; in records they follow the connected ones */
#define DF_ARENA   16384 /* octets of memory of a node */
#define DF_SCATTER 8192  /* and those behind them, which buffer lists put together (df_list.h) */
#define DF_MEMORY  (DF_ARENA + DF_SCATTER)
#define DF_REGIONS (DF_LMRS + DF_NODES) /* the last ones are the direct region of each node */
#define DF_SEGS    6                    /* at most in a step; no adapter gets more */
#define DF_DEPTH   16                   /* the largest work queue that a step requests */

enum df_kind {
	DF_SETTLE,
	DF_FILL,
	DF_THRESHOLD,
	DF_SPIGOT,
	DF_FAIL,
	DF_UNAFF_CREATE,
	DF_UNAFF_FREE,
	DF_EP_CREATE,
	DF_EP_FREE,
	DF_CONNECT,
	DF_DISCONNECT,
	DF_RESET,
	DF_EP_MODIFY,
	DF_LISTEN,
	DF_EVD_SIZE,
	DF_EVD_WAY,
	DF_RECV,
	DF_SRQ_RECV,
	DF_SEND,
	DF_WRITE,
	DF_READ,
	DF_READ_RMR,
	DF_ATOMIC,
	DF_SEND_UNLINK,
	DF_AH_CREATE,
	DF_AH_FREE,
	DF_UD_CREATE,
	DF_UD_FREE,
	DF_UD_RESET,
	DF_UD_RECV,
	DF_UD_SEND,
	DF_LMR_CREATE,
	DF_LMR_FREE,
	DF_LMR_MODIFY,
	DF_SRQ_CREATE,
	DF_SRQ_FREE,
	DF_SRQ_LIMIT,
	DF_SRQ_SIZE,
	DF_EP_LIMIT,
	DF_LMR_RESERVE,
	DF_RMR_CREATE,
	DF_RMR_FREE,
	DF_RMR_LINK,
	DF_RMR_UNLINK,
	DF_LMR_LINK,
	DF_LMR_UNLINK,
	DF_KIND_COUNT
};

/* How a program hears of the events of a dispatcher [IT 6.3]. */
enum df_way {
	DF_WAY_WAIT,
	DF_WAY_NOTICES, /* a member of an aggregate that hands out notifications */
	DF_WAY_MERGED,  /* of one that hands out events of its members */
	DF_WAY_CALLBACK,
	DF_WAYS
};

/* Octets of a local region, counted from its start; those of a direct one are octets of the arena. */
struct df_seg {
	int lmr;
	int off;
	int len;
};

/*
 * The context (key) of a remote access: 'l' that of an LMR, 'r' of an RMR; 'L', 'R': the previous
 * key of that place; 'x': an invalid key.
 */
struct df_key {
	char kind;
	int slot;
};

/* The row of a kind in df_program.c says which of these it uses. */
struct df_step {
	enum df_kind kind;
	int ep;
	int peer;
	int obj; /* node, LMR, RMR, S-RQ, address handle or datagram endpoint */
	int lmr; /* of a datagram: the address handle */
	int pz;
	int srq; /* of an endpoint: 0, or the place of its S-RQ + 1 */
	int sq;  /* slots asked for */
	int rq;
	int ird;
	int ord;
	int enable;  /* what the peer may do: enum df_enable */
	int payload; /* longest message, 0 = what the adapter takes */
	int priv;    /* 1 = of an endpoint with privileged operations */
	int soft;    /* watermarks of an endpoint, 0 = off */
	int hard;
	int list; /* of a region: 0 = a range, or enum df_list; then `off` is a place behind the arena */
	/*
	 * connect: enum df_how; threshold: 1 = of the dispatcher of receives; spigot: 1 = it goes up; datagram: 1 = a wrong key; atomic:
	 * it_atomic_op_t; rmr: it_rmr_type_t; lmr: 1 = not shareable; watermarks of an endpoint: 1 = soft, 2 = hard, 3 = both;
	 * listen: 1 = the node listens again; evd-size, evd-way: which dispatcher of the node
	 */
	int how;
	int mode; /* it_addr_mode_t */
	int privs;
	int flags; /* of an endpoint that is modified: enum df_change */
	int off;
	int len;
	int a; /* operands of an atomic; a: seed of a pattern, low watermark, pieces of a reserved region, enum df_way */
	int b;
	int segs;
	struct df_seg seg[DF_SEGS];
	struct df_key key;
};

enum df_enable {
	DF_ENABLE_READ = 1,
	DF_ENABLE_WRITE = 2,
	DF_ENABLE_ATOMIC = 4,
	DF_ENABLE_ALL = 8, /* each of them that the adapter has */
};

/* What a step of the kind DF_EP_MODIFY changes; the fields have the new values. Bits. */
enum df_change {
	DF_CHANGE_SQ = 1,
	DF_CHANGE_RQ = 2,
	DF_CHANGE_ENABLE = 4,
	DF_CHANGE_IRD = 8,
	DF_CHANGE_ORD = 16,
	DF_CHANGE_PAYLOAD = 32,
};

enum df_how {
	DF_ACCEPT,
	DF_REJECT,
	DF_THREE_WAY,    /* accept, and accept the accept */
	DF_THREE_REFUSE, /* accept, and reject the accept */
	DF_THREE_ABORT,  /* accept, and disconnect instead of an answer */
};

struct df_program {
	GArray *steps; /* of struct df_step */
};

static inline int
df_node(int slot)
{
	return slot % DF_NODES;
}

struct df_program *df_program_new(void);
struct df_program *df_program_copy(const struct df_program *program);
void df_program_free(struct df_program *program);

static inline struct df_step *
df_program_step(const struct df_program *program, unsigned i)
{
	return &g_array_index(program->steps, struct df_step, i);
}

/* A fault of an adapter or its spigot, or a step of the dispatcher that hears of it. */
static inline bool
df_is_fault(enum df_kind kind)
{
	return kind >= DF_SPIGOT && kind <= DF_UNAFF_FREE;
}

/* A change of something that lives on: df_model_changes.c. */
static inline bool
df_is_change(enum df_kind kind)
{
	return (kind >= DF_EP_MODIFY && kind <= DF_EVD_WAY) || kind == DF_SRQ_SIZE;
}

static inline bool
df_is_datagram(enum df_kind kind)
{
	return kind >= DF_AH_CREATE && kind <= DF_UD_SEND;
}

/* Does a request give memory to a region, or take it away? */
static inline bool
df_links_lmr(enum df_kind kind)
{
	return kind == DF_LMR_LINK || kind == DF_LMR_UNLINK;
}

/* The same of a window. */
static inline bool
df_links_rmr(enum df_kind kind)
{
	return kind == DF_RMR_LINK || kind == DF_RMR_UNLINK;
}

const char *df_kind_name(enum df_kind kind);
/* One line of text, without its end. */
char *df_step_text(const struct df_step *step);
/* The whole, a step a line. */
char *df_program_text(const struct df_program *program);
/* Parse it; NULL and the reason in `error`, if it is no program. Lines may be empty or begin with #. */
struct df_program *df_program_read(const char *text, char **error);

#endif /* DF_PROGRAM_H */
