/*
 * Processes that exited before the table could read them, with the events that the kernel sends of
 * them. The programs are real, and the facts of an event are those of a process that runs one.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "node-agent/process/process_table.h"
#include "node-agent/procfs/procfs.h"
#include "test/lib/unit.h"

#define GONE 4100000 /* pids beyond PID_MAX_LIMIT: no such process */
#define START_NS (100 * NS_PER_S)

static struct process_table *new_table(void)
{
	struct process_table *t = NULL;

	assert_int_equal(process_table_new(&t, &(struct process_table_config){0}, NULL), 0);
	return t;
}

static struct process_table_stats stats_of(const struct process_table *t)
{
	struct process_table_stats s;

	process_table_read_stats(t, &s);
	return s;
}

/* A program that exists once, and a process that runs it. */
struct program {
	char path[64];
	pid_t pid;
	uint64_t start_ns;
	uint64_t start_code;
	uint64_t end_code;
	struct file_version file;
};

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

/* Fields 22, 26 and 27 of stat: start time, start_code and end_code. */
static bool read_addresses(struct program *p)
{
	char path[64], text[2048] = "", *at;
	uint64_t fields[28] = {0};
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", p->pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	at = strrchr(text, ')');
	assert_non_null(at);
	at += 3; /* the state, which is field 3 */
	for (unsigned i = 4; i <= 27; i++) {
		at = strchr(at, ' ');
		assert_non_null(at);
		fields[i] = strtoull(++at, NULL, 10);
	}
	p->start_ns = fields[22] * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
	p->start_code = fields[26];
	p->end_code = fields[27];
	/* the name changes before the addresses do */
	snprintf(path, sizeof(path), "(%s)", strrchr(p->path, '/') + 1);
	return strstr(text, path) && p->start_code > 1 && p->end_code > p->start_code;
}

static void start_program(struct program *p)
{
	static unsigned n_programs;
	AUTO_CLOSE int fd = -1;
	char link[64], target[64];

	snprintf(p->path, sizeof(p->path), "/tmp/tep%u_%d", n_programs++, getpid());
	copy_file("/bin/sleep", p->path);
	p->pid = fork();
	if (p->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the test fails */
		execl(p->path, p->path, "1000", (char *)NULL);
		_exit(1);
	}
	snprintf(link, sizeof(link), "/proc/%d/exe", p->pid);
	for (int i = 0; i < 12000; i++) {
		ssize_t n = readlink(link, target, sizeof(target) - 1);

		target[n > 0 ? n : 0] = '\0';
		if (strcmp(target, p->path) == 0 && read_addresses(p))
			break;
		usleep(5000);
	}
	assert_string_equal(target, p->path);
	fd = open(p->path, O_PATH | O_CLOEXEC);
	assert_int_equal(file_version_read(fd, "", &p->file, NULL), 0);
}

static void stop_program(struct program *p)
{
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	unlink(p->path);
}

static struct process_seen seen_of(const struct program *p, pid_t pid, uint64_t start_ns)
{
	return (struct process_seen){
		.pid = pid, .start_boottime_ns = start_ns, .comm = strrchr(p->path, '/') + 1};
}

/* The event of a process that executed p at other addresses and then exited. */
static struct process_exec exec_of(const struct program *p, pid_t pid, uint64_t shift)
{
	return (struct process_exec){.pid = pid,
				     .start_boottime_ns = START_NS,
				     .file = p->file,
				     .end_code = p->end_code + shift,
				     .path = p->path};
}

static uint64_t own_start_ns(void)
{
	AUTO_CLOSE int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct proc_stat st;

	assert_int_equal(procfs_read_stat(fd, &st), 0);
	return st.start_time * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* A child of this process, whose root is a place to look for files. */
static void fork_here(struct process_table *t)
{
	const struct process_fork fork_event = {
		.pid = GONE,
		.parent = getpid(),
		.start_boottime_ns = START_NS,
		.parent_start_boottime_ns = own_start_ns(),
	};

	assert_int_equal(process_table_fork(t, &fork_event), 0);
}

static struct process_snapshot *get(struct process_table *t, const struct process_seen *seen)
{
	struct process_snapshot *s = NULL;

	assert_int_equal(process_table_get(t, seen, NS_PER_S, &s), 0);
	assert_non_null(s);
	return s;
}

/* The snapshot maps the same byte of p's file at shift from where p itself has it. */
static void assert_maps(const struct process_snapshot *s, const struct process_snapshot *own,
			const struct program *p, uint64_t shift)
{
	const struct process_mapping *m = process_snapshot_find(s, p->end_code - 1 + shift);
	const struct process_mapping *o = process_snapshot_find(own, p->end_code - 1);

	assert_non_null(m);
	assert_non_null(o);
	assert_int_equal(m->kind, PROCESS_MAPPING_FILE);
	assert_true(file_id_equal(&m->file->id, &p->file.id));
	assert_true(m->file->fd >= 0);
	assert_string_equal(m->file->path, p->path);
	assert_int_equal(m->start, o->start + shift);
	assert_int_equal(m->end, o->end + shift);
	assert_int_equal(m->file_offset, o->file_offset);
	assert_false(s->unreadable);
	assert_string_equal(s->exe, p->path);
}

/* What a table of its own reads of the running process. */
static struct process_snapshot *read_running(const struct program *p)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table();
	struct process_seen seen = seen_of(p, p->pid, p->start_ns);

	return process_snapshot_ref(get(t, &seen));
}

