#include "node-agent/go_profile/go_processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "common/data/table.h"
#include "common/system/clock.h"
#include "common/text/parse.h"
#include "node-agent/go/image/go_reader.h"
#include "node-agent/go_profile/due_heap.h"
#include "node-agent/go_profile/go_verdicts.h"
#include "node-agent/go_profile/pid_owner.h"
#include "node-agent/process/procfs.h"

#define BACKOFF_MAX_SHIFT 6u /* a process that cannot be read is tried about once an hour */

struct entry_key {
	uint64_t pid;
	uint64_t dev; /* of the library; 0: of the process itself */
	uint64_t ino;
};

struct entry {
	UT_hash_handle hh;
	struct entry_key key;
	bool is_go;
	bool ended;             /* whoever has its id at the next scan is somebody else */
	uint64_t scan;          /* the last one that saw it; not of libraries */
	struct pid_owner owner; /* as it was read last; not of libraries */
	struct go_process go;   /* id is valid in any case */
	struct due due;         /* go_process_next_ns(), in no heap if it is not Go */
	size_t n_bytes;         /* go_process_bytes() */

	/* of a process whose executable is not Go's */
	uint64_t look_ns; /* when its libraries are looked at */
	unsigned n_looks;
	enum bucket_history_start start; /* of those found then */
};

struct go_processes {
	struct go_processes_config cfg;
	struct entry *entries;
	struct due_heap due;
	struct entry *in_turn; /* due and n_bytes may have changed; NULL: none */
	size_t n_bytes;        /* of all */
	struct go_verdicts *verdicts;
	struct file_id *libraries; /* room for those of one process */
	uint64_t n_scans;
	uint64_t
		scan_ticks; /* since boot, at the last scan but this; UINT64_MAX: this is the first */
	uint64_t seen_ticks; /* since boot, after the last scan; 0: it was not finished */
	size_t n_go;
	size_t n_denied, n_denied_now; /* of the last scan, and of this */
};

