/* On the real /proc: this process and children of it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "common/text/parse.h"
#include "common/thread/queue.h"
#include "node-agent/process/process_table.h"
#include "node-agent/procfs/procfs.h"
#include "test/lib/start_time.h"
#include "test/lib/unit.h"

static struct process_seen seen_of(pid_t pid, const char *comm)
{
	return (struct process_seen){
		.pid = pid, .start_boottime_ns = start_boottime_ns(pid), .comm = comm};
}

static struct process_seen seen_self(void)
{
	static char comm[PROCESS_COMM_BYTES];

	prctl(PR_GET_NAME, comm);
	return seen_of(getpid(), comm);
}

static struct process_table *new_table(size_t max_open_files)
{
	struct process_table *t = NULL;

	assert_int_equal(
		process_table_new(
			&t, &(struct process_table_config){.max_open_files = max_open_files}, NULL),
		0);
	return t;
}

static struct process_snapshot *get(struct process_table *t, const struct process_seen *seen,
				    uint64_t now_ns)
{
	struct process_snapshot *s = NULL;

	assert_int_equal(process_table_get(t, seen, now_ns, &s), 0);
	assert_non_null(s);
	return s;
}

/* An event that says nothing about the program. */
static void exec_unknown(struct process_table *t, pid_t pid, uint64_t start_ns)
{
	process_table_exec(
		t, &(struct process_exec){.pid = pid, .start_boottime_ns = start_ns, .path = ""});
}

static struct process_table_stats stats_of(const struct process_table *t)
{
	struct process_table_stats s;

	process_table_read_stats(t, &s);
	return s;
}

static bool begins_like_elf(const struct mapped_file *f)
{
	char magic[4];

	return f && f->fd >= 0 && pread(f->fd, magic, 4, 0) == 4 &&
	       memcmp(magic, "\177ELF", 4) == 0;
}

TEST(a_sampled_process_is_read_once)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	struct process_seen seen = seen_self();
	const struct process_mapping *m;
	struct process_snapshot *s;

	s = get(t, &seen, 1);
	assert_int_equal(s->pid, getpid());
	assert_false(s->unreadable);
	assert_non_null(strstr(s->exe, "/test_process_table"));
	assert_int_equal(s->workload->service[0], '/');
	m = process_snapshot_find(s, (uintptr_t)a_sampled_process_is_read_once);
	assert_non_null(m);
	assert_int_equal(m->kind, PROCESS_MAPPING_FILE);
	assert_string_equal(m->file->path, s->exe);
	assert_true(begins_like_elf(m->file));
	assert_null(process_snapshot_find(s, 0));
	assert_null(process_snapshot_find(s, UINT64_MAX));
	assert_ptr_equal(get(t, &seen, 2), s);
	assert_int_equal(stats_of(t).snapshots, 1);
	assert_true(stats_of(t).n_open_files > 0);
}

TEST(the_vdso_is_not_a_file)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	struct process_seen seen = seen_self();
	struct process_snapshot *s = get(t, &seen, 1);
	unsigned n_vdso = 0;

	for (size_t i = 0; i < s->n_mappings; i++) {
		n_vdso += s->mappings[i].kind == PROCESS_MAPPING_VDSO;
		assert_int_equal(s->mappings[i].file != NULL,
				 s->mappings[i].kind == PROCESS_MAPPING_FILE);
	}
	assert_int_equal(n_vdso, 1);
}

TEST(a_mapping_and_the_executable_have_the_same_id)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	AUTO_CLOSE int fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct process_seen seen = seen_self();
	struct process_snapshot *s = get(t, &seen, 1);
	uintptr_t here = (uintptr_t)a_mapping_and_the_executable_have_the_same_id;
	const struct process_mapping *m = process_snapshot_find(s, here);
	struct file_id exe;

	assert_non_null(m);
	assert_int_equal(procfs_read_exe_id(fd, &exe), 0);
	assert_true(file_id_equal(&m->file->id, &exe));
}

TEST(an_exited_process_keeps_its_name)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	struct process_seen seen;
	struct process_snapshot *s;
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	seen = seen_of(pid, "short");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	s = get(t, &seen, 1);
	assert_true(s->unreadable);
	assert_string_equal(s->workload->service, "/process/short");
	assert_int_equal(s->n_mappings, 0);
	assert_int_equal(stats_of(t).unreadable, 1);
}

