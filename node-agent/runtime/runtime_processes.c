/*
 * A table of all processes, one entry each whether they have the runtime or not, and one more for
 * each library that has it. A scan reads only processes that are reported as changed, or that the
 * previous scan could not read or examine. For one that is new it takes a lookup by file
 * (file_verdicts.h), unless the process executes something that has not been seen before.
 *
 * Whether a program is new decides what is reported of it: all that it counted, or only what
 * it counts from its first turn on. It is new if it is reported as started, if it started after the
 * previous scan, or if its pid belonged to something else then. A program that an earlier scan
 * could not examine is not.
 */
#include "node-agent/runtime/runtime_processes.h"

#include <errno.h>
#include <fcntl.h>

#include "common/data/table.h"
#include "common/system/clock.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/runtime/due_heap.h"
#include "node-agent/runtime/file_verdicts.h"

#define SUBJECT_NS (60 * NS_PER_S) /* how long what decides about a process is valid */
#define BACKOFF_MAX_SHIFT 6u       /* a program that cannot be read is tried about once an hour */

struct entry_key {
	uint64_t pid;
	uint64_t dev; /* of the library; 0: of the process itself */
	uint64_t ino;
};

struct entry {
	UT_hash_handle hh;
	struct entry_key key;
	bool has_runtime;
	bool is_leaving; /* leave() is to be called again; it has no turns any more */
	/* of a process */
	bool is_read; /* program.id is complete, and what it executes was examined */
	bool changed; /* the next scan reads which process has the pid */
	bool started; /* as reported with the change */
	bool exited;  /* likewise */
	bool ended;   /* that is another process, whatever its id */
	struct runtime_process program; /* of its id, the pid is valid in any case */
	struct due due;                 /* in no heap if it does not have the runtime */
	size_t n_bytes;                 /* runtime_process_bytes() */

	/* of a process, if there is a filter */
	struct runtime_subject subject;
	enum runtime_verdict verdict;
	uint64_t decide_by_ns;  /* if undecided */
	uint64_t subject_ns;    /* when the subject was read … */
	uint64_t subject_image; /* … and runtime_process.image then */
	bool must_leave;        /* a program of the process is leaving */

	enum runtime_baseline baseline; /* of the process, and of libraries found next */
	/* of a process whose executable does not have the runtime */
	uint64_t libraries_ns;  /* when its libraries are examined next */
	unsigned n_examined;    /* times that they were */
	uint64_t listed_ns;     /* when all of them were, the last time … */
	uint64_t library_pages; /* … and procfs_read_library_pages() before; 0: unknown */
};

struct runtime_processes {
	struct runtime_processes_config cfg;
	struct entry *entries;
	struct due_heap due;
	struct entry *in_turn; /* its due and n_bytes may be out of date; NULL: none */
	size_t n_bytes;        /* of all */
	struct file_verdicts *verdicts;
	struct file_id *libraries; /* buffer for those of one process */
	/* since boot, when the previous scan began; UINT64_MAX: this is the first one */
	uint64_t scan_ticks;
	uint64_t seen_ticks; /* since boot, after the last scan; 0: it was not finished */
	size_t n_programs;
	size_t n_denied; /* of the last scan */
	size_t n_excluded;
	size_t n_undecided;
	struct access_denial denied;
};

int runtime_processes_new(struct runtime_processes **ret,
			  const struct runtime_processes_config *cfg)
{
	CLEANUP(runtime_processes_freep) struct runtime_processes *ps = calloc(1, sizeof(*ps));
	int r;

	if (!ps)
		return -ENOMEM;
	ps->cfg = *cfg;
	ps->scan_ticks = cfg->seen_ticks > 0 ? cfg->seen_ticks : UINT64_MAX;
	ps->libraries = calloc(RUNTIME_LIBRARIES_MAX, sizeof(*ps->libraries));
	if (!ps->libraries)
		return -ENOMEM;
	r = file_verdicts_new(&ps->verdicts, cfg->max_verdicts);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(ps);
	return 0;
}