#define SHIFT 0x5000000

TEST(the_file_of_another_process_names_it)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table();
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *own = NULL;
	struct process_seen running, gone;
	struct process_exec exec;
	struct program p;

	start_program(&p);
	running = seen_of(&p, p.pid, p.start_ns);
	own = process_snapshot_ref(get(t, &running));
	stop_program(&p); /* its file is deleted: the path leads nowhere */
	exec = exec_of(&p, GONE, SHIFT);
	assert_int_equal(process_table_exec(t, &exec), 0);
	gone = seen_of(&p, GONE, START_NS);
	assert_maps(get(t, &gone), own, &p, SHIFT);
	assert_int_equal(stats_of(t).restored, 1);
	assert_int_equal(stats_of(t).unreadable, 0);
}

TEST(a_file_that_nobody_has_open_is_found_by_its_path)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table();
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *own = NULL;
	struct process_seen gone;
	struct process_exec exec;
	struct program p;

	start_program(&p);
	fork_here(t);
	own = read_running(&p);
	exec = exec_of(&p, GONE, SHIFT);
	assert_int_equal(process_table_exec(t, &exec), 0);
	gone = seen_of(&p, GONE, START_NS);
	assert_maps(get(t, &gone), own, &p, SHIFT);
	/* both are children of this process, in its cgroup */
	assert_string_equal(get(t, &gone)->workload->service, own->workload->service);
	stop_program(&p);
}

TEST(a_relative_path_begins_at_the_parent)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table();
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *own = NULL;
	AUTO_CLOSE int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct process_seen gone;
	struct process_exec exec;
	struct program p;

	start_program(&p);
	own = read_running(&p);
	fork_here(t);
	exec = exec_of(&p, GONE, SHIFT);
	exec.path = strrchr(p.path, '/') + 1;
	assert_int_equal(process_table_exec(t, &exec), 0);
	gone = seen_of(&p, GONE, START_NS);
	assert_int_equal(chdir("/tmp"), 0);
	assert_maps(get(t, &gone), own, &p, SHIFT);
	assert_int_equal(fchdir(here), 0);
	stop_program(&p);
}

/* The device of an inode on overlayfs or btrfs is not the one of stat(2). */
TEST(another_device_is_believed_only_with_the_ctime)
{
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *own = NULL;
	struct process_seen gone;
	struct process_exec exec;
	struct program p;

	start_program(&p);
	own = read_running(&p);
	gone = seen_of(&p, GONE, START_NS);
	for (int same = 0; same < 2; same++) {
		CLEANUP(process_table_freep) struct process_table *t = new_table();
		struct process_snapshot *s;

		fork_here(t);
		exec = exec_of(&p, GONE, SHIFT);
		exec.file.id.dev++;
		exec.file.ctime_ns -= !same;
		assert_int_equal(process_table_exec(t, &exec), 0);
		s = get(t, &gone);
		if (same) {
			assert_maps(s, own, &p, SHIFT);
			continue;
		}
		assert_true(s->unreadable);
		assert_int_equal(s->n_mappings, 0);
		assert_string_equal(s->exe, p.path);
		assert_int_equal(stats_of(t).unreadable, 1);
	}
	stop_program(&p);
}

TEST(a_path_that_leads_to_another_file_is_not_believed)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table();
	struct process_exec exec;
	struct process_seen gone;
	struct program p;

	start_program(&p);
	fork_here(t);
	exec = exec_of(&p, GONE, SHIFT);
	exec.file.id.ino++;
	assert_int_equal(process_table_exec(t, &exec), 0);
	gone = seen_of(&p, GONE, START_NS);
	assert_int_equal(get(t, &gone)->n_mappings, 0);
	stop_program(&p);
}

TEST(addresses_that_do_not_fit_the_file_are_not_believed)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table();
	struct process_exec exec;
	struct process_seen gone;
	struct program p;

	start_program(&p);
	fork_here(t);
	exec = exec_of(&p, GONE, SHIFT + 8);
	assert_int_equal(process_table_exec(t, &exec), 0);
	gone = seen_of(&p, GONE, START_NS);
	assert_int_equal(get(t, &gone)->n_mappings, 0);
	exec.end_code = 0;
	assert_int_equal(process_table_exec(t, &exec), 0);
	assert_int_equal(get(t, &gone)->n_mappings, 0);
	stop_program(&p);
}

