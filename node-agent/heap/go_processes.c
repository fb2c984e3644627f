#include "node-agent/heap/go_processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "common/parse.h"
#include "common/table.h"
#include "node-agent/process/procfs.h"

#define VERDICTS_MAX 8192u
#define BACKOFF_MAX_SHIFT 6u /* a process that cannot be read is tried about once an hour */

struct entry {
	UT_hash_handle hh; /* by pid */
	pid_t pid;
	bool is_go;
	uint64_t scan;        /* the last one that saw it */
	struct go_process go; /* id is valid in any case */
};

struct verdict {
	UT_hash_handle hh;
	struct go_file_key key;
	bool is_go;
};

struct go_processes {
	struct go_processes_config cfg;
	struct entry *entries;
	struct verdict *verdicts;
	uint64_t n_scans;
	size_t n_go;
};

int go_processes_new(struct go_processes **ret, const struct go_processes_config *cfg)
{
	struct go_processes *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->cfg = *cfg;
	*ret = p;
	return 0;
}

static void drop(struct go_processes *p, struct entry *e)
{
	HASH_DEL(p->entries, e);
	p->n_go -= e->is_go;
	heap_history_free(e->go.history);
	table_free(e);
}

static void forget_verdicts(struct go_processes *p)
{
	struct verdict *v, *next;

	for (v = p->verdicts; v; v = next) {
		next = v->hh.next;
		HASH_DEL(p->verdicts, v);
		table_free(v);
	}
}

void go_processes_free(struct go_processes *p)
{
	struct entry *e, *next;

	if (!p)
		return;
	for (e = p->entries; e; e = next) {
		next = e->hh.next;
		drop(p, e);
	}
	forget_verdicts(p);
	free(p);
}

/* ---- Go's or not ---- */

static int keep_verdict(struct go_processes *p, const struct go_file_key *key, bool is_go)
{
	struct verdict *v;

	if (HASH_COUNT(p->verdicts) >= VERDICTS_MAX)
		forget_verdicts(p);
	v = table_malloc(sizeof(*v));
	if (!v)
		return -ENOMEM;
	*v = (struct verdict){.key = *key, .is_go = is_go};
	HASH_ADD(hh, p->verdicts, key, sizeof(v->key), v);
	if (!TABLE_ADDED(hh, v)) {
		table_free(v);
		return -ENOMEM;
	}
	return is_go;
}

/* 1, 0; -errno: not known now. */
static int detect(struct go_processes *p, const struct go_process_id *id)
{
	struct verdict *v;
	int r;

	HASH_FIND(hh, p->verdicts, &id->exe, sizeof(id->exe), v);
	if (v)
		return v->is_go;
	r = p->cfg.detect(p->cfg.ctx, id);
	return r < 0 ? r : keep_verdict(p, &id->exe, r > 0);
}

/* ---- scanning ---- */

static int add(struct go_processes *p, const struct go_process_id *id, bool is_go,
	       struct entry **ret)
{
	struct entry *e = table_malloc(sizeof(*e));

	if (!e)
		return -ENOMEM;
	*e = (struct entry){.pid = id->pid, .is_go = is_go, .go = {.id = *id}};
	HASH_ADD(hh, p->entries, pid, sizeof(e->pid), e);
	if (!TABLE_ADDED(hh, e)) {
		table_free(e);
		return -ENOMEM;
	}
	p->n_go += is_go;
	*ret = e;
	return 0;
}

/* Of a process that was not there at the last scan all allocations are news. */
static int add_new(struct go_processes *p, const struct go_process_id *id, uint64_t now_ns)
{
	const struct heap_history_config cfg = {
		.start = p->n_scans > 1 ? HEAP_HISTORY_FROM_ZERO : HEAP_HISTORY_FROM_NOW,
		.max_buckets = p->cfg.max_buckets,
	};
	int is_go = detect(p, id), r;
	struct entry *e;

	if (is_go < 0) /* perhaps at the next scan */
		return is_go == -ENOMEM ? is_go : 0;
	r = add(p, id, is_go > 0, &e);
	if (r < 0)
		return r;
	e->scan = p->n_scans;
	if (!is_go)
		return 0;
	e->go.due_ns = now_ns;
	e->go.told_ns = now_ns;
	r = heap_history_new(&e->go.history, &cfg);
	if (r < 0)
		drop(p, e);
	return r;
}

