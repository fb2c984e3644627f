/*
 * Spends CPU in call chains that are known beforehand (chains.js), of all forms that compilers
 * and the C library make, one after the other for a moment each:
 *   chain SECONDS
 * Names of its functions begin with acc_, and nothing else's do. None ends with a jump to another
 * function, so that a true stack has them all.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#ifndef NO_CONTEXT
#include <ucontext.h>
#endif

#include "chain.h"

static volatile unsigned sink;

KEEP static void acc_spin(unsigned n)
{
	unsigned x = sink | 1;

	for (unsigned i = 0; i < n; i++)
		x = x * 1664525u + 1013904223u;
	sink = x;
}

/* ---- plain calls ---- */

#define LEVEL(n, below)                      \
	KEEP static void acc_plain_##n(void) \
	{                                    \
		below;                       \
		STAY;                        \
	}
LEVEL(8, acc_spin(SPINS))
LEVEL(7, acc_plain_8())
LEVEL(6, acc_plain_7())
LEVEL(5, acc_plain_6())
LEVEL(4, acc_plain_5())
LEVEL(3, acc_plain_4())
LEVEL(2, acc_plain_3())
LEVEL(1, acc_plain_2())

/* ---- ticks in prologues and epilogues ---- */

KEEP static unsigned acc_tiny_3(unsigned x)
{
	return x * 3 + 1;
}

KEEP static unsigned acc_tiny_2(unsigned a, unsigned b, unsigned c)
{
	unsigned x = acc_tiny_3(a);
	unsigned y = acc_tiny_3(b);

	return x + y * c;
}

KEEP static unsigned acc_tiny_1(unsigned a)
{
	unsigned x = acc_tiny_2(a, a + 1, a + 2);
	unsigned y = acc_tiny_2(x, a, x + 2);
	unsigned z = acc_tiny_2(y, x, a);

	return x ^ y ^ z;
}

KEEP static void acc_tiny(void)
{
	unsigned x = sink;

	for (unsigned i = 0; i < SPINS / 20; i++)
		x += acc_tiny_1(x);
	sink = x;
}

/* Saves registers only where it must: gcc's shrink wrapping. */
KEEP static unsigned acc_early(unsigned *values, unsigned n)
{
	unsigned sum = 0;

	if (values[n & 7] & 1)
		return n;
	for (unsigned i = 0; i < 8; i++)
		sum += acc_tiny_3(values[i] + sum);
	values[n & 7] = sum;
	return sum;
}

KEEP static void acc_wrapped(void)
{
	unsigned values[8] = {2, 4, 6, 8, 10, 12, 14, sink};

	for (unsigned i = 0; i < SPINS / 20; i++)
		sink += acc_early(values, i);
}

/* Needs more registers than are saved for its caller, the frame pointer among them. */
KEEP static void acc_registers(unsigned long a, unsigned long b, unsigned long c)
{
	unsigned long d = a * b, e = b * c, f = c * d, g = d * e;

	acc_spin(SPINS);
	sink = (unsigned)(a ^ b ^ c ^ d ^ e ^ f ^ g);
	acc_spin((unsigned)(d & 1) + 10);
	sink = (unsigned)(a + b + c + d + e + f + g);
}

/* ---- frames of other forms ---- */

KEEP static void acc_fill(char *room, unsigned n)
{
	memset(room, (int)sink, n);
	acc_spin(SPINS);
	sink += (unsigned)room[n / 2];
}

KEEP static void acc_alloca(unsigned n)
{
	acc_fill(alloca(n), n);
	STAY;
}

/* An aligned local beside room of unknown size: the stack is realigned. */
KEEP static void acc_realigned(unsigned n)
{
	_Alignas(64) char aligned[128];
	char *room = alloca(n);

	memset(aligned, (int)n, sizeof(aligned));
	acc_fill(room, n);
	acc_fill(aligned, sizeof(aligned));
}

KEEP static void acc_big_frame(void)
{
	char room[300000];

	acc_fill(room, sizeof(room));
	STAY;
}

KEEP static void acc_deep(unsigned n)
{
	if (n > 0)
		acc_deep(n - 1);
	else
		acc_spin(SPINS);
	STAY;
}

/* ---- out of functions without returning ---- */

static jmp_buf back;

__attribute__((noreturn)) KEEP static void acc_never(void)
{
	acc_spin(SPINS);
	longjmp(back, 1);
}

/* Ends with the call: the return address is that of the next function. */
__attribute__((noreturn)) KEEP static void acc_last(void)
{
	acc_never();
}

KEEP static void acc_jump(void)
{
	if (setjmp(back) == 0)
		acc_last();
	acc_spin(SPINS);
	STAY;
}

