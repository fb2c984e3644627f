/*
 * Reading /proc costs tens of microseconds per process, so it is done for
 * sampled processes only, and again only when a sample shows code that we do
 * not know of: at most once a second, and ever more seldom while looking again
 * brings nothing new (addresses can be garbage) or takes long.
 *
 * Code can also be mapped where other code was (dlclose, then dlopen), which no
 * address shows. So mappings are read again after some tens of samples too:
 * then the cost is a small part of the CPU time that the process itself uses.
 */
#include "node-agent/process/process_table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "common/data/table.h"
#include "common/system/clock.h"
#include "common/text/parse.h"
#include "node-agent/process/file_registry.h"
#include "node-agent/process/process_reader.h"
#include "node-agent/process/procfs.h"

#define LINGER_NS (2 * NS_PER_S)         /* of ended processes: their last samples may still come */
#define CHECK_EXITS_NS (60 * NS_PER_S)   /* exit events can be lost */
#define RENAMED_WAIT_NS (50 * NS_PER_MS) /* some processes change their name all the time */
#define LOOK_AGAIN_MIN_NS NS_PER_S
#define LOOK_AGAIN_MAX_NS (60 * NS_PER_S)
#define LOOK_AGAIN_COST 100 /* at most this part of the time goes into it */
#define AUDIT_SAMPLES 30    /* about a third of a second of CPU time */
#define MAX_FILES_DEFAULT 16384
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu /* PROC_PID_INIT_INO in the kernel's proc_ns.h */

struct process {
	UT_hash_handle hh; /* by pid */
	pid_t pid;
	uint64_t start_time;               /* clock ticks since boot */
	struct process_snapshot *snapshot; /* NULL: not sampled yet */
	bool stale;                        /* the snapshot is of an earlier image */
	bool exited;
	uint64_t exited_ns;
	uint64_t look_again_ns; /* not before */
	uint64_t look_again_delay_ns;
	uint64_t audit_ns;    /* not before */
	unsigned n_unaudited; /* samples since the mappings were read */
};

struct process_table {
	struct process *processes;
	struct file_registry *files;
	char *proc_root;
	int root_fd;
	uint64_t ns_per_tick; /* of start times */
	uint64_t next_exit_check_ns;
	struct process_table_stats stats;
};

/* ---- life ---- */

/* What the process may open, after taking all it can get. */
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
	CLEANUP(process_table_freep) struct process_table *t = NULL;
	long ticks_per_s = sysconf(_SC_CLK_TCK);
	int r;

	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->root_fd = -1;
	t->ns_per_tick = NS_PER_S / (uint64_t)(ticks_per_s > 0 ? ticks_per_s : 100);
	t->proc_root = strdup(cfg->proc_root ? cfg->proc_root : "/proc");
	if (!t->proc_root)
		return -ENOMEM;
	r = file_registry_new(&t->files, choose_max_files(cfg->max_open_files));
	if (r < 0)
		return r;
	t->root_fd = open(t->proc_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->root_fd < 0)
		return err_set(err, -errno, "open %s: %m", t->proc_root);
	*ret = TAKE_PTR(t);
	return 0;
}

static void drop(struct process_table *t, struct process *p)
{
	HASH_DEL(t->processes, p);
	t->stats.n_processes--;
	process_snapshot_unref(p->snapshot);
	table_free(p);
}

void process_table_free(struct process_table *t)
{
	struct process *p, *next;

	if (!t)
		return;
	for (p = t->processes; p; p = next) {
		next = p->hh.next;
		drop(t, p);
	}
	file_registry_free(t->files);
	closep(&t->root_fd);
	free(t->proc_root);
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

/* ---- who there is ---- */

static struct process *find(const struct process_table *t, pid_t pid)
{
	struct process *p;

	HASH_FIND(hh, t->processes, &pid, sizeof(pid), p);
	return p;
}

/* NULL: out of memory. An earlier process of the same id is forgotten. */
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
		.pid = pid, .start_time = start_time, .look_again_delay_ns = LOOK_AGAIN_MIN_NS};
	HASH_ADD(hh, t->processes, pid, sizeof(p->pid), p);
	if (!TABLE_ADDED(hh, p)) {
		table_free(p);
		return NULL;
	}
	t->stats.n_processes++;
	return p;
}

static int scan_one(struct process_table *t, pid_t pid)
{
	AUTO_CLOSE int fd = -1;
	struct proc_stat st;

	fd = procfs_open_process(t->root_fd, pid);
	if (fd < 0 || procfs_read_stat(fd, &st) < 0)
		return 0;
	return require(t, pid, st.start_time) ? 1 : -ENOMEM;
}

int process_table_scan(struct process_table *t)
{
	DIR *dir = opendir(t->proc_root);
	struct dirent *d;
	int r = 0, n = 0;

	if (!dir)
		return -errno;
	while (r >= 0 && (d = readdir(dir)) != NULL) {
		uint64_t pid;

		if (parse_u64(d->d_name, strlen(d->d_name), 1, INT32_MAX, &pid) < 0)
			continue;
		r = scan_one(t, (pid_t)pid);
		n += r > 0;
	}
	closedir(dir);
	return r < 0 ? r : n;
}