TEST(another_start_time_is_another_process)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	struct process_seen seen = seen_self();

	assert_false(get(t, &seen, 1)->unreadable);
	seen.start_boottime_ns -= NS_PER_S;
	assert_true(get(t, &seen, 1)->unreadable);
	assert_int_equal(stats_of(t).n_processes, 1);
}

TEST(another_name_means_another_program_until_they_agree)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	struct process_seen before = seen_self(), after = seen_self();

	before.comm = "shell";
	assert_true(get(t, &before, NS_PER_S)->unreadable);
	/* not read again at once: some processes rename themselves all the time */
	assert_true(get(t, &after, NS_PER_S)->unreadable);
	assert_int_equal(stats_of(t).snapshots, 1);
	assert_false(get(t, &after, 2 * NS_PER_S)->unreadable);
}

TEST(exec_asks_for_a_new_snapshot)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *old = NULL;
	struct process_seen seen = seen_self();

	old = process_snapshot_ref(get(t, &seen, 1));
	exec_unknown(t, seen.pid, seen.start_boottime_ns);
	assert_ptr_not_equal(get(t, &seen, 2), old);
	assert_int_equal(stats_of(t).snapshots, 2);
	assert_non_null(process_snapshot_find(old, (uintptr_t)exec_asks_for_a_new_snapshot));
}

static uint64_t map_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return (uintptr_t)p;
}

TEST(code_mapped_later_is_found_once_a_second)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	struct process_seen seen = seen_self();
	const uint64_t now = NS_PER_S, later = now + 300 * NS_PER_S;
	const struct process_mapping *m;
	uint64_t addr;

	get(t, &seen, now);
	addr = map_code();
	seen.addrs = &addr;
	seen.n_addrs = 1;
	m = process_snapshot_find(get(t, &seen, now), addr);
	assert_non_null(m);
	assert_int_equal(m->kind, PROCESS_MAPPING_ANONYMOUS);

	munmap((void *)(uintptr_t)addr, 4096);
	addr = 4096; /* never mapped */
	assert_null(process_snapshot_find(get(t, &seen, now + NS_PER_MS), addr));
	assert_int_equal(stats_of(t).snapshots, 2); /* too early to read it again */
	get(t, &seen, later);
	assert_int_equal(stats_of(t).snapshots, 3);
}

TEST(where_a_process_notes_its_code_is_held_once_it_has_some)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	struct process_seen seen = seen_self();
	const struct process_snapshot *s;
	struct jit_files *held;
	uint64_t code = map_code(), addr = code;
	char path[64];

	seen.addrs = &addr;
	seen.n_addrs = 1;
	s = get(t, &seen, NS_PER_S);
	assert_non_null(s->jit_files);
	assert_false(jit_files_has_map(s->jit_files));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	addr = 4096; /* never mapped, so it is read again */
	held = get(t, &seen, 300 * NS_PER_S)->jit_files;
	assert_true(jit_files_has_map(held));
	assert_ptr_equal(get(t, &seen, 600 * NS_PER_S)->jit_files, held);
	assert_int_equal(unlink(path), 0);
	munmap((void *)(uintptr_t)code, 4096);
}

TEST(code_mapped_where_other_code_was_is_found_after_some_samples)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *old = NULL;
	struct process_seen seen = seen_self();
	uint64_t addr = map_code(), now = NS_PER_S;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct process_mapping *m;

	seen.addrs = &addr;
	seen.n_addrs = 1;
	old = process_snapshot_ref(get(t, &seen, now));
	assert_ptr_equal(mmap((void *)(uintptr_t)addr, 4096, PROT_READ | PROT_EXEC,
			      MAP_PRIVATE | MAP_FIXED, fd, 0),
			 (void *)(uintptr_t)addr);
	close(fd);
	for (int i = 0; i < 110; i++)
		get(t, &seen, now + (uint64_t)i * 10 * NS_PER_MS);
	m = process_snapshot_find(get(t, &seen, now + 2 * NS_PER_S), addr);
	assert_non_null(m);
	assert_int_equal(m->kind, PROCESS_MAPPING_FILE);
	assert_ptr_not_equal(get(t, &seen, now + 2 * NS_PER_S), old);
	assert_int_equal(stats_of(t).snapshots, 2);
	munmap((void *)(uintptr_t)addr, 4096);
}

