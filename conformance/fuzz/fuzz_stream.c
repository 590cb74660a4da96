/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * The receive path of vp/iwarp: a stream of octets into a connected queue pair.
 *
 * The input is a list of commands: send a correct or wrong frame, or raw octets, in pieces of any size; post; make
 * Reads outstanding; let time pass; end either side. One adapter lives as long as the process; each input has a
 * queue pair and a stream of its own. Time is virtual and there is no thread, so a run repeats exactly.
 *
 * Streams are socket pairs, which take a tenth of the time of TCP connections. getsockopt() is
 * wrapped, so that the provider takes them for TCP, with a segment size that the input chooses.
 *
 * Whatever the peer does, the queue pair must send only valid frames, each request and receive must complete once,
 * the connection must end with one event, and memory that the peer may not write must stay unchanged.
 */
#include "fuzz_peer.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "viw_node.h"

#define REGIONS 4
#define REGION  4096u /* octets of each */
#define POSTS   16    /* slots of each queue */

#define SECOND UINT64_C(1000000000)

/* What the first octet of an input says. */
#define CRC       0x01u
#define INITIATOR 0x02u
#define RTR_WRITE 0x04u
#define RTR_READ  0x08u
#define AWAIT     0x10u
#define SHARED    0x20u
#define EARLY     0x40u
#define ABORT     0x80u

enum command {
	COMMAND_FRAME = 0,
	COMMAND_SEAL,
	COMMAND_OCTETS,
	COMMAND_RECV,
	COMMAND_SEND,
	COMMAND_WRITE,
	COMMAND_READ,
	COMMAND_ATOMIC,
	COMMAND_TIME,
	COMMAND_SHUT,
	COMMAND_CLOSE,
	COMMAND_MOVE,
	COMMAND_HEAR,
	COMMAND_POLL,
	COMMAND_DEREG,
	COMMAND_COUNT
};

/* Lives as long as the process. */
static struct node *node;
static struct chunk open_chunk;   /* all rights */
static struct chunk closed_chunk; /* no remote rights */
static struct chunk read_chunk;   /* remote read only */
static uint8_t pattern[REGION];
static int emss;

/* Of one input. */
struct run {
	struct end *end;
	struct fuzz_peer peer;
	struct chunk own; /* may be invalidated and deregistered */
	uint32_t stags[REGIONS];
	uint64_t bases[REGIONS];
	struct fuzz_regions regions;
	unsigned posted;   /* requests */
	unsigned received; /* receives posted to the queue pair */
	unsigned done[2];  /* completions: of requests, of receives */
};

int __real_getsockopt(int fd, int level, int option, void *value, socklen_t *len);
int __wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *len);

int
__wrap_getsockopt(int fd, int level, int option, void *value, socklen_t *len)
{
	if (level == SOL_SOCKET && option == SO_PROTOCOL) {
		*(int *)value = IPPROTO_TCP;
		return 0;
	}
	if (level == IPPROTO_TCP && option == TCP_MAXSEG) {
		*(int *)value = emss;
		return 0;
	}
	return __real_getsockopt(fd, level, option, value, len);
}

/* Lines of the log are made, but not printed. */
static void
line_drop(void *self, enum ri_log_level level, const char *where, const char *text)
{
	(void)self;
	(void)level;
	FUZZ_REQUIRE(where != NULL && text != NULL && text[0] != '\0');
}

static void
node_begin(struct fuzz_peer *peer)
{
	struct vth *vth = vth_new(false);
	struct ri_host *host = (struct ri_host *)(uintptr_t)vth_host(vth);

	host->log = line_drop;
	node = node_open(viw_provider_entry(), vth, false, "iwarp");
	node->requests = POSTS;
	node->entries = 4 * POSTS;
	open_chunk = chunk_new(node, REGION, ALL_RW);
	closed_chunk = chunk_new(node, REGION, LOCAL_RW);
	read_chunk = chunk_new(node, REGION, LOCAL_RW | RI_ACCESS_REMOTE_READ);
	for (unsigned i = 0; i < REGION; i++)
		pattern[i] = (uint8_t)(i * 7 + i / 256);
	memcpy(closed_chunk.at, pattern, REGION);
	memcpy(read_chunk.at, pattern, REGION);
	peer->heard = malloc(FUZZ_PEER_ROOM);
	FUZZ_REQUIRE(peer->heard != NULL);
}