void process_table_exec(struct process_table *t, pid_t pid, uint64_t start_boottime_ns)
{
	struct process *p = require(t, pid, start_boottime_ns / t->ns_per_tick);

	if (!p)
		return;
	p->stale = true;
	p->look_again_ns = 0;
}

void process_table_exit(struct process_table *t, pid_t pid, uint64_t start_boottime_ns,
			uint64_t now_ns)
{
	struct process *p = find(t, pid);

	if (!p || p->start_time != start_boottime_ns / t->ns_per_tick || p->exited)
		return;
	p->exited = true;
	p->exited_ns = now_ns;
}

/* ---- what is known about them ---- */

static bool knows_all(const struct process_snapshot *s, const uint64_t *addrs, size_t n)
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

static int read_process(struct process_table *t, const struct process *p,
			const struct process_seen *seen, struct process_reading *ret)
{
	struct process_identity id = {
		.pid = p->pid,
		.tid = seen->tid,
		.start_time = p->start_time,
		.kernel_thread = seen->kernel_thread,
	};
	int r;

	snprintf(id.comm, sizeof(id.comm), "%s", seen->comm);
	r = process_read(t->root_fd, t->files, &id, ret);
	if (r < 0)
		return r;
	t->stats.snapshots++;
	t->stats.maps_cut += ret->cut;
	return 0;
}

static int read_new(struct process_table *t, struct process *p, const struct process_seen *seen,
		    uint64_t now_ns)
{
	struct process_reading reading;
	int r = read_process(t, p, seen, &reading);

	if (r < 0)
		return r;
	t->stats.gone += reading.snapshot->gone;
	process_snapshot_unref(p->snapshot);
	p->snapshot = reading.snapshot;
	/* The sample is of the image before: a later one may be of the one we can read. */
	p->stale = reading.changed;
	p->look_again_ns = reading.changed ? now_ns + RENAMED_WAIT_NS : 0;
	p->look_again_delay_ns = LOOK_AGAIN_MIN_NS;
	p->audit_ns = now_ns + LOOK_AGAIN_MIN_NS;
	p->n_unaudited = 0;
	return 0;
}

static uint64_t at_least(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Its mappings may have changed; the snapshot stays the same when they have not. missed: code was
 * seen that is in none of them.
 */
static int look_again(struct process_table *t, struct process *p, const struct process_seen *seen,
		      uint64_t now_ns, bool missed)
{
	uint64_t begin_ns = clock_monotonic_ns(), pause_ns;
	struct process_reading reading;
	int r = read_process(t, p, seen, &reading);

	if (r < 0)
		return r;
	pause_ns = (clock_monotonic_ns() - begin_ns) * LOOK_AGAIN_COST;
	p->n_unaudited = 0;
	p->audit_ns = now_ns + at_least(LOOK_AGAIN_MIN_NS, pause_ns);
	if (reading.snapshot->gone || process_snapshots_equal(p->snapshot, reading.snapshot)) {
		process_snapshot_unref(reading.snapshot);
		if (missed && p->look_again_delay_ns < LOOK_AGAIN_MAX_NS)
			p->look_again_delay_ns *= 2;
	} else {
		process_snapshot_unref(p->snapshot);
		p->snapshot = reading.snapshot;
		p->look_again_delay_ns = LOOK_AGAIN_MIN_NS;
	}
	if (missed)
		p->look_again_ns = now_ns + at_least(p->look_again_delay_ns, pause_ns);
	return 0;
}

static int renew_if_due(struct process_table *t, struct process *p, const struct process_seen *seen,
			uint64_t now_ns)
{
	bool missed;

	if (!p->snapshot || (p->stale && now_ns >= p->look_again_ns))
		return read_new(t, p, seen, now_ns);
	if (p->stale || p->exited || p->snapshot->kernel_thread)
		return 0;
	missed = now_ns >= p->look_again_ns && !knows_all(p->snapshot, seen->addrs, seen->n_addrs);
	p->n_unaudited++;
	if (missed || (p->n_unaudited >= AUDIT_SAMPLES && now_ns >= p->audit_ns))
		return look_again(t, p, seen, now_ns, missed);
	return 0;
}

int process_table_get(struct process_table *t, const struct process_seen *seen, uint64_t now_ns,
		      struct process_snapshot **ret)
{
	struct process *p = require(t, seen->pid, seen->start_boottime_ns / t->ns_per_tick);
	int r;

	if (!p)
		return -ENOMEM;
	r = renew_if_due(t, p, seen, now_ns);
	if (r < 0)
		return r;
	*ret = p->snapshot;
	return 0;
}

/* ---- housekeeping ---- */

static bool is_there(const struct process_table *t, const struct process *p)
{
	AUTO_CLOSE int fd = procfs_open_process(t->root_fd, p->pid);
	struct proc_stat st;

	return fd >= 0 && procfs_read_stat(fd, &st) == 0 && st.start_time == p->start_time;
}

void process_table_sweep(struct process_table *t, uint64_t now_ns)
{
	bool check_exits = now_ns >= t->next_exit_check_ns;
	struct process *p, *next;

	for (p = t->processes; p; p = next) {
		next = p->hh.next;
		if (p->exited ? now_ns - p->exited_ns >= LINGER_NS : check_exits && !is_there(t, p))
			drop(t, p);
	}
	if (check_exits)
		t->next_exit_check_ns = now_ns + CHECK_EXITS_NS;
	file_registry_sweep(t->files);
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
