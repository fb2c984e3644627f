/*
 * Processes that look like Go's, read while they run, end, execute themselves, are stopped,
 * or point to what is not there.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/system/clock.h"
#include "node-agent/go/heap/heap_reader.h"
#include "node-agent/go/image/go_reader.h"
#include "node-agent/go/image/go_write.h"
#include "test/lib/go_lookalike.h"
#include "test/lib/unit.h"

#define N_RECORDS 120u
#define LOOKALIKE "--lookalike"
#define STRESS_NS (3 * NS_PER_S)
#define PATIENCE_NS (300 * NS_PER_S)

/* Children make readers of their own, which have threads. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}

struct fixture {
	struct go_reader *reader;
	struct program_id id;
	pid_t child;
	struct heap_reading reading; /* the last */
	struct arena arena;
	struct profile profile;
	struct buf out;
};

static void begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	assert_int_equal(go_reader_new(&f->reader, NULL), 0);
	arena_init(&f->arena, LIMIT_PPROF_ARENA_BYTES);
	buf_init(&f->out, LIMIT_UPLOAD_BYTES);
}

static void end(struct fixture *f)
{
	if (f->child > 0) {
		kill(f->child, SIGKILL);
		waitpid(f->child, NULL, 0);
	}
	go_reader_free(f->reader);
	arena_fini(&f->arena);
	buf_fini(&f->out);
}

static pid_t fork_idle(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

/* A child with the memory that this process has now. */
static void start(struct fixture *f)
{
	f->child = fork_idle();
	assert_true(f->child > 0);
	assert_int_equal(go_reader_identify(f->reader, f->child, &f->id), 0);
}

static void stop(struct fixture *f)
{
	kill(f->child, SIGKILL);
	waitpid(f->child, NULL, 0);
	f->child = 0;
}

/* What the agent does in a turn. */
static int read_heap(struct fixture *f)
{
	const struct heap_reader_config cfg = {0};
	CLEANUP(bucket_history_freep) struct bucket_history *h = NULL;
	CLEANUP(go_opened_closep) struct go_opened *o = NULL;
	struct heap_subject subject;
	int r = heap_history_new(&h, BUCKET_HISTORY_FROM_ZERO);

	f->out.len = 0;
	memset(&f->reading, 0, sizeof(f->reading));
	if (r == 0)
		r = go_reader_open(f->reader, &f->id, &o);
	subject = (struct heap_subject){&f->id, h, 1};
	if (r == 0)
		r = heap_reader_read(o->runtime, &subject, &cfg, &f->out, &f->reading);
	return r < 0 && o ? program_target_reason(&o->target, &f->id, r) : r;
}

/* The profile of one image: all its records with the same count, which is returned. */
static int64_t expect_whole_profile(struct fixture *f, size_t n)
{
	struct err err = {""};
	int64_t count;

	arena_clear(&f->arena);
	assert_int_equal(pprof_decode(&f->profile, &f->arena, f->out.data, f->out.len, &err), 0);
	assert_int_equal(f->profile.n_samples, n);
	count = f->profile.samples[0].values[0];
	for (size_t i = 0; i < n; i++) {
		const int64_t *v = f->profile.samples[i].values;

		assert_int_equal(v[0], count);
		assert_int_equal(v[1], count * GO_LOOKALIKE_SIZE);
		assert_int_equal(v[2], count);
		assert_int_equal(v[3], count * GO_LOOKALIKE_SIZE);
	}
	return count;
}

/* ---- one process ---- */

TEST(test_a_go_process_is_detected_and_read)
{
	const struct profile_location *leaf;
	struct fixture f;

	begin(&f);
	assert_true(go_lookalike_build(N_RECORDS, 5));
	start(&f);
	assert_int_equal(go_reader_detect(f.reader, &f.id), 1);
	for (int turn = 0; turn < 2; turn++) { /* the second time from the cache */
		assert_int_equal(read_heap(&f), 0);
		assert_int_equal(expect_whole_profile(&f, N_RECORDS), 5);
	}
	leaf = &f.profile.locations[f.profile.samples[0].locations[0]];
	assert_memory_equal(f.profile.functions[leaf->lines[0].function].name.data, "main.", 5);
	assert_in_range(leaf->lines[0].line, 10, 30);
	end(&f);
}

TEST(test_other_programs_are_not_go_programs)
{
	struct program_id id;
	struct go_opened *o;
	struct fixture f;
	int r;

	begin(&f);
	f.child = fork();
	if (f.child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/bin/sleep", "sleep", "60", (char *)NULL);
		_exit(1);
	}
	do
		assert_int_equal(go_reader_identify(f.reader, f.child, &f.id), 0);
	while (go_reader_identify(f.reader, getpid(), &id) == 0 && id.exe.ino == f.id.exe.ino);
	assert_int_equal(go_reader_detect(f.reader, &f.id), 0);
	do /* it is only just being loaded */
		r = go_reader_open(f.reader, &f.id, &o);
	while (r == -ESRCH);
	assert_int_equal(r, -ENOENT);
	stop(&f);
	assert_int_equal(go_reader_identify(f.reader, (pid_t)f.id.pid, &id), -ESRCH);
	assert_int_equal(go_reader_detect(f.reader, &f.id), -ESRCH);
	assert_int_equal(go_reader_open(f.reader, &f.id, &o), -ESRCH);
	/* this very process, by a root without processes */
	go_reader_free(f.reader);
	f.reader = NULL;
	assert_int_equal(go_reader_new(&f.reader, "/nowhere"), -ENOENT);
	end(&f);
}

TEST(test_a_process_that_is_stopped_is_read)
{
	struct fixture f;
	int status;

	begin(&f);
	assert_true(go_lookalike_build(N_RECORDS, 6));
	start(&f);
	kill(f.child, SIGSTOP);
	assert_int_equal(waitpid(f.child, &status, WUNTRACED), f.child);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(read_heap(&f), 0);
	assert_int_equal(expect_whole_profile(&f, N_RECORDS), 6);
	end(&f);
}

TEST(test_a_page_between_unmapped_pages_is_read)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *own = go_lookalike_records;
	uint8_t *pages =
		mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fixture f;

	begin(&f);
	assert_true(pages != MAP_FAILED);
	go_lookalike_records = pages + page;
	assert_true(go_lookalike_build(10, 7));
	munmap(pages, page);
	munmap(pages + 2 * page, page);
	start(&f);
	assert_int_equal(read_heap(&f), 0);
	assert_int_equal(expect_whole_profile(&f, 10), 7);
	munmap(pages + page, page);
	stop(&f);
	start(&f);
	assert_int_equal(read_heap(&f), -EIO);
	go_lookalike_records = own;
	end(&f);
}

