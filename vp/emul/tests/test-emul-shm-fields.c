/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A valid packet, entry or ring is altered in one field after another. Each altered one must be
 * refused without an effect on any connection; the valid one, sent after all of them, must have its
 * usual effect.
 */
#include <sys/socket.h>

#include "vem_two.h"

/* --- packets as they cross ------------------------------------------------------------------- */

/* Receive a packet of that kind and number of descriptors; returns how many of the descriptors are left open. */
static enum vem_packet_result
crosses(const struct vem_packet *packet, size_t size, unsigned count, unsigned *left)
{
	const int fds[] = {0, 1, 2, 0};
	int pair[2], got[VEM_PACKET_FDS];
	uint8_t octets[sizeof(*packet) + 8] = {0}, control[CMSG_SPACE(sizeof(fds))] = {0};
	struct iovec part = {.iov_base = octets, .iov_len = size};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
	enum vem_packet_result result;
	struct vem_packet into;
	const char *why;

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), ==, 0);
	memcpy(octets, packet, sizeof(*packet));
	if (count != 0) {
		struct cmsghdr *head = (struct cmsghdr *)(void *)control;

		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(head), fds, count * sizeof(int));
	}
	g_assert_cmpint(sendmsg(pair[0], &msg, 0), ==, (ssize_t)size);
	result = vem_packet_receive(pair[1], &into, got, left, &why);
	for (unsigned i = 0; i < *left; i++)
		close(got[i]);
	g_assert_true((result == VEM_PACKET_BAD) == (why != NULL));
	close(pair[0]);
	close(pair[1]);
	return result;
}

static void
test_packets(void)
{
	const unsigned before = open_count();

	for (uint32_t kind = 0; kind <= VEM_PACKET_KINDS + 1; kind++)
		for (unsigned count = 0; count <= 4; count++)
			for (unsigned alter = 0; alter <= 10; alter++) {
				struct vem_packet packet = {.magic = VEM_PACKET_MAGIC,
							    .kind = kind,
							    .ird_ord = 1,
							    .field = 1,
							    .pdata_len = RI_PDATA_MAX};
				bool known = kind != 0 && kind < VEM_PACKET_KINDS;
				unsigned needs = kind == VEM_PACKET_HELLO ? VEM_PACKET_FDS : 0;
				unsigned left;

				packet.magic += alter == 1;
				packet.ird_ord += alter == 2;
				packet.field += alter == 3;
				packet.pdata_len = (uint16_t)(packet.pdata_len + (alter == 4));
				packet.retries += alter == 7 ? 2 : 0;
				packet.retry_count += alter == 8 ? 8 : 0;
				packet.rnr_retry += alter == 9 ? 8 : 0;
				packet.reserved += alter == 10;

				bool good = known && count == needs && alter == 0;
				size_t size = sizeof(packet) + (alter == 5) - (alter == 6);

				g_assert_cmpint(crosses(&packet, size, count, &left), ==,
						good ? VEM_PACKET_GOT : VEM_PACKET_BAD);
				g_assert_cmpuint(left, ==, good ? needs : 0);
				g_assert_cmpuint(open_count(), ==, before);
			}
}

/* --- rings ------------------------------------------------------------------------------------ */

