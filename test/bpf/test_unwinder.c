/*
 * From the unwinding information of real files to whole stacks: a child of this program runs in a
 * function that the C library calls, whose code has no frame pointers, and is sampled while tables
 * are made for it. Needs root.
 *
 * All tests have one sampler (test_sampler.c says why), unwinder and table of processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "test/lib/own_mounts.h"
#include "test/lib/sampling.h"
#include "test/lib/unit.h"

#define HZ 499
#define ENOUGH 50u  /* whole stacks */
#define SPIN "spin" /* makes this program its own child */

static struct sampling with;
static struct metrics *metrics;

struct fixture {
	pid_t child;
	bool unreported;  /* the process table is not told of the child */
	const char *path; /* of what the child executes: this program, with functions elsewhere */
	uint64_t start_code, end_code; /* of its executable; 0: not known yet */
	unsigned n_samples, n_by_tables, n_whole;
};

static volatile unsigned sink;

/* Without what sanitizers add, which makes functions longer than is_whole() expects. */
#define PLAIN \
	__attribute__((noinline, no_sanitize_address, no_sanitize_thread, no_sanitize_undefined))

/* Called by qsort(3) for different elements: it does not return. */
PLAIN static int spin(const void *a, const void *b)
{
	while (a != b)
		sink++;
	return 0;
}

/* The result is used, so that the call is none of a tail. */
PLAIN static unsigned run_child(void)
{
	int numbers[] = {2, 1, 3};

	qsort(numbers, ARRAY_SIZE(numbers), sizeof(numbers[0]), spin);
	return sink + 1;
}

static bool is_in(uint64_t address, uintptr_t function, size_t bytes)
{
	return address > function && address < function + bytes;
}

/*
 * Its frames: spin(), some of the C library, run_child(), and those that began this program. Where
 * most code keeps frame pointers, as on arm64, a walk may get there before all tables are built.
 */
static bool is_whole(const struct fixture *f, const struct sample_event *e, const uint64_t *user)
{
	if (e->end != WALK_END_BOTTOM || e->flags & SAMPLE_GUESSED)
		return false;
	if (f->path)
		return e->n_user > 5;
	if (!is_in(user[0], (uintptr_t)spin - 1, 64))
		return false;
	for (unsigned i = 2; i + 3 < e->n_user; i++) {
		if (is_in(user[i], (uintptr_t)run_child, 128))
			return true;
	}
	return false;
}

/* The fields 26 and 27 of /proc/<pid>/stat; while the kernel loads a program, they are 0. */
static void read_code(struct fixture *f)
{
	char at[32], text[2048] = "", *field;
	FILE *file;

	snprintf(at, sizeof(at), "/proc/%d/stat", (int)f->child);
	file = fopen(at, "re");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	(void)fclose(file);
	field = strrchr(text, ')');
	for (unsigned i = 2; field && i < 26; i++)
		field = strchr(field + 1, ' ');
	assert_non_null(field);
	f->start_code = strtoull(field, &field, 10);
	f->end_code = strtoull(field, NULL, 10);
}

/*
 * Whether the address is in the executable of a child that executes one. Its exec event would say
 * where that is, but events may be lost.
 */
static bool is_in_executable(struct fixture *f, uint64_t address)
{
	struct stat executed, program;
	char at[32];

	snprintf(at, sizeof(at), "/proc/%d/exe", (int)f->child);
	if (f->start_code == 0 && stat(at, &executed) == 0 && stat(f->path, &program) == 0 &&
	    executed.st_ino == program.st_ino && executed.st_dev == program.st_dev)
		read_code(f);
	return address >= f->start_code && address < f->end_code;
}