/* ---- lists that are broken ---- */

TEST(test_broken_lists_end_with_a_reason_and_no_profile)
{
	uint64_t first = (uint64_t)(uintptr_t)go_lookalike_records;
	size_t len = 0x10000;
	void *page = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t nothing = (uint64_t)(uintptr_t)page + len / 2;
	const struct {
		size_t word; /* of the oldest record */
		uint64_t v;
		int result;
	} breaks[] = {
		{1, first, -ELOOP},                      /* a circle of one */
		{1, 0, -ELOOP},                          /* of all: below */
		{1, 8, -EIO},                            /* no pages there */
		{1, first + 4, -EBADMSG},                /* not aligned */
		{1, first + 8, -EBADMSG},                /* within a record */
		{1, nothing, -EIO},                      /* children do not have it */
		{1, UINT64_C(0x0000800000000000), -EIO}, /* no address */
		{1, UINT64_C(0x4000000000000000), -EBADMSG},
		{1, UINT64_C(0xffff888000000000), -EBADMSG}, /* the kernel's */
		{1, UINT64_MAX - 7, -EBADMSG},
		{5, UINT64_C(1) << 40, -EBADMSG}, /* a huge stack */
		{5, GO_BUCKET_STACK_MAX + 1, -EBADMSG},
		{5, GO_BUCKET_STACK_MAX, -EBADMSG}, /* and one that could be */
		{4, UINT64_MAX, -EBADMSG},
	};
	struct fixture f;

	begin(&f);
	assert_true(page != MAP_FAILED && madvise(page, len, MADV_DONTFORK) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
		assert_true(go_lookalike_build(N_RECORDS, 3));
		memcpy(go_lookalike_records + breaks[i].word * 8, &breaks[i].v, 8);
		if (i == 1) {
			uint64_t head = go_lookalike_word(GO_LOOKALIKE_BUCKETS);

			memcpy(go_lookalike_records + 8, &head, sizeof(head));
		}
		start(&f);
		assert_int_equal(read_heap(&f), breaks[i].result);
		assert_int_equal(f.out.len, 0);
		stop(&f);
	}
	munmap(page, len);
	end(&f);
}

