/*
 * When to read /proc, and when to read it again.
 *
 * The kernel could report each mmap(2) as a perf event, but most processes of a node are never
 * sampled and some map files all the time. Reading /proc costs tens of microseconds per
 * process and has its moment: when the process is sampled for the first time. After that,
 * mappings are read again for two reasons:
 *
 *   missed   A sample has an address outside all mappings. Read again at most once a second,
 *            and half as often each time that brings nothing new, because addresses of broken
 *            stacks are garbage.
 *   audit    Code can be mapped where other code was (dlclose, then dlopen), which no address
 *            shows. So mappings are also read again every AUDIT_SAMPLES samples; the process
 *            has used a third of a second of CPU time by then, which dwarfs the cost.
 *
 * Each is limited to 1/RECHECK_COST of the time, as processes with 10,000 mappings exist. Of these,
 * only what matters is read again if the kernel can be asked about it (mapping_reader.c). A
 * snapshot with the same content is discarded, so that samples of one program share one
 * snapshot.
 *
 * Fork, exec and exit events arrive in the order of the samples (they share the ring buffer), but
 * can be lost when it is full: so /proc is scanned every minute.
 *
 * Processes that have exited when their first sample is handled are most of those that a build or
 * a shell script makes. What the table keeps for them, and for their relatives, is the image that a
 * process executes (process_image.h) and its cgroup's id.
 */
#include "node-agent/process/process_table.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "common/data/table.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/files/file_registry.h"
#include "node-agent/process/exited_process.h"
#include "node-agent/process/process_reader.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/workload/cgroup_cache.h"
#include "node-agent/workload/process_namer.h"

#define LINGER_NS (2 * NS_PER_S)         /* after an exit, the last samples may still arrive */
#define SCAN_EVERY_NS (60 * NS_PER_S)    /* events can be lost */
#define RENAMED_WAIT_NS (50 * NS_PER_MS) /* some processes rename themselves all the time */
#define RECHECK_MIN_NS NS_PER_S
#define RECHECK_MAX_NS (60 * NS_PER_S)
#define RECHECK_COST 100 /* pause for this many times as long as the reading took */
#define AUDIT_SAMPLES 30 /* about a third of a second of CPU time at 99 Hz */
#define ANCESTORS_MAX 8  /* to look at for a cgroup */
#define MAX_FILES_DEFAULT 16384
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu /* PROC_PID_INIT_INO in the kernel's proc_ns.h */

struct process {
	UT_hash_handle hh; /* by pid */
	pid_t pid;
	uint64_t start_time;               /* clock ticks since boot */
	struct process_snapshot *snapshot; /* NULL: not sampled yet */
	struct process_image *image;       /* a reference; NULL: nothing is known about it */
	uint64_t cgroup_id;                /* by the latest event or sample; 0: unknown */
	pid_t parent;                      /* that made it; 0: unknown */
	uint64_t parent_start_time;
	uint64_t scan; /* number of the last one that found it */
	bool restored; /* the snapshot was not read: exited_process.h */
	bool stale;    /* the snapshot is of an earlier program */
	bool exited;
	uint64_t exited_ns;
	uint64_t recheck_ns; /* earliest time to read it again */
	uint64_t recheck_delay_ns;
	uint64_t audit_ns;    /* earliest time of the next audit */
	unsigned n_unaudited; /* samples since the mappings were read */
};

struct process_table {
	struct process *processes;
	struct file_registry *files;
	struct process_namer *namer;
	struct cgroup_cache *cgroups;
	const struct cgroup_hierarchy *hierarchy; /* NULL: readings of cgroups are not verified */
	struct process_listener *listeners;       /* in order of subscription */
	int root_fd;                              /* of /proc */
	uint64_t ns_per_tick;                     /* of start times */
	uint64_t n_scans;
	uint64_t scan_time; /* when the last scan began, as start times; 0: there was none */
	uint64_t next_scan_ns;
	struct process_table_stats stats;
};

/* ---- create and destroy ---- */