static void on_sample(void *ctx, const struct sample_event *e)
{
	const uint64_t *user = (const uint64_t *)(e + 1) + e->n_kernel;
	struct fixture *f = ctx;
	char comm[SAMPLER_COMM_BYTES + 1] = "";
	struct process_snapshot *s;
	const struct process_seen seen = {
		.pid = (pid_t)e->header.tgid,
		.start_boottime_ns = e->header.start_boottime_ns,
		.comm = comm,
		.kernel_thread = e->flags & SAMPLE_KERNEL_THREAD,
		.addrs = user,
		.n_addrs = e->n_user,
	};

	memcpy(comm, e->comm, sizeof(e->comm));
	if ((pid_t)e->header.tgid != f->child)
		return;
	if (f->path && (e->n_user == 0 || !is_in_executable(f, user[0])))
		return;
	f->n_samples++;
	if (!f->unreported)
		assert_int_equal(process_table_get(with.processes, &seen, clock_monotonic_ns(), &s),
				 0);
	unwinder_see(with.unwinder, e);
	if (!(e->flags & SAMPLE_BY_TABLES) || e->n_user == 0)
		return;
	f->n_by_tables++;
	f->n_whole += is_whole(f, e, user);
}

static void start_child(struct fixture *f)
{
	f->child = fork();
	if (f->child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit((int)run_child());
	}
	assert_true(f->child > 0);
}

static int start_group(void **state)
{
	(void)state;
	sampling_begin(&with, HZ);
	assert_int_equal(metrics_new(&metrics), 0);
	assert_int_equal(unwinder_register_metrics(with.unwinder, metrics), 0);
	return 0;
}

static int stop_group(void **state)
{
	(void)state;
	metrics_free(metrics);
	sampling_end(&with);
	return 0;
}

static void on_exit_event(void *ctx, const struct event_header *e)
{
	(void)ctx;
	process_table_exit(with.processes, (pid_t)e->tgid, e->start_boottime_ns,
			   clock_monotonic_ns());
}

static void drain(struct fixture *f)
{
	struct sampler_handlers handlers = sampling_handlers(on_sample, f);

	handlers.on_exit = on_exit_event;
	assert_true(sampler_drain(with.sampler, &handlers) >= 0);
	(void)usleep(10000);
}

TEST(test_frames_of_the_c_library_are_unwound)
{
	struct fixture f = {0};

	start_child(&f);
	while (f.n_whole < ENOUGH)
		drain(&f);
	/* from the first whole one on, all are: the child does nothing else */
	f.n_by_tables = f.n_whole = 0;
	while (f.n_whole < ENOUGH)
		drain(&f);
	assert_int_equal(f.n_by_tables, f.n_whole);
	(void)kill(f.child, SIGKILL);
	assert_int_equal(waitpid(f.child, NULL, 0), f.child);
}

static double metric(const char *name)
{
	CLEANUP(buf_fini) struct buf text;
	const char *p;

	buf_init(&text, 1 << 20);
	assert_int_equal(metrics_write(metrics, &text), 0);
	assert_int_equal(buf_add(&text, "", 1), 0);
	p = strstr(text.data, name);
	assert_non_null(p);
	return strtod(p + strlen(name), NULL);
}

TEST(test_nothing_is_left_of_processes_that_exited)
{
	struct fixture f = {0};

	for (unsigned i = 0; i < 3; i++) {
		start_child(&f);
		f.n_by_tables = 0;
		while (f.n_by_tables == 0)
			drain(&f);
		(void)kill(f.child, SIGKILL);
		assert_int_equal(waitpid(f.child, NULL, 0), f.child);
	}
	/* as if its exit event had come and lingered */
	assert_true(process_table_scan(with.processes) > 0);
	/* metrics are set once a second */
	while (metric("\ncoroot_node_agent_unwind_tables_built_total ") == 0 ||
	       metric("\ncoroot_node_agent_unwind_processes ") > 0)
		(void)usleep(10000);
}

static void copy_program_to(int to)
{
	AUTO_CLOSE int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;

	assert_true(from >= 0 && to >= 0 && fstat(from, &st) == 0);
	for (off_t done = 0; done < st.st_size;)
		assert_true(sendfile(to, from, &done, (size_t)(st.st_size - done)) > 0);
	assert_int_equal(fchmod(to, 0700), 0);
	close(to); /* what is open for writing cannot be executed */
}

/* A copy of this program, which may be changed. */
static void copy_program(char path[32])
{
	memcpy(path, "/tmp/test_unwinder.XXXXXX", 26);
	copy_program_to(mkostemp(path, O_CLOEXEC));
}

static void execute(struct fixture *f, const char *path)
{
	f->path = path;
	f->start_code = f->end_code = 0;
	f->child = fork();
	if (f->child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)execl(path, path, SPIN, (char *)NULL);
		_exit(1);
	}
	assert_true(f->child > 0);
	f->n_samples = f->n_by_tables = f->n_whole = 0;
}

