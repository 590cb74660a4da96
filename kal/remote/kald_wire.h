/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * What kald and its clients say to each other, over a local socket of type SOCK_SEQPACKET: one message a packet, at most
 * KALD_MESSAGE_MAX octets, a head and a flat struct, in the byte order of the host. No pointer and no text without an end crosses.
 *
 * A request has a number below KALD_EVENTS and an id that the client chose; its reply has the same id and the number with
 * KALD_REPLY. Some requests have no reply. An event of kald has a number from KALD_EVENTS. A reply whose status is not
 * KALD_OK has a struct kald_refusal, which names the rule, instead of its own.
 *
 * Structs may grow at the end in later versions: missing members read as zero, and unknown ones are
 * cut off. A message is invalid if its struct is shorter than in version 1 or has an invalid value.
 * kald ends the session of a client that sends one.
 */
#ifndef KALD_WIRE_H
#define KALD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KALD_VERSION     1
#define KALD_MESSAGE_MAX 4096
#define KALD_WINDOW \
	16 /* requests of one client that wait for an answer; more are not read meanwhile */
#define KALD_RESOURCES    16 /* room for enum kal_resource to grow */
#define KALD_NETS_MAX     48
#define KALD_PORTS_SHOWN  16
#define KALD_LIST_MAX     8  /* entries of one reply */
#define KALD_SHARES_SHOWN 64 /* entries of one reply to KALD_SHARES */
#define KALD_SLOTS        64 /* processes of one user that share addresses */
#define KALD_SHARE_FDS \
	(KALD_SLOTS +  \
	 1) /* the sockets of a group in the order of their slots, and the memory of its table */
#define KALD_NAME 64
#define KALD_TEXT 224

/* Where kald of the system listens. */
#define KALD_SYSTEM_SOCKET "/run/itapi/kald.sock"
/* Below $XDG_RUNTIME_DIR: kald of a user. */
#define KALD_USER_SOCKET "itapi/kald.sock"

enum kald_number {
	KALD_NONE = 0,
	KALD_HELLO,  /* kald_hello -> kald_welcome; the first message */
	KALD_BORROW, /* kald_amount -> kald_amount: what was lent, at least what was asked for */
	KALD_RETURN, /* kald_amount, no reply; 0 answers a KALD_RECALL, too */
	KALD_OPEN,   /* kald_name -> nothing: may this adapter be opened? */
	KALD_CLOSE,  /* kald_name, no reply */
	KALD_LISTEN, /* kald_listen -> nothing, with a socket if kald has opened it */
	KALD_LISTEN_OVER, /* kald_listen, no reply */
	KALD_DIAL,        /* kald_dial -> nothing, with a socket that is being connected */
	KALD_DESCRIPTION, /* kald_description, no reply: the answer to KALD_DESCRIBE */
	KALD_LIST,        /* kald_list -> kald_listed; of tools, as what follows */
	KALD_LIMITS,      /* kald_limits -> kald_limited */
	KALD_STOP,        /* kald_stop -> kald_stop_reply */
	KALD_WATCH,       /* kald_nothing -> nothing; KALD_CHANGED follow */
	/*
	 * kald_share -> kald_shared, with KALD_SHARE_FDS descriptors, except in reply to a claim. A claim
	 * brings the descriptors that the client has; another request brings one UDP socket of the client,
	 * which shows its network namespace.
	 */
	KALD_SHARE,
	KALD_SHARE_OVER,   /* kald_share, no reply */
	KALD_SERVICE,      /* kald_service -> nothing: requests for it go to this process */
	KALD_SERVICE_OVER, /* kald_service, no reply */
	KALD_SHARES,       /* kald_list -> kald_sharings; of tools */
	KALD_REQUESTS_END,

	KALD_EVENTS = 64,
	KALD_RECALL = KALD_EVENTS, /* kald_amount: return what is not in use of this resource */
	KALD_DESCRIBE,             /* kald_nothing: send a KALD_DESCRIPTION */
	KALD_STOPPED, /* kald_nothing: nothing is lent, opened or listened at any more */
	KALD_CHANGED, /* kald_change: to those that watch */
	KALD_EVENTS_END,