TEST(test_a_program_with_a_broken_module_is_rejected)
{
	/* words of the module data, each made impossible */
	static const size_t words[] = {0, 13, 20, 21, 22, 23};
	struct go_opened *o;
	struct fixture f;

	begin(&f);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		assert_true(go_lookalike_build(N_RECORDS, 3));
		go_lookalike_put(GO_IMAGE_MODULE + words[i] * 8, UINT64_MAX);
		start(&f);
		assert_int_equal(go_reader_open(f.reader, &f.id, &o), -ENOENT);
		stop(&f);
	}
	/* plugins that are nowhere, or beyond all addresses */
	assert_true(go_lookalike_build(N_RECORDS, 3));
	go_image_put_module(&go_lookalike, 24, GO_IMAGE_MODULE, UINT64_C(1) << 60);
	start(&f);
	assert_int_equal(go_reader_open(f.reader, &f.id, &o), -EBADMSG);
	stop(&f);
	go_image_put_module(&go_lookalike, 24, GO_IMAGE_MODULE, 64);
	start(&f);
	assert_int_equal(go_reader_open(f.reader, &f.id, &o), -EIO);
	end(&f);
}

/* ---- while it changes ---- */

static int run_lookalike(const char *text)
{
	unsigned generation = (unsigned)strtoul(text, NULL, 10);
	char next[16];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!go_lookalike_build(N_RECORDS, generation))
		return 1;
	/* from too short to be read to long enough on a busy machine */
	usleep(1000u << generation % 8);
	(void)snprintf(next, sizeof(next), "%u", generation + 1);
	execl("/proc/self/exe", "lookalike", LOOKALIKE, next, (char *)NULL);
	return 1;
}

/*
 * It executes itself again and again: each profile is of one image, and what fails has ended,
 * or is not set up yet, which a program of Go's is from its first instruction on.
 */
TEST(test_no_profile_mixes_two_images)
{
	unsigned n_read = 0, n_gone = 0, n_early = 0, n_generations = 0;
	uint64_t end_ns = clock_monotonic_ns() + STRESS_NS;
	int64_t last = 0;
	struct fixture f;

	begin(&f);
	assert_true(go_lookalike_build(N_RECORDS, 0));
	f.child = fork();
	if (f.child == 0) {
		execl("/proc/self/exe", "lookalike", LOOKALIKE, "1", (char *)NULL);
		_exit(1);
	}
	assert_int_equal(go_reader_identify(f.reader, f.child, &f.id), 0);
	while (clock_monotonic_ns() < end_ns ||
	       ((n_read < 10 || n_generations <= 3 || n_gone + n_early == 0) &&
		clock_monotonic_ns() < end_ns + PATIENCE_NS)) {
		int r = read_heap(&f);

		if (r == 0 && f.reading.n_samples > 0) {
			int64_t generation = expect_whole_profile(&f, N_RECORDS);

			assert_true(generation >= last);
			n_generations += generation > last;
			last = generation;
			n_read++;
		} else {
			if (r != 0 && r != -ESRCH)
				assert_int_equal(r, -ENOENT);
			n_gone += r == -ESRCH;
			n_early += r != -ESRCH;
		}
	}
	assert_true(n_read >= 10);
	assert_true(n_generations > 3);
	assert_true(n_gone + n_early > 0);
	end(&f);
}

struct killing {
	pid_t pid;
	useconds_t after_us;
};

static void *kill_it(void *arg)
{
	const struct killing *k = arg;

	usleep(k->after_us);
	kill(k->pid, SIGKILL);
	return NULL;
}

TEST(test_a_process_that_exits_is_read_completely_or_not_at_all)
{
	unsigned n_read = 0, n_gone = 0;
	struct fixture f;

	begin(&f);
	assert_true(go_lookalike_build(N_RECORDS, 9));
	/* would be if all were read, or none */
	for (useconds_t i = 0; i < 150 || (i < 1000 && (n_read == 0 || n_gone == 0)); i++) {
		struct killing k;
		pthread_t thread;
		int r;

		start(&f);
		k = (struct killing){f.child, i < 150 || n_read == 0 ? i * i : 0};
		assert_int_equal(pthread_create(&thread, NULL, kill_it, &k), 0);
		r = read_heap(&f);
		pthread_join(thread, NULL);
		if (r == 0)
			assert_int_equal(expect_whole_profile(&f, N_RECORDS), 9);
		else
			assert_int_equal(r, -ESRCH);
		n_read += r == 0;
		n_gone += r < 0;
		waitpid(f.child, NULL, 0);
		f.child = 0;
	}
	assert_true(n_read > 0);
	assert_true(n_gone > 0);
	end(&f);
}

/* ---- an id that is used again ---- */

