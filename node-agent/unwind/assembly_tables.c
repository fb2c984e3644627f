/*
 * Each program has one table, in a slot of the array map, and each process that runs it an element
 * in the hash map that points to the slot.
 *
 * A table must never be used for other code than that from which it was made: that would invent
 * callers. A process that executes something else is removed from the map by the BPF program that
 * sees it do so (forget_go_process()). What is left is that the thread adds a process just after
 * that. So it reads the process's mappings again after it has added it, and takes it out if the
 * code is not there any more.
 *
 * Slots are few, as is the number of Go programs on a node. If there are more, a slot that no
 * living process uses is taken, the least recently needed one first. BPF removes processes that
 * exit, so those in the map are alive. Before the slot is written, a pause lets every run of the
 * BPF program end that still uses it. If all slots have living processes, further programs get no
 * table: taking the slot of a running process would cost it its table until it maps other code.
 */
#include "node-agent/unwind/assembly_tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "common/data/table.h"
#include "common/system/clock.h"
#include "common/thread/deadline_call.h"
#include "common/thread/worker_pool.h"
#include "node-agent/process/proc_maps.h"
#include "node-agent/unwind/assembly_table.h"

#define QUEUE_JOBS 4096u
#define FILES_MAX 4096u
#define RANGES_MAX 8192u
#define MAPS_MAX_BYTES ((size_t)16 * 1024 * 1024)
#define READ_TIMEOUT_NS NS_PER_S
#define HUNG_PAUSE_NS (60 * NS_PER_S)
#define GRACE_NS (100 * NS_PER_MS) /* the BPF program runs for some microseconds */
#define NO_SLOT (-1)

enum assembly_metric {
	TABLES,
	REPLACED,
	LOST_QUEUE_FULL,
	LOST_PROCESSES_FULL,
	LOST_TABLES_FULL,
	LOST_UNREADABLE,
	LOST_RANGES,
	METRICS,
};

#define LOST(reason)                                                                         \
	{                                                                                    \
		.name = "coroot_node_agent_go_assembly_lost_total",                          \
		.labels = "reason=\"" reason "\"",                                           \
		.help = "Processes, programs and code without a table for unwinding Go's "   \
			"assembly, by reason; their samples there have no or wrong callers", \
		.kind = METRIC_COUNTER                                                       \
	}

static const struct metric_def metric_defs[METRICS] = {
	[TABLES] = {.name = "coroot_node_agent_go_assembly_tables",
		    .help = "Go programs with a table for unwinding their assembly",
		    .kind = METRIC_GAUGE},
	[REPLACED] = {.name = "coroot_node_agent_go_assembly_tables_replaced_total",
		      .help = "Such tables that made room for those of other programs",
		      .kind = METRIC_COUNTER},
	[LOST_QUEUE_FULL] = LOST("queue_full"),
	[LOST_PROCESSES_FULL] = LOST("processes_full"),
	[LOST_TABLES_FULL] = LOST("tables_full"),
	[LOST_UNREADABLE] = LOST("unreadable"),
	[LOST_RANGES] = LOST("code_ranges"),
};
METRIC_TABLE(metric_table, metric_defs);

/* What is known about a file. */
struct file {
	UT_hash_handle hh; /* in the order of last use */
	struct file_id id;
	int slot;             /* NO_SLOT: not a Go program with assembly, unless it */
	bool wants_slot;      /* found none */
	uint64_t text_offset; /* of the first function, in the file */
	uint64_t text_bytes;
};

struct assembly_tables {
	struct process_listener listener;
	struct worker_pool *pool; /* one thread, which alone uses all that follows */
	struct deadline_caller *caller;
	int processes_fd, tables_fd, proc_fd;
	struct file *files;
	unsigned n_slots;            /* in use; they are never given back */
	struct go_frame_table table; /* this and what follows: too large for the stack */
	struct gopclntab_assembly ranges[RANGES_MAX];
	struct metric metrics[METRICS];
};

static void count(struct assembly_tables *a, enum assembly_metric m)
{
	metric_add(&a->metrics[m], 1);
}

/* ---- programs ---- */

/* Returns 1 and fills a->table if the file is a Go program with assembly, 0 if not, or -errno. */
static int make_table(struct assembly_tables *a, const struct mapped_file *m, struct file *f)
{
	AUTO_FREE struct elf_layout *layout = malloc(sizeof(*layout));
	struct byte_source src;
	struct gopclntab t = {0};
	int r, n;

	if (!layout)
		return -ENOMEM;
	if (m->may_hang)
		byte_source_from_slow_fd(&src, m->fd, m->id.size_bytes, a->caller, m->id.dev);
	else
		byte_source_from_fd(&src, m->fd, m->id.size_bytes);
	r = elf_layout_parse(layout, &src);
	if (r == 0)
		r = gopclntab_open(&t, layout, &src);
	if (r == 0)
		r = elf_layout_offset(layout, t.first, &f->text_offset);
	if (r < 0)
		return r == -ENOENT || r == -ENOEXEC || r == -EBADMSG ? 0 : r;
	f->text_bytes = t.end - t.first;
	n = gopclntab_assembly(&t, layout, &src, a->ranges, RANGES_MAX);
	if (n == -EFBIG) { /* reading it again would cost as much */
		count(a, LOST_UNREADABLE);
		return 0;
	}
	if (n <= 0)
		return n;
	if (assembly_table_fill(&a->table, a->ranges, (size_t)n, t.first) > 0)
		count(a, LOST_RANGES);
	return 1;
}

