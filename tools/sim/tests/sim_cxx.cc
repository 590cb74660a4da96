// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
// SPDX-FileCopyrightText: the itapi authors

// A node in C++: static objects, objects of a thread, and streams. With the name of a shared object, loads and unloads that, which is
// this program again.

#include <chrono>
#include <cstdio>
#include <iostream>
#include <random>
#include <thread>

#include <dlfcn.h>
#include <unistd.h>

namespace {

struct Static {
	unsigned drawn;
	std::chrono::steady_clock::time_point began;
	Static() : drawn(std::random_device()()), began(std::chrono::steady_clock::now()) {}
	~Static() { std::printf("the static object ends\n"); }
};

struct Local {
	int number = 0;
	~Local() { std::printf("the object of a thread ends\n"); }
};

Static object;
thread_local Local local;

} // namespace

int
main(int argc, char **argv)
{
	std::printf("drew %u\n", object.drawn);
	std::printf("a word, ");
	std::cout << "and " << argc << " words" << std::endl;
	std::cerr << "to stderr" << std::endl;
	std::thread([] { local.number = 1; }).join();
	if (argc > 1) {
		void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);

		if (plugin == nullptr)
			return 1;
		dlclose(plugin);
		std::cout << "unloaded" << std::endl;
	}
	return 0;
}