/* The entry stays, as that of a program without the runtime. */
static void drop_runtime(struct runtime_processes *ps, struct entry *e)
{
	due_heap_remove(&ps->due, &e->due);
	if (ps->in_turn == e)
		ps->in_turn = NULL;
	ps->n_bytes -= e->n_bytes;
	e->n_bytes = 0;
	ps->n_programs -= e->has_runtime && !e->is_leaving;
	e->has_runtime = false;
	e->is_leaving = false;
	runtime_process_fini(&e->program);
}

static void drop(struct runtime_processes *ps, struct entry *e)
{
	drop_runtime(ps, e);
	runtime_subject_fini(&e->subject);
	HASH_DEL(ps->entries, e);
	table_free(e);
}

/* Only the pid stays. The next scan reads again which process that is. */
static void forget(struct runtime_processes *ps, struct entry *e)
{
	const UT_hash_handle hh = e->hh;
	const struct entry_key key = e->key;

	drop_runtime(ps, e);
	runtime_subject_fini(&e->subject);
	*e = (struct entry){
		.hh = hh, .key = key, .changed = true, .program.id.pid = (pid_t)key.pid};
}

void runtime_processes_free(struct runtime_processes *ps)
{
	struct entry *e, *next;

	if (!ps)
		return;
	for (e = ps->entries; e; e = next) {
		next = e->hh.next;
		drop(ps, e);
	}
	due_heap_fini(&ps->due);
	file_verdicts_free(ps->verdicts);
	free(ps->libraries);
	free(ps);
}

static struct entry_key key_of(const struct program_id *id)
{
	return (struct entry_key){(uint64_t)id->pid, id->library.dev, id->library.ino};
}

static struct entry *find(const struct runtime_processes *ps, const struct program_id *id)
{
	struct entry_key key = key_of(id);
	struct entry *e;

	HASH_FIND(hh, ps->entries, &key, sizeof(key), e);
	return e;
}

/* The entry of its process. */
static struct entry *host_of(const struct runtime_processes *ps, const struct entry *e)
{
	const struct program_id id = {.pid = e->program.id.pid};

	return find(ps, &id);
}

/* Ignores size and mtime of the file: the executable of a running process may be touched. */
static bool is_same(const struct program_id *a, const struct program_id *b)
{
	return a->start_time == b->start_time && file_id_same_file(&a->exe, &b->exe);
}

/* ---- which programs have the runtime ---- */

/* Returns 1, 0, or -errno if that cannot be decided now. */
static int detect(struct runtime_processes *ps, const struct program_id *id)
{
	const struct file_id *file = id->library.ino != 0 ? &id->library : &id->exe;
	int has_runtime = file_verdicts_find(ps->verdicts, file), r;

	if (has_runtime >= 0)
		return has_runtime;
	has_runtime = ps->cfg.detect(ps->cfg.ctx, id);
	if (has_runtime < 0)
		return has_runtime;
	r = file_verdicts_add(ps->verdicts, file, has_runtime > 0);
	return r < 0 ? r : has_runtime;
}

static int add(struct runtime_processes *ps, const struct program_id *id, struct entry **ret)
{
	struct entry *e = table_malloc(sizeof(*e));

	if (!e)
		return -ENOMEM;
	*e = (struct entry){.key = key_of(id), .program = {.id = *id}};
	HASH_ADD(hh, ps->entries, key, sizeof(e->key), e);
	if (!TABLE_ADDED(hh, e)) {
		table_free(e);
		return -ENOMEM;
	}
	*ret = e;
	return 0;
}

