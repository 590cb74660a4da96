/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Calls of the kAL, and posts and polls of the user half, on the adapters of vp/emul; the input is
 * the program that makes them. A request begins as a valid one (fuzz_calls.c); the input picks the
 * objects that its ids name, and changes any of its octets, its length and the room for its reply.
 * Time is virtual and no thread has work to do, so a run repeats exactly.
 *
 * If a kind of object has a user half, the object has it during its whole life, as in the uAL.
 * Memory outside of the arena cannot be registered, since the adapters would use it.
 */
#include "fuzz_calls.h"

#include <unistd.h>

#include "ri_load.h"
#include "vem_provider.h"
#include "vsw_test_host.h"

#define OBJECTS_MAX  48
#define COMMANDS_MAX 96
#define QUEUES       3 /* that a queue pair names */
#define ARENA        4096u
#define MILLISECOND  UINT64_C(1000000)

const ri_provider_entry_fn ri_builtin_entries[] = {vem_provider_entry, NULL};

/* Beyond the calls. */
enum command {
	COMMAND_POST = KAL_CALL_COUNT,
	COMMAND_RECV,
	COMMAND_RECV_SHARED,
	COMMAND_POLL,
	COMMAND_ARM,
	COMMAND_TIME,
	COMMAND_COUNT
};

struct object {
	enum fuzz_kind kind;
	uint32_t id;
	uint32_t rnic;  /* id of its adapter */
	uint32_t key;   /* STag, QPN or address handle */
	unsigned users; /* queue pairs that name this queue */
	bool open;      /* it has its user half */
	union {
		struct ri_urnic *rnic;
		struct ri_ucq *cq;
		struct ri_usrq *srq;
		struct ri_uqp *qp;
	} half;
	struct object *queues[QUEUES]; /* of a queue pair: send, receive, shared or NULL */
};

static struct {
	struct vth *vth;
	struct ri_host host;
	struct kal_client *client;
	struct object objects[OBJECTS_MAX];
	const struct ri_user_ops *user;
	const struct ri_fast_ops *fast;
	uint64_t ctx; /* of the last queue pair */
} w;

static uint8_t arena[ARENA];

/* --- the host ------------------------------------------------------------------------------- */

static enum ri_status
attach_client(void *self, uint64_t owner, struct ri_mem *mem, uint32_t access)
{
	uint64_t first = (uintptr_t)arena;

	if (mem->addr < first || mem->length > ARENA || mem->addr - first > ARENA - mem->length)
		return RI_ERR_ADDRESS;
	return vth_host(w.vth)->mem_attach(self, owner, mem, access);
}

static void
line_drop(void *self, enum ri_log_level level, const char *where, const char *text)
{
	(void)self;
	(void)level;
	FUZZ_REQUIRE(where != NULL && text != NULL && text[0] != '\0');
}

/* --- objects -------------------------------------------------------------------------------- */

static struct object *
object_find(enum fuzz_kind kind, uint32_t id)
{
	for (unsigned i = 0; i < OBJECTS_MAX; i++) {
		if (w.objects[i].kind == kind && w.objects[i].id == id)
			return &w.objects[i];
	}
	return NULL;
}

/* An object of that kind, which the input chooses. NULL: there is none. */
static struct object *
object_pick(enum fuzz_kind kind, uint8_t which)
{
	struct object *found[OBJECTS_MAX];
	unsigned count = 0;

	for (unsigned i = 0; i < OBJECTS_MAX; i++) {
		if (w.objects[i].kind == kind)
			found[count++] = &w.objects[i];
	}
	return count > 0 ? found[which % count] : NULL;
}

static struct object *
object_new(enum fuzz_kind kind, uint32_t id, uint32_t rnic)
{
	struct object *object = object_find(FUZZ_NOTHING, 0);

	FUZZ_REQUIRE(id != 0);
	FUZZ_REQUIRE(object_find(kind, id) == NULL);
	FUZZ_REQUIRE(object != NULL);
	*object = (struct object){.kind = kind, .id = id, .rnic = rnic};
	return object;
}

static bool
objects_full(void)
{
	return object_find(FUZZ_NOTHING, 0) == NULL;
}

