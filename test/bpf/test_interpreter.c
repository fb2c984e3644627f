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
#include "test/lib/sampling.h"
#include "test/lib/unit.h"

#define HZ 499
#define ENOUGH 200u
#define COSTS 1000u
#define DEPTH 20u /* of the recursion */

/* Lines count: those of the frames are checked. */
#define SCRIPT(numbers)                                    \
	"def leaf(n):\n"                                   \
	"    total = 0\n"                                  \
	"    for i in range(n):\n"                         \
	"        total += i\n"                             \
	"    return total\n"                               \
	"class Key:\n"                                     \
	"    def __init__(self, depth):\n"                 \
	"        self.depth = depth\n"                     \
	"    def order(self, x):\n"                        \
	"        return self.recurse(x, self.depth)\n"     \
	"    def recurse(self, x, depth):\n"               \
	"        if depth == 0:\n"                         \
	"            return leaf(x)\n"                     \
	"        return self.recurse(x, depth - 1)\n"      \
	"def main():\n"                                    \
	"    while True:\n"                                \
	"        sorted(" numbers ", key=Key(20).order)\n" \
	"main()\n"

struct known {
	const char *function, *before_qualname; /* before 3.11: the class is guessed, or not */
	uint32_t line;                          /* 0: several */
};

static const struct known leaf = {"leaf", "leaf", 0};
static const struct known recursion = {"Key.recurse", "recurse", 14};
static const struct known below[] = {
	{"Key.order", "order", 10}, {"main", "main", 17}, {"<module>", "<module>", 18}};

struct fixture {
	struct sampling with;
	struct interpreter_names *names;
	pid_t child;
	bool without_names;
	unsigned n_seen, n_states[CHAIN_STATES][CHAIN_STATE_CLEAR + 1];
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
	/* sorted() is between order() and main(), and nothing like it above order() */
	if (indexes[n - 1] + 1 >= indexes[n] || !is_next(names, &n, &below[0]) ||
	    (n > 0 && indexes[n] - indexes[n - 1] >= indexes[n + 1] - indexes[n]))
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

		indexes[n] = sample_event_chain_index(e, i);
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
	assert_int_equal(process_table_get(f->with.processes, &seen, clock_monotonic_ns(), &s), 0);
	unwinder_see(f->with.unwinder, e);
	if (e->end != WALK_END_BOTTOM || e->flags & SAMPLE_GUESSED || e->n_chain == 0)
		return;
	f->n_seen++;
	for (enum chain_state_kind i = 0; i < CHAIN_STATES; i++)
		f->n_states[i][chain_state_of(e->chain_state, i)]++;
	if (f->without_names)
		return;
	interpreter_names_see(f->names, s, sample_event_chain(e), e->n_chain, e->chain_state);
	interpreter_names_wait(f->names, 10 * NS_PER_S);
	check_chain(f, s, e);
	if (f->n_cost < COSTS)
		f->cost_ns[f->n_cost++] = e->cost_ns;
}

static void drain(struct fixture *f)
{
	const struct sampler_handlers handlers = sampling_handlers(on_sample, f);

	assert_true(sampler_drain(f->with.sampler, &handlers) >= 0);
	(void)usleep(10000);
}

static void begin(struct fixture *f)
{
	*f = (struct fixture){0};
	sampling_begin(&f->with, HZ);
	assert_int_equal(interpreter_names_new(&f->names,
					       &(struct interpreter_names_config){.max_names = 0}),
			 0);
}

static void end(struct fixture *f)
{
	interpreter_names_free(f->names);
	sampling_end(&f->with);
}

static void start_child(struct fixture *f, const char *text)
{
	f->child = fork();
	if (f->child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)execl(python(), "python3", "-c", text, (char *)NULL);
		_exit(1);
	}
	assert_true(f->child > 0);
}

static void end_child(struct fixture *f)
{
	(void)kill(f->child, SIGKILL);
	assert_int_equal(waitpid(f->child, NULL, 0), f->child);
	end(f);
}