/* Drops or forgets e if there is no memory. */
static int begin_runtime(struct runtime_processes *ps, struct entry *e, uint64_t now_ns)
{
	int r;

	e->has_runtime = true;
	ps->n_programs++;
	r = runtime_process_init(&e->program, ps->cfg.ops, e->baseline, now_ns);
	if (r == 0)
		r = due_heap_add(&ps->due, &e->due, now_ns);
	if (r < 0) {
		if (e->key.ino != 0)
			drop(ps, e);
		else
			forget(ps, e);
		return r;
	}
	e->n_bytes = runtime_process_bytes(&e->program);
	ps->n_bytes += e->n_bytes;
	return 0;
}

/* There is a filter, and it was not asked about the process yet. */
static bool is_unasked(const struct runtime_processes *ps, const struct entry *e)
{
	return ps->cfg.decide && !e->subject.raw;
}

/* ---- libraries ---- */

/* Returns 0, 1 if that cannot be decided now, or -ENOMEM. */
static int examine_library(struct runtime_processes *ps, const struct entry *host,
			   const struct file_id *library, uint64_t now_ns)
{
	struct program_id id = host->program.id;
	struct entry *known;
	int has_runtime, r;

	id.library = *library;
	known = find(ps, &id);
	if (known && is_same(&known->program.id, &id))
		return 0;
	if (known) /* of the process that had the pid before */
		drop(ps, known);
	has_runtime = detect(ps, &id);
	if (has_runtime < 0)
		return has_runtime == -ENOMEM ? has_runtime : 1;
	if (!has_runtime)
		return 0;
	r = add(ps, &id, &known);
	if (r < 0)
		return r;
	known->baseline = host->baseline;
	return begin_runtime(ps, known, now_ns);
}

static uint64_t libraries_pause_ns(const struct runtime_processes *ps, unsigned n_examined)
{
	uint64_t ns = ps->cfg.interval_ns;

	if (n_examined == 1)
		return 0; /* at the next scan */
	for (unsigned i = 2; i < n_examined && ns < RUNTIME_PROCESSES_LIBRARIES_MAX_NS; i++)
		ns *= 2;
	return ns < RUNTIME_PROCESSES_LIBRARIES_MAX_NS ? ns : RUNTIME_PROCESSES_LIBRARIES_MAX_NS;
}

/*
 * Whether the process has the libraries that it had when they were last examined. They are listed
 * again at times, as one may have taken the place of another one of the same size.
 */
static bool has_same_libraries(const struct entry *e, uint64_t library_pages, uint64_t now_ns)
{
	return e->n_examined > 0 && library_pages != 0 && library_pages == e->library_pages &&
	       now_ns - e->listed_ns < RUNTIME_PROCESSES_LIBRARIES_MAX_NS;
}

/* Whether one of the n that are listed has the runtime, or may have it. */
static bool may_have_runtime(const struct runtime_processes *ps, int n)
{
	for (int i = 0; i < n; i++) {
		if (file_verdicts_find(ps->verdicts, &ps->libraries[i]) != 0)
			return true;
	}
	return false;
}

/*
 * Examines the n that are listed; an error if they could not be. A library that was loaded after
 * its process was examined for the first time is new, and reports all that it counted; but only
 * if that first time saw everything.
 */
static int examine_listed(struct runtime_processes *ps, struct entry *e, int n, uint64_t now_ns)
{
	bool complete = n >= 0;
	int r = 0;

	for (int i = 0; r >= 0 && i < n; i++) {
		r = examine_library(ps, e, &ps->libraries[i], now_ns);
		complete &= r == 0;
	}
	if (complete) {
		e->baseline = RUNTIME_BASELINE_ZERO;
		e->listed_ns = now_ns;
	} else {
		e->library_pages = 0;
	}
	return r < 0 ? r : 0;
}

static int ask(struct runtime_processes *ps, struct entry *e, uint64_t now_ns);