/* Close the user half, if it is open. */
static void
half_close(struct object *object)
{
	if (!object->open)
		return;
	object->open = false;
	if (object->kind == FUZZ_QP)
		w.user->qp_close(object->half.qp);
	else if (object->kind == FUZZ_SRQ)
		w.user->srq_close(object->half.srq);
	else if (object->kind == FUZZ_CQ)
		w.user->cq_close(object->half.cq);
	else if (object->kind == FUZZ_RNIC)
		w.user->rnic_close(object->half.rnic);
}

/* Close all user halves of an adapter, children before parents. */
static void
adapter_halves_close(uint32_t rnic)
{
	static const enum fuzz_kind order[] = {FUZZ_QP, FUZZ_SRQ, FUZZ_CQ, FUZZ_RNIC};

	for (unsigned k = 0; k < sizeof(order) / sizeof(order[0]); k++) {
		for (unsigned i = 0; i < OBJECTS_MAX; i++) {
			if (w.objects[i].kind == order[k] && w.objects[i].rnic == rnic)
				half_close(&w.objects[i]);
		}
	}
}

/* --- calls ---------------------------------------------------------------------------------- */

/* The user half of a new queue pair, unless one of its queues has lost its own. */
static enum ri_status
pair_open(struct object *object, const struct object *rnic, const struct kal_qp_create_req *request,
	  const struct kal_qp_create_rep *reply)
{
	bool open;

	object->key = reply->qpn;
	object->queues[0] = object_find(FUZZ_CQ, request->send_cq);
	object->queues[1] = object_find(FUZZ_CQ, request->recv_cq);
	object->queues[2] = request->srq != 0 ? object_find(FUZZ_SRQ, request->srq) : NULL;
	open = object->queues[0] != NULL && object->queues[1] != NULL;
	for (unsigned i = 0; i < QUEUES; i++) {
		if (object->queues[i] != NULL) {
			object->queues[i]->users++;
			open = open && object->queues[i]->open;
		}
	}
	object->open = open;
	if (!open)
		return RI_SUCCESS;
	return w.user->qp_open(rnic->half.rnic, &reply->map, object->queues[0]->half.cq,
			       object->queues[1]->half.cq,
			       object->queues[2] != NULL ? object->queues[2]->half.srq : NULL,
			       &object->half.qp);
}

static void
half_open(struct object *object, const void *request, const void *reply)
{
	const struct object *rnic = object_find(FUZZ_RNIC, object->rnic);
	const struct kal_rnic_open_rep *adapter = reply;
	const struct kal_cq_rep *cq = reply;
	const struct kal_srq_rep *srq = reply;
	enum ri_status status = RI_SUCCESS;

	object->open =
		object->kind == FUZZ_RNIC || object->kind == FUZZ_CQ || object->kind == FUZZ_SRQ;
	if (object->kind == FUZZ_RNIC) {
		FUZZ_REQUIRE(kal_user_half(w.client, object->id, &w.user, &w.fast) == RI_SUCCESS);
		status = w.user->rnic_open(&w.host, &adapter->map, &object->half.rnic);
	} else if (object->kind == FUZZ_CQ) {
		status = w.user->cq_open(rnic->half.rnic, &cq->map, &object->half.cq);
	} else if (object->kind == FUZZ_SRQ) {
		status = w.user->srq_open(rnic->half.rnic, &srq->map, &object->half.srq);
	} else if (object->kind == FUZZ_QP) {
		status = pair_open(object, rnic, request, reply);
	}
	FUZZ_REQUIRE(status == RI_SUCCESS);
}

/* A call has made something: an adapter, or an object on the adapter of the object that the request names first. */
static void
object_made(const struct fuzz_call *row, const void *request, const void *reply)
{
	const struct object *parent;
	struct object *object;
	uint32_t id, first, rnic;

	memcpy(&id, reply, sizeof(id));
	rnic = id;
	if (row->makes != FUZZ_RNIC) {
		memcpy(&first, (const uint8_t *)request + row->ids[0].at, sizeof(first));
		parent = object_find((enum fuzz_kind)row->ids[0].kind, first);
		FUZZ_REQUIRE(parent != NULL); /* else the call must fail */
		rnic = parent->rnic;
	}
	object = object_new(row->makes, id, rnic);
	if (row->makes == FUZZ_MR || row->makes == FUZZ_MW)
		object->key = ((const struct kal_mr_rep *)reply)->stag;
	if (row->makes == FUZZ_AH)
		object->key = ((const struct kal_ah_rep *)reply)->ah;
	half_open(object, request, reply);
}