/* A mapping of a file that is not the program. */
static const struct process_mapping *library_of(const struct process_snapshot *s,
						const struct program *p)
{
	const struct process_mapping *lib = NULL;

	for (size_t i = 0; i < s->n_mappings; i++) {
		if (s->mappings[i].file && !file_id_equal(&s->mappings[i].file->id, &p->file.id))
			lib = &s->mappings[i];
	}
	assert_non_null(lib);
	return lib;
}

/* The process was read while it started, loaded more, was sampled there, and exited. */
TEST(what_was_mapped_after_the_last_reading_comes_with_map_events)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table();
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *read = NULL;
	const uint64_t addr = 0x5010;
	struct process_map map = {.start = 0x5000, .end = 0x6000};
	struct process_snapshot *s;
	struct process_seen seen;
	struct program p;

	start_program(&p);
	seen = seen_of(&p, p.pid, p.start_ns);
	read = process_snapshot_ref(get(t, &seen));
	stop_program(&p);
	seen.addrs = &addr;
	seen.n_addrs = 1;
	assert_ptr_equal(get(t, &seen), read);
	map.pid = p.pid;
	map.start_boottime_ns = p.start_ns;
	map.file = library_of(read, &p)->file->id;
	assert_int_equal(process_table_map(t, &map), 0);
	s = get(t, &seen);
	assert_int_equal(s->n_mappings, read->n_mappings + 1);
	assert_ptr_equal(process_snapshot_find(s, addr)->file, library_of(read, &p)->file);
	assert_maps(s, read, &p, 0);
	assert_ptr_equal(s->workload, read->workload);
	assert_ptr_equal(get(t, &seen), s);
}

/* The kernel saw samples of the process in a library, before and after the first was handled. */
TEST(libraries_come_with_map_events)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table();
	const struct process_mapping *lib, *m;
	struct process_seen running, gone;
	struct process_map map = {.pid = GONE, .start_boottime_ns = START_NS};
	struct process_snapshot *own;
	struct process_exec exec;
	struct program p;

	start_program(&p);
	running = seen_of(&p, p.pid, p.start_ns);
	own = get(t, &running);
	lib = library_of(own, &p);
	map.file = lib->file->id;
	map.end = 0x7000;
	map.file_offset = lib->file_offset;
	exec = exec_of(&p, GONE, SHIFT);
	assert_int_equal(process_table_exec(t, &exec), 0);
	gone = seen_of(&p, GONE, START_NS);
	for (map.start = 0x5000; map.start <= 0x6000; map.start += 0x1000) {
		map.end = map.start + 0x1000;
		assert_int_equal(process_table_map(t, &map), 0);
		assert_int_equal(process_table_map(t, &map), 0);
		m = process_snapshot_find(get(t, &gone), map.start);
		assert_non_null(m);
		assert_ptr_equal(m->file, lib->file);
		assert_int_equal(m->file_offset, lib->file_offset);
	}
	assert_maps(get(t, &gone), own, &p, SHIFT);
	assert_non_null(process_snapshot_find(get(t, &gone), 0x5000));
	assert_int_equal(stats_of(t).restored, 1);
	map.start = 0x9000;
	map.end = 0xa000;
	map.file.ino++; /* a file that nobody has open */
	assert_int_equal(process_table_map(t, &map), 0);
	assert_null(process_snapshot_find(get(t, &gone), 0x9000));
	stop_program(&p);
}

/* A process that was running before the agent: nothing was seen of its exec. */
TEST(a_child_has_the_mappings_of_its_parent)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table();
	struct process_snapshot *s, *parent;
	struct process_seen running, gone;
	struct program p;

	start_program(&p);
	process_table_fork(t, &(struct process_fork){.pid = GONE,
						     .parent = p.pid,
						     .start_boottime_ns = START_NS,
						     .parent_start_boottime_ns = p.start_ns});
	/* a grandchild, and its parent is gone too */
	process_table_fork(t, &(struct process_fork){.pid = GONE + 1,
						     .parent = GONE,
						     .start_boottime_ns = START_NS,
						     .parent_start_boottime_ns = START_NS});
	gone = seen_of(&p, GONE + 1, START_NS);
	s = process_snapshot_ref(get(t, &gone)); /* the parent is read for it */
	assert_maps(s, s, &p, 0);
	assert_true(s->n_mappings > 2); /* libraries */
	assert_int_equal(s->pid, GONE + 1);
	process_snapshot_unref(s);

	running = seen_of(&p, p.pid, p.start_ns);
	parent = get(t, &running);
	gone = seen_of(&p, GONE, START_NS);
	s = get(t, &gone);
	assert_int_equal(s->n_mappings, parent->n_mappings);
	assert_string_equal(s->workload->service, parent->workload->service);
	assert_int_equal(stats_of(t).restored, 2);
	stop_program(&p);
}