	KALD_REPLY = 0x8000
};

enum kald_status {
	KALD_OK = 0,
	KALD_NO_ROOM,    /* a limit is reached */
	KALD_FORBIDDEN,  /* a rule forbids it */
	KALD_NOT_KNOWN,  /* this kald knows no such request */
	KALD_VERSION_NO, /* no version that both know */
	KALD_SYSTEM,     /* the system refuses it; kald_refusal::error is the errno */
	KALD_ABSENT,     /* there is no such process or account */
	KALD_STATUS_COUNT
};

struct kald_head {
	uint32_t length; /* of the message, this head included */
	uint16_t number; /* enum kald_number */
	uint16_t version;
	uint32_t id;
	uint32_t status; /* enum kald_status; 0 in requests and events */
};

/* No member: a message that is a head. */
struct kald_nothing {
	uint64_t reserved; /* 0 */
};

enum kald_kind {
	KALD_CLIENT = 1, /* a process with adapters: it can borrow */
	KALD_TOOL        /* asks only */
};

struct kald_hello {
	uint32_t version_min, version_max;
	uint32_t kind;                 /* enum kald_kind */
	uint32_t reserved;             /* 0 */
	uint64_t lent[KALD_RESOURCES]; /* what a kald before this one has lent to the process */
};

/* A network; family as AF_INET or AF_INET6. */
struct kald_net {
	uint8_t family;
	uint8_t prefix;
	uint8_t reserved[2];
	uint8_t octets[16];
};

struct kald_welcome {
	uint32_t version;              /* the one to speak */
	uint32_t privileged;           /* 1: privileged operations are allowed */
	uint64_t instance;             /* of this start of kald */
	uint64_t lent[KALD_RESOURCES]; /* what is lent now */
	uint32_t crc;                  /* 1: connections ask for CRC */
	uint32_t dials;                /* 1: kald opens the sockets of connections, see KALD_DIAL */
	uint32_t any_peer;             /* 1: every peer is allowed; 0: those in `nets` */
	uint32_t num_nets;
	struct kald_net nets[KALD_NETS_MAX];
	char peers_rule[KALD_TEXT]; /* names the rule about peers */
};

struct kald_amount {
	uint32_t resource; /* enum kal_resource */
	uint32_t reserved; /* 0 */
	uint64_t amount;
};

struct kald_name {
	char name[KALD_NAME];
};

struct kald_addr {
	uint16_t family; /* AF_INET or AF_INET6 */
	uint16_t port;   /* in host order */
	uint32_t scope;
	uint8_t octets[16];
};

struct kald_listen {
	struct kald_addr at;
	uint32_t have; /* 1: the client listens there already; no socket is sent */
	uint32_t reserved;
};

struct kald_dial {
	struct kald_addr local; /* family 0: any */
	struct kald_addr peer;
};

struct kald_description {
	uint64_t used[KALD_RESOURCES];
};

struct kald_list {
	uint64_t after; /* serial number of the last one seen; 0: from the first */
};

struct kald_entry {
	uint64_t serial; /* of the connection to kald: unique while kald runs */
	uint32_t pid, uid, gid;
	uint32_t stopped; /* 1 */
	uint32_t
		num_ports; /* at least: beyond KALD_PORTS_SHOWN those of several addresses count for each */
	uint32_t described;            /* 1: `used` is what the process said after the request */
	uint64_t lent[KALD_RESOURCES]; /* as kald counts */
	uint64_t used[KALD_RESOURCES]; /* as the process said last */
	char command[16];              /* as /proc has it */
	char adapters[112];            /* names, separated by blanks; cut */
	uint16_t ports[KALD_PORTS_SHOWN];
};

struct kald_listed {
	uint64_t next; /* for the next kald_list::after; 0: there is no more */
	uint32_t count;
	uint32_t reserved;
	struct kald_entry entries[KALD_LIST_MAX];
};

enum kald_level {
	KALD_LEVEL_PROCESS = 0,
	KALD_LEVEL_USER,
	KALD_LEVEL_GROUP,
	KALD_LEVEL_COUNT
};