/* A call has given an object new pages, or a new key. */
static void
object_remapped(uint32_t call, const void *request, const void *reply)
{
	const struct kal_srq_req *srq = request;
	const struct kal_qp_resize_rep *resized = reply;
	uint32_t id;
	struct object *object;
	enum ri_status status = RI_SUCCESS;

	memcpy(&id, request, sizeof(id));
	object = object_find((enum fuzz_kind)fuzz_call_row(call)->ids[0].kind, id);
	if (call == KAL_MR_REREG)
		object->key = ((const struct kal_mr_rep *)reply)->stag;
	if (object == NULL || !object->open)
		return;
	if (call == KAL_CQ_RESIZE)
		status =
			w.user->cq_remap(object->half.cq, &((const struct kal_cq_rep *)reply)->map);
	else if (call == KAL_SRQ_MODIFY && srq->resize != 0)
		status = w.user->srq_remap(object->half.srq,
					   &((const struct kal_srq_rep *)reply)->map);
	else if (call == KAL_QP_RESIZE)
		status = w.user->qp_remap(object->half.qp, &resized->attr, &resized->map);
	FUZZ_REQUIRE(status == RI_SUCCESS);
}

/* The object that a request asks to destroy, which loses its user half now unless it is in use. NULL: there is none. */
static struct object *
object_doomed(uint32_t call, const void *request, size_t len)
{
	const struct fuzz_call *row = fuzz_call_row(call);
	struct object *object;
	uint32_t id;

	if (row->destroys == FUZZ_NOTHING || len != row->request)
		return NULL;
	memcpy(&id, request, sizeof(id));
	object = object_find(row->destroys, id);
	if (object != NULL && call == KAL_RNIC_CLOSE)
		adapter_halves_close(object->id);
	else if (object != NULL && object->users == 0)
		half_close(object);
	return object;
}

/* What must hold for a destruction, and what follows from it. */
static void
object_destroyed(uint32_t call, struct object *object, enum ri_status status)
{
	if (object->users > 0)
		FUZZ_REQUIRE(status == RI_ERR_BUSY);
	else if (object->kind == FUZZ_QP || object->kind == FUZZ_CQ || object->kind == FUZZ_SRQ ||
		 object->kind == FUZZ_RNIC || object->kind == FUZZ_LISTEN)
		FUZZ_REQUIRE(status == RI_SUCCESS);
	if (status != RI_SUCCESS)
		return;
	if (call == KAL_RNIC_CLOSE) { /* all that was on the adapter is gone with it */
		uint32_t rnic = object->id;

		for (unsigned i = 0; i < OBJECTS_MAX; i++) {
			if (w.objects[i].rnic == rnic)
				memset(&w.objects[i], 0, sizeof(w.objects[i]));
		}
		return;
	}
	for (unsigned i = 0; i < QUEUES; i++) {
		if (object->queues[i] != NULL)
			object->queues[i]->users--;
	}
	memset(object, 0, sizeof(*object));
}

/* Lay the input over a request. Returns its length. */
static size_t
request_make(uint32_t call, struct fuzz_input *in, uint8_t *request)
{
	const struct fuzz_call *row = fuzz_call_row(call);
	uint8_t how = fuzz_u8(in);
	size_t len = row->request;
	uint32_t id;

	fuzz_call_fill(call, (how & 0x80u) != 0, arena, request);
	if (call == KAL_QP_CREATE)
		((struct kal_qp_create_req *)(void *)request)->init.ctx = ++w.ctx;
	for (unsigned i = 0; i < FUZZ_IDS_MAX && row->ids[i].kind != FUZZ_NOTHING; i++) {
		uint8_t which = fuzz_u8(in);
		const struct object *object = object_pick((enum fuzz_kind)row->ids[i].kind, which);

		id = which == 0xff ? 0 : object != NULL ? object->id : which;
		memcpy(request + row->ids[i].at, &id, sizeof(id));
	}
	for (unsigned i = 0; i < (how & 7u); i++) {
		size_t at = fuzz_number(in, 2) % row->request;

		request[at] = fuzz_u8(in);
	}
	if (how & 0x08u)
		for (unsigned more = fuzz_u8(in); more > 0 && len < FUZZ_REQUEST_MAX; more--)
			request[len++] = fuzz_u8(in);
	if (how & 0x10u)
		len -= fuzz_u8(in) % (row->request + 1);
	return len;
}