/* Raises the soft limit of open files to the hard one; returns the limit. */
static size_t raise_file_limit(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) < 0)
		return 0;
	if (lim.rlim_cur < lim.rlim_max) {
		struct rlimit most = {lim.rlim_max, lim.rlim_max};

		if (setrlimit(RLIMIT_NOFILE, &most) == 0)
			lim = most;
	}
	return lim.rlim_cur;
}

static size_t choose_max_files(size_t wanted)
{
	size_t half = raise_file_limit() / 2;
	size_t most = wanted ? wanted : MAX_FILES_DEFAULT;

	return most < half ? most : half;
}

int process_table_new(struct process_table **ret, const struct process_table_config *cfg,
		      struct err *err)
{
	const char *proc_root = cfg->proc_root ? cfg->proc_root : "/proc";
	CLEANUP(process_table_freep) struct process_table *t = NULL;
	long ticks_per_s = sysconf(_SC_CLK_TCK);
	int r;

	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->root_fd = -1;
	t->hierarchy = cfg->hierarchy;
	t->ns_per_tick = NS_PER_S / (uint64_t)(ticks_per_s > 0 ? ticks_per_s : 100);
	r = file_registry_new(&t->files, choose_max_files(cfg->max_open_files));
	if (r == 0)
		r = process_namer_new(&t->namer, cfg->name_rules);
	if (r == 0)
		r = cgroup_cache_new(&t->cgroups);
	if (r < 0)
		return r;
	t->root_fd = open(proc_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->root_fd < 0)
		return err_set(err, -errno, "open %s: %m", proc_root);
	*ret = TAKE_PTR(t);
	return 0;
}

static void free_process(struct process_table *t, struct process *p)
{
	HASH_DEL(t->processes, p);
	t->stats.n_processes--;
	process_snapshot_unref(p->snapshot);
	process_image_unref(p->image);
	table_free(p);
}

void process_table_free(struct process_table *t)
{
	struct process *p, *next;

	if (!t)
		return;
	for (p = t->processes; p; p = next) {
		next = p->hh.next;
		free_process(t, p);
	}
	process_namer_free(t->namer);
	cgroup_cache_free(t->cgroups);
	file_registry_free(t->files);
	closep(&t->root_fd);
	free(t);
}

int process_table_check_namespace(const char *proc_root, struct err *err)
{
	char path[4096];
	struct stat st;

	snprintf(path, sizeof(path), "%s/self/ns/pid", proc_root ? proc_root : "/proc");
	if (stat(path, &st) < 0)
		return err_set(err, -errno, "%s: %m", path);
	if (st.st_ino != INITIAL_PID_NAMESPACE)
		return err_set(err, -EPERM,
			       "not in the host's PID namespace: start with hostPID: true "
			       "(Kubernetes) or --pid=host (Docker)");
	return 0;
}

/* ---- listeners ---- */

void process_table_subscribe(struct process_table *t, struct process_listener *l)
{
	struct process_listener **end = &t->listeners;

	while (*end)
		end = &(*end)->next;
	l->next = NULL;
	*end = l;
}

void process_table_unsubscribe(struct process_table *t, const struct process_listener *l)
{
	struct process_listener **at = &t->listeners;

	while (*at && *at != l)
		at = &(*at)->next;
	if (*at)
		*at = l->next;
}

static void report_change(const struct process_table *t, pid_t pid, enum process_change change)
{
	for (const struct process_listener *l = t->listeners; l; l = l->next) {
		if (l->on_changed)
			l->on_changed(l->ctx, pid, change);
	}
}

static void report_snapshot(const struct process_table *t, struct process_snapshot *s)
{
	for (const struct process_listener *l = t->listeners; l; l = l->next) {
		if (l->on_snapshot)
			l->on_snapshot(l->ctx, s);
	}
}

static void report_exited(const struct process_table *t, const struct process_snapshot *last)
{
	for (const struct process_listener *l = t->listeners; l; l = l->next) {
		if (l->on_exited)
			l->on_exited(l->ctx, last);
	}
}

/* Takes over s. */
static void replace_snapshot(struct process_table *t, struct process *p, struct process_snapshot *s)
{
	process_snapshot_unref(p->snapshot);
	p->snapshot = s;
	report_snapshot(t, s);
}

/* ---- find and add ---- */