/* The reader's index goes forward and not beyond what was written; the first one that does not breaks the ring for good. */
static void
test_index(void)
{
	uint8_t head[VEM_RING_HEAD] = {0};

	for (unsigned round = 0; round < 400; round++) {
		struct vem_ring_page *page;
		int fd = vem_ring_create(&page, &(const char *){NULL});
		struct vem_ring_out out;
		const uint32_t length = g_random_int() % VEM_RING_MAX;
		uint64_t last = 0;
		bool good = true;

		vem_ring_out_init(&out, page);
		while (vem_ring_begin(&out, length) != NULL)
			(void)vem_ring_end(&out, head, length, false);
		for (unsigned i = 0; i < 60 && good; i++) {
			unsigned lie = g_random_int() % 30;
			uint64_t said = lie == 0   ? last - 1 - g_random_int() % 4096
					: lie == 1 ? out.written + 1 + g_random_int() % 4096
					: lie == 2 ? last
						   : out.written - (out.written - last) / 2;

			atomic_store(&page->read, said);
			while (vem_ring_begin(&out, length) != NULL)
				(void)vem_ring_end(&out, head, length, false);
			if (lie <= 1) {
				good = false;
			} else {
				g_assert_false(out.broken);
				last = said;
			}
		}
		g_assert_true(out.broken == !good);
		atomic_store(&page->read, out.written);
		g_assert_true(good || vem_ring_begin(&out, 0) == NULL);
		vem_ring_unmap(page);
		close(fd);
	}
}

/* --- requests ----------------------------------------------------------------------------------- */

/* Slots that are taken at a link. */
static unsigned
slots_of(struct vem_link *link)
{
	unsigned count = 0;

	pthread_mutex_lock(&link->shm->fabric->lock);
	for (unsigned i = 0; i < VEM_SLOT_PAGES; i++)
		for (unsigned k = 0; link->pages[i] != NULL && k < VEM_SLOTS; k++)
			count += atomic_load(&link->pages[i][k].remote) != NULL;
	pthread_mutex_unlock(&link->shm->fabric->lock);
	return count;
}

static void
test_request(void)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT + 1)};
	struct two t RI_AT_END(two_free) = two_new();
	const struct ri_rnic_attr *attr = &t.node[1]->attr;
	const struct ri_cm_ops *cm = t.node[1]->p->cm;
	struct ri_cm_params params = node_params(&service);
	struct ri_listen *listen;
	struct vem_link *link;
	unsigned slots;

	connect_at(t.a, t.b, PORT);
	link = atomic_load(&end_qp(t.b)->remote)->link;
	slots = slots_of(link);
	g_assert_cmpint(cm->listen(t.node[1]->context, 42, 0, &service, 4, &listen), ==,
			RI_SUCCESS);
	for (int alter = 9; alter >= 0; alter--) {
		struct vem_packet packet = {.magic = VEM_PACKET_MAGIC,
					    .kind = VEM_PACKET_REQUEST,
					    .from = 900,
					    .from_life = 1,
					    .service = service,
					    .peer = params.peer,
					    .local = params.peer,
					    .type = RI_QP_RC,
					    .qpn = 0xffffff,
					    .ird = attr->max_ird,
					    .ord = attr->max_ord,
					    .ird_ord = 1,
					    .field = 1,
					    .pdata_len = (uint16_t)attr->connect_pdata};

		packet.ird += alter == 1;
		packet.ord += alter == 2;
		packet.qpn += alter == 3;
		packet.peer.family = alter == 4 ? RI_ADDR_GID + 1 : packet.peer.family;
		packet.local.family = alter == 5 ? RI_ADDR_GID + 1 : packet.local.family;
		packet.pdata_len = (uint16_t)(packet.pdata_len + (alter == 6));
		packet.service.kind = alter == 7 ? 77 : packet.service.kind;
		packet.service.port = (uint16_t)(packet.service.port + (alter == 8));
		packet.ird = alter == 9 ? UINT32_MAX : packet.ird;
		comes(link, &packet);
		g_test_message("altered: %d", alter);
		g_assert_cmpuint(slots_of(link), ==, slots + (alter == 0));
	}
	struct ri_cm_event request = node_cm(t.node[1], RI_CM_REQUEST, LISTENER);
	g_assert_cmpuint(request.ird, ==, attr->max_ird);
	g_assert_cmpint(cm->reject(request.request, RI_CM_REASON_CONSUMER, NULL, 0), ==,
			RI_SUCCESS);
	g_assert_cmpuint(slots_of(link), ==, slots);
	cm->listen_destroy(listen);
	g_assert_cmpint(end_state(t.b), ==, RI_QPS_RTS);
}