TEST(a_child_that_executes_something_has_its_own_mappings)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table();
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *own = NULL;
	struct process_seen gone;
	struct process_exec exec;
	struct program shell, p;

	start_program(&shell);
	start_program(&p);
	own = read_running(&p);
	process_table_fork(t, &(struct process_fork){.pid = GONE,
						     .parent = shell.pid,
						     .start_boottime_ns = START_NS,
						     .parent_start_boottime_ns = shell.start_ns});
	gone = seen_of(&shell, GONE, START_NS);
	assert_string_equal(get(t, &gone)->exe, shell.path);
	exec = exec_of(&p, GONE, SHIFT);
	assert_int_equal(process_table_exec(t, &exec), 0);
	gone = seen_of(&p, GONE, START_NS);
	assert_maps(get(t, &gone), own, &p, SHIFT);
	stop_program(&shell);
	stop_program(&p);
}

/* The pid, reused within a second, must not lend its program to the next process. */
TEST(a_reused_pid_has_nothing_of_the_process_before)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table();
	struct process_exec exec;
	struct process_seen gone;
	struct program p;

	start_program(&p);
	fork_here(t);
	exec = exec_of(&p, GONE, SHIFT);
	assert_int_equal(process_table_exec(t, &exec), 0);
	gone = seen_of(&p, GONE, START_NS);
	assert_true(get(t, &gone)->n_mappings > 0);
	process_table_exit(t, GONE, START_NS, NS_PER_S);
	gone.start_boottime_ns += 50 * NS_PER_MS;
	assert_int_equal(get(t, &gone)->n_mappings, 0);
	/* nor the one before it */
	process_table_fork(t,
			   &(struct process_fork){.pid = GONE + 1,
						  .parent = GONE,
						  .start_boottime_ns = START_NS,
						  .parent_start_boottime_ns = START_NS - NS_PER_S});
	gone = seen_of(&p, GONE + 1, START_NS);
	assert_int_equal(get(t, &gone)->n_mappings, 0);
	stop_program(&p);
}

/* Between the sample and its reading, the process executed the same program again. */
TEST(the_same_name_at_other_addresses_is_another_program)
{
	CLEANUP(process_table_freep) struct process_table *t = new_table();
	struct process_seen running;
	struct process_exec exec;
	struct program p;

	start_program(&p);
	/* other files, so that the process is known to run something else */
	exec = exec_of(&p, p.pid, 0);
	exec.start_boottime_ns = p.start_ns;
	assert_int_equal(process_table_exec(t, &exec), 0);
	running = seen_of(&p, p.pid, p.start_ns);
	assert_int_equal(get(t, &running)->pid, p.pid);
	assert_int_equal(stats_of(t).restored, 0);
	running.comm = "renamed"; /* by itself: it still executes the same file */
	assert_int_equal(process_table_exec(t, &exec), 0);
	assert_non_null(process_snapshot_find(get(t, &running), p.end_code - 1));
	assert_int_equal(stats_of(t).restored, 0);
	exec.end_code += SHIFT;
	assert_int_equal(process_table_exec(t, &exec), 0);
	assert_null(process_snapshot_find(get(t, &running), p.end_code - 1));
	assert_non_null(process_snapshot_find(get(t, &running), p.end_code - 1 + SHIFT));
	assert_int_equal(stats_of(t).restored, 1);
	stop_program(&p);
}

static int restore_one(void *arg)
{
	const struct program *p = arg;
	struct process_table_config cfg = {0};
	CLEANUP(process_table_freep) struct process_table *t = NULL;
	struct process_exec exec = exec_of(p, GONE, SHIFT);
	struct process_seen gone = seen_of(p, GONE, START_NS);
	struct process_snapshot *s;
	int r = process_table_new(&t, &cfg, NULL);

	if (r < 0)
		return r;
	r = process_table_fork(t, &(struct process_fork){.pid = GONE,
							 .parent = p->pid,
							 .start_boottime_ns = START_NS,
							 .parent_start_boottime_ns = p->start_ns});
	if (r == 0)
		r = process_table_get(t, &gone, NS_PER_S, &s);
	if (r == 0)
		r = process_table_exec(t, &exec);
	if (r == 0)
		r = process_table_map(
			t, &(struct process_map){.pid = GONE, .start_boottime_ns = START_NS});
	return r == 0 ? process_table_get(t, &gone, NS_PER_S, &s) : r;
}

TEST(survives_every_failed_allocation)
{
	struct program p;

	start_program(&p);
	check_oom(restore_one, &p);
	stop_program(&p);
}