/* The leader exits; this thread stays. */
static void *outlive(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static pid_t other_thread(pid_t pid)
{
	char path[64];
	struct dirent *d;
	pid_t tid = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((d = readdir(dir)) != NULL) {
		uint64_t id;

		if (parse_u64(d->d_name, strlen(d->d_name), 1, INT32_MAX, &id) == 0 &&
		    id != (uint64_t)pid)
			tid = (pid_t)id;
	}
	closedir(dir);
	return tid;
}

static void wait_until_leader_ended(pid_t pid)
{
	AUTO_CLOSE int root = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = procfs_open_process(root, pid);
	struct proc_stat st = {.ended = false};

	for (int i = 0; i < 1000 && !st.ended; i++) {
		usleep(5000);
		assert_int_equal(procfs_read_stat(fd, &st), 0);
	}
	assert_true(st.ended);
}

TEST(a_process_without_its_leader_is_read_by_another_thread)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	struct process_seen seen = seen_self();
	struct process_snapshot *s;
	pid_t pid = fork();

	if (pid == 0) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, outlive, NULL) == 0)
			pthread_exit(NULL);
		_exit(1);
	}
	wait_until_leader_ended(pid);
	seen.pid = pid;
	seen.start_boottime_ns = start_boottime_ns(pid);
	seen.tid = getpid(); /* a thread, but not of that process */
	assert_true(get(t, &seen, 1)->unreadable);
	exec_unknown(t, seen.pid, seen.start_boottime_ns);
	seen.tid = other_thread(pid);
	s = get(t, &seen, 2);
	assert_false(s->unreadable);
	assert_non_null(strstr(s->exe, "/test_process_table"));
	assert_true(begins_like_elf(process_snapshot_find(s, (uintptr_t)outlive)->file));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(garbage_addresses_cause_fewer_and_fewer_readings)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	struct process_seen seen = seen_self();
	struct process_snapshot *s = get(t, &seen, 0);
	const uint64_t addr = 4096;

	seen.addrs = &addr;
	seen.n_addrs = 1;
	/* fewer samples than an audit needs */
	for (uint64_t now = 0; now < 600 * NS_PER_S; now += 30 * NS_PER_S)
		assert_ptr_equal(get(t, &seen, now), s);
	/* every 30 seconds at first, every 64 later */
	assert_in_range(stats_of(t).snapshots, 5, 17);
}

TEST(an_exited_process_lingers_and_then_releases_its_files)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	struct process_seen seen = seen_self();
	struct process_snapshot *s = get(t, &seen, 1);

	process_table_exit(t, seen.pid, seen.start_boottime_ns, NS_PER_S);
	process_table_sweep(t, 2 * NS_PER_S);
	assert_ptr_equal(get(t, &seen, 2 * NS_PER_S), s); /* a late sample */
	process_snapshot_ref(s);
	process_table_sweep(t, 3 * NS_PER_S);
	assert_int_equal(stats_of(t).n_processes, 0);
	assert_true(stats_of(t).n_files > 0); /* our reference holds them */
	process_snapshot_unref(s);
	process_table_sweep(t, 32 * NS_PER_S);
	assert_true(stats_of(t).n_open_files > 0); /* short-lived processes may come again */
	process_table_sweep(t, 34 * NS_PER_S);
	assert_int_equal(stats_of(t).n_files, 0);
	assert_int_equal(stats_of(t).n_open_files, 0);
}

struct listening {
	struct process_listener listener;
	struct process_snapshot *snapshot; /* the last one */
	unsigned n_snapshots;
	unsigned n_exited;
};

static void keep_snapshot(void *ctx, struct process_snapshot *s)
{
	struct listening *l = ctx;

	process_snapshot_unref(l->snapshot);
	l->snapshot = process_snapshot_ref(s);
	l->n_snapshots++;
}

static void expect_last_snapshot(void *ctx, const struct process_snapshot *last)
{
	struct listening *l = ctx;

	assert_ptr_equal(last, l->snapshot);
	l->n_exited++;
}

static void listen_to(struct process_table *t, struct listening *l)
{
	*l = (struct listening){.listener = {keep_snapshot, expect_last_snapshot, NULL, l, NULL}};
	process_table_subscribe(t, &l->listener);
}

/* What was reported of one process since it was last asked for. */
struct changes {
	struct process_listener listener;
	pid_t pid;
	bool started, executed, changed, exited;
};

