/*
 * check_guest heap|goroutines|mutex|block|counters PID EXECUTABLE FILE: writes the profile, or the
 * exact counters as lines, of a Go program for another architecture, which an emulator runs in the
 * process PID at its own addresses (guest base 0). The process's executable is the emulator, so
 * EXECUTABLE is opened and its mapping found here; the rest is the node agent's reader.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "common/limits.h"
#include "common/text/parse.h"
#include "node-agent/go/gc/gc_reader.h"
#include "node-agent/go/goroutine/goroutine_reader.h"
#include "node-agent/go/heap/heap_reader.h"
#include "node-agent/go/image/go_executables.h"
#include "node-agent/go/lock/lock_reader.h"
#include "node-agent/go/lock/lock_variables.h"

#define MEMORY_END (UINT64_C(1) << 47)
#define GUEST_MUTEX_RATE 10u /* arm64.sh starts programs with it */
#define PAGE_MASK UINT64_C(0xfff)

/* Returns the address of the first mapping of a file. */
static int find_mapping(const char *pid, const char *file, uint64_t *ret)
{
	char path[64], line[4096];
	int r = -ENOENT;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (r < 0 && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (strstr(line, file) && sscanf(line, "%" SCNx64 "-", ret) == 1)
			r = 0;
	}
	fclose(f);
	return r;
}

static uint64_t first_segment(const struct elf_layout *l)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < l->n_segments; i++) {
		if (l->segments[i].vaddr < first)
			first = l->segments[i].vaddr;
	}
	return first & ~PAGE_MASK;
}

static int open_guest(struct program_target *t, const char *pid, const char *file)
{
	char path[64];
	uint64_t base = 0;
	struct stat st;
	int r;

	snprintf(path, sizeof(path), "/proc/%s/mem", pid);
	*t = (struct program_target){.proc_fd = -1};
	t->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	t->exe_fd = open(file, O_RDONLY | O_CLOEXEC);
	if (t->mem_fd < 0 || t->exe_fd < 0 || fstat(t->exe_fd, &st) < 0)
		return -errno;
	byte_source_from_fd(&t->memory, t->mem_fd, MEMORY_END);
	byte_source_from_fd(&t->file, t->exe_fd, (uint64_t)st.st_size);
	r = elf_layout_parse(&t->layout, &t->file);
	if (r == 0)
		r = find_mapping(pid, file, &base);
	if (r == 0 && t->layout.relocatable)
		t->bias = base - first_segment(&t->layout);
	return r;
}

static int read_heap(struct go_runtime *rt, struct buf *out)
{
	const struct heap_reader_config cfg = {0};
	const struct program_id id = {0}; /* nothing is written */
	CLEANUP(bucket_history_freep) struct bucket_history *history = NULL;
	struct heap_reading reading;
	int r = heap_history_new(&history, BUCKET_HISTORY_FROM_ZERO);

	if (r == 0) {
		const struct heap_subject subject = {&id, history, 1};

		r = heap_reader_read(rt, &subject, &cfg, out, &reading);
	}
	if (r == 0)
		printf("%zu buckets", reading.round.n_buckets);
	return r;
}

static int read_goroutines(struct go_runtime *rt, struct buf *out)
{
	const struct goroutine_reader_config cfg = {0};
	struct goroutine_reading reading;
	int r = goroutine_reader_read(rt, &cfg, out, &reading);

	if (r == 0)
		printf("%" PRIu64 " goroutines", reading.n_goroutines);
	return r;
}

/* In the format of test/go-matrix/counters. */
static int read_counters(struct go_runtime *rt, struct buf *out)
{
	static const char *const names[GC_COUNTERS] = {
		[GC_ALLOC_BYTES] = "alloc_bytes", [GC_ALLOC_OBJECTS] = "alloc_objects",
		[GC_CYCLES] = "cycles",           [GC_PAUSE_NS] = "pause_ns",
		[GC_GOAL_BYTES] = "goal_bytes",
	};
	struct gc_counters c;
	int r = gc_reader_read(rt, &c);

	for (unsigned i = 0; r == 0 && i < GC_COUNTERS; i++) {
		if (names[i])
			r = buf_addf(out, "%s %" PRIu64 "\n", names[i], c.v[i]);
	}
	return r;
}

/*
 * Reads at the end of a burst that is not ours, so no profiler is switched. The program itself has
 * set its mutex rate.
 */
static int read_locks(struct go_runtime *rt, enum lock_kind kind, struct buf *out)
{
	CLEANUP(lock_session_fini) struct lock_session session;
	const struct program_id id = {0};
	struct tick_clock clock;
	const struct lock_turn turn = {rt, &id, &clock, 1, LOCK_READING_BURST_END};
	struct lock_reading reading;
	uint64_t rate = 0;
	int r;

	tick_clock_init(&clock);
	lock_session_init(&session, kind, BUCKET_HISTORY_FROM_ZERO, 0);
	r = lock_rate_read(rt, kind, &rate);
	if (r == 0)
		r = lock_session_read(&session, &turn, out, &reading);
	printf(", %s rate %" PRIu64, kind == LOCK_MUTEX ? "mutex" : "block", rate);
	return r == 0 && kind == LOCK_MUTEX && rate != GUEST_MUTEX_RATE ? -EPROTO : r;
}

static int read_guest(const struct program_target *t, const char *kind, struct buf *out)
{
	CLEANUP(go_executables_freep) struct go_executables *executables = NULL;
	CLEANUP(memory_windows_freep) struct memory_windows *windows = NULL;
	CLEANUP(go_runtime_closep) struct go_runtime *rt = NULL;
	int r;

	r = go_executables_new(&executables);
	if (r == 0)
		r = memory_windows_new(&windows);
	if (r == 0)
		r = go_runtime_open(&rt, t, executables, windows);
	if (r < 0)
		return r;
	if (strcmp(kind, "counters") == 0)
		return read_counters(rt, out);
	if (strcmp(kind, "heap") == 0)
		return read_heap(rt, out);
	if (strcmp(kind, "goroutines") == 0)
		return read_goroutines(rt, out);
	return read_locks(rt, strcmp(kind, "mutex") == 0 ? LOCK_MUTEX : LOCK_BLOCK, out);
}

int main(int argc, char **argv)
{
	CLEANUP(buf_fini) struct buf out = {0};
	struct program_target t;
	FILE *f;
	int r;

	if (argc != 5)
		return 2;
	buf_init(&out, LIMIT_UPLOAD_BYTES);
	r = open_guest(&t, argv[2], argv[3]);
	if (r == 0)
		r = read_guest(&t, argv[1], &out);
	program_target_close(&t);
	if (r < 0) {
		fprintf(stderr, "cannot read %s of %s: %s\n", argv[1], argv[3], strerror(-r));
		return 1;
	}
	f = fopen(argv[4], "we");
	if (!f || fwrite(out.data, 1, out.len, f) != out.len || fclose(f) != 0) {
		perror(argv[4]);
		return 1;
	}
	return 0;
}
