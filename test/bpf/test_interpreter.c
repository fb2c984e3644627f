/*
 * Frames of a real Python by name: a child computes in functions that are known, one of which the C
 * library of Python calls. Needs root, and python3: $PYTHON, or that of the system.
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "node-agent/interpreter/process/interpreter_names.h"
#include "node-agent/process/process_table.h"
#include "node-agent/sample/sampler.h"
#include "node-agent/unwind/unwinder.h"
#include "test/lib/unit.h"

#define HZ 499
#define ENOUGH 200u
#define COSTS 1000u
#define DEPTH 20u /* of the recursion */

/* Lines count: those of the frames are checked. */
static const char script[] = "def leaf(n):\n"
			     "    total = 0\n"
			     "    for i in range(n):\n"
			     "        total += i\n"
			     "    return total\n"
			     "class Key:\n"
			     "    def __init__(self, depth):\n"
			     "        self.depth = depth\n"
			     "    def order(self, x):\n"
			     "        return self.recurse(x, self.depth)\n"
			     "    def recurse(self, x, depth):\n"
			     "        if depth == 0:\n"
			     "            return leaf(x)\n"
			     "        return self.recurse(x, depth - 1)\n"
			     "def main():\n"
			     "    while True:\n"
			     "        sorted([30000, 30000], key=Key(20).order)\n"
			     "main()\n";

struct known {
	const char *function, *before_qualname; /* before 3.11: the class is guessed, or not */
	uint32_t line;                          /* 0: several */
};

static const struct known leaf = {"leaf", "leaf", 0};
static const struct known recursion = {"Key.recurse", "recurse", 14};
static const struct known below[] = {
	{"Key.order", "order", 10}, {"main", "main", 17}, {"<module>", "<module>", 18}};

struct fixture {
	struct process_table *processes;
	struct sampler *sampler;
	struct unwind_maps *maps;
	struct unwinder *unwinder;
	struct interpreter_names *names;
	pid_t child;
	unsigned n_chained, n_right, n_whole, n_rest;
	uint32_t cost_ns[COSTS], n_cost;
};

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static const char *python(void)
{
	const char *path = getenv("PYTHON");

	return path ? path : "/usr/bin/python3";
}

static bool is_known(const struct interpreter_name *name, const struct known *k)
{
	return (strcmp(name->function, k->function) == 0 ||
		strcmp(name->function, k->before_qualname) == 0) &&
	       (k->line == 0 || name->line == k->line) && strcmp(name->file, "<string>") == 0;
}

/* The frame that is not the innermost one is at the line of its call. */
static bool is_next(const struct interpreter_name *names, unsigned *n, const struct known *k)
{
	struct known any_line = *k;

	if (*n == 1)
		any_line.line = 0;
	return is_known(&names[--*n], &any_line);
}

/* What the child may be doing, from the root on: any part of it, up to the leaf. */
static bool is_right(const struct interpreter_name *names, const uint32_t *indexes, unsigned n)
{
	static const struct known init = {"Key.__init__", "__init__", 0};
	unsigned all = n, depth = 0;

	if (n < 2 || indexes[n - 1] == CHAIN_REST || !is_next(names, &n, &below[2]) ||
	    !is_next(names, &n, &below[1]))
		return false;
	if (n == 0 || (n == 1 && is_known(&names[0], &init)))
		return true;
	/* sorted() is between order() and main() */
	if (indexes[n - 1] + 1 >= indexes[n] || !is_next(names, &n, &below[0]))
		return false;
	while (n > 0 && depth < DEPTH && is_next(names, &n, &recursion))
		depth++;
	if (n == 0)
		return true;
	if (n == 2 && names[1].line != 13)
		return false;
	return all == DEPTH + 3 + n && (n == 1 || is_known(&names[0], &leaf));
}

/* It mostly is in the leaf. */
static bool is_whole(const struct interpreter_name *names, unsigned n)
{
	return n == DEPTH + 5 && is_known(&names[0], &leaf);
}

static void check_chain(struct fixture *f, struct process_snapshot *s, const struct sample_event *e)
{
	static struct interpreter_name names[64];
	const struct chain_entry *chain = sample_event_chain(e);
	uint32_t indexes[64] = {0};
	unsigned n = 0;

	for (unsigned i = 0; i < e->n_chain && n < 64; i++) {
		const struct interpreter_frame frame = {
			.code = chain_entry_code(&chain[i]),
			.check = chain_entry_check(&chain[i]),
			.at = chain_entry_at(&chain[i]),
		};

		indexes[n] = chain_entry_index(&chain[i]);
		f->n_rest += indexes[n] == CHAIN_REST;
		if (interpreter_names_find(f->names, s, &frame, &names[n]) == 0)
			n++;
	}
	f->n_chained++;
	f->n_right += is_right(names, indexes, n);
	f->n_whole += is_whole(names, n);
	if (getenv("SHOW") && !is_right(names, indexes, n)) {
		for (unsigned i = 0; i < n; i++)
			printf("%u:%s:%u ", indexes[i], names[i].function, names[i].line);
		printf("of %u, %u native, end %u\n", e->n_chain, e->n_user, e->end);
	}
}