static void
call_run(uint32_t call, struct fuzz_input *in)
{
	const struct fuzz_call *row = fuzz_call_row(call);
	_Alignas(max_align_t) uint8_t request[FUZZ_REQUEST_MAX];
	size_t len = request_make(call, in, request);
	size_t room = row->reply + (call == KAL_ADAPTER_LIST ? 2 * sizeof(struct kal_adapter) : 0);
	uint8_t shorter = fuzz_u8(in);
	uint8_t *sent;
	uint8_t *reply;
	struct object *object;
	struct kal_msg msg = {.call = call, .fd = -1, .req_len = len};
	enum ri_status status;

	if (row->makes != FUZZ_NOTHING && objects_full())
		return;
	if (shorter >= 0xf0 && room > 0)
		room -= shorter % room;
	sent = fuzz_copy(request, len);
	reply = malloc(room > 0 ? room : 1);
	FUZZ_REQUIRE(reply != NULL);
	object = object_doomed(call, sent, len);
	msg.req = sent;
	msg.rep = reply;
	msg.rep_len = room;
	status = kal_call(w.client, &msg);
	fuzz_messages(1);
	FUZZ_REQUIRE(status >= RI_SUCCESS && status < RI_STATUS_COUNT);
	if (object != NULL)
		object_destroyed(call, object, status);
	if (status == RI_SUCCESS) {
		FUZZ_REQUIRE(len >= row->request && msg.rep_len <= room);
		if (row->makes != FUZZ_NOTHING)
			object_made(row, sent, reply);
		else if (row->reply > 0 && row->ids[0].kind != FUZZ_NOTHING)
			object_remapped(call, sent, reply);
	}
	free(reply);
	free(sent);
}

/* --- the user half -------------------------------------------------------------------------- */

static struct ri_sge
segment_take(struct fuzz_input *in)
{
	const struct object *mr = object_pick(FUZZ_MR, fuzz_u8(in));
	uint8_t offset = fuzz_u8(in);

	return (struct ri_sge){.addr = (uintptr_t)arena + offset,
			       .length = fuzz_u8(in),
			       .stag = mr != NULL ? mr->key : offset};
}

static void
request_post(struct fuzz_input *in)
{
	const struct object *qp = object_pick(FUZZ_QP, fuzz_u8(in));
	struct ri_sge sgl[3];
	struct ri_wr wr = {.sgl = sgl, .opcode = fuzz_u8(in) % RI_OP_COUNT};
	const struct object *other;

	wr.flags = fuzz_u8(in);
	wr.num_sge = fuzz_u8(in) % 4;
	for (unsigned i = 0; i < wr.num_sge; i++)
		sgl[i] = segment_take(in);
	other = object_pick(fuzz_u8(in) & 1 ? FUZZ_MW : FUZZ_MR, fuzz_u8(in));
	wr.inv_stag = other != NULL ? other->key : 0;
	if (wr.opcode == RI_OP_FAST_REG)
		return; /* it has addresses that the uAL has checked */
	if (wr.opcode == RI_OP_BIND_MW) {
		struct ri_sge mr = segment_take(in);

		wr.u.bind = (struct ri_wr_bind){.mw_stag = wr.inv_stag,
						.mr_stag = mr.stag,
						.addr = mr.addr,
						.length = mr.length,
						.access = fuzz_u8(in)};
	} else if (wr.opcode == RI_OP_SEND_UD) {
		other = object_pick(FUZZ_AH, fuzz_u8(in));
		wr.u.ud.ah = other != NULL ? other->key : 0;
		other = object_pick(FUZZ_QP, fuzz_u8(in));
		wr.u.ud.qpn = other != NULL ? other->key : 0;
		wr.u.ud.qkey = fuzz_u8(in);
	} else {
		struct ri_sge remote = segment_take(in);

		wr.u.remote = (struct ri_wr_remote){.addr = remote.addr, .stag = remote.stag};
	}
	if (qp != NULL && qp->open)
		(void)!w.fast->post_sq(qp->half.qp, &wr);
}

