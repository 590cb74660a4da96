/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/* A recording, read line by line: a file of any length takes a fixed amount of memory, and what its lines say is checked. */
#ifndef REPLAY_FILE_H
#define REPLAY_FILE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define REPLAY_LINE    8192                 /* octets of a line */
#define REPLAY_WORDS   24                   /* words of a line */
#define REPLAY_OBJECTS 4096                 /* objects of a recording, of each kind */
#define REPLAY_QPS     256                  /* queue pairs of a recording */
#define REPLAY_REGION  (UINT64_C(64) << 20) /* octets of a region */
#define REPLAY_MEMORY  (UINT64_C(1) << 30)  /* octets of all regions of a recording */

/* A line in words; they are borrowed until the next one is read. */
struct replay_line {
	uint64_t number;
	unsigned count;
	char *words[REPLAY_WORDS]; /* the first one is the verb */
	char text[REPLAY_LINE];
	char whole[REPLAY_LINE]; /* as it is in the file, without its number */
};

struct replay_reader {
	const char *path;
	FILE *in;
	uint64_t last; /* the number of the last line */
	bool ended;    /* the line "end" was read */
	bool cut;      /* the file has ended without it, behind a whole line */
};

/* Open it and check the first line. */
bool replay_open(struct replay_reader *reader, const char *path, GError **error);
void replay_close(struct replay_reader *reader);
/* The next line: false with no error means that the recording has ended, perhaps without its last lines (replay_reader::cut). */
bool replay_next(struct replay_reader *reader, struct replay_line *line, GError **error);
/* Set the error, with the name of the file and the number of the line; false. */
bool replay_bad(const struct replay_reader *reader, const struct replay_line *line, GError **error,
		const char *format, ...) G_GNUC_PRINTF(4, 5);

/* The value behind "name="; NULL: the line has none. */
const char *replay_field(const struct replay_line *line, const char *name);
/* The same as a number, decimal or hexadecimal, of at most `most`. */
bool replay_number(const struct replay_reader *reader, const struct replay_line *line,
		   const char *name, uint64_t most, uint64_t *number, GError **error);
/* An object such as "q3" at a place of the line, with that letter; 0: "q0", none. */
bool replay_object(const struct replay_reader *reader, const struct replay_line *line,
		   unsigned word, char letter, uint32_t *number, GError **error);
/* What a line of an operation begins with, such as q3.s17 or s1.r4. */
struct replay_operation {
	char letter;     /* 'q': of a queue pair; 's': of a shared receive queue */
	uint32_t object; /* number of that */
	char queue;      /* 's' or 'r' */
	uint64_t number;
};
bool replay_operation(const struct replay_reader *reader, const struct replay_line *line,
		      struct replay_operation *operation, GError **error);
/* Read an operation from any text. False: the text is not one. */
bool replay_operation_read(const char *text, struct replay_operation *operation);
/* Did the call of this line succeed? */
bool replay_succeeded(const struct replay_line *line);

/* A queue pair, as the recording describes it. */
struct replay_qp {
	uint32_t number;
	uint32_t adapter; /* from 0, among those of all recordings that belong together */
	char local[64], peer[64];
	bool linked, active;
	bool broken;   /* its connection ended so */
	bool datagram; /* it has no connection */
	uint32_t qpn;  /* datagram: its number, which datagrams name */
	uint32_t srq;  /* number of its shared receive queue; 0: none */
	int partner;   /* its other end, or -1: index in replay_set::qps */
	unsigned file;
	uint64_t posted[2], done[2]; /* send, receive */
};

/* A shared receive queue. */
struct replay_srq {
	uint32_t number, adapter;
	unsigned file;
	uint64_t most; /* its largest size */
	uint64_t posted, done;
};

#define REPLAY_FILES    8
#define REPLAY_ADAPTERS 32
#define REPLAY_GROUP    UINT32_C(0xffffff) /* number that datagrams to a group name */

/* Recordings that belong together: those of one run. */
struct replay_set {
	const char *paths[REPLAY_FILES];
	bool cut[REPLAY_FILES]; /* the recording is that of a process that was killed */
	unsigned num_files;
	char *claims[REPLAY_ADAPTERS];
	char *names[REPLAY_ADAPTERS];
	unsigned num_adapters;
	unsigned first_adapter[REPLAY_FILES];
	GArray *qps;  /* struct replay_qp, by adapter, then by creation */
	GArray *srqs; /* struct replay_srq, the same */
	GArray *unsure; /* numbers that datagrams go to, with the place of the first one (replay_set.c) */
	uint64_t operations;
};

/* Read all of them once, check them, and find both ends of each connection. Free the set in any case. */
bool replay_set_read(struct replay_set *set, char **paths, GError **error);
void replay_set_free(struct replay_set *set);

/* Compare two runs: *same; differences and excuses are printed. */
bool replay_compare(struct replay_set *one, struct replay_set *other, bool *same, GError **error);

/* Run them on an adapter. */
bool replay_run(struct replay_set *set, const char *adapter, unsigned seconds, GError **error);

#endif /* REPLAY_FILE_H */