static void forget_file(struct assembly_tables *a, struct file *f)
{
	HASH_DEL(a->files, f);
	table_free(f);
}

/*
 * Counts the processes of each slot. BPF removes some meanwhile: if it is the last one that was
 * seen, the iteration starts again, so its steps are limited, and some processes may be counted
 * twice. Returns 0, or -errno if they cannot be counted.
 */
static int count_processes(const struct assembly_tables *a, uint32_t counts[GO_ASSEMBLY_TABLES])
{
	struct go_frame_process p;
	uint32_t pid = 0;

	memset(counts, 0, GO_ASSEMBLY_TABLES * sizeof(*counts));
	for (unsigned i = 0; i < 2 * GO_ASSEMBLY_PROCESSES; i++) {
		if (bpf_map_get_next_key(a->processes_fd, i > 0 ? &pid : NULL, &pid) < 0)
			return errno == ENOENT ? 0 : -errno;
		if (bpf_map_lookup_elem(a->processes_fd, &pid, &p) == 0 &&
		    p.table < GO_ASSEMBLY_TABLES)
			counts[p.table]++;
	}
	return -EAGAIN;
}

/* The program without processes that was needed least recently, or NULL. */
static struct file *find_idle(const struct assembly_tables *a)
{
	uint32_t counts[GO_ASSEMBLY_TABLES];

	if (count_processes(a, counts) < 0)
		return NULL;
	for (struct file *f = a->files; f; f = f->hh.next) {
		if (f->slot != NO_SLOT && counts[f->slot] == 0)
			return f;
	}
	return NULL;
}

/* Returns -ENOSPC if all slots have processes. */
static int take_slot(struct assembly_tables *a)
{
	const struct timespec grace = {.tv_nsec = GRACE_NS};
	struct file *f;
	int slot;

	if (a->n_slots < GO_ASSEMBLY_TABLES)
		return (int)a->n_slots;
	f = find_idle(a);
	if (!f)
		return -ENOSPC;
	slot = f->slot;
	forget_file(a, f);
	(void)nanosleep(&grace, NULL);
	count(a, REPLACED);
	return slot;
}

static int store_table(struct assembly_tables *a, struct file *f)
{
	int slot = take_slot(a);
	uint32_t key = (uint32_t)slot;

	f->wants_slot = slot == -ENOSPC;
	if (slot < 0)
		return f->wants_slot ? 0 : slot;
	if (bpf_map_update_elem(a->tables_fd, &key, &a->table, BPF_ANY) < 0)
		return -errno;
	a->n_slots += slot == (int)a->n_slots;
	metric_set(&a->metrics[TABLES], a->n_slots);
	f->slot = slot;
	return 0;
}

/* Makes room among the files: drops the least recently used ones that have no slot. */
static void make_room(struct assembly_tables *a)
{
	struct file *f, *next;

	for (f = a->files; f && HASH_COUNT(a->files) >= FILES_MAX; f = next) {
		next = f->hh.next;
		if (f->slot == NO_SLOT)
			forget_file(a, f);
	}
}

/* Puts it at the end of the list. On failure it is freed. */
static struct file *put(struct assembly_tables *a, struct file *f)
{
	HASH_ADD(hh, a->files, id, sizeof(f->id), f);
	if (TABLE_ADDED(hh, f))
		return f;
	table_free(f);
	return NULL;
}

static struct file *examine(struct assembly_tables *a, const struct mapped_file *m)
{
	struct file *f = table_malloc(sizeof(*f));
	int r;

	if (!f)
		return NULL;
	*f = (struct file){.id = m->id, .slot = NO_SLOT};
	r = make_table(a, m, f);
	if (r > 0)
		r = store_table(a, f);
	if (r < 0) {
		count(a, LOST_UNREADABLE);
		table_free(f);
		return NULL;
	}
	make_room(a);
	return put(a, f);
}

/* Returns NULL if it is not a Go program with assembly, or cannot be read. */
static const struct file *get_file(struct assembly_tables *a, const struct mapped_file *m)
{
	struct file *f;

	HASH_FIND(hh, a->files, &m->id, sizeof(m->id), f);
	if (f && f->wants_slot && m->fd >= 0 && find_idle(a)) {
		forget_file(a, f);
		f = NULL;
	}
	if (f) {
		HASH_DEL(a->files, f);
		f = put(a, f);
	} else if (m->fd >= 0) {
		f = examine(a, m);
	}
	if (f && f->wants_slot)
		count(a, LOST_TABLES_FULL);
	return f && f->slot != NO_SLOT ? f : NULL;
}

