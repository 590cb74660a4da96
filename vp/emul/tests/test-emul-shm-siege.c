/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A process attacks the other side of its link as fast as it can. A good connection of the same
 * target must go on with a certain share of its former rate, other processes must be able to
 * connect, and the target's memory and processor time must stay bounded.
 *
 * The attacker is this program again, started with `ADAPTER attack KIND`, and is killed.
 */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vem_hostile.h"
#include "vem_runtime.h"

#define WINDOW_US 100000
#define WINDOWS \
	20 /* the best one counts: another program that uses the processors is not the link's fault */
#define SHARE 0.05 /* of the rate before */
#define QUIET 0.25 /* of a processor, under an attack that does nothing */
#define ONE_THREAD \
	1.25 /* processors, under any: the service thread, and what the test itself uses */
#define GROWTH_KIB 16384

static const char *self;

/* --- the attacker ------------------------------------------------------------------------- */

struct attack {
	struct hostile h;
	struct vem_ring_page *page;
	int fds[3];
	struct vem_ring_out out;
};

/* A link with a good beginning. */
static void
attack_begin(struct attack *a)
{
	while (!hostile_try(&a->h))
		continue;
	struct vem_packet hello = good_hello(&a->h);
	a->fds[0] = vem_ring_create(&a->page, &(const char *){NULL});
	g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, a->fds + 1), ==, 0);
	send_fds(a->h.sock, &hello, sizeof(hello), a->fds, 2);
	vem_ring_out_init(&a->out, a->h.ring);
}

static void
attack_end(struct attack *a)
{
	vem_ring_unmap(a->page);
	for (unsigned i = 0; i < 3; i++)
		close(a->fds[i]);
	hostile_free(&a->h);
}