static void drop(struct process_table *t, struct process *p)
{
	if (p->snapshot)
		report_exited(t, p->snapshot);
	if (!p->exited)
		report_change(t, p->pid, PROCESS_EXITED);
	free_process(t, p);
}

static struct process *find(const struct process_table *t, pid_t pid)
{
	struct process *p;

	HASH_FIND(hh, t->processes, &pid, sizeof(pid), p);
	return p;
}

/* Returns NULL if out of memory. An earlier process with the same pid is dropped: it has exited. */
static struct process *require(struct process_table *t, pid_t pid, uint64_t start_time)
{
	struct process *p = find(t, pid);

	if (p && p->start_time == start_time)
		return p;
	if (p)
		drop(t, p);
	p = table_malloc(sizeof(*p));
	if (!p)
		return NULL;
	*p = (struct process){
		.pid = pid, .start_time = start_time, .recheck_delay_ns = RECHECK_MIN_NS};
	HASH_ADD(hh, t->processes, pid, sizeof(p->pid), p);
	if (!TABLE_ADDED(hh, p)) {
		table_free(p);
		return NULL;
	}
	t->stats.n_processes++;
	report_change(t, pid,
		      t->scan_time > 0 && start_time >= t->scan_time ? PROCESS_STARTED
								     : PROCESS_CHANGED);
	return p;
}

void process_table_each(const struct process_table *t, void (*fn)(void *ctx, pid_t pid), void *ctx)
{
	for (const struct process *p = t->processes; p; p = p->hh.next) {
		if (!p->exited)
			fn(ctx, p->pid);
	}
}

struct scan {
	struct process_table *table;
	int n;
};

static int scan_one(void *ctx, pid_t pid)
{
	struct scan *s = ctx;
	AUTO_CLOSE int fd = procfs_open_process(s->table->root_fd, pid);
	struct process *p;
	struct proc_stat st;

	/* it may have just exited */
	if (fd < 0 || procfs_read_stat(fd, &st) < 0)
		return 0;
	p = require(s->table, pid, st.start_time);
	if (!p)
		return -ENOMEM;
	p->scan = s->table->n_scans;
	s->n++;
	report_change(s->table, pid, PROCESS_CHANGED); /* the event may have been lost */
	return 0;
}

int process_table_scan(struct process_table *t)
{
	uint64_t time = clock_boottime_ns() / t->ns_per_tick;
	struct scan s = {.table = t};
	struct process *p, *next;
	int r;

	t->n_scans++;
	t->next_scan_ns = clock_monotonic_ns() + SCAN_EVERY_NS;
	r = procfs_each_pid(t->root_fd, scan_one, &s);
	if (r < 0)
		return r;
	t->scan_time = time;
	for (p = t->processes; p; p = next) {
		next = p->hh.next;
		if (p->scan != t->n_scans && !p->exited)
			drop(t, p);
	}
	return s.n;
}

int process_table_exec(struct process_table *t, const struct process_exec *exec)
{
	struct process *p = require(t, exec->pid, exec->start_boottime_ns / t->ns_per_tick);

	if (!p)
		return -ENOMEM;
	process_image_unref(p->image);
	p->image = process_image_new(exec, p->pid, p->start_time);
	p->cgroup_id = exec->cgroup_id;
	p->restored = false;
	p->stale = true;
	p->recheck_ns = 0;
	report_change(t, p->pid, PROCESS_EXECUTED);
	return p->image ? 0 : -ENOMEM;
}

int process_table_fork(struct process_table *t, const struct process_fork *fork)
{
	struct process *parent, *p;

	parent = require(t, fork->parent, fork->parent_start_boottime_ns / t->ns_per_tick);
	if (!parent)
		return -ENOMEM;
	parent->cgroup_id = fork->cgroup_id;
	if (!parent->image)
		parent->image = process_image_new(NULL, parent->pid, parent->start_time);
	if (!parent->image)
		return -ENOMEM;
	p = require(t, fork->pid, fork->start_boottime_ns / t->ns_per_tick);
	if (!p)
		return -ENOMEM;
	if (p == parent) /* cannot be */
		return 0;
	p->parent = parent->pid;
	p->parent_start_time = parent->start_time;
	p->cgroup_id = fork->cgroup_id;
	process_image_unref(p->image);
	p->image = process_image_ref(parent->image);
	return 0;
}