/* ---- processes ---- */

static int is_mapping(void *ctx, const char *line, size_t len)
{
	const struct process_mapping *want = ctx;
	struct proc_map m;

	return proc_map_parse(line, len, &m) == 0 && m.exec && m.start == want->start &&
	       m.file_offset == want->file_offset && m.ino == want->file->id.ino;
}

/* Whether the process has still mapped this code. */
static bool is_still_mapped(const struct assembly_tables *a, const struct process_snapshot *s,
			    const struct process_mapping *mapping)
{
	AUTO_CLOSE int fd = procfs_open_process(a->proc_fd, s->pid);
	struct process_mapping want = *mapping;
	struct proc_stat st;

	return fd >= 0 && procfs_read_stat(fd, &st) == 0 && st.start_time == s->start_time &&
	       procfs_each_map(fd, MAPS_MAX_BYTES, is_mapping, &want) == 1;
}

/* The whole code must be in this mapping. */
static bool locate_text(const struct process_mapping *m, const struct file *f,
			struct go_frame_process *ret)
{
	uint64_t bytes = m->end - m->start, skip = f->text_offset - m->file_offset;

	if (f->text_offset < m->file_offset || skip > bytes || f->text_bytes > bytes - skip)
		return false;
	*ret = (struct go_frame_process){
		.text_start = m->start + skip,
		.text_bytes = f->text_bytes,
		.table = (uint32_t)f->slot,
	};
	return true;
}

static void add_process(struct assembly_tables *a, const struct process_snapshot *s,
			const struct process_mapping *mapping, const struct go_frame_process *p)
{
	uint32_t pid = (uint32_t)s->pid;

	if (bpf_map_update_elem(a->processes_fd, &pid, p, BPF_ANY) < 0)
		count(a, LOST_PROCESSES_FULL);
	else if (!is_still_mapped(a, s, mapping))
		(void)bpf_map_delete_elem(a->processes_fd, &pid);
}

static void run(void *ctx, void *job, struct arena *arena)
{
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *s = job;
	struct assembly_tables *a = ctx;

	(void)arena;
	for (size_t i = 0; i < s->n_mappings; i++) {
		const struct process_mapping *m = &s->mappings[i];
		const struct file *f = m->file ? get_file(a, m->file) : NULL;
		struct go_frame_process p;

		if (!f || !locate_text(m, f, &p))
			continue;
		add_process(a, s, m, &p);
		return;
	}
}

static void on_snapshot(void *ctx, struct process_snapshot *s)
{
	struct assembly_tables *a = ctx;

	if (s->kernel_thread || s->unreadable || s->n_mappings == 0)
		return;
	process_snapshot_ref(s);
	if (worker_pool_submit(a->pool, s) == 0)
		return;
	process_snapshot_unref(s);
	count(a, LOST_QUEUE_FULL);
}

/* ---- create and destroy ---- */

static int open_all(struct assembly_tables *a, const struct assembly_tables_config *cfg)
{
	const char *proc = cfg->proc_root ? cfg->proc_root : "/proc";

	a->proc_fd = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (a->proc_fd >= 0)
		a->processes_fd = fcntl(cfg->processes_fd, F_DUPFD_CLOEXEC, 0);
	if (a->processes_fd >= 0)
		a->tables_fd = fcntl(cfg->tables_fd, F_DUPFD_CLOEXEC, 0);
	return a->tables_fd >= 0 ? 0 : -errno;
}

int assembly_tables_new(struct assembly_tables **ret, const struct assembly_tables_config *cfg)
{
	CLEANUP(assembly_tables_freep) struct assembly_tables *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->listener = (struct process_listener){on_snapshot, NULL, a, NULL};
	a->proc_fd = a->processes_fd = a->tables_fd = -1;
	r = open_all(a, cfg);
	if (r == 0)
		r = deadline_caller_new(&a->caller, READ_TIMEOUT_NS, HUNG_PAUSE_NS);
	if (r == 0)
		r = worker_pool_new(&a->pool, &(struct worker_pool_config){
						      .name = "unwind-tables",
						      .n_threads = 1,
						      .max_queued = QUEUE_JOBS,
						      .run = run,
						      .ctx = a,
					      });
	if (r == 0)
		r = worker_pool_start(a->pool);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(a);
	return 0;
}

static void drop_jobs(struct worker_pool *pool)
{
	struct process_snapshot *s;

	while (pool && (s = worker_pool_take(pool, 0)))
		process_snapshot_unref(s);
}

void assembly_tables_free(struct assembly_tables *a)
{
	if (!a)
		return;
	drop_jobs(a->pool);
	worker_pool_free(a->pool);
	while (a->files)
		forget_file(a, a->files);
	deadline_caller_free(a->caller);
	closep(&a->proc_fd);
	closep(&a->processes_fd);
	closep(&a->tables_fd);
	free(a);
}

struct process_listener *assembly_tables_listener(struct assembly_tables *a)
{
	return &a->listener;
}

int assembly_tables_register_metrics(struct assembly_tables *a, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, a->metrics, a);
}