/* --- connections by attributes ------------------------------------------------------------------ */

/* Only the partner that the application has named joins, with the number of this life. */
static void
test_join(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	struct pair p = pair_of(&t, RI_QP_RC);
	struct vem_fabric *fabric = fabric_of(p.nb);
	struct vem_link *link;

	g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
	while (knock_of(p.b) == 0)
		g_usleep(500);
	pthread_mutex_lock(&fabric->lock);
	link = vem_link_to_block(fabric->shm, qpn_of(p.a) >> VEM_BLOCK_BITS, NULL);
	pthread_mutex_unlock(&fabric->lock);
	for (int alter = 7; alter >= 0; alter--) {
		struct vem_packet join = {.magic = VEM_PACKET_MAGIC,
					  .kind = VEM_PACKET_JOIN,
					  .to_life = knock_of(p.b) + (alter == 1),
					  .from = 7,
					  .from_life = 1,
					  .qpn = qpn_of(p.a) + (alter == 2),
					  .code = qpn_of(p.b) + (alter == 3),
					  .type = alter == 4 ? RI_QP_UC : RI_QP_RC,
					  .local.family = RI_ADDR_GID,
					  .peer.family = RI_ADDR_GID};

		memcpy(join.local.octets, end_qp(p.b)->far.target.grh + 24, 16);
		memcpy(join.peer.octets, end_qp(p.b)->far.target.grh + 8, 16);
		join.local.octets[15] = (uint8_t)(join.local.octets[15] + (alter == 5));
		join.peer.octets[15] = (uint8_t)(join.peer.octets[15] + (alter == 6));
		join.to_life = alter == 7 ? 0 : join.to_life;
		comes(link, &join);
		g_test_message("altered: %d", alter);
		g_assert_true((atomic_load(&end_qp(p.b)->remote) != NULL) == (alter == 0));
	}
	end_free(&p.a);
	end_free(&p.b);
}

/* Lives that knock are numbered, and no number is 0, even after all have been used. */
static void
test_knocks(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	struct pair p = pair_of(&t, RI_QP_RC);
	struct vem_fabric *fabric = fabric_of(p.nb);
	uint32_t last = 0;

	connect_at(t.a, t.b, PORT);
	pthread_mutex_lock(&fabric->lock);
	fabric->shm->knocks = UINT32_MAX - 2;
	pthread_mutex_unlock(&fabric->lock);
	for (unsigned life = 0; life < 4; life++) {
		g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
		for (gint64 deadline = node_deadline(); knock_of(p.b) == 0; g_usleep(500))
			g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		g_assert_cmpuint(knock_of(p.b), !=, last);
		last = knock_of(p.b);
		back_to_idle(p.b);
	}
	end_free(&p.a);
	end_free(&p.b);
}

/* --- entries ------------------------------------------------------------------------------------ */

/* An entry for the connection comes. */
static void
entry_comes(struct vem_remote *remote, struct vem_wire wire, uint32_t length)
{
	static const uint8_t octets[64];
	struct vem_ring_entry entry = {.octets = octets, .length = length, .lines = 2};

	wire.to = remote->slot;
	wire.to_life = remote->life;
	memcpy(entry.head, &wire, sizeof(wire));
	vem_shm_rx_take(remote->link->shm);
	vem_remote_entry(remote->link, &entry);
	vem_shm_rx_drop(remote->link->shm);
}