int process_table_map(struct process_table *t, const struct process_map *map)
{
	struct process *p = require(t, map->pid, map->start_boottime_ns / t->ns_per_tick);
	int r;

	if (p && !p->image)
		p->image = process_image_new(NULL, p->pid, p->start_time);
	if (!p || !p->image)
		return -ENOMEM;
	r = process_image_add_map(p->image, map);
	if (r <= 0)
		return r;
	p->stale |= p->restored; /* restore it again, with this mapping */
	p->recheck_ns = 0;
	return 0;
}

void process_table_exit(struct process_table *t, pid_t pid, uint64_t start_boottime_ns,
			uint64_t now_ns)
{
	struct process *p = find(t, pid);

	if (!p || p->start_time != start_boottime_ns / t->ns_per_tick || p->exited)
		return;
	p->exited = true;
	p->exited_ns = now_ns;
	report_change(t, pid, PROCESS_EXITED);
}

void process_table_reread(struct process_table *t, pid_t pid)
{
	struct process *p = find(t, pid);

	if (!p)
		return;
	p->stale = true;
	p->recheck_ns = 0;
}

pid_t process_table_parent(const struct process_table *t, pid_t pid, uint64_t *start_time)
{
	const struct process *p = find(t, pid);

	if (!p || p->start_time != *start_time)
		return 0;
	*start_time = p->parent_start_time;
	return p->parent;
}

/* ---- snapshots ---- */

/* Whether all addresses are in mappings of the snapshot. */
static bool covers(const struct process_snapshot *s, const uint64_t *addrs, size_t n)
{
	const struct process_mapping *m = NULL;

	for (size_t i = 0; i < n; i++) {
		/* callers mostly are in the same file as their callees */
		if (m && addrs[i] >= m->start && addrs[i] < m->end)
			continue;
		m = process_snapshot_find(s, addrs[i]);
		if (!m)
			return false;
	}
	return true;
}

/* known is the earlier snapshot if only part of it is read again, else NULL. */
static int read_process(struct process_table *t, const struct process *p,
			const struct process_seen *seen, const struct process_snapshot *known,
			struct process_reading *ret)
{
	const struct process_reader reader = {t->root_fd, t->files, t->namer, t->hierarchy};
	struct process_identity id = {
		.pid = p->pid,
		.tid = p->pid == seen->pid ? seen->tid : 0,
		.start_time = p->start_time,
		.start_boottime_ns = p->pid == seen->pid ? seen->start_boottime_ns : 0,
		.kernel_thread = seen->kernel_thread,
		.image = p->image,
		.known = {.snapshot = known, .addrs = seen->addrs, .n_addrs = seen->n_addrs},
	};
	int r;

	snprintf(id.comm, sizeof(id.comm), "%s", seen->comm);
	r = process_read(&reader, &id, ret);
	if (r < 0)
		return r;
	if (!ret->snapshot->unreadable)
		process_image_learn(p->image, ret->snapshot);
	t->stats.snapshots++;
	t->stats.maps_cut += ret->mappings.cut;
	t->stats.asked += ret->mappings.asked;
	return 0;
}

static struct process *find_parent(const struct process_table *t, const struct process *p)
{
	struct process *parent = p->parent ? find(t, p->parent) : NULL;

	return parent && parent->start_time == p->parent_start_time ? parent : NULL;
}

/*
 * What a process was read in is not what it was sampled in if it was moved in between, as runtimes
 * do with the first process of a container.
 */
static int learn_cgroup(struct process_table *t, uint64_t id, const struct workload_cgroup *read,
			pid_t pid, uint64_t now_ns)
{
	if (read->id != 0 && read->id != id)
		return 0;
	return cgroup_cache_learn(t->cgroups, id, &read->path, pid, now_ns);
}

/*
 * Reads the cgroup of the nearest ancestor that is still running, if it is in the same one. Returns
 * 0, -ESRCH or -ENOMEM.
 */