int go_processes_new(struct go_processes **ret, const struct go_processes_config *cfg)
{
	CLEANUP(go_processes_freep) struct go_processes *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->cfg = *cfg;
	p->scan_ticks = cfg->seen_ticks > 0 ? cfg->seen_ticks : UINT64_MAX;
	p->libraries = calloc(GO_READER_LIBRARIES_MAX, sizeof(*p->libraries));
	if (!p->libraries)
		return -ENOMEM;
	r = go_verdicts_new(&p->verdicts);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

/* It has none, or not any more. */
static void drop_runtime(struct go_processes *p, struct entry *e)
{
	due_heap_remove(&p->due, &e->due);
	if (p->in_turn == e)
		p->in_turn = NULL;
	p->n_bytes -= e->n_bytes;
	e->n_bytes = 0;
	p->n_go -= e->is_go;
	e->is_go = false;
	go_process_fini(&e->go);
}

static void drop(struct go_processes *p, struct entry *e)
{
	drop_runtime(p, e);
	HASH_DEL(p->entries, e);
	table_free(e);
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
	due_heap_fini(&p->due);
	go_verdicts_free(p->verdicts);
	free(p->libraries);
	free(p);
}

static struct entry_key key_of(const struct program_id *id)
{
	return (struct entry_key){(uint64_t)id->pid, id->library.dev, id->library.ino};
}

static struct entry *find(const struct go_processes *p, const struct program_id *id)
{
	struct entry_key key = key_of(id);
	struct entry *e;

	HASH_FIND(hh, p->entries, &key, sizeof(key), e);
	return e;
}

/* The entry of its process. */
static struct entry *host_of(const struct go_processes *p, const struct entry *e)
{
	const struct program_id id = {.pid = e->go.id.pid};

	return find(p, &id);
}

/* Not by the file's size and times: those of a program that runs can only be touched. */
static bool is_same(const struct program_id *a, const struct program_id *b)
{
	return a->start_time == b->start_time && a->exe.dev == b->exe.dev &&
	       a->exe.ino == b->exe.ino;
}

/* ---- Go's or not ---- */

/* 1, 0; -errno: not known now. */
static int detect(struct go_processes *p, const struct program_id *id)
{
	const struct file_id *key = id->library.ino != 0 ? &id->library : &id->exe;
	int is_go = go_verdicts_find(p->verdicts, key), r;

	if (is_go >= 0)
		return is_go;
	is_go = p->cfg.detect(p->cfg.ctx, id);
	if (is_go < 0)
		return is_go;
	r = go_verdicts_add(p->verdicts, key, is_go > 0);
	return r < 0 ? r : is_go;
}

static int add(struct go_processes *p, const struct program_id *id, bool is_go, struct entry **ret)
{
	struct entry *e = table_malloc(sizeof(*e));

	if (!e)
		return -ENOMEM;
	*e = (struct entry){.key = key_of(id), .is_go = is_go, .go = {.id = *id}};
	HASH_ADD(hh, p->entries, key, sizeof(e->key), e);
	if (!TABLE_ADDED(hh, e)) {
		table_free(e);
		return -ENOMEM;
	}
	p->n_go += is_go;
	*ret = e;
	return 0;
}

static int add_runtime(struct go_processes *p, const struct program_id *id,
		       enum bucket_history_start start, uint64_t now_ns, struct entry **ret)
{
	struct entry *e;
	int r = add(p, id, true, &e);

	if (r < 0)
		return r;
	r = go_process_init(&e->go, start, now_ns);
	if (r == 0)
		r = due_heap_add(&p->due, &e->due, now_ns);
	if (r < 0) {
		drop(p, e);
		return r;
	}
	e->n_bytes = go_process_bytes(&e->go);
	p->n_bytes += e->n_bytes;
	*ret = e;
	return 0;
}

/* ---- libraries ---- */

/* 1: whether it is Go's cannot be told now. */
static int look_at_library(struct go_processes *p, const struct entry *host,
			   const struct file_id *library, uint64_t now_ns)
{
	struct program_id id = host->go.id;
	struct entry *known;
	int is_go;

	id.library = *library;
	known = find(p, &id);
	if (known && is_same(&known->go.id, &id))
		return 0;
	if (known) /* of whoever had the id before */
		drop(p, known);
	is_go = detect(p, &id);
	if (is_go < 0)
		return is_go == -ENOMEM ? is_go : 1;
	return is_go ? add_runtime(p, &id, host->start, now_ns, &known) : 0;
}

static uint64_t look_pause_ns(const struct go_processes *p, unsigned n_looks)
{
	uint64_t ns = p->cfg.interval_ns;

	if (n_looks == 1)
		return 0; /* at the next scan */
	for (unsigned i = 2; i < n_looks && ns < GO_PROCESSES_LOOK_MAX_NS; i++)
		ns *= 2;
	return ns < GO_PROCESSES_LOOK_MAX_NS ? ns : GO_PROCESSES_LOOK_MAX_NS;
}

/* Of what is loaded after the first look all allocations are news, if only that look saw everything. */
static int look(struct go_processes *p, struct entry *e, uint64_t now_ns)
{
	bool sure = true;
	int n, r = 0;

	e->look_ns = UINT64_MAX;
	if (!p->cfg.libraries)
		return 0;
	n = p->cfg.libraries(p->cfg.ctx, &e->go.id, p->libraries, GO_READER_LIBRARIES_MAX);
	if (n == -ENOMEM)
		return n;
	sure = n >= 0;
	for (int i = 0; r >= 0 && i < n; i++) {
		r = look_at_library(p, e, &p->libraries[i], now_ns);
		sure &= r == 0;
	}
	if (sure)
		e->start = BUCKET_HISTORY_FROM_ZERO;
	e->n_looks++;
	e->look_ns = now_ns + look_pause_ns(p, e->n_looks);
	return r < 0 ? r : 0;
}

/* ---- scanning ---- */

/* As start times of processes are given. */
static uint64_t boot_ticks(void)
{
	return clock_boottime_ns() / (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

/*
 * Of a process that began, or what it executes now, after the last scan all allocations are news. One that was there
 * before could only not be looked at then.
 */
static int add_new(struct go_processes *p, const struct pid_owner *owner, bool replaces,
		   uint64_t now_ns)
{
	const struct program_id *id = &owner->id;
	enum bucket_history_start start = replaces || id->start_time >= p->scan_ticks
						  ? BUCKET_HISTORY_FROM_ZERO
						  : BUCKET_HISTORY_FROM_NOW;
	int is_go = detect(p, id), r;
	struct entry *e;

	if (is_go < 0) /* perhaps at the next scan */
		return is_go == -ENOMEM ? is_go : 0;
	r = is_go ? add_runtime(p, id, start, now_ns, &e) : add(p, id, false, &e);
	if (r < 0)
		return r;
	e->owner = *owner;
	e->scan = p->n_scans;
	if (is_go)
		return 0;
	e->start = start;
	return look(p, e, now_ns);
}

/* Who has this pid; e is who had it, or NULL. Results as of pid_owner_read(). */
static int look_at(const struct go_processes *p, pid_t pid, const struct entry *e, uint64_t now_ns,
		   struct pid_owner *ret)
{
	bool known = e && !e->ended;

	/* until the libraries of one that is not Go's are looked at again, who it is does not matter */
	if (known)
		known = !e->is_go && now_ns < e->look_ns
				? pid_owner_executes(&e->owner, p->cfg.root_fd)
				: pid_owner_is_current(&e->owner, p->cfg.root_fd);
	if (!known)
		return pid_owner_read(ret, p->cfg.root_fd, pid);
	*ret = e->owner;
	return 0;
}

static bool is_left_out(const struct go_processes *p, pid_t pid)
{
	for (size_t i = 0; i < p->cfg.n_left_out; i++) {
		const struct program_id *id = &p->cfg.left_out[i];
		AUTO_CLOSE int fd = -1;
		struct proc_stat st;

		if (id->pid != pid)
			continue;
		fd = procfs_open_process(p->cfg.root_fd, pid);
		if (fd >= 0 && procfs_read_stat(fd, &st) == 0 && st.start_time == id->start_time)
			return true;
	}
	return false;
}

static int scan_one(struct go_processes *p, pid_t pid, uint64_t now_ns)
{
	const struct program_id any = {.pid = pid};
	struct pid_owner owner;
	struct entry *e;
	bool replaces;
	int r;

	if (is_left_out(p, pid))
		return 0;
	if (p->cfg.at)
		p->cfg.at(p->cfg.ctx, pid);
	e = find(p, &any);
	r = look_at(p, pid, e, now_ns, &owner);
	p->n_denied_now += r == -EACCES || r == -EPERM;
	if (r == -ENOENT || r == -ESRCH)
		return 0;
	if (e && (r < 0 || (!e->ended && is_same(&e->go.id, &owner.id)))) {
		e->scan = p->n_scans;
		if (r == 0)
			e->owner = owner;
		return r < 0 || e->is_go || now_ns < e->look_ns ? 0 : look(p, e, now_ns);
	}
	if (r < 0)
		return 0;
	replaces = e != NULL;
	if (e)
		drop(p, e);
	return add_new(p, &owner, replaces, now_ns);
}

/* Those found together become due one after the other. */
static void spread(struct go_processes *p, uint64_t now_ns)
{
	uint64_t n = 0, i = 0;

	for (const struct entry *e = p->entries; e; e = e->hh.next)
		n += e->is_go && e->go.due_ns == now_ns;
	for (struct entry *e = p->entries; e; e = e->hh.next) {
		if (!e->is_go || e->go.due_ns != now_ns)
			continue;
		e->go.due_ns = now_ns + p->cfg.interval_ns / n * i++;
		due_heap_move(&p->due, &e->due, go_process_next_ns(&e->go));
	}
}

static void drop_unseen(struct go_processes *p)
{
	struct entry *e, *next;

	for (e = p->entries; e; e = next) {
		const struct entry *process = host_of(p, e);

		next = e->hh.next;
		if (!process || process->scan != p->n_scans || !is_same(&process->go.id, &e->go.id))
			drop(p, e);
	}
}

int go_processes_scan(struct go_processes *p, uint64_t now_ns)
{
	int fd = openat(p->cfg.root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *d;
	DIR *dir;
	uint64_t ticks = boot_ticks();
	int r = 0;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	p->n_scans++;
	p->n_denied_now = 0;
	p->seen_ticks = 0;
	while (r == 0 && (d = readdir(dir)) != NULL) {
		uint64_t pid;

		if (parse_u64(d->d_name, strlen(d->d_name), 1, INT32_MAX, &pid) == 0)
			r = scan_one(p, (pid_t)pid, now_ns);
	}
	closedir(dir);
	if (r == 0)
		drop_unseen(p);
	p->scan_ticks = ticks;
	if (r == 0)
		p->seen_ticks = boot_ticks() + 1;
	p->n_denied = p->n_denied_now;
	spread(p, now_ns);
	return r;
}

/* ---- one by one ---- */

static struct entry *entry_of(struct due *d)
{
	return (struct entry *)((char *)d - offsetof(struct entry, due));
}

static void end_turn(struct go_processes *p)
{
	struct entry *e = p->in_turn;

	if (!e)
		return;
	due_heap_move(&p->due, &e->due, go_process_next_ns(&e->go));
	p->n_bytes -= e->n_bytes;
	e->n_bytes = go_process_bytes(&e->go);
	p->n_bytes += e->n_bytes;
	p->in_turn = NULL;
}

struct go_process *go_processes_next(struct go_processes *p)
{
	struct due *first;

	end_turn(p);
	first = due_heap_first(&p->due);
	p->in_turn = first ? entry_of(first) : NULL;
	return first ? &p->in_turn->go : NULL;
}

void go_processes_remove(struct go_processes *p, struct go_process *g)
{
	struct entry *e = find(p, &g->id), *host = e ? host_of(p, e) : NULL;

	if (!e)
		return;
	if (e->key.ino != 0) { /* the next scan looks at what the process has mapped then */
		if (host)
			host->n_looks = 0, host->look_ns = 0;
		drop(p, e);
		return;
	}
	drop_runtime(p, e);
	e->ended = true;
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
	due_heap_move(&p->due, &find(p, &g->id)->due, go_process_next_ns(g));
}

struct go_process *go_processes_each(struct go_processes *p, struct go_process *g)
{
	struct entry *e = p->entries;

	if (g) {
		e = find(p, &g->id);
		e = e ? e->hh.next : NULL;
	}
	while (e && !e->is_go)
		e = e->hh.next;
	return e ? &e->go : NULL;
}

uint64_t go_processes_seen_ticks(const struct go_processes *p)
{
	return p->seen_ticks;
}

size_t go_processes_count(const struct go_processes *p)
{
	return p->n_go;
}

size_t go_processes_denied(const struct go_processes *p)
{
	return p->n_denied;
}

size_t go_processes_bytes(const struct go_processes *p)
{
	const struct entry *e = p->in_turn;

	return e ? p->n_bytes - e->n_bytes + go_process_bytes(&e->go) : p->n_bytes;
}
