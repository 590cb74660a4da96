/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SPDX-FileCopyrightText: the itapi authors */

/*
 * Collectives of Gloo, which PyTorch uses, over its ibverbs transport: all-reduces of two kinds, a
 * broadcast and a barrier, whose results are compared. The ranks are processes of this host.
 *
 * gloo-program RANKS DEVICE GID-INDEX FOLDER        starts the ranks
 */
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

extern char **environ;

namespace
{

/* Gloo 2022 aborts if a buffer goes before its last Send is completed, and no call waits for that. */
const unsigned REST_US = 200000;
const int ROUNDS = 5;

template <typename Algorithm, typename... Rest>
bool
right(const std::shared_ptr<gloo::Context> &context, int count, float wanted, Rest... rest)
{
	std::vector<float> octets(count);
	std::vector<float *> pointers{octets.data()};
	Algorithm algorithm(context, pointers, count, rest...);
	bool good = true;

	for (int i = 0; i < ROUNDS; i++) {
		std::fill(octets.begin(), octets.end(), context->rank + 1.0f);
		algorithm.run();
		good = good && std::all_of(octets.begin(), octets.end(),
					   [=](float one) { return one == wanted; });
	}
	usleep(REST_US);
	return good;
}

int
run(int rank, int ranks, const char *device, int index, const char *folder)
{
	gloo::transport::ibverbs::attr attr;
	const float sum = ranks * (ranks + 1) / 2.0f;
	bool good = true;

	attr.name = device;
	attr.port = 1;
	attr.index = index;
	gloo::rendezvous::FileStore store(folder);
	auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
	auto one = gloo::transport::ibverbs::CreateDevice(attr);
	context->connectFullMesh(store, one);
	for (int count : {1, 1000, 300000}) {
		good = right<gloo::AllreduceRing<float>>(context, count, sum) && good;
		good = right<gloo::AllreduceHalvingDoubling<float>>(context, count, sum) && good;
		good = right<gloo::BroadcastOneToAll<float>>(context, count, 1.0f, 0) && good;
	}
	gloo::BarrierAllToAll barrier(context);
	barrier.run();
	usleep(REST_US);
	return good ? 0 : 1;
}

} // namespace

int
main(int argc, char **argv)
{
	bool good = true;

	if (argc == 6)
		return run(std::atoi(argv[1]), std::atoi(argv[2]), argv[3], std::atoi(argv[4]),
			   argv[5]);
	if (argc != 5)
		return 2;
	int ranks = std::atoi(argv[1]);
	for (int i = 0; i < ranks; i++) {
		std::string rank = std::to_string(i);
		char *one[] = {argv[0], rank.data(), argv[1], argv[2], argv[3], argv[4], nullptr};
		pid_t pid;

		good = posix_spawn(&pid, argv[0], nullptr, nullptr, one, environ) == 0 && good;
	}
	for (int i = 0; i < ranks; i++) {
		int status = 1;

		good = wait(&status) > 0 && status == 0 && good;
	}
	std::printf("%d ranks: %s\n", ranks, good ? "all results are right" : "wrong");
	return good ? 0 : 1;
}