static int read_cgroup_of_ancestor(struct process_table *t, const struct process *p,
				   uint64_t now_ns, struct cgroup_path *ret)
{
	const struct process *a = find_parent(t, p);
	struct workload_cgroup cgroup;
	int r;

	for (unsigned i = 0; a && a->cgroup_id == p->cgroup_id && i < ANCESTORS_MAX; i++) {
		AUTO_CLOSE int fd = procfs_open_process(t->root_fd, a->pid);
		struct proc_stat st;

		r = fd < 0 ? fd : procfs_read_stat(fd, &st);
		if (r == 0)
			r = st.start_time == a->start_time
				    ? workload_read_cgroup(&cgroup, fd, t->hierarchy)
				    : -ESRCH;
		if (r == 0 && (cgroup.id == 0 || cgroup.id == a->cgroup_id)) {
			*ret = cgroup.path;
			return learn_cgroup(t, a->cgroup_id, &cgroup, a->pid, now_ns);
		}
		if (r == -ENOMEM)
			return r;
		a = find_parent(t, a);
	}
	return -ESRCH;
}

/*
 * The process that had this image first may still have it, with all its libraries. It is read at
 * most once, whatever becomes of its children.
 */
static int read_owner_of_image(struct process_table *t, const struct process *p,
			       const struct process_seen *seen)
{
	struct process_image *image = p->image;
	struct process_reading reading;
	const struct process *owner;
	int r;

	if (!image || image->snapshot || image->owner_tried || image->owner == p->pid)
		return 0;
	owner = find(t, image->owner);
	if (!owner || owner->start_time != image->owner_start_time || owner->image != image ||
	    owner->exited)
		return 0;
	image->owner_tried = true;
	r = read_process(t, owner, seen, NULL, &reading);
	if (r == 0)
		process_snapshot_unref(reading.snapshot); /* the image has a reference */
	return r;
}

/* Completes a reading that came too late. */
static int restore(struct process_table *t, const struct process *p,
		   const struct process_seen *seen, const struct process_reading *reading,
		   uint64_t now_ns)
{
	struct exited_process exited = {
		.image = p->image,
		.places = {p->parent, 0, 1},
		.namer = t->namer,
	};
	struct cgroup_path buf;
	int r = read_owner_of_image(t, p, seen);

	if (r < 0)
		return r;
	exited.cgroup = cgroup_cache_find(t->cgroups, p->cgroup_id, now_ns, &exited.places[1]);
	if (reading->has_cgroup) {
		exited.cgroup = &reading->cgroup.path;
	} else if (!exited.cgroup) {
		r = read_cgroup_of_ancestor(t, p, now_ns, &buf);
		if (r == -ENOMEM)
			return r;
		exited.cgroup = r == 0 ? &buf : NULL;
	}
	return exited_process_restore(reading->snapshot, t->root_fd, t->files, &exited);
}

static int read_new(struct process_table *t, struct process *p, const struct process_seen *seen,
		    uint64_t now_ns)
{
	struct process_reading reading;
	bool restored;
	int r = read_process(t, p, seen, NULL, &reading);

	if (r < 0)
		return r;
	if (reading.has_cgroup && !reading.changed)
		r = learn_cgroup(t, seen->cgroup_id, &reading.cgroup, p->pid, now_ns);
	restored = reading.snapshot->unreadable;
	if (r == 0 && (restored || (!reading.has_cgroup && !seen->kernel_thread)))
		r = restore(t, p, seen, &reading, now_ns);
	if (restored) {
		t->stats.unreadable += reading.snapshot->unreadable && !p->restored;
		t->stats.locked +=
			reading.is_locked && reading.snapshot->unreadable && !p->restored;
		t->stats.restored += !reading.snapshot->unreadable && !p->restored;
	}
	if (r < 0) {
		process_snapshot_unref(reading.snapshot);
		return r;
	}
	/*
	 * If the process has executed another program since the sample, its later samples will be
	 * of that one, which can be read.
	 */
	p->restored = restored;
	p->stale = reading.changed;
	p->recheck_ns = reading.changed ? now_ns + RENAMED_WAIT_NS : 0;
	p->recheck_delay_ns = RECHECK_MIN_NS;
	p->audit_ns = now_ns + RECHECK_MIN_NS;
	p->n_unaudited = 0;
	replace_snapshot(t, p, reading.snapshot);
	return 0;
}