struct kald_limits {
	uint32_t level; /* enum kald_level */
	uint32_t id;    /* pid, uid or gid */
};

struct kald_limited {
	uint64_t limits[KALD_RESOURCES]; /* UINT64_MAX: none */
	uint64_t lent[KALD_RESOURCES];
	uint32_t processes; /* that share the account */
	uint32_t reserved;
};

struct kald_stop {
	uint64_t serial; /* 0: any connection of `pid` or `port` */
	uint32_t pid;    /* 0: by port */
	uint32_t port;
};

struct kald_stop_reply {
	uint32_t count; /* connections that were stopped */
	uint32_t pid;   /* of one of them */
};

enum kald_what {
	KALD_JOINED = 1,
	KALD_LEFT,
	KALD_REFUSED,
	KALD_WAS_STOPPED,
	KALD_WAS_CALLED_BACK
};

struct kald_change {
	uint64_t serial;
	uint32_t pid, uid;
	uint32_t what; /* enum kald_what */
	uint32_t lost; /* changes before this one that the watcher did not read in time */
	char text[KALD_TEXT];
};

/* A UDP address that several processes of one user share; the port is that of RoCE. */
struct kald_share {
	struct kald_addr at;
	uint32_t claim;    /* 0: take a slot; else the slot + 1 that an earlier kald gave */
	uint32_t reserved; /* 0 */
};

struct kald_shared {
	uint32_t slot; /* of the process, at all addresses that it shares */
	uint32_t reserved;
};

/* A service at a shared address, by the lower half of its id. */
struct kald_service {
	struct kald_addr at;
	uint32_t service;
	uint32_t reserved; /* 0 */
};

/* A process at a shared address. */
struct kald_sharing {
	struct kald_addr at;
	uint32_t pid, uid;
	uint32_t slot;
	uint32_t services;
};

struct kald_sharings {
	uint64_t next; /* for the next kald_list::after; 0: there is no more */
	uint32_t count;
	uint32_t reserved;
	struct kald_sharing entries[KALD_SHARES_SHOWN];
};

struct kald_refusal {
	uint32_t error; /* an errno, or 0 */
	uint32_t reserved;
	char text[KALD_TEXT];
};

union kald_body {
	struct kald_nothing nothing;
	struct kald_hello hello;
	struct kald_welcome welcome;
	struct kald_amount amount;
	struct kald_name name;
	struct kald_listen listen;
	struct kald_dial dial;
	struct kald_description description;
	struct kald_list list;
	struct kald_listed listed;
	struct kald_limits limits;
	struct kald_limited limited;
	struct kald_stop stop;
	struct kald_stop_reply stop_reply;
	struct kald_change change;
	struct kald_share share;
	struct kald_shared shared;
	struct kald_service service;
	struct kald_sharings sharings;
	struct kald_refusal refusal;
	uint8_t octets[KALD_MESSAGE_MAX - sizeof(struct kald_head)];
};

/* A message as it crosses. Only its first `head.length` octets do. */
struct kald_message {
	struct kald_head head;
	union kald_body body;
};

enum kald_reading {
	KALD_READ = 0,
	KALD_UNKNOWN, /* a number that this version does not know: the head is valid, the body empty */
	KALD_WRONG    /* not a message */
};

/* Octets of the body of a message of that number and status in this version; 0: no such message. */
size_t kald_body_size(uint16_t number, uint32_t status);
/* Check `len` octets of a packet and copy them, so that no later change by the sender counts. */
enum kald_reading kald_message_read(const void *octets, size_t len, struct kald_message *out);
/* Begin a message: zero but for the head, whose length is right for the number and the status. */
void kald_message_begin(struct kald_message *message, uint16_t number, uint32_t id,
			uint32_t status);
/* Is there a zero within the room? */
bool kald_text_ends(const char *text, size_t room);
/*
 * Does a process of the same user, or of root, answer at the other end of the socket? This is
 * required where the place is the default one: any user may bind an abstract name first, and
 * XDG_RUNTIME_DIR may belong to another user, from whom this process inherited its environment
 * (su).
 */
bool kald_is_trusted(int fd);

#endif /* KALD_WIRE_H */