/* ---- through libraries ---- */

KEEP static int acc_compare(const void *a, const void *b)
{
	acc_spin(300);
	STAY;
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

KEEP static void acc_sort(void)
{
	int values[64];

	for (unsigned i = 0; i < 64; i++)
		values[i] = (int)(sink * i * 7919u % 101);
	qsort(values, 64, sizeof(values[0]), acc_compare);
	sink += (unsigned)values[3];
}

KEEP static void acc_strings(void)
{
	char text[200];

	for (unsigned i = 0; i < SPINS / 2000; i++) {
		char *copy;

		snprintf(text, sizeof(text), "%u %s %f", i, "words", (double)sink);
		copy = strdup(text);
		sink += (unsigned)strlen(copy) + (unsigned)strtol(copy, NULL, 10);
		free(copy);
	}
}

KEEP static void acc_clock(void)
{
	struct timespec t;

	for (unsigned i = 0; i < SPINS / 200; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		sink += (unsigned)t.tv_nsec;
	}
}

KEEP static void acc_plt(void)
{
	unsigned x = sink;

	for (unsigned i = 0; i < SPINS / 10; i++)
		x = acc_library_add(x, i);
	sink = x;
}

KEEP static unsigned acc_called(unsigned n)
{
	acc_spin(n);
	STAY;
	return n;
}

KEEP static void acc_callback(void)
{
	sink += acc_library_call(acc_called, SPINS);
}

/* ---- signals ---- */

KEEP static void acc_handled(void)
{
	acc_spin(SPINS / 2);
	STAY;
}

KEEP static void acc_handler(int number)
{
	(void)number;
	acc_handled();
	STAY;
}

KEEP static void acc_raise(void)
{
	raise(SIGUSR1);
	STAY;
}

/*
 * Is interrupted by a timer at any instruction, also of callees, so that the frame below the
 * handler is at any place of a function.
 */
KEEP static void acc_interrupted(void)
{
	struct itimerval soon = {.it_value.tv_usec = 300};

	setitimer(ITIMER_REAL, &soon, NULL);
	for (unsigned i = 0; i < SPINS / 20; i++)
		sink += acc_tiny_1(i);
	acc_spin(SPINS * 2);
	STAY;
}

static void prepare_signals(void)
{
	static char other_stack[64 * 1024];
	stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	struct sigaction here = {.sa_handler = acc_handler, .sa_flags = SA_RESTART};
	struct sigaction there = {.sa_handler = acc_handler, .sa_flags = SA_RESTART | SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &here, NULL);
	sigaction(SIGALRM, &there, NULL);
}

/* ---- on a stack of its own ---- */

#ifndef NO_CONTEXT
static ucontext_t of_main, of_routine;

KEEP static void acc_routine_work(void)
{
	acc_spin(SPINS);
	STAY;
}

static void acc_routine(void)
{
	for (;;) {
		acc_routine_work();
		swapcontext(&of_routine, &of_main);
	}
}

static void prepare_routine(void)
{
	static char its_stack[256 * 1024];

	getcontext(&of_routine);
	of_routine.uc_stack.ss_sp = its_stack;
	of_routine.uc_stack.ss_size = sizeof(its_stack);
	makecontext(&of_routine, acc_routine, 0);
}

KEEP static void acc_switch(void)
{
	swapcontext(&of_main, &of_routine);
	STAY;
}
#endif

/* ---- */

KEEP static void acc_turn(void)
{
	acc_plain_1();
	acc_tiny();
	acc_wrapped();
	acc_registers(sink, sink * 3u, sink * 5u);
	acc_alloca(100 + sink % 1000);
	acc_realigned(100 + sink % 1000);
	acc_big_frame();
	acc_deep(100);
	acc_jump();
	acc_sort();
	acc_strings();
	acc_clock();
	acc_plt();
	acc_callback();
	acc_raise();
	acc_interrupted();
#ifndef NO_CONTEXT
	acc_switch();
#endif
	STAY;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *acc_thread(void *arg)
{
	volatile int *ended = arg;

	while (!__atomic_load_n(ended, __ATOMIC_ACQUIRE))
		acc_plain_1();
	return NULL;
}

int main(int argc, char **argv)
{
	double until = argc > 1 ? strtod(argv[1], NULL) : 2;
	pthread_t thread;
	sigset_t alarms;
	int ended = 0;

	prepare_signals();
#ifndef NO_CONTEXT
	prepare_routine();
#endif
	/* this thread has the stack for signals */
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	if (pthread_create(&thread, NULL, acc_thread, &ended) != 0)
		return 1;
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	while (cpu_seconds() < until)
		acc_turn();
	__atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	return 0;
}