/* No answer of the peer has an effect on an unreliable connection. */
static void
test_unreliable(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	struct pair p = pair_of(&t, RI_QP_UC);
	struct chunk *ca = p.na == t.node[0] ? &t.ca : &t.cb, *cb = ca == &t.ca ? &t.cb : &t.ca;
	struct vem_remote *remote;

	g_assert_cmpint(peer_receive(p.b, &p.to_a), ==, RI_SUCCESS);
	g_assert_cmpint(peer_receive(p.a, &p.to_b), ==, RI_SUCCESS);
	sends_soon(&p);
	g_assert_cmpint(peer_send(p.a, &p.to_b), ==, RI_SUCCESS);
	g_assert_cmpint(peer_send(p.b, &p.to_a), ==, RI_SUCCESS);
	remote = atomic_load(&end_qp(p.a)->remote);
	for (unsigned kind = VEM_WIRE_ACK; kind <= VEM_WIRE_REFUSED; kind++)
		for (uint32_t number = 0; number < 3; number++) {
			entry_comes(remote,
				    (struct vem_wire){.kind = (uint8_t)kind,
						      .last_try = number & 1,
						      .number = number,
						      .status = RI_WC_REMOTE_ACCESS},
				    0);
			g_assert_cmpuint(atomic_load(&remote->told), ==, 0);
		}
	for (uint64_t i = 0; i < 4; i++) {
		g_assert_cmpint(end_recv(p.b, i, cb, 0, 64), ==, RI_SUCCESS);
		g_assert_cmpint(end_send(p.a, i, ca, 0, 64), ==, RI_SUCCESS);
		poll_wait(p.a->uscq, i, RI_WC_SUCCESS);
		poll_wait(p.b->urcq, i, RI_WC_SUCCESS);
	}
	end_free(&p.a);
	end_free(&p.b);
}

/* As many Reads as its depth allows may wait for their answers, and none more. */
static void
test_depth(void)
{
	for (uint32_t ird = 1; ird <= 4; ird++) {
		struct two t RI_AT_END(two_free) = two_new();
		struct vem_remote *remote;

		connect_at(t.a, t.b, PORT);
		g_assert_null(node_path(t.node[0], "path all hold")); /* nobody reads the answers */
		remote = atomic_load(&end_qp(t.b)->remote);
		atomic_store(&end_qp(t.b)->in.ird, ird);
		for (uint32_t i = 0; i <= ird; i++) {
			g_assert_false(remote->refused);
			/* The first one alone is longer than the ring. */
			entry_comes(remote,
				    (struct vem_wire){.kind = VEM_WIRE_READ,
						      .number = remote->expected,
						      .length = SIZE,
						      .addr = (uintptr_t)t.cb.at,
						      .stag = t.cb.stag},
				    0);
		}
		g_assert_true(remote->refused);
		g_assert_null(node_path(t.node[0], "path all open"));
	}
}

/* Reads and Writes that are told to wait, one or several times, are sent again, and count once. */
static void
test_waits(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	struct vem_remote *remote;
	uint64_t id = 0;

	connect_at(t.a, t.b, PORT);
	remote = atomic_load(&end_qp(t.a)->remote);
	for (unsigned times = 1; times <= 6; times++) {
		uint32_t first = atomic_load(&remote->done);

		g_assert_null(node_path(t.node[0], "path all hold"));
		for (unsigned i = 0; i < 3; i++)
			g_assert_cmpint(end_read(t.a, id + i, &t.ca, &t.cb, 64), ==, RI_SUCCESS);
		for (unsigned i = 0; i < times; i++) {
			entry_comes(
				remote,
				(struct vem_wire){.kind = VEM_WIRE_WAIT, .number = first + i % 3},
				0);
			entry_comes(remote, (struct vem_wire){.kind = VEM_WIRE_READY}, 0);
		}
		g_assert_cmpuint(remote->reads, <=, 3);
		g_assert_null(node_path(t.node[0], "path all open"));
		for (unsigned i = 0; i < 3; i++)
			poll_wait(t.a->uscq, id + i, RI_WC_SUCCESS);
		id += 3;
		g_assert_cmpuint(remote->reads, ==, 0);
	}
}