/* Links that write into their rings, and never greet. */
static void
attack_silent(void)
{
	const struct vem_wire wire = {.kind = VEM_WIRE_WRITE, .length = 8};
	struct vem_ring_out out;
	struct hostile h[8];

	for (;;) {
		for (unsigned i = 0; i < G_N_ELEMENTS(h); i++) {
			while (!hostile_try(&h[i]))
				continue;
			vem_ring_out_init(&out, h[i].ring);
			g_assert_nonnull(vem_ring_begin(&out, 8));
			(void)vem_ring_end(&out, (const uint8_t *)&wire, 8, false);
			(void)!send(h[i].fds[1], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		}
		g_usleep(10 * WINDOW_US);
		for (unsigned i = 0; i < G_N_ELEMENTS(h); i++)
			hostile_free(&h[i]);
	}
}

/* Messages for connections that do not exist, without pause; a link that is cut off is made again. */
static void
attack_packets(void)
{
	struct attack a;

	for (;;) {
		attack_begin(&a);
		for (unsigned i = 0; i < 100000; i++) {
			struct vem_packet packet = {.magic = VEM_PACKET_MAGIC,
						    .kind = VEM_PACKET_MESSAGE,
						    .to = i,
						    .to_life = i,
						    .message = VEM_MSG_CONFIRM};

			if (send(a.h.sock, &packet, sizeof(packet), MSG_NOSIGNAL) < 0)
				break;
		}
		attack_end(&a);
	}
}

/* Entries for connections that do not exist, the ring always full. */
static void
attack_entries(void)
{
	struct attack a;

	attack_begin(&a);
	for (uint32_t i = 0;; i++) {
		const struct vem_wire wire = {
			.kind = VEM_WIRE_WRITE, .to = 3, .to_life = 99, .number = i, .length = 8};

		if (vem_ring_begin(&a.out, 8) == NULL) {
			(void)!send(a.h.fds[1], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
			continue;
		}
		if (vem_ring_end(&a.out, (const uint8_t *)&wire, 8, false))
			(void)!send(a.h.fds[1], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
}

/* Wake-ups without anything to read. */
static void
attack_wakes(void)
{
	struct attack a;

	attack_begin(&a);
	for (;;)
		(void)!send(a.h.fds[1], "", 1, MSG_NOSIGNAL);
}

static const struct {
	const char *name;
	void (*run)(void);
	bool quiet;
} attacks[] = {{"silent", attack_silent, true},
	       {"packets", attack_packets, false},
	       {"entries", attack_entries, false},
	       {"wakes", attack_wakes, false}};

static int
attack_main(char **argv)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	hostile_runtime = g_strdup(g_getenv("XDG_RUNTIME_DIR"));
	attacks[g_ascii_strtoull(argv[3], NULL, 10)].run();
	return 1;
}

static pid_t
attack_start(unsigned which)
{
	pid_t pid = fork();

	if (pid == 0) {
		char number[8];

		g_snprintf(number, sizeof(number), "%u", which);
		execl(self, self, hostile_adapter, "attack", number, (char *)NULL);
		_exit(127);
	}
	g_assert_cmpint(pid, >, 0);
	return pid;
}

/* --- the target --------------------------------------------------------------------------- */

/* A good connection of the target with itself. */
struct good {
	struct vth *vth;
	struct node *node;
	struct end *a, *b;
	struct chunk ca, cb;
};

static void
good_begin(struct good *good, struct server *s)
{
	good->vth = vth_new(true);
	good->node = node_new_patient(good->vth, hostile_adapter, "60000");
	good->a = end_new(good->node, NULL);
	good->b = end_new(s->node, NULL);
	good->ca = chunk_new(good->node, 4096, ALL_RW);
	good->cb = chunk_new(s->node, 4096, ALL_RW);
	g_assert_cmpint(good->node->p->cm->connect(good->a->qp, &s->params), ==, RI_SUCCESS);
	struct ri_cm_event request = node_cm(s->node, RI_CM_REQUEST, (const void *)(uintptr_t)42);
	g_assert_cmpint(good->node->p->cm->accept(request.request, good->b->qp, &s->params), ==,
			RI_SUCCESS);
	node_cm(good->node, RI_CM_ESTABLISHED, good->a);
	node_cm(s->node, RI_CM_ESTABLISHED, good->b);
}

static void
good_end(struct good *good)
{
	end_free(&good->a);
	end_free(&good->b);
	chunk_free(&good->ca);
	chunk_free(&good->cb);
	node_forget(good->node);
	node_free(&good->node);
	vth_free(&good->vth);
}

/* Writes of 4 KiB within one window, each waited for, and looked at at its target. */
static unsigned
rate(struct good *good)
{
	gint64 until = g_get_monotonic_time() + WINDOW_US, deadline = node_deadline();
	unsigned count = 0;

	for (; g_get_monotonic_time() < until; count++) {
		struct ri_wc wc = {0};

		memset(good->ca.at, (int)(count & 0xff), 4096);
		g_assert_cmpint(end_write(good->a, count, &good->ca, &good->cb, 4096), ==,
				RI_SUCCESS);
		while (good->node->p->fast->poll_cq(good->a->uscq, &wc, 1) == 0)
			g_assert_cmpint(g_get_monotonic_time(), <, deadline);
		g_assert_cmpuint(wc.status, ==, RI_WC_SUCCESS);
		g_assert_cmpmem(good->ca.at, 4096, good->cb.at, 4096);
	}
	return count;
}

static uint64_t
memory_kib(void)
{
	g_autofree char *text = NULL;

	g_assert_true(g_file_get_contents("/proc/self/status", &text, NULL, NULL));
	return g_ascii_strtoull(strstr(text, "VmRSS:") + strlen("VmRSS:"), NULL, 10);
}

static gint64
processor_us(void)
{
	struct rusage usage;

	g_assert_cmpint(getrusage(RUSAGE_SELF, &usage), ==, 0);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * G_USEC_PER_SEC +
	       usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

/* Processors that the target uses while it has nothing to do but the attack. */
static double
idle_processors(void)
{
	gint64 since = g_get_monotonic_time(), used = processor_us();

	g_usleep(2 * WINDOW_US);
	used = processor_us() - used;
	return (double)used / (double)(g_get_monotonic_time() - since);
}

static void
test_siege(gconstpointer arg)
{
	unsigned which = GPOINTER_TO_UINT(arg), before, during = 0;
	struct server s RI_AT_END(server_free) = server_new();
	struct good good;
	double processors, share = 0;
	uint64_t memory;
	pid_t pid;
	int status;

	good_begin(&good, &s);
	(void)rate(&good);
	before = rate(&good);
	memory = memory_kib();
	pid = attack_start(which);
	g_usleep(WINDOW_US);
	for (unsigned i = 0; i < WINDOWS && share <= SHARE; i++) {
		during = MAX(during, rate(&good));
		share = (double)during / before;
	}
	processors = idle_processors();
	server_works(&s);
	g_assert_cmpint(waitpid(pid, &status, WNOHANG), ==, 0);
	memory = MAX(memory_kib(), memory) - memory;
	g_test_message(
		"%s: the good connection has %.2f of its rate; %.2f processors, %" G_GUINT64_FORMAT
		" KiB more",
		attacks[which].name, share, processors, memory);
	g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	g_assert_true(WIFSIGNALED(status));
	if (share <= SHARE) /* another program may have taken the processors meanwhile */
		share = (double)during / MIN(before, MAX(rate(&good), 1));
	g_assert_cmpfloat(share, >, SHARE);
	g_assert_cmpfloat(processors, <, attacks[which].quiet ? QUIET : ONE_THREAD);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	g_assert_cmpuint(memory, <, GROWTH_KIB);
#endif
	good_end(&good);
}

int
main(int argc, char **argv)
{
	self = argv[0];
	hostile_adapter = argc > 1 ? argv[1] : "shm:ib";
	if (argc == 4 && strcmp(argv[2], "attack") == 0)
		return attack_main(argv);
	hostile_runtime = vem_runtime_begin();
	g_test_init(&argc, &argv, NULL);
	for (unsigned i = 0; i < G_N_ELEMENTS(attacks); i++) {
		g_autofree char *path = g_strdup_printf(
			"/emul/shm-siege/%s/%s", strchr(hostile_adapter, ':') + 1, attacks[i].name);

		g_test_add_data_func(path, GUINT_TO_POINTER(i), test_siege);
	}
	int failed = g_test_run();
	(void)vem_runtime_end(hostile_runtime); /* names of killed ones may be left */
	return failed;
}