/* /proc of this process's own namespace, mounted nowhere. */
static int open_proc(void)
{
	AUTO_CLOSE int context = fsopen("proc", FSOPEN_CLOEXEC);

	if (context < 0 || fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return fsmount(context, FSMOUNT_CLOEXEC, 0);
}

static bool set_last_pid(int proc_fd, pid_t last)
{
	AUTO_CLOSE int fd = openat(proc_fd, "sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
	char text[16];
	int n = snprintf(text, sizeof(text), "%d", (int)last);

	return fd >= 0 && write(fd, text, (size_t)n) == n;
}

/* Returned where it fails. */
static int reuse_id(int proc_fd)
{
	const struct go_write w = {
		.address = go_lookalike_address(GO_LOOKALIKE_SPARE), .from = 0, .to = 1u << 16};
	char root[32];
	struct fixture f = {0};
	struct go_opened *o = NULL;
	struct program_id other;
	uint64_t word;
	pid_t reused;

	(void)snprintf(root, sizeof(root), "/proc/self/fd/%d", proc_fd);
	if (!go_lookalike_build(N_RECORDS, 1) || go_reader_new(&f.reader, root) < 0)
		return __LINE__;
	f.child = fork_idle();
	if (go_reader_identify(f.reader, f.child, &f.id) < 0 ||
	    go_reader_open(f.reader, &f.id, &o) < 0)
		return __LINE__;
	kill(f.child, SIGKILL);
	waitpid(f.child, NULL, 0);
	usleep(30000); /* start times are given in hundredths of a second */
	if (!set_last_pid(proc_fd, f.child - 1))
		return __LINE__;
	reused = fork_idle();
	if (reused != f.child || go_reader_identify(f.reader, reused, &other) < 0)
		return __LINE__;
	/* what is open belongs to the exited process; what is opened belongs to another one */
	if (go_write_word(o->runtime, &f.id, &w) != -ESRCH ||
	    byte_source_read(&o->target.memory, w.address, &word, sizeof(word)) != -ENODATA ||
	    program_target_reason(&o->target, &f.id, -EIO) != -ESRCH)
		return __LINE__;
	go_opened_close(o);
	if (go_reader_open(f.reader, &f.id, &o) != -ESRCH ||
	    go_reader_detect(f.reader, &f.id) != -ESRCH)
		return __LINE__;
	/* with a runtime of the new one, and the id of the old one */
	if (go_reader_open(f.reader, &other, &o) < 0 ||
	    go_write_word(o->runtime, &f.id, &w) != -ESRCH ||
	    byte_source_read(&o->target.memory, w.address, &word, sizeof(word)) < 0 || word != 0)
		return __LINE__;
	if (go_write_word(o->runtime, &other, &w) != 1 ||
	    byte_source_read(&o->target.memory, w.address, &word, sizeof(word)) < 0 || word != w.to)
		return __LINE__;
	go_opened_close(o);
	go_reader_free(f.reader);
	return 0;
}

/* As the first process of a namespace of its own, with which all others in it end. */
static int in_new_namespace(void)
{
	int flags = CLONE_NEWPID | CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER), status;
	pid_t pid;

	if (unshare(flags) < 0)
		return __LINE__;
	pid = fork();
	if (pid == 0) {
		int proc_fd = open_proc();
		int line = proc_fd < 0 ? __LINE__ : reuse_id(proc_fd);

		if (line != 0)
			print_message("line %d: %s\n", line, strerror(errno));
		_exit(line != 0);
	}
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : __LINE__;
}

TEST(test_a_process_with_a_reused_pid_is_neither_read_nor_written_to)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(in_new_namespace() != 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- what may not be read ---- */

/* Without the rights of root; returned where it fails. */
static int try_denied(const struct program_id *id)
{
	struct program_id now;
	struct go_opened *o = NULL;
	struct go_reader *reader;

	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0))
		return __LINE__;
	if (go_reader_new(&reader, NULL) < 0)
		return __LINE__;
	if (go_reader_identify(reader, id->pid, &now) != -EACCES)
		return __LINE__;
	if (go_reader_detect(reader, id) != -EACCES)
		return __LINE__;
	if (go_reader_open(reader, id, &o) != -EACCES)
		return __LINE__;
	go_reader_free(reader);
	return 0;
}

TEST(test_missing_permission_is_reported)
{
	struct fixture f;
	int said[2], status;
	char byte;
	pid_t pid;

	begin(&f);
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	f.child = fork();
	if (f.child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)raise(SIGSTOP);
		(void)prctl(PR_SET_DUMPABLE, 0);
		(void)!write(said[1], "", 1);
		for (;;)
			pause();
	}
	assert_int_equal(waitpid(f.child, &status, WUNTRACED), f.child);
	assert_int_equal(go_reader_identify(f.reader, f.child, &f.id), 0);
	kill(f.child, SIGCONT);
	assert_int_equal(read(said[0], &byte, 1), 1);
	pid = fork();
	if (pid == 0) {
		int line = try_denied(&f.id);

		if (line != 0)
			print_message("line %d: %s\n", line, strerror(errno));
		_exit(line != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(said[0]);
	close(said[1]);
	end(&f);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], LOOKALIKE) == 0)
		return run_lookalike(argv[2]);
	return unit_run(NULL, NULL);
}