static void stop_child(struct fixture *f)
{
	(void)kill(f->child, SIGKILL);
	assert_int_equal(waitpid(f->child, NULL, 0), f->child);
}

static bool kernel_has_maple_trees(void)
{
	unsigned major = 0, minor = 0;
	struct utsname u;

	assert_int_equal(uname(&u), 0);
	assert_int_equal(sscanf(u.release, "%u.%u", &major, &minor), 2);
	return major > 6 || (major == 6 && minor >= 1);
}

/* Runs a program, which is not reported, until it has enough whole stacks, if it can have any. */
static void expect_known(struct fixture *f, const char *path)
{
	execute(f, path);
	while (f->n_samples < 2 * ENOUGH || (kernel_has_maple_trees() && f->n_whole < ENOUGH))
		drain(f);
	stop_child(f);
}

/* What most processes of a compiler driver are: gone before they can be read. */
TEST(test_processes_that_are_not_reported_use_tables_of_known_files)
{
	struct fixture f = {0};
	char path[32];

	copy_program(path);
	execute(&f, path);
	while (f.n_whole < ENOUGH)
		drain(&f);
	stop_child(&f);

	f.unreported = true;
	expect_known(&f, path);
	if (!kernel_has_maple_trees())
		assert_int_equal(f.n_by_tables, 0);

	/* changed, as far as anybody can tell: only ctime differs */
	assert_int_equal(chmod(path, 0755), 0);
	execute(&f, path);
	while (f.n_samples < 2 * ENOUGH)
		drain(&f);
	assert_int_equal(f.n_whole, 0);
	stop_child(&f);
	(void)unlink(path);
}

/* ---- layers ---- */

#define LAYERS "/tmp/layers"

/* The root of a container: the image's layer below one of its own. Returns 0 or -errno. */
static int mount_container(const char *name)
{
	char at[64], options[256];

	snprintf(at, sizeof(at), LAYERS "/%s", name);
	if (mkdir(at, 0700) < 0)
		return -errno;
	for (const char *const *p = (const char *const[]){"up", "work", "root", NULL}; *p; p++) {
		snprintf(at, sizeof(at), LAYERS "/%s/%s", name, *p);
		if (mkdir(at, 0700) < 0)
			return -errno;
	}
	snprintf(options, sizeof(options),
		 "lowerdir=" LAYERS "/image,upperdir=" LAYERS "/%s/up,workdir=" LAYERS "/%s/work",
		 name, name);
	return mount("overlay", at, "overlay", 0, options) < 0 ? -errno : 0;
}

TEST(test_files_of_an_image_are_known_in_each_container)
{
	struct fixture f = {0};

	assert_true(own_mounts_enter());
	assert_true(mkdir(LAYERS, 0700) == 0 || errno == EEXIST);
	assert_int_equal(mount("layers", LAYERS, "tmpfs", 0, NULL), 0);
	assert_int_equal(mkdir(LAYERS "/image", 0700), 0);
	copy_program_to(open(LAYERS "/image/program", O_WRONLY | O_CREAT | O_CLOEXEC, 0700));
	if (mount_container("one") == -ENODEV)
		return; /* a kernel without overlayfs */
	assert_int_equal(mount_container("two"), 0);
	execute(&f, LAYERS "/one/root/program");
	while (f.n_whole < ENOUGH)
		drain(&f);
	stop_child(&f);

	f.unreported = true;
	expect_known(&f, LAYERS "/one/root/program");
	expect_known(&f, LAYERS "/two/root/program");

	/* a container that changes a file gets one of its own, with the same number */
	assert_int_equal(chmod(LAYERS "/two/root/program", 0755), 0);
	f.unreported = false;
	execute(&f, LAYERS "/two/root/program");
	while (f.n_whole < ENOUGH)
		drain(&f);
	stop_child(&f);
	f.unreported = true;
	expect_known(&f, LAYERS "/two/root/program");
	(void)umount2(LAYERS, MNT_DETACH);
	(void)rmdir(LAYERS);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], SPIN) == 0)
		return (int)run_child();

	return unit_run(start_group, stop_group);
}