/* Not by the file's size and times: those of a program that runs can only be touched. */
static bool is_same(const struct go_process_id *a, const struct go_process_id *b)
{
	return a->start_time == b->start_time && a->exe.dev == b->exe.dev &&
	       a->exe.ino == b->exe.ino;
}

static int scan_one(struct go_processes *p, pid_t pid, uint64_t now_ns)
{
	AUTO_CLOSE int fd = procfs_open_process(p->cfg.root_fd, pid);
	struct go_process_id id = {.pid = pid};
	struct proc_stat st;
	struct entry *e;

	/* kernel threads have no executable, and what has ended has none any more */
	if (fd < 0 || procfs_read_stat(fd, &st) < 0 || st.kernel_thread ||
	    go_target_read_key(fd, &id.exe) < 0)
		return 0;
	id.start_time = st.start_time;
	HASH_FIND(hh, p->entries, &pid, sizeof(pid), e);
	if (e && is_same(&e->go.id, &id)) {
		e->scan = p->n_scans;
		return 0;
	}
	if (e)
		drop(p, e);
	return add_new(p, &id, now_ns);
}

/* Those found together become due one after the other. */
static void spread(struct go_processes *p, uint64_t now_ns)
{
	uint64_t n = 0, i = 0;

	for (const struct entry *e = p->entries; e; e = e->hh.next)
		n += e->is_go && e->go.due_ns == now_ns;
	for (struct entry *e = p->entries; e; e = e->hh.next) {
		if (e->is_go && e->go.due_ns == now_ns)
			e->go.due_ns = now_ns + p->cfg.interval_ns / n * i++;
	}
}

static void drop_unseen(struct go_processes *p)
{
	struct entry *e, *next;

	for (e = p->entries; e; e = next) {
		next = e->hh.next;
		if (e->scan != p->n_scans)
			drop(p, e);
	}
}

int go_processes_scan(struct go_processes *p, uint64_t now_ns)
{
	int fd = openat(p->cfg.root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *d;
	DIR *dir;
	int r = 0;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	p->n_scans++;
	while (r == 0 && (d = readdir(dir)) != NULL) {
		uint64_t pid;

		if (parse_u64(d->d_name, strlen(d->d_name), 1, INT32_MAX, &pid) == 0)
			r = scan_one(p, (pid_t)pid, now_ns);
	}
	closedir(dir);
	if (r == 0)
		drop_unseen(p);
	spread(p, now_ns);
	return r;
}

/* ---- one by one ---- */

struct go_process *go_processes_next(struct go_processes *p)
{
	struct entry *next = NULL;

	for (struct entry *e = p->entries; e; e = e->hh.next) {
		if (e->is_go && (!next || e->go.due_ns < next->go.due_ns))
			next = e;
	}
	return next ? &next->go : NULL;
}

void go_processes_remove(struct go_processes *p, struct go_process *g)
{
	struct entry *e;

	HASH_FIND(hh, p->entries, &g->id.pid, sizeof(g->id.pid), e);
	if (e)
		drop(p, e);
}

void go_processes_done(struct go_processes *p, struct go_process *g, uint64_t now_ns, bool failed)
{
	unsigned shift;

	g->n_failures = failed ? g->n_failures + 1 : 0;
	shift = g->n_failures < BACKOFF_MAX_SHIFT ? g->n_failures : BACKOFF_MAX_SHIFT;
	/* at fixed times, so that they stay spread */
	do
		g->due_ns += p->cfg.interval_ns << shift;
	while (g->due_ns <= now_ns);
}

int go_processes_restart(struct go_processes *p, struct go_process *g, uint64_t due_ns)
{
	const struct heap_history_config cfg = {HEAP_HISTORY_FROM_NOW, p->cfg.max_buckets};
	struct heap_history *h;
	int r = heap_history_new(&h, &cfg);

	if (r < 0)
		return r;
	heap_history_free(g->history);
	g->history = h;
	g->due_ns = due_ns;
	return 0;
}

struct go_process *go_processes_each(struct go_processes *p, struct go_process *g)
{
	struct entry *e = p->entries;

	if (g) {
		HASH_FIND(hh, p->entries, &g->id.pid, sizeof(g->id.pid), e);
		e = e ? e->hh.next : NULL;
	}
	while (e && !e->is_go)
		e = e->hh.next;
	return e ? &e->go : NULL;
}

size_t go_processes_count(const struct go_processes *p)
{
	return p->n_go;
}
