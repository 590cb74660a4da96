/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * A program that is not linked with libibverbs and looks for it as libraries of collective communication do: dlopen() by its name,
 * then dlvsym() of each function with its version. It prints the names of the devices, one a line, if all functions are
 * there and those with objects work.
 *
 *     library-by-name [LIBRARY]     another library to open first, which only the folder of the program's RUNPATH has
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	struct ibv_device **(*get_device_list)(int *);
	void (*free_device_list)(struct ibv_device **);
	const char *(*get_device_name)(struct ibv_device *);
	struct ibv_context *(*open_device)(struct ibv_device *);
	int (*close_device)(struct ibv_context *);
	int (*query_device)(struct ibv_context *, struct ibv_device_attr *);
	int (*query_gid)(struct ibv_context *, uint8_t, int, union ibv_gid *);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *);
	int (*dealloc_pd)(struct ibv_pd *);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *, void *, size_t, int);
	struct ibv_mr *(*reg_mr_iova2)(struct ibv_pd *, void *, size_t, uint64_t, unsigned);
	int (*dereg_mr)(struct ibv_mr *);
	struct ibv_cq *(*create_cq)(struct ibv_context *, int, void *, struct ibv_comp_channel *,
				    int);
	int (*destroy_cq)(struct ibv_cq *);
	struct ibv_qp *(*create_qp)(struct ibv_pd *, struct ibv_qp_init_attr *);
	int (*destroy_qp)(struct ibv_qp *);
	const char *(*event_type_str)(enum ibv_event_type);
	void *others[12];
} verbs;

static const struct {
	const char *name;
	const char *version;
	void *place;
} functions[] = {
	{"ibv_get_device_list", "IBVERBS_1.1", &verbs.get_device_list},
	{"ibv_free_device_list", "IBVERBS_1.1", &verbs.free_device_list},
	{"ibv_get_device_name", "IBVERBS_1.1", &verbs.get_device_name},
	{"ibv_open_device", "IBVERBS_1.1", &verbs.open_device},
	{"ibv_close_device", "IBVERBS_1.1", &verbs.close_device},
	{"ibv_query_device", "IBVERBS_1.1", &verbs.query_device},
	{"ibv_query_gid", "IBVERBS_1.1", &verbs.query_gid},
	{"ibv_alloc_pd", "IBVERBS_1.1", &verbs.alloc_pd},
	{"ibv_dealloc_pd", "IBVERBS_1.1", &verbs.dealloc_pd},
	{"ibv_reg_mr", "IBVERBS_1.1", &verbs.reg_mr},
	{"ibv_reg_mr_iova2", "IBVERBS_1.8", &verbs.reg_mr_iova2},
	{"ibv_dereg_mr", "IBVERBS_1.1", &verbs.dereg_mr},
	{"ibv_create_cq", "IBVERBS_1.1", &verbs.create_cq},
	{"ibv_destroy_cq", "IBVERBS_1.1", &verbs.destroy_cq},
	{"ibv_create_qp", "IBVERBS_1.1", &verbs.create_qp},
	{"ibv_destroy_qp", "IBVERBS_1.1", &verbs.destroy_qp},
	{"ibv_event_type_str", "IBVERBS_1.1", &verbs.event_type_str},
	{"ibv_get_async_event", "IBVERBS_1.1", &verbs.others[0]},
	{"ibv_ack_async_event", "IBVERBS_1.1", &verbs.others[1]},
	{"ibv_query_port", "IBVERBS_1.1", &verbs.others[2]},
	{"ibv_query_qp", "IBVERBS_1.1", &verbs.others[3]},
	{"ibv_modify_qp", "IBVERBS_1.1", &verbs.others[4]},
	{"ibv_fork_init", "IBVERBS_1.1", &verbs.others[5]},
	{"ibv_reg_dmabuf_mr", "IBVERBS_1.12", &verbs.others[6]},
	{"ibv_query_ece", "IBVERBS_1.10", &verbs.others[7]},
	{"ibv_set_ece", "IBVERBS_1.10", &verbs.others[8]},
};

static void
need(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "%s failed: %s\n", what, strerror(errno));
	exit(1);
}

static void
find_functions(void)
{
	void *library = dlopen("libibverbs.so.1", RTLD_NOW);

	need(library != NULL, "dlopen of libibverbs.so.1");
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *found = dlvsym(library, functions[i].name, functions[i].version);

		need(found != NULL, functions[i].name);
		memcpy(functions[i].place, &found, sizeof(found));
	}
	/* A version that no function has is not there. */
	need(dlvsym(library, "ibv_open_device", "IBVERBS_0.1") == NULL,
	     "a version that does not exist");
}

static void
use_device(struct ibv_context *context)
{
	static char memory[4096];
	struct ibv_pd *pd = verbs.alloc_pd(context);
	struct ibv_mr *mr =
		pd != NULL ? verbs.reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE)
			   : NULL;
	struct ibv_mr *second =
		pd != NULL ? verbs.reg_mr_iova2(pd, memory, sizeof(memory), (uintptr_t)memory,
						IBV_ACCESS_LOCAL_WRITE)
			   : NULL;
	struct ibv_cq *cq = verbs.create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_qp *qp;

	need(pd != NULL && mr != NULL && second != NULL && cq != NULL, "creation of an object");
	qp = verbs.create_qp(pd, &attr);
	need(qp != NULL, "ibv_create_qp");
	need(verbs.destroy_qp(qp) == 0 && verbs.destroy_cq(cq) == 0 && verbs.dereg_mr(mr) == 0 &&
		     verbs.dereg_mr(second) == 0 && verbs.dealloc_pd(pd) == 0,
	     "destruction of an object");
}

int
main(int argc, char **argv)
{
	struct ibv_device **list;
	int count = 0;

	if (argc > 1 && dlopen(argv[1], RTLD_NOW) == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	find_functions();
	need(strstr(verbs.event_type_str(IBV_EVENT_QP_FATAL), "catastrophic") != NULL,
	     "ibv_event_type_str");
	list = verbs.get_device_list(&count);
	need(list != NULL, "ibv_get_device_list");
	for (int i = 0; i < count; i++) {
		struct ibv_context *context = verbs.open_device(list[i]);
		struct ibv_device_attr attr;
		union ibv_gid gid;

		need(context != NULL, "ibv_open_device");
		need(verbs.query_device(context, &attr) == 0 && attr.phys_port_cnt > 0,
		     "ibv_query_device");
		need(verbs.query_gid(context, 1, 0, &gid) == 0, "ibv_query_gid");
		use_device(context);
		need(verbs.close_device(context) == 0, "ibv_close_device");
		printf("%s\n", verbs.get_device_name(list[i]));
	}
	verbs.free_device_list(list);
	return 0;
}