static void
receive_post(enum fuzz_kind kind, struct fuzz_input *in)
{
	const struct object *queue = object_pick(kind, fuzz_u8(in));
	struct ri_sge sge = segment_take(in);
	struct ri_recv_wr wr = {.sgl = &sge, .num_sge = 1};

	if (queue == NULL || !queue->open)
		return;
	if (kind == FUZZ_QP)
		(void)!w.fast->post_rq(queue->half.qp, &wr);
	else
		(void)!w.fast->post_srq(queue->half.srq, &wr);
}

static void
queue_poll(struct fuzz_input *in, bool arm)
{
	const struct object *cq = object_pick(FUZZ_CQ, fuzz_u8(in));
	struct ri_wc wc[4];

	if (cq == NULL || !cq->open)
		return;
	if (arm)
		(void)!w.fast->arm_cq(cq->half.cq, (enum ri_arm)(fuzz_u8(in) % 5), fuzz_u8(in));
	else
		FUZZ_REQUIRE(w.fast->poll_cq(cq->half.cq, wc, 4) <= 4);
}

/* --- events --------------------------------------------------------------------------------- */

static void
events_take(void)
{
	struct kal_event event;

	while (kal_next_event(w.client, &event)) {
		const struct kal_cm_event *cm = &event.u.cm;
		struct object *gone;

		FUZZ_REQUIRE(event.kind > KAL_EVENT_NONE && event.kind <= KAL_EVENT_CM);
		if (event.kind != KAL_EVENT_CM)
			continue;
		FUZZ_REQUIRE(cm->kind > KAL_CM_NONE && cm->kind < KAL_CM_COUNT);
		FUZZ_REQUIRE(cm->pdata_len <= sizeof(cm->pdata));
		gone = object_find(FUZZ_REQUEST, cm->request);
		if (cm->kind == KAL_CM_REQUEST_GONE && gone != NULL)
			memset(gone, 0, sizeof(*gone));
		if ((cm->kind == KAL_CM_REQUEST || cm->kind == KAL_CM_SERVICE_REQUEST) &&
		    gone == NULL && !objects_full())
			(void)object_new(FUZZ_REQUEST, cm->request, 0);
	}
}

static void
command_run(struct fuzz_input *in)
{
	uint32_t command = fuzz_u8(in) % COMMAND_COUNT;

	if (command < KAL_CALL_COUNT && fuzz_call_row(command)->request > 0)
		call_run(command, in);
	else if (command == COMMAND_POST)
		request_post(in);
	else if (command == COMMAND_RECV)
		receive_post(FUZZ_QP, in);
	else if (command == COMMAND_RECV_SHARED)
		receive_post(FUZZ_SRQ, in);
	else if (command == COMMAND_POLL || command == COMMAND_ARM)
		queue_poll(in, command == COMMAND_ARM);
	else if (command == COMMAND_TIME)
		vth_advance(w.vth, fuzz_u8(in) * 100 * MILLISECOND);
	vth_run(w.vth);
	events_take();
}

int
LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
	struct fuzz_input in = {.at = octets, .left = len};
	struct kal_client_params params = {.host = &w.host};

	g_random_set_seed(1);
	memset(&w, 0, sizeof(w));
	w.vth = vth_new(false);
	w.host = *vth_host(w.vth);
	w.host.mem_attach = attach_client;
	w.host.log = line_drop;
	FUZZ_REQUIRE(kal_client_open(&params, &w.client) == RI_SUCCESS);
	for (unsigned i = 0; i < COMMANDS_MAX && in.left > 0; i++)
		command_run(&in);
	for (unsigned i = 0; i < OBJECTS_MAX; i++) {
		if (w.objects[i].kind == FUZZ_RNIC)
			adapter_halves_close(w.objects[i].id);
	}
	kal_client_close(w.client);
	vth_run(w.vth);
	FUZZ_REQUIRE(vth_attached(w.vth) == 0);
	vth_free(&w.vth); /* refuses if a timer, a task or a descriptor is left */
	return 0;
}