static void note_change(void *ctx, pid_t pid, enum process_change change)
{
	struct changes *c = ctx;

	if (pid != c->pid)
		return;
	c->started |= change == PROCESS_STARTED;
	c->executed |= change == PROCESS_EXECUTED;
	c->changed |= change == PROCESS_CHANGED;
	c->exited |= change == PROCESS_EXITED;
}

static void expect_changes(struct changes *c, bool started, bool changed, bool exited)
{
	assert_int_equal(c->started, started);
	assert_int_equal(c->changed, changed);
	assert_int_equal(c->exited, exited);
	c->started = c->changed = c->exited = false;
}

static void note_pid(void *ctx, pid_t pid)
{
	struct changes *c = ctx;

	c->changed |= pid == c->pid;
}

TEST(what_becomes_of_a_process_is_reported)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	struct process_seen own = seen_self();
	struct changes c = {.listener = {.on_changed = note_change, .ctx = &c}, .pid = 4000000};
	const uint64_t start_ns = clock_boottime_ns() + 3600 * NS_PER_S;
	const struct process_fork fork = {.pid = c.pid,
					  .parent = own.pid,
					  .start_boottime_ns = start_ns,
					  .parent_start_boottime_ns = own.start_boottime_ns};

	process_table_subscribe(t, &c.listener);
	assert_true(process_table_scan(t) > 0);
	assert_int_equal(process_table_fork(t, &fork), 0);
	expect_changes(&c, true, false, false);
	exec_unknown(t, c.pid, start_ns);
	assert_true(c.executed);
	expect_changes(&c, false, false, false);
	process_table_each(t, note_pid, &c);
	expect_changes(&c, false, true, false);
	process_table_exit(t, c.pid, start_ns, 1);
	process_table_exit(t, c.pid, start_ns, 1);
	expect_changes(&c, false, false, true);
	process_table_each(t, note_pid, &c);
	process_table_sweep(t, 3 * NS_PER_S);
	expect_changes(&c, false, false, false);
	/* the exit of this one is lost, and its pid used again */
	assert_int_equal(process_table_fork(t, &fork), 0);
	expect_changes(&c, true, false, false);
	exec_unknown(t, c.pid, start_ns + NS_PER_S);
	expect_changes(&c, true, false, true);
	process_table_unsubscribe(t, &c.listener);
	process_table_exit(t, c.pid, start_ns + NS_PER_S, 1);
	expect_changes(&c, false, false, false);
}

/* The sweep repeats a scan every minute. */
TEST(lost_events_are_noticed)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	const uint64_t later_ns = clock_monotonic_ns() + 3600 * NS_PER_S;
	struct changes c = {.listener = {.on_changed = note_change, .ctx = &c}};
	int n;

	process_table_subscribe(t, &c.listener);
	c.pid = getpid();
	process_table_sweep(t, later_ns); /* nothing was scanned yet */
	expect_changes(&c, false, false, false);
	assert_true(process_table_scan(t) > 0);
	expect_changes(&c, false, true, false);
	c.pid = fork();
	if (c.pid == 0) {
		pause();
		_exit(0);
	}
	process_table_sweep(t, clock_monotonic_ns());
	expect_changes(&c, false, false, false);
	process_table_sweep(t, later_ns);
	expect_changes(&c, true, true, false);
	n = process_table_scan(t);
	assert_int_equal(stats_of(t).n_processes, n);
	expect_changes(&c, false, true, false);
	kill(c.pid, SIGKILL);
	waitpid(c.pid, NULL, 0);
	n = process_table_scan(t);
	assert_int_equal(stats_of(t).n_processes, n);
	expect_changes(&c, false, false, true);
}

TEST(listeners_get_each_new_snapshot)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	struct process_listener deaf = {0};
	struct process_seen seen = seen_self();
	struct process_snapshot *s;
	struct listening a, b;
	void *code;

	listen_to(t, &a);
	process_table_subscribe(t, &deaf);
	listen_to(t, &b);
	assert_true(process_table_scan(t) > 0);
	assert_int_equal(a.n_snapshots, 0); /* nothing was read */
	s = get(t, &seen, 1);
	assert_ptr_equal(a.snapshot, s);
	assert_ptr_equal(b.snapshot, s);
	assert_non_null(a.snapshot->mappings[0].file);
	(void)get(t, &seen, 2);
	assert_int_equal(a.n_snapshots, 1);

	/* more code */
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	seen.addrs = (const uint64_t[]){(uintptr_t)code};
	seen.n_addrs = 1;
	s = get(t, &seen, 2 * NS_PER_S);
	assert_int_equal(a.n_snapshots, 2);
	assert_ptr_equal(a.snapshot, s);
	munmap(code, 4096);

	/* another program */
	seen.n_addrs = 0;
	exec_unknown(t, seen.pid, seen.start_boottime_ns);
	assert_int_equal(b.n_snapshots, 2);
	s = get(t, &seen, 3 * NS_PER_S);
	assert_int_equal(b.n_snapshots, 3);
	assert_ptr_equal(b.snapshot, s);
	assert_int_equal(a.n_exited + b.n_exited, 0);
	process_snapshot_unref(a.snapshot);
	process_snapshot_unref(b.snapshot);
}