/* From the moment at which a connection ends, no answer is placed, though its request is not flushed yet. */
static void
test_closed(void)
{
	struct two t RI_AT_END(two_free) = two_new();
	struct vem_remote *remote;

	connect_at(t.a, t.b, PORT);
	remote = atomic_load(&end_qp(t.a)->remote);
	g_assert_null(node_path(t.node[0], "path all hold"));
	memset(t.ca.at, 0x5a, 64);
	g_assert_cmpint(end_read(t.a, 1, &t.ca, &t.cb, 64), ==, RI_SUCCESS);
	for (unsigned closed = 2; closed-- > 0;) {
		vsw_lock(&remote->answer);
		remote->closed = closed != 0;
		vsw_unlock(&remote->answer);
		entry_comes(remote, (struct vem_wire){.kind = VEM_WIRE_DATA, .length = 64}, 64);
		g_assert_cmpuint(t.ca.at[0], ==, closed != 0 ? 0x5a : 0);
	}
	poll_wait(t.a->uscq, 1, RI_WC_SUCCESS);
	g_assert_null(node_path(t.node[0], "path all open"));
}

/* --- queries ------------------------------------------------------------------------------------ */

/* A query is answered by the process that it was sent to, and by no other one that knows its number. */
static void
test_answers(void)
{
	struct ri_service service = {.kind = RI_SERVICE_PORT, .port = GUINT16_TO_BE(PORT + 2)};
	const struct ri_service_answer found = {.status = RI_SERVICE_FOUND, .qpn = 77};
	struct two t RI_AT_END(two_free) = two_new();
	const struct ri_cm_ops *cm = t.node[0]->p->cm;
	struct vem_packet answer = {.magic = VEM_PACKET_MAGIC,
				    .kind = VEM_PACKET_ANSWER,
				    .code = RI_SERVICE_FOUND,
				    .qpn = 66};
	struct vth *vth RI_AT_END(vth_free) = vth_new(true);
	struct node *third RI_AT_END(node_free) = node_new(vth, true, "shm:ib");
	struct end *c RI_AT_END(end_free) = end_new(third, NULL);
	struct ri_cm_params params = node_params(&service);
	struct ri_listen *listen;
	struct vem_link *other;

	connect_at(t.a, c, PORT);
	other = atomic_load(&end_qp(t.a)->remote)->link;
	g_assert_cmpint(cm->listen(t.node[1]->context, 42, 0, &service, 4, &listen), ==,
			RI_SUCCESS);
	g_assert_cmpint(cm->resolve(t.node[0]->context, 101, &params), ==, RI_SUCCESS);
	struct ri_cm_event request = node_cm(t.node[1], RI_CM_SERVICE_REQUEST, LISTENER);
	for (answer.to = 0; answer.to < 8; answer.to++)
		comes(other, &answer);
	g_assert_cmpint(cm->resolve_answer(request.request, &found), ==, RI_SUCCESS);
	struct ri_cm_event reply =
		node_cm(t.node[0], RI_CM_SERVICE_REPLY, (const void *)(uintptr_t)101);
	g_assert_cmpuint(reply.qpn, ==, 77);
	cm->listen_destroy(listen);
	node_forget(third);
	node_forget(t.node[0]);
}

int
main(int argc, char **argv)
{
	char *runtime = vem_runtime_begin();
	int failed;

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/emul/shm-fields/packets", test_packets);
	g_test_add_func("/emul/shm-fields/index", test_index);
	g_test_add_func("/emul/shm-fields/request", test_request);
	g_test_add_func("/emul/shm-fields/join", test_join);
	g_test_add_func("/emul/shm-fields/knocks", test_knocks);
	g_test_add_func("/emul/shm-fields/unreliable", test_unreliable);
	g_test_add_func("/emul/shm-fields/depth", test_depth);
	g_test_add_func("/emul/shm-fields/waits", test_waits);
	g_test_add_func("/emul/shm-fields/closed", test_closed);
	g_test_add_func("/emul/shm-fields/answers", test_answers);
	failed = g_test_run();
	return failed | !vem_runtime_end(runtime);
}