/* So many of n stacks at least are right, and have the leaf. */
static void check_names(const char *text, unsigned n, unsigned right_permille,
			unsigned whole_percent)
{
	struct fixture f;

	if (access(python(), X_OK) < 0) /* on the kernels of make check-kernels */
		skip();
	begin(&f);
	start_child(&f, text);
	while (f.n_whole == 0)
		drain(&f);
	f.n_chained = f.n_right = f.n_whole = f.n_rest = 0;
	f.n_cost = 0;
	while (f.n_chained < n)
		drain(&f);
	qsort(f.cost_ns, f.n_cost, sizeof(f.cost_ns[0]), compare);
	printf("%u of %u stacks are right, %u reach the leaf, %u frames were left over; a sample "
	       "costs %u ns\n",
	       f.n_right, f.n_chained, f.n_whole, f.n_rest, f.cost_ns[f.n_cost / 2]);
	assert_true(f.n_right * 1000 >= f.n_chained * right_permille);
	assert_true(f.n_whole * 100 >= f.n_chained * whole_percent);
	end_child(&f);
}

TEST(frames_of_python_have_their_names_and_lines)
{
	check_names(SCRIPT("[30000, 30000]"), ENOUGH, 995, 90);
}

/*
 * Some samples are of a call that has no frame yet, or no more: in 3.6, one of 30. In 3.11, one of
 * some 200 finds a frame that is being made, and none of its callers.
 */
TEST(calls_that_return_at_once_are_in_their_places)
{
	check_names(SCRIPT("[0, 0, 0, 0, 0, 0, 0, 0]"), 4 * ENOUGH, 980, 0);
}

/* ---- what the thread does ---- */

/* Samples the program, once frames are seen. */
static void look_at(struct fixture *f, const char *text)
{
	begin(f);
	f->without_names = true;
	start_child(f, text);
	while (f->n_seen < ENOUGH) /* it has begun by then */
		drain(f);
	f->n_seen = 0;
	memset(f->n_states, 0, sizeof(f->n_states));
	while (f->n_seen < ENOUGH)
		drain(f);
	for (enum chain_state_kind i = 0; i < CHAIN_STATES; i++)
		printf("%s: set %u, clear %u, unknown %u\n",
		       i == CHAIN_COLLECTS ? "collects" : "holds the GIL",
		       f->n_states[i][CHAIN_STATE_SET], f->n_states[i][CHAIN_STATE_CLEAR],
		       f->n_states[i][CHAIN_STATE_UNKNOWN]);
	end_child(f);
}

static void mostly(const struct fixture *f, enum chain_state_kind kind, enum chain_state is)
{
	assert_true(f->n_states[kind][is] * 100 >= f->n_seen * 95);
}

/* 3.6 has no word that says so, and free-threaded builds no GIL: $UNKNOWN names them. */
static bool is_unknown(const char *what)
{
	const char *unknown = getenv("UNKNOWN");

	return unknown && strcmp(unknown, what) == 0;
}

static void check_state(const char *text, enum chain_state collects, enum chain_state holds)
{
	struct fixture f;

	if (access(python(), X_OK) < 0)
		skip();
	look_at(&f, text);
	mostly(&f, CHAIN_COLLECTS, is_unknown("collects") ? CHAIN_STATE_UNKNOWN : collects);
	mostly(&f, CHAIN_HOLDS_LOCK, is_unknown("holds") ? CHAIN_STATE_UNKNOWN : holds);
}

TEST(a_thread_that_collects_garbage_is_known)
{
	check_state("import gc\n"
		    "keep = [[i] for i in range(300000)]\n"
		    "while True:\n"
		    "    gc.collect()\n",
		    CHAIN_STATE_SET, CHAIN_STATE_SET);
}

TEST(a_thread_that_computes_has_the_gil)
{
	check_state("while True:\n"
		    "    sum(range(1000))\n",
		    CHAIN_STATE_CLEAR, CHAIN_STATE_SET);
}

TEST(a_thread_that_has_given_back_the_gil_is_known)
{
	check_state("import zlib\n"
		    "data = bytes(range(256)) * 20000\n"
		    "while True:\n"
		    "    zlib.compress(data, 9)\n",
		    CHAIN_STATE_CLEAR, CHAIN_STATE_CLEAR);
}