static void on_sample(void *ctx, const struct sample_event *e)
{
	struct fixture *f = ctx;
	char comm[SAMPLER_COMM_BYTES + 1] = "";
	struct process_snapshot *s;
	const struct process_seen seen = {
		.pid = (pid_t)e->header.tgid,
		.start_boottime_ns = e->header.start_boottime_ns,
		.comm = comm,
		.addrs = sample_event_addrs(e) + e->n_kernel,
		.n_addrs = e->n_user,
	};

	memcpy(comm, e->comm, sizeof(e->comm));
	if ((pid_t)e->header.tgid != f->child)
		return;
	assert_int_equal(process_table_get(f->processes, &seen, clock_monotonic_ns(), &s), 0);
	if (e->end == WALK_END_NO_TABLE)
		unwinder_want(f->unwinder);
	if (e->end != WALK_END_BOTTOM || e->flags & SAMPLE_GUESSED || e->n_chain == 0)
		return;
	interpreter_names_see(f->names, s, sample_event_chain(e), e->n_chain);
	interpreter_names_wait(f->names, 10 * NS_PER_S);
	check_chain(f, s, e);
	if (f->n_cost < COSTS)
		f->cost_ns[f->n_cost++] = e->cost_ns;
}

static void ignore_fork(void *ctx, const struct fork_event *e)
{
	(void)ctx;
	(void)e;
}

static void ignore_exec(void *ctx, const struct exec_event *e)
{
	(void)ctx;
	(void)e;
}

static void ignore_exit(void *ctx, const struct event_header *e)
{
	(void)ctx;
	(void)e;
}

static void ignore_map(void *ctx, const struct map_event *e)
{
	(void)ctx;
	(void)e;
}

static void drain(struct fixture *f)
{
	const struct sampler_handlers handlers = {on_sample,   ignore_fork, ignore_exec,
						  ignore_exit, ignore_map,  f};

	assert_true(sampler_drain(f->sampler, &handlers) >= 0);
	(void)usleep(10000);
}

static void begin(struct fixture *f)
{
	const struct process_table_config processes = {0};
	const struct sampler_config sampler = {.hz = HZ};
	struct unwinder_config cfg = {.max_bytes = 64 << 20, .hz = HZ};
	struct err err = {""};

	*f = (struct fixture){0};
	assert_int_equal(process_table_new(&f->processes, &processes, &err), 0);
	if (sampler_new(&f->sampler, &sampler, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(
		unwind_maps_new(&f->maps, &(struct unwind_map_fds)SAMPLER_UNWIND_MAPS(f->sampler)),
		0);
	cfg.memory = unwind_maps_memory(f->maps);
	assert_int_equal(unwinder_new(&f->unwinder, &cfg), 0);
	process_table_subscribe(f->processes, unwinder_listener(f->unwinder));
	assert_int_equal(interpreter_names_new(&f->names,
					       &(struct interpreter_names_config){.max_names = 0}),
			 0);
}

static void end(struct fixture *f)
{
	interpreter_names_free(f->names);
	process_table_free(f->processes);
	unwinder_free(f->unwinder);
	unwind_maps_free(f->maps);
	sampler_free(f->sampler);
}

static void start_child(struct fixture *f)
{
	f->child = fork();
	if (f->child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)execl(python(), "python3", "-c", script, (char *)NULL);
		_exit(1);
	}
	assert_true(f->child > 0);
}

TEST(frames_of_python_have_their_names_and_lines)
{
	struct fixture f;

	if (access(python(), X_OK) < 0) /* on the kernels of make check-kernels */
		skip();
	begin(&f);
	start_child(&f);
	while (f.n_whole == 0)
		drain(&f);
	f.n_chained = f.n_right = f.n_whole = f.n_rest = 0;
	f.n_cost = 0;
	while (f.n_chained < ENOUGH)
		drain(&f);
	qsort(f.cost_ns, f.n_cost, sizeof(f.cost_ns[0]), compare);
	printf("%u of %u stacks are right, %u reach the leaf, %u frames were left over; a sample "
	       "costs %u ns\n",
	       f.n_right, f.n_chained, f.n_whole, f.n_rest, f.cost_ns[f.n_cost / 2]);
	assert_true(f.n_right * 1000 >= f.n_chained * 995);
	assert_true(f.n_whole * 100 >= f.n_chained * 90);
	(void)kill(f.child, SIGKILL);
	assert_int_equal(waitpid(f.child, NULL, 0), f.child);
	end(&f);
}