/* --- begin ---------------------------------------------------------------------------------- */

static bool
stream_begin(struct run *run, uint8_t options, int fd, struct fuzz_input *in)
{
	struct ri_stream stream = end_stream(fd, (options & INITIATOR) != 0);
	uint8_t rtr = (uint8_t)((options & RTR_WRITE ? RI_RTR_WRITE : 0) |
				(options & RTR_READ ? RI_RTR_READ : 0));
	uint8_t depths = fuzz_u8(in);
	size_t early = 0;

	stream.crc = (options & CRC) != 0;
	stream.ird = depths & 7;
	stream.ord = depths >> 3 & 7;
	stream.peer_local = (depths & 0x40) != 0;
	if (depths & 0x80) {
		uint8_t markers = fuzz_u8(in);

		stream.markers_rx = run->peer.marks = (markers & 1) != 0;
		stream.markers_tx = run->peer.unmarks = (markers & 2) != 0;
	}
	if (options & INITIATOR)
		stream.rtr_send = rtr & (uint8_t)-rtr; /* one bit at most */
	else
		stream.rtr_expect = rtr & (uint8_t)-rtr;
	if (stream.rtr_send == RI_RTR_READ && stream.ord == 0)
		stream.ord = 1;
	stream.await_fpdu = (options & AWAIT) != 0;
	stream.abort_code = options & ABORT ? 0x2006 : 0;
	if (options & EARLY) {
		stream.early = fuzz_take(in, fuzz_u8(in), &early);
		stream.early_len = (uint32_t)early;
	}
	return end_attach(run->end, &stream) == RI_SUCCESS;
}

static void
regions_begin(struct run *run)
{
	const struct chunk *chunks[REGIONS] = {&open_chunk, &closed_chunk, &read_chunk, &run->own};

	run->own = chunk_new(node, REGION, ALL_RW);
	for (unsigned i = 0; i < REGIONS; i++) {
		run->stags[i] = chunks[i]->stag;
		run->bases[i] = (uintptr_t)chunks[i]->at;
	}
	run->regions =
		(struct fuzz_regions){.stags = run->stags, .bases = run->bases, .count = REGIONS};
}

/* What inline requests carry. */
static const uint8_t carried[500] = {1, 2, 3, 4, 5, 6, 7, 8};

static void
run_begin(struct run *run, struct fuzz_input *in)
{
	uint8_t options = fuzz_u8(in);
	int fd[2];

	emss = 64 + fuzz_u8(in) * 16;
	regions_begin(run);
	if (options & SHARED)
		node_share(node, POSTS);
	struct ri_qp_init init = end_defaults(node);
	init.max_inline = sizeof(carried);
	run->end = end_new(node, &init);
	FUZZ_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == 0);
	fuzz_peer_begin(&run->peer, fd[1], (options & CRC) != 0);
	FUZZ_REQUIRE(stream_begin(run, options, fd[0], in));
	vth_run(node->vth);
}

/* --- commands ------------------------------------------------------------------------------- */