TEST(listeners_get_each_exit_once)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	struct process_seen seen = seen_self();
	struct listening l;

	listen_to(t, &l);
	/* never sampled, so never reported */
	exec_unknown(t, 4000000, NS_PER_S);
	process_table_exit(t, 4000000, NS_PER_S, 1);

	(void)get(t, &seen, 1);
	process_table_exit(t, seen.pid, seen.start_boottime_ns, 1);
	process_table_exit(t, seen.pid, seen.start_boottime_ns, 2);
	process_table_sweep(t, NS_PER_S);
	assert_int_equal(l.n_exited, 0); /* samples may still arrive */
	process_table_sweep(t, 3 * NS_PER_S);
	process_table_sweep(t, 6 * NS_PER_S);
	assert_int_equal(l.n_exited, 1);
	process_snapshot_unref(l.snapshot);
}

TEST(a_reused_pid_is_reported_as_an_exit)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	struct process_seen seen = seen_self();
	struct listening l;

	listen_to(t, &l);
	(void)get(t, &seen, 1);
	seen.start_boottime_ns += NS_PER_S;
	(void)get(t, &seen, 2);
	assert_int_equal(l.n_exited, 1);
	assert_int_equal(l.n_snapshots, 2);
	assert_true(l.snapshot->unreadable);
	process_snapshot_unref(l.snapshot);
}

TEST(a_scan_adds_all_processes_and_reads_none)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	int n;

	n = process_table_scan(t);
	assert_true(n >= 1);
	assert_int_equal(stats_of(t).n_processes, n);
	assert_int_equal(stats_of(t).snapshots, 0);
	assert_int_equal(stats_of(t).n_open_files, 0);
}

TEST(kernel_threads_are_one_service)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	struct process_seen seen = {.pid = 2, .comm = "kthreadd", .kernel_thread = true};
	struct process_snapshot *s = get(t, &seen, 1);

	assert_string_equal(s->workload->service, "/kernel");
	assert_true(s->kernel_thread);
	assert_false(s->unreadable);
}

TEST(no_more_files_than_allowed_are_open)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(1);
	struct process_seen seen = seen_self();
	struct process_snapshot *s = get(t, &seen, 1);
	unsigned n_open = 0, n_named = 0;

	for (size_t i = 0; i < s->n_mappings; i++) {
		n_open += s->mappings[i].file && s->mappings[i].file->fd >= 0;
		n_named += s->mappings[i].file && s->mappings[i].file->path[0] == '/';
	}
	assert_int_equal(n_open, 1);
	assert_true(n_named > 1);
	assert_int_equal(stats_of(t).n_open_files, 1);
	assert_int_equal(stats_of(t).files_over_limit, n_named - 1);
}

static void copy_file(const char *from, const char *to)
{
	AUTO_CLOSE int in = open(from, O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	char chunk[65536];
	ssize_t n;

	while ((n = read(in, chunk, sizeof(chunk))) > 0)
		assert_int_equal(write(out, chunk, (size_t)n), n);
	assert_int_equal(n, 0);
}

/*
 * Runs a copy of cat(1) and returns its pid. It has echoed a byte by then: execve(2) sets the name
 * of the process before it maps the program.
 */
static pid_t start_cat(const char *path)
{
	char c = 'x';
	int ends[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDIN_FILENO);
		dup2(ends[1], STDOUT_FILENO);
		execl(path, path, (char *)NULL);
		_exit(1);
	}
	assert_true(pid > 0);
	close(ends[1]);
	assert_int_equal(write(ends[0], &c, 1), 1);
	assert_int_equal(read(ends[0], &c, 1), 1);
	/* the other end is left open: cat ends when it is closed */
	return pid;
}