/* e may be forgotten. */
static int examine_libraries(struct runtime_processes *ps, struct entry *e, uint64_t now_ns)
{
	uint64_t library_pages;
	int n, r = 0;

	e->libraries_ns = UINT64_MAX;
	if (!ps->cfg.libraries)
		return 0;
	/* before they are listed, so that what is loaded meanwhile shows the next time */
	if (procfs_read_library_pages(ps->cfg.root_fd, e->program.id.pid, &library_pages) < 0)
		library_pages = 0;
	if (!has_same_libraries(e, library_pages, now_ns)) {
		n = ps->cfg.libraries(ps->cfg.ctx, &e->program.id, ps->libraries,
				      RUNTIME_LIBRARIES_MAX);
		if (n == -ENOMEM)
			return n;
		if (is_unasked(ps, e) && may_have_runtime(ps, n))
			return ask(ps, e, now_ns);
		e->library_pages = library_pages;
		r = examine_listed(ps, e, n, now_ns);
	}
	e->n_examined++;
	e->libraries_ns = now_ns + libraries_pause_ns(ps, e->n_examined);
	return r;
}

/* ---- scan ---- */

/* In the unit of start times. */
static uint64_t boot_ticks(void)
{
	return clock_boottime_ns() / (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Forgets e if it cannot be examined now: the next scan tries again. */
static int examine(struct runtime_processes *ps, struct entry *e, uint64_t now_ns)
{
	int has_runtime = detect(ps, &e->program.id);

	if (has_runtime < 0) {
		forget(ps, e);
		return has_runtime == -ENOMEM ? has_runtime : 0;
	}
	return has_runtime ? begin_runtime(ps, e, now_ns) : examine_libraries(ps, e, now_ns);
}

/* ---- which processes are profiled ---- */

/* Ends the turns of a program; what is remembered of it stays until it is left. */
static void suspend(struct runtime_processes *ps, struct entry *e)
{
	if (e->is_leaving)
		return;
	e->is_leaving = true;
	ps->n_programs--;
	due_heap_remove(&ps->due, &e->due);
	if (ps->in_turn == e)
		ps->in_turn = NULL;
	container_share_free(TAKE_PTR(e->program.share));
}

/* All programs of the process. Returns whether none has to be left again. */
static bool leave(struct runtime_processes *ps, struct entry *host)
{
	struct entry *e, *next;
	bool all = true;
	int r;

	for (e = ps->entries; e; e = next) {
		next = e->hh.next;
		if (e->key.pid != host->key.pid || !e->has_runtime)
			continue;
		suspend(ps, e);
		r = ps->cfg.leave(ps->cfg.ctx, &e->program);
		if (r < 0 && r != -ESRCH)
			all = false;
		else if (e == host)
			drop_runtime(ps, e);
		else
			drop(ps, e);
	}
	host->libraries_ns = UINT64_MAX;
	host->n_examined = 0;
	/* what it counts until it is profiled again is not reported */
	host->baseline = RUNTIME_BASELINE_NOW;
	host->must_leave = !all;
	return all;
}

/* By somebody before us. */
static bool may_be_changed(const struct runtime_processes *ps, const struct program_id *id)
{
	return ps->cfg.leave_unknown ||
	       (ps->cfg.has_leftovers && ps->cfg.has_leftovers(ps->cfg.ctx, id));
}

/* The first verdict about the process excludes it. e is forgotten if it cannot be examined. */
static int exclude_first(struct runtime_processes *ps, struct entry *e, uint64_t now_ns)
{
	int r;

	if (e->baseline != RUNTIME_BASELINE_NOW || !may_be_changed(ps, &e->program.id)) {
		e->baseline = RUNTIME_BASELINE_NOW;
		return 0;
	}
	r = examine(ps, e, now_ns);
	if (r == 0 && e->is_read)
		(void)leave(ps, e); /* again at the next scan, if it fails */
	return r;
}

/* Acts on the verdict about a process, which may have changed. */
static int decide(struct runtime_processes *ps, struct entry *e, uint64_t now_ns)
{
	enum runtime_verdict before = e->verdict;

	if (!e->subject.raw) /* no filter, or no need to ask it */
		return 0;
	e->verdict = ps->cfg.decide(ps->cfg.ctx, &e->subject,
				    before != RUNTIME_UNDECIDED || now_ns < e->decide_by_ns);
	/* the name is being asked for again: until it is known, the last verdict stands */
	if (e->verdict == RUNTIME_UNDECIDED)
		e->verdict = before;
	/* what the agent changed is undone first; it stays excluded until then */
	if (e->must_leave && !leave(ps, e))
		e->verdict = RUNTIME_EXCLUDED;
	ps->n_excluded += e->verdict == RUNTIME_EXCLUDED;
	ps->n_undecided += e->verdict == RUNTIME_UNDECIDED;
	if (e->verdict == before)
		return 0;
	if (e->verdict == RUNTIME_PROFILED)
		return examine(ps, e, now_ns);
	if (before == RUNTIME_UNDECIDED)
		return exclude_first(ps, e, now_ns);
	(void)leave(ps, e);
	return 0;
}

/* Reads what the filter decides by, and asks it. e may be forgotten. */
static int ask(struct runtime_processes *ps, struct entry *e, uint64_t now_ns)
{
	int r = ps->cfg.subject(ps->cfg.ctx, &e->program.id, &e->subject);

	if (r < 0) {
		forget(ps, e);
		return r == -ENOMEM ? r : 0;
	}
	e->subject_ns = now_ns;
	e->verdict = RUNTIME_UNDECIDED;
	e->decide_by_ns = now_ns + RUNTIME_FILTER_WAIT_NS;
	return decide(ps, e, now_ns);
}

/* The program may have another environment after an exec, and a process can be moved. */
static void renew_subject(struct runtime_processes *ps, struct entry *e, uint64_t now_ns)
{
	struct runtime_subject subject = {0};

	/* nothing is done to what has no runtime, so who looks after that does not matter */
	if (!e->subject.raw || (e->verdict == RUNTIME_PROFILED && !e->has_runtime))
		return;
	if (e->program.image == e->subject_image && now_ns < e->subject_ns + SUBJECT_NS)
		return;
	if (ps->cfg.subject(ps->cfg.ctx, &e->program.id, &subject) < 0)
		return; /* tried again at the next scan */
	runtime_subject_fini(&e->subject);
	e->subject = subject;
	e->subject_ns = now_ns;
	e->subject_image = e->program.image;
}

/* Examines the process that has the pid now. e may be forgotten. */
static int begin(struct runtime_processes *ps, struct entry *e, const struct program_id *id,
		 uint64_t now_ns)
{
	/* one that was there before the previous scan could just not be examined then */
	bool is_new = e->is_read || e->started || id->start_time >= ps->scan_ticks;

	forget(ps, e);
	e->program.id = *id;
	e->is_read = true;
	e->changed = false;
	e->baseline = is_new ? RUNTIME_BASELINE_ZERO : RUNTIME_BASELINE_NOW;
	e->libraries_ns = UINT64_MAX;
	/* nothing is opened of a process whose files are known, so the filter need not be asked */
	return is_unasked(ps, e) && file_verdicts_find(ps->verdicts, &id->exe) != 0
		       ? ask(ps, e, now_ns)
		       : examine(ps, e, now_ns);
}

/* On its way out a process denies what it would have shown before. */
static bool is_gone(const struct runtime_processes *ps, pid_t pid)
{
	AUTO_CLOSE int fd = procfs_open_process(ps->cfg.root_fd, pid);
	struct proc_stat st;
	int r = fd < 0 ? fd : procfs_read_stat(fd, &st);

	return r == -ESRCH || r == -ENOENT;
}

static void add_denied(struct runtime_processes *ps, pid_t pid)
{
	if (is_gone(ps, pid))
		return;
	if (ps->n_denied++ == 0)
		access_denial_explain(&ps->denied, ps->cfg.root_fd, pid, ACCESS_SEE);
}

/* e may be forgotten. */
static int scan_known(struct runtime_processes *ps, struct entry *e, uint64_t now_ns)
{
	enum runtime_verdict before = e->verdict;
	int r;

	renew_subject(ps, e, now_ns);
	r = decide(ps, e, now_ns);
	if (r < 0 || !e->is_read || e->verdict != before)
		return r;
	return e->has_runtime || e->verdict != RUNTIME_PROFILED || now_ns < e->libraries_ns
		       ? 0
		       : examine_libraries(ps, e, now_ns);
}

/* Who has a pid that may have changed hands. If that cannot be read, the next scan tries again. */
static int scan_changed(struct runtime_processes *ps, struct entry *e, uint64_t now_ns)
{
	pid_t pid = (pid_t)e->key.pid;
	struct program_id id;
	int r = program_id_read(ps->cfg.root_fd, pid, &id);

	if (r == -EACCES || r == -EPERM)
		add_denied(ps, pid);
	/* one that is not there but has not exited either will be */
	if (r == -ENOENT || (r == -ESRCH && e->exited))
		drop(ps, e);
	if (r < 0)
		return 0;
	if (!e->is_read || e->ended || !is_same(&e->program.id, &id))
		return begin(ps, e, &id, now_ns);
	e->changed = false;
	e->started = false;
	e->exited = false;
	return scan_known(ps, e, now_ns);
}

/* e may be dropped, or have libraries dropped, but no other process. */
static int scan_one(struct runtime_processes *ps, struct entry *e, uint64_t now_ns)
{
	pid_t pid = (pid_t)e->key.pid;

	if (ps->cfg.left_out && left_out_contains(ps->cfg.left_out, ps->cfg.root_fd, pid)) {
		drop(ps, e);
		return 0;
	}
	if (ps->cfg.at)
		ps->cfg.at(ps->cfg.ctx, pid);
	return e->changed ? scan_changed(ps, e, now_ns) : scan_known(ps, e, now_ns);
}

/* Spreads the first turns of programs that were found together over the interval. */
static void spread(struct runtime_processes *ps, uint64_t now_ns)
{
	uint64_t n = 0, i = 0;

	for (const struct entry *e = ps->entries; e; e = e->hh.next)
		n += e->has_runtime && !e->is_leaving && e->program.due_ns == now_ns;
	for (struct entry *e = ps->entries; e; e = e->hh.next) {
		if (!e->has_runtime || e->is_leaving || e->program.due_ns != now_ns)
			continue;
		e->program.due_ns = now_ns + ps->cfg.interval_ns / n * i++;
		due_heap_move(&ps->due, &e->due, runtime_process_next_ns(&e->program));
	}
}

/* Libraries of processes that have exited, or execute something else. */
static void drop_orphans(struct runtime_processes *ps)
{
	struct entry *e, *next;

	for (e = ps->entries; e; e = next) {
		const struct entry *process = host_of(ps, e);

		next = e->hh.next;
		if (e != process && (!process || !process->is_read ||
				     !is_same(&process->program.id, &e->program.id)))
			drop(ps, e);
	}
}

/* The first process from e on. */
static struct entry *next_process(struct entry *e)
{
	while (e && e->key.ino != 0)
		e = e->hh.next;
	return e;
}

int runtime_processes_change(struct runtime_processes *ps, pid_t pid, enum process_change change)
{
	const struct program_id id = {.pid = pid};
	struct entry *e = find(ps, &id);
	int r = e ? 0 : add(ps, &id, &e);

	if (r < 0)
		return r;
	e->changed = true;
	e->started |= change == PROCESS_STARTED;
	e->exited = change == PROCESS_EXITED;
	return 0;
}

void runtime_processes_change_all(struct runtime_processes *ps)
{
	for (struct entry *e = ps->entries; e; e = e->hh.next)
		e->changed = true; /* libraries follow their process */
}

int runtime_processes_scan(struct runtime_processes *ps, uint64_t now_ns)
{
	uint64_t ticks = boot_ticks();
	struct entry *e, *next;
	int r = 0;

	ps->n_denied = 0;
	ps->n_excluded = 0;
	ps->n_undecided = 0;
	ps->seen_ticks = 0;
	for (e = next_process(ps->entries); r == 0 && e; e = next) {
		next = next_process(e->hh.next);
		r = scan_one(ps, e, now_ns);
	}
	if (r == 0) {
		drop_orphans(ps);
		ps->scan_ticks = ticks;
		ps->seen_ticks = boot_ticks() + 1;
	}
	spread(ps, now_ns);
	return r;
}

/* ---- turns ---- */

static struct entry *entry_of(struct due *d)
{
	return (struct entry *)((char *)d - offsetof(struct entry, due));
}

static void end_turn(struct runtime_processes *ps)
{
	struct entry *e = ps->in_turn;

	if (!e)
		return;
	due_heap_move(&ps->due, &e->due, runtime_process_next_ns(&e->program));
	ps->n_bytes -= e->n_bytes;
	e->n_bytes = runtime_process_bytes(&e->program);
	ps->n_bytes += e->n_bytes;
	ps->in_turn = NULL;
}

struct runtime_process *runtime_processes_next(struct runtime_processes *ps)
{
	struct due *first;

	end_turn(ps);
	first = due_heap_first(&ps->due);
	ps->in_turn = first ? entry_of(first) : NULL;
	return first ? &ps->in_turn->program : NULL;
}

void runtime_processes_remove(struct runtime_processes *ps, struct runtime_process *p)
{
	struct entry *e = find(ps, &p->id), *host = e ? host_of(ps, e) : NULL;

	if (!e)
		return;
	if (e->key.ino != 0) { /* the next scan examines what the process has mapped then */
		if (host)
			host->n_examined = 0, host->libraries_ns = 0;
		drop(ps, e);
		return;
	}
	drop_runtime(ps, e);
	e->ended = true;
	e->changed = true;
}

void runtime_processes_done(struct runtime_processes *ps, struct runtime_process *p,
			    uint64_t now_ns, bool failed)
{
	unsigned shift;

	p->n_failures = failed ? p->n_failures + 1 : 0;
	shift = p->n_failures < BACKOFF_MAX_SHIFT ? p->n_failures : BACKOFF_MAX_SHIFT;
	/* multiples of the interval, so that they stay spread */
	do
		p->due_ns += ps->cfg.interval_ns << shift;
	while (p->due_ns <= now_ns);
	due_heap_move(&ps->due, &find(ps, &p->id)->due, runtime_process_next_ns(p));
}

struct runtime_process *runtime_processes_each(struct runtime_processes *ps,
					       struct runtime_process *p)
{
	struct entry *e = ps->entries;

	if (p) {
		e = find(ps, &p->id);
		e = e ? e->hh.next : NULL;
	}
	while (e && !e->has_runtime)
		e = e->hh.next;
	return e ? &e->program : NULL;
}

uint64_t runtime_processes_seen_ticks(const struct runtime_processes *ps)
{
	return ps->seen_ticks;
}

size_t runtime_processes_count(const struct runtime_processes *ps)
{
	return ps->n_programs;
}

size_t runtime_processes_excluded(const struct runtime_processes *ps)
{
	return ps->n_excluded;
}

size_t runtime_processes_undecided(const struct runtime_processes *ps)
{
	return ps->n_undecided;
}

size_t runtime_processes_denied(const struct runtime_processes *ps, struct access_denial *ret_one)
{
	if (ps->n_denied > 0)
		*ret_one = ps->denied;
	return ps->n_denied;
}

size_t runtime_processes_bytes(const struct runtime_processes *ps)
{
	const struct entry *e = ps->in_turn;

	return e ? ps->n_bytes - e->n_bytes + runtime_process_bytes(&e->program) : ps->n_bytes;
}