/* Send to the queue pair, in pieces of `piece` octets; 0: in one, and the queue pair does not run. */
static void
peer_say(struct run *run, const uint8_t *octets, size_t len, unsigned piece)
{
	while (len > 0 && run->peer.fd >= 0) {
		size_t now = piece == 0 || piece > len ? len : piece;
		ssize_t n = send(run->peer.fd, octets, now, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			octets += n;
			len -= (size_t)n;
		} else if (errno != EAGAIN) {
			return; /* the queue pair has closed its end */
		} else {
			fuzz_peer_hear(&run->peer); /* it may wait for room itself */
			vth_run(node->vth);
			if (send(run->peer.fd, octets, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
				return;
			octets++;
			len--;
		}
		if (piece != 0)
			vth_run(node->vth);
	}
}

static struct ri_sge
local_take(struct run *run, struct fuzz_input *in)
{
	unsigned which = fuzz_u8(in);
	unsigned region = which % REGIONS;
	uint32_t offset = fuzz_u8(in) * 16u;
	uint32_t length = fuzz_u8(in) * (which & 0x80u ? 16u : 1u);

	return (struct ri_sge){
		.addr = run->bases[region] + offset,
		.length = length,
		.stag = run->stags[region] + (which & 0x40u ? 1u : 0),
	};
}

/* Post receives only where the memory may be written, so that the other regions must stay as they were. */
static void
recv_post(struct run *run, struct fuzz_input *in)
{
	struct ri_sge sge = local_take(run, in);
	struct ri_recv_wr wr = {.wr_id = run->received, .sgl = &sge, .num_sge = 1};

	if (sge.stag == closed_chunk.stag || sge.stag == read_chunk.stag) {
		sge.stag = open_chunk.stag;
		sge.addr = (uintptr_t)open_chunk.at;
	}
	if (node->srq != NULL)
		(void)!node->p->fast->post_srq(node->usrq, &wr);
	else if (node->p->fast->post_rq(run->end->uqp, &wr) == RI_SUCCESS)
		run->received++;
}

static void
request_post(struct run *run, enum command command, struct fuzz_input *in)
{
	struct ri_sge sge = local_take(run, in);
	uint8_t flags = fuzz_u8(in);
	struct ri_wr wr = {.wr_id = run->posted, .sgl = &sge, .num_sge = 1, .opcode = RI_OP_SEND};

	wr.flags = RI_WR_SIGNALED | (flags & 1 ? RI_WR_READ_FENCE : 0) |
		   (flags & 2 ? RI_WR_SOLICITED : 0);
	if (command == COMMAND_SEND && (flags & 4)) {
		wr.flags |= RI_WR_INVALIDATE;
		wr.inv_stag = 0x1234;
	}
	if (command != COMMAND_SEND)
		wr.u.remote = (struct ri_wr_remote){.addr = fuzz_number(in, 2), .stag = 0x77};
	if (command == COMMAND_WRITE) {
		wr.opcode = RI_OP_RDMA_WRITE;
		wr.flags |= flags & 4 ? RI_WR_IMMEDIATE : 0;
		wr.imm = flags;
	}
	if ((command == COMMAND_SEND || command == COMMAND_WRITE) && (flags & 8)) {
		wr.flags |= RI_WR_INLINE;
		sge = (struct ri_sge){(uintptr_t)carried, sge.length % (sizeof(carried) + 1), 1};
	}
	if (command == COMMAND_READ || command == COMMAND_ATOMIC) {
		wr.opcode = command == COMMAND_READ ? RI_OP_RDMA_READ : RI_OP_FETCH_ADD;
		if (sge.stag == closed_chunk.stag || sge.stag == read_chunk.stag) {
			sge.stag = open_chunk.stag;
			sge.addr = (uintptr_t)open_chunk.at;
		}
	}
	if (command == COMMAND_ATOMIC) {
		sge.length = 8;
		wr.u.remote.addr &= ~UINT64_C(7);
		wr.u.remote.operand = flags;
	}
	if (node->p->fast->post_sq(run->end->uqp, &wr) == RI_SUCCESS)
		run->posted++;
}

/* Take the completions that are there. Each is of a request or receive that was posted and not completed yet. */
static void
completions_take(struct run *run)
{
	struct ri_wc wc;

	for (unsigned recv = 0; recv < 2; recv++) {
		struct ri_ucq *cq = recv ? run->end->urcq : run->end->uscq;

		while (node->p->fast->poll_cq(cq, &wc, 1) == 1) {
			FUZZ_REQUIRE(wc.qp_ctx == (uintptr_t)run->end);
			if (recv == 0 || node->srq == NULL)
				FUZZ_REQUIRE(wc.wr_id == run->done[recv]);
			FUZZ_REQUIRE((wc.flags & RI_WC_IMMEDIATE) == 0 ||
				     (recv != 0 && wc.opcode == RI_OP_RECV_WRITE));
			FUZZ_REQUIRE(((wc.flags & RI_WC_RECEIVE) != 0) == (recv != 0) ||
				     wc.status != RI_WC_SUCCESS);
			run->done[recv]++;
		}
	}
}

static void
peer_close(struct run *run)
{
	if (run->peer.fd >= 0)
		close(run->peer.fd);
	run->peer.fd = -1;
}

static void
command_run(struct run *run, struct fuzz_input *in)
{
	static const enum ri_qp_state states[] = {RI_QPS_CLOSING, RI_QPS_TERMINATE, RI_QPS_ERROR,
						  RI_QPS_IDLE};
	enum command command = (enum command)(fuzz_u8(in) % COMMAND_COUNT);

	if (command <=
	    COMMAND_OCTETS) { /* the peer speaks: a frame, a sealed one, or what the input has */
		uint8_t frame[FUZZ_PEER_FRAME_MAX];
		const uint8_t *octets = frame;
		unsigned piece = fuzz_u8(in);
		size_t len;

		if (command == COMMAND_FRAME)
			len = fuzz_peer_frame(&run->peer, in, &run->regions, frame);
		else if (command == COMMAND_SEAL)
			len = fuzz_peer_seal(&run->peer, in, frame);
		else
			octets = fuzz_take(in, fuzz_u8(in), &len);
		peer_say(run, octets, len, piece);
		fuzz_messages(1);
	} else if (command == COMMAND_RECV)
		recv_post(run, in);
	else if (command <= COMMAND_ATOMIC)
		request_post(run, command, in);
	else if (command == COMMAND_TIME)
		vth_advance(node->vth, fuzz_u8(in) * SECOND / 64);
	else if (command == COMMAND_SHUT && run->peer.fd >= 0)
		(void)shutdown(run->peer.fd, SHUT_WR);
	else if (command == COMMAND_CLOSE)
		peer_close(run);
	else if (command == COMMAND_MOVE)
		(void)!end_modify(run->end, states[fuzz_u8(in) % 4]);
	else if (command == COMMAND_HEAR)
		fuzz_peer_hear(&run->peer);
	else if (command == COMMAND_DEREG && run->own.mr != NULL &&
		 node->p->mem->mr_dereg(run->own.mr) == RI_SUCCESS)
		run->own.mr = NULL;
	vth_run(node->vth);
	completions_take(run);
}

/* --- end ------------------------------------------------------------------------------------ */

static void
run_end(struct run *run)
{
	fuzz_peer_hear(&run->peer);
	if (run->peer.fd >= 0)
		(void)shutdown(run->peer.fd, SHUT_WR);
	vth_run(node->vth);
	fuzz_peer_hear(&run->peer);
	peer_close(run);
	vth_advance(node->vth, 100 * SECOND);
	if (end_state(run->end) == RI_QPS_IDLE) { /* what is posted there is kept */
		FUZZ_REQUIRE(end_modify(run->end, RI_QPS_ERROR) == RI_SUCCESS);
		vth_run(node->vth);
	}
	completions_take(run);
	FUZZ_REQUIRE(node_ends(run->end) == 1);
	FUZZ_REQUIRE(run->done[0] == run->posted);
	if (node->srq == NULL)
		FUZZ_REQUIRE(run->done[1] == run->received);
	FUZZ_REQUIRE(memcmp(closed_chunk.at, pattern, REGION) == 0);
	FUZZ_REQUIRE(memcmp(read_chunk.at, pattern, REGION) == 0);
	end_free(&run->end);
	if (node->srq != NULL)
		node_unshare(node);
	chunk_free(&run->own);
	vth_run(node->vth);
	node_forget(node);
	g_ptr_array_set_size(node->gone, 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
	struct fuzz_input in = {.at = octets, .left = len};
	static struct run run;
	uint8_t *heard = run.peer.heard;

	g_random_set_seed(1);
	memset(&run, 0, sizeof(run));
	run.peer.heard = heard;
	if (node == NULL)
		node_begin(&run.peer);
	run_begin(&run, &in);
	while (in.left > 0)
		command_run(&run, &in);
	run_end(&run);
	return 0;
}