TEST(a_deleted_executable_can_still_be_read_after_the_exit)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	char path[64];
	struct process_seen seen;
	struct process_snapshot *s;
	unsigned n_found = 0;
	pid_t pid;

	snprintf(path, sizeof(path), "/tmp/tpt_%d", getpid());
	copy_file("/bin/cat", path);
	pid = start_cat(path);
	unlink(path);
	seen = seen_of(pid, path + 5);
	s = get(t, &seen, 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (size_t i = 0; i < s->n_mappings; i++) {
		if (s->mappings[i].file && strcmp(s->mappings[i].file->path, path) == 0)
			n_found += begins_like_elf(s->mappings[i].file);
	}
	assert_true(n_found > 0);
	snprintf(path, sizeof(path), "/process/tpt_%d", getpid());
	if (strncmp(s->workload->service, "/process/", 9) == 0)
		assert_string_equal(s->workload->service, path);
}

TEST(another_pid_namespace_than_the_hosts_is_refused)
{
	const char *root = temp_dir();
	char path[64], target[64] = "";
	struct err err = {0};

	assert_true(readlink("/proc/self/ns/pid", target, sizeof(target) - 1) > 0);
	assert_int_equal(process_table_check_namespace("/proc", &err),
			 strcmp(target, "pid:[4026531836]") == 0 ? 0 : -EPERM);

	assert_int_equal(process_table_check_namespace(root, &err), -ENOENT);
	for (const char *const *d =
		     (const char *const[]){"/self", "/self/ns", "/self/ns/pid", NULL};
	     *d; d++) {
		snprintf(path, sizeof(path), "%s%s", root, *d);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	assert_int_equal(process_table_check_namespace(root, &err), -EPERM);
	assert_non_null(strstr(err.msg, "hostPID"));
	for (const char *const *d =
		     (const char *const[]){"/self/ns/pid", "/self/ns", "/self", "", NULL};
	     *d; d++) {
		snprintf(path, sizeof(path), "%s%s", root, *d);
		assert_int_equal(rmdir(path), 0);
	}
}

TEST(a_missing_proc_is_named)
{
	struct process_table *t = NULL;
	struct err err = {0};

	assert_int_equal(process_table_new(
				 &t, &(struct process_table_config){.proc_root = "/nowhere"}, &err),
			 -ENOENT);
	assert_non_null(strstr(err.msg, "/nowhere"));
}

static int read_self(void *arg)
{
	CLEANUP(process_table_freep) struct process_table *t = NULL;
	struct process_table_config cfg = {0};
	struct process_snapshot *s;
	int r = process_table_new(&t, &cfg, NULL);

	return r < 0 ? r : process_table_get(t, arg, 1, &s);
}

TEST(survives_every_failed_allocation)
{
	struct process_seen seen = seen_self();

	check_oom(read_self, &seen);
}

static void *read_snapshots(void *arg)
{
	struct process_snapshot *s;

	while ((s = queue_pop(arg)) != NULL) {
		const struct process_mapping *m =
			process_snapshot_find(s, (uintptr_t)read_snapshots);

		if (!m || !begins_like_elf(m->file))
			abort();
		process_snapshot_unref(s);
	}
	return NULL;
}

/* TSan watches this one: the worker reads and frees while the loop thread makes and sweeps. */
TEST(snapshots_travel_to_another_thread)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table(0);
	CLEANUP(queue_freep) struct queue *q = NULL;
	struct process_seen seen = seen_self();
	pthread_t worker;

	assert_int_equal(queue_new(&q, 1000), 0);
	assert_int_equal(pthread_create(&worker, NULL, read_snapshots, q), 0);
	for (uint64_t i = 0; i < 200; i++) {
		assert_int_equal(queue_push(q, process_snapshot_ref(get(t, &seen, i))), 0);
		exec_unknown(t, seen.pid, seen.start_boottime_ns);
		if (i % 10 == 0)
			process_table_exit(t, seen.pid, seen.start_boottime_ns, 0);
		process_table_sweep(t, 10 * NS_PER_S);
	}
	queue_close(q);
	pthread_join(worker, NULL);
	process_table_exit(t, seen.pid, seen.start_boottime_ns, 0);
	process_table_sweep(t, 10 * NS_PER_S);
	process_table_sweep(t, 41 * NS_PER_S);
	assert_int_equal(stats_of(t).n_open_files, 0);
}
