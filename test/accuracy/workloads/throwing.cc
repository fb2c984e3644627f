// Known call chains of C++: templates, virtual calls, lambdas, exceptions thrown through many
// frames, destructors run by them, threads of the standard library:
//   throwing SECONDS
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "chain.h"

static std::atomic<unsigned> sink;

KEEP static void acc_spin(unsigned n)
{
	unsigned x = sink | 1;

	for (unsigned i = 0; i < n; i++)
		x = x * 1664525u + 1013904223u + (x >> 7);
	sink = x;
}

template <int N> KEEP void acc_template()
{
	acc_template<N - 1>();
	STAY;
}

template <> KEEP void acc_template<0>()
{
	acc_spin(SPINS);
	STAY;
}

struct acc_base {
	virtual ~acc_base() = default;
	virtual unsigned acc_virtual(unsigned n) = 0;
};

struct acc_derived : acc_base {
	KEEP unsigned acc_virtual(unsigned n) override
	{
		acc_spin(n);
		STAY;
		return n;
	}
};

struct acc_guard {
	std::string name = "a text that does not fit into the object itself";

	KEEP ~acc_guard()
	{
		acc_spin(SPINS / 20);
		STAY;
	}
};

KEEP static void acc_throw(int depth)
{
	acc_guard guard;

	if (depth == 0)
		throw std::runtime_error("for the caller");
	acc_throw(depth - 1);
	STAY;
}

KEEP static void acc_catch()
{
	for (int i = 0; i < 3; i++) {
		try {
			acc_throw(10);
		} catch (const std::exception &e) {
			sink += static_cast<unsigned>(e.what()[0]);
			acc_spin(SPINS / 10);
		}
	}
}

KEEP static bool acc_less(unsigned a, unsigned b)
{
	acc_spin(100);
	STAY;
	return a < b;
}

KEEP static void acc_sort()
{
	std::vector<unsigned> values(300);

	for (unsigned i = 0; i < values.size(); i++)
		values[i] = i * 7919u % 1009u;
	std::sort(values.begin(), values.end(), acc_less);
	sink += values[5];
}

KEEP static void acc_call(const std::function<void(unsigned)> &function)
{
	function(SPINS);
	STAY;
}

KEEP static void acc_turn(acc_base &object)
{
	acc_template<12>();
	sink += object.acc_virtual(SPINS);
	acc_catch();
	acc_sort();
	acc_call(acc_spin);
	STAY;
}

static double cpu_seconds()
{
	timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

KEEP static void acc_thread(const std::atomic<bool> *ended)
{
	while (!*ended)
		acc_template<5>();
}

int main(int argc, char **argv)
{
	double until = argc > 1 ? std::atof(argv[1]) : 2;
	std::unique_ptr<acc_base> object = std::make_unique<acc_derived>();
	std::atomic<bool> ended{false};
	std::thread thread(acc_thread, &ended);

	while (cpu_seconds() < until)
		acc_turn(*object);
	ended = true;
	thread.join();
	return 0;
}
