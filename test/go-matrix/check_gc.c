/*
 * check_gc same PID FILE: checks that the counters of an idle process are those that it has written
 * to FILE, as lines "name value".
 * check_gc watch PID: reads the counters of a busy process repeatedly and checks that none of them
 * decreases.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include "common/system/fs.h"
#include "common/text/parse.h"
#include "node-agent/go/gc/gc_reader.h"
#include "node-agent/go/image/go_reader.h"

#define FILE_MAX_BYTES 65536u
#define WATCHES 3000
#define MINOR_WITH_LIVE 21u
/*
 * Before this release a span counts as allocated when a P takes it. That may happen once more while
 * the program prints its numbers; the unused part is subtracted later.
 */
#define MINOR_EXACT 19u
#define SPANS_BYTES (4 * 32768.0)
#define SPANS_OBJECTS (4 * 1024.0)
/* The goal under a memory limit depends on what the runtime itself maps meanwhile. */
#define LIMIT_SLACK 0.01

static const char *const names[GC_COUNTERS] = {
	[GC_ALLOC_BYTES] = "alloc_bytes", [GC_ALLOC_OBJECTS] = "alloc_objects",
	[GC_CYCLES] = "cycles",           [GC_PAUSE_NS] = "pause_ns",
	[GC_LIVE_BYTES] = "live_bytes",   [GC_HEAP_BYTES] = "heap_bytes",
	[GC_GOAL_BYTES] = "goal_bytes",
};

struct subject {
	struct go_reader *reader;
	struct program_id id;
	unsigned minor;
	struct gc_counters now;
};

static int subject_new(struct subject *s, const char *pid)
{
	uint64_t n;
	int r;

	*s = (struct subject){0};
	r = parse_u64(pid, strlen(pid), 1, INT32_MAX, &n);
	if (r == 0)
		r = go_reader_new(&s->reader, NULL);
	if (r == 0)
		r = go_reader_find(s->reader, (pid_t)n, &s->id);
	return r;
}

static int read_counters(struct subject *s)
{
	CLEANUP(go_opened_closep) struct go_opened *o = NULL;
	int r = go_reader_open(s->reader, &s->id, &o);

	if (r < 0)
		return r;
	s->minor = o->runtime->image.minor;
	return gc_reader_read(o->runtime, &s->now);
}

/* ---- same ---- */

static uint64_t value_in(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* Returns by how much our value may differ from theirs. */
static double slack(const struct subject *s, enum gc_counter which, double want)
{
	if (s->minor < MINOR_EXACT && which == GC_ALLOC_BYTES)
		return SPANS_BYTES;
	if (s->minor < MINOR_EXACT && which == GC_ALLOC_OBJECTS)
		return SPANS_OBJECTS;
	/* Theirs is HeapAlloc, which includes what is not yet swept; ours counts whole spans. */
	if (which == GC_HEAP_BYTES)
		return 0.1 * want;
	if (which == GC_LIVE_BYTES && s->minor < MINOR_WITH_LIVE)
		return 0.1 * want;
	return which == GC_GOAL_BYTES && getenv("GOMEMLIMIT") ? LIMIT_SLACK * want : 0;
}

static bool is_same(const struct subject *s, const char *text, enum gc_counter which)
{
	uint64_t want = value_in(text, names[which]), got = s->now.v[which];
	double differ;

	if (which == GC_LIVE_BYTES && s->minor < MINOR_WITH_LIVE)
		want = value_in(text, names[GC_HEAP_BYTES]);
	differ = want > got ? (double)(want - got) : (double)(got - want);
	if (want != 0 && differ <= slack(s, which, (double)want))
		return true;
	printf(" %s %" PRIu64 " instead of %" PRIu64, names[which], got, want);
	return false;
}

/* Before 1.16 the runtime has no counters of allocations. */
static uint32_t expected(unsigned minor)
{
	uint32_t all = (UINT32_C(1) << GC_COUNTERS) - 1;

	return minor >= 16
		       ? all
		       : all & ~(UINT32_C(1) << GC_ALLOC_BYTES | UINT32_C(1) << GC_ALLOC_OBJECTS);
}

static int do_same(const char *pid, const char *file)
{
	CLEANUP(buf_fini) struct buf text;
	struct subject s;
	bool good;
	int r;

	buf_init(&text, FILE_MAX_BYTES);
	r = subject_new(&s, pid);
	if (r == 0)
		r = read_counters(&s);
	go_reader_free(s.reader);
	if (r == 0)
		r = fs_read_at(AT_FDCWD, file, &text);
	if (r < 0) {
		printf("cannot be read: %s\n", strerror(-r));
		return 1;
	}
	good = s.now.known == expected(s.minor);
	if (!good)
		printf(" known: %#x", s.now.known);
	for (unsigned i = 0; i < GC_COUNTERS; i++)
		if (s.now.known >> i & 1)
			good &= is_same(&s, text.data ? text.data : "", (enum gc_counter)i);
	printf("%s\n", good ? "same" : "");
	return !good;
}

/* ---- watch ---- */

static bool is_less(const struct subject *s, const struct gc_counters *before)
{
	unsigned n = s->minor < MINOR_EXACT ? 0 : GC_LIVE_BYTES;
	bool less = s->now.v[GC_CYCLES] < before->v[GC_CYCLES] ||
		    s->now.v[GC_PAUSE_NS] < before->v[GC_PAUSE_NS];

	for (unsigned i = 0; i < n; i++)
		less |= (before->known >> i & 1) && s->now.v[i] < before->v[i];
	return less;
}

static int do_watch(const char *pid)
{
	struct gc_counters before = {0}, first = {0};
	unsigned n_read = 0, n_less = 0;
	struct subject s;
	bool moved;
	int r = subject_new(&s, pid);

	for (int i = 0; r == 0 && i < WATCHES; i++) {
		r = read_counters(&s);
		if (r == -EBADMSG) {
			r = 0;
			continue;
		}
		if (r < 0)
			break;
		if (n_read++ == 0)
			first = s.now;
		n_less += is_less(&s, &before);
		before = s.now;
	}
	go_reader_free(s.reader);
	moved = before.v[GC_CYCLES] > first.v[GC_CYCLES] &&
		(!(before.known & 1) || before.v[GC_ALLOC_BYTES] > first.v[GC_ALLOC_BYTES]);
	printf("%u of %d readings, %u decreased%s%s%s\n", n_read, WATCHES, n_less,
	       moved ? "" : ", none increased", r < 0 ? ": " : "", r < 0 ? strerror(-r) : "");
	return r < 0 || !moved || n_less > 0 || n_read < WATCHES / 2;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "same") == 0)
		return do_same(argv[2], argv[3]);
	if (argc == 3 && strcmp(argv[1], "watch") == 0)
		return do_watch(argv[2]);
	fprintf(stderr, "usage: check_gc same PID FILE | check_gc watch PID\n");
	return 2;
}