static uint64_t at_least(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Reads the mappings again and replaces the snapshot if they have changed. missed: a sample had an
 * address outside all of them.
 */
static int recheck(struct process_table *t, struct process *p, const struct process_seen *seen,
		   uint64_t now_ns, bool missed)
{
	uint64_t begin_ns = clock_monotonic_ns(), pause_ns;
	struct process_reading reading;
	int r = read_process(t, p, seen, p->snapshot, &reading);
	bool gone;

	if (r < 0)
		return r;
	pause_ns = (clock_monotonic_ns() - begin_ns) * RECHECK_COST;
	p->n_unaudited = 0;
	p->audit_ns = now_ns + at_least(RECHECK_MIN_NS, pause_ns);
	gone = reading.snapshot->unreadable;
	if (missed && gone && p->image)
		r = exited_process_extend(reading.snapshot, p->snapshot, t->files, p->image);
	if (r <= 0 && (r < 0 || gone || !reading.has_cgroup ||
		       process_snapshots_equal(p->snapshot, reading.snapshot))) {
		process_snapshot_unref(reading.snapshot);
		/* to ask about a few addresses costs little, and shows less than reading all */
		if (missed && !reading.mappings.asked && p->recheck_delay_ns < RECHECK_MAX_NS)
			p->recheck_delay_ns *= 2;
	} else {
		p->recheck_delay_ns = RECHECK_MIN_NS;
		replace_snapshot(t, p, reading.snapshot);
	}
	if (missed)
		p->recheck_ns = now_ns + at_least(p->recheck_delay_ns, pause_ns);
	return r < 0 ? r : 0;
}

static int renew_if_due(struct process_table *t, struct process *p, const struct process_seen *seen,
			uint64_t now_ns)
{
	bool missed;

	if (!p->snapshot || (p->stale && now_ns >= p->recheck_ns))
		return read_new(t, p, seen, now_ns);
	/* an exited process has nothing left to read, and a stale one has to wait */
	if (p->stale || p->exited || p->snapshot->kernel_thread)
		return 0;
	missed = now_ns >= p->recheck_ns && !covers(p->snapshot, seen->addrs, seen->n_addrs);
	p->n_unaudited++;
	if (missed || (p->n_unaudited >= AUDIT_SAMPLES && now_ns >= p->audit_ns))
		return recheck(t, p, seen, now_ns, missed);
	return 0;
}

int process_table_get(struct process_table *t, const struct process_seen *seen, uint64_t now_ns,
		      struct process_snapshot **ret)
{
	struct process *p = require(t, seen->pid, seen->start_boottime_ns / t->ns_per_tick);
	int r;

	if (!p)
		return -ENOMEM;
	p->cgroup_id = seen->cgroup_id;
	r = renew_if_due(t, p, seen, now_ns);
	if (r < 0)
		return r;
	*ret = p->snapshot;
	return 0;
}

/* ---- sweep ---- */

static void scan_again(struct process_table *t)
{
	int r = process_table_scan(t);

	if (r < 0)
		log_warn_limited("cannot scan /proc for processes", "error=\"%s\"", strerror(-r));
}

void process_table_sweep(struct process_table *t, uint64_t now_ns)
{
	struct process *p, *next;

	for (p = t->processes; p; p = next) {
		next = p->hh.next;
		if (p->exited && now_ns - p->exited_ns >= LINGER_NS)
			drop(t, p);
	}
	if (t->n_scans > 0 && now_ns >= t->next_scan_ns)
		scan_again(t);
	file_registry_sweep(t->files, now_ns);
	cgroup_cache_sweep(t->cgroups, now_ns);
}

void process_table_read_stats(const struct process_table *t, struct process_table_stats *ret)
{
	struct file_registry_stats files;

	file_registry_read_stats(t->files, &files);
	*ret = t->stats;
	ret->n_files = files.n_files;
	ret->n_open_files = files.n_open;
	ret->files_unopened = files.unopened;
	ret->files_over_limit = files.over_limit;
	ret->files_hung = files.hung;
}
