/* Perf maps of processes that the test makes up, in a folder that looks like /proc. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/system/clock.h"
#include "common/thread/deadline_call.h"
#include "node-agent/files/jit_files.h"
#include "node-agent/files/loaded_library.h"
#include "node-agent/symbol/perf_map_files.h"
#include "node-agent/symbol/symbol_metrics.h"
#include "test/lib/fake_proc.h"
#include "test/lib/own_mounts.h"
#include "test/lib/silent_file.h"
#include "test/lib/unit.h"

#define PID 70u
#define START 123456u
#define MAP "70/root/tmp/perf-7.map"
#define USER 12345u
#define MAX_BYTES ((size_t)1024 * 1024)

struct fixture {
	struct fake_proc proc;
	struct deadline_caller *caller;
	struct perf_map_files *files;
	struct jit_files *held;
	uint64_t now_ns;
};

static void put_status(struct fake_proc *p, const char *name, unsigned uid)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "Name:\tx\nState:\tS (sleeping)\nUid:\t%u\t%u\t%u\t%u\nGid:\t0\t0\t0\t0\n"
		       "NSpid:\t70\t7\nShdPnd:\t0000000000000000\nSigIgn:\t0000000000000000\n"
		       "SigCgt:\t0000000000000000\n",
		       uid, uid, uid, uid);
	fake_proc_put_file(p, name, text);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	fake_proc_begin(&f->proc);
	fake_proc_start(&f->proc, PID, START, "exe");
	assert_int_equal(mkdirat(f->proc.root_fd, "70/root", 0755), 0);
	assert_int_equal(mkdirat(f->proc.root_fd, "70/root/tmp", 0755), 0);
	put_status(&f->proc, "70/status", geteuid());
	assert_int_equal(deadline_caller_new(&f->caller, 2 * NS_PER_S, 60 * NS_PER_S), 0);
	assert_int_equal(perf_map_files_new(&f->files, f->proc.root, f->caller, MAX_BYTES), 0);
	f->now_ns = NS_PER_S;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	perf_map_files_free(f->files);
	jit_files_unref(f->held);
	deadline_caller_free(f->caller);
	fake_proc_end(&f->proc);
	free(f);
	return 0;
}

static void next_cycle(struct fixture *f)
{
	perf_map_files_end_cycle(f->files);
	f->now_ns += 3600 * NS_PER_S;
}

/* name NULL: none. */
static void expect(struct fixture *f, uint64_t address, const char *name)
{
	struct perf_map_name found;
	const struct jit_process process = {PID, START, f->held};
	int r = perf_map_files_find(f->files, &process, address, f->now_ns, &found);

	assert_int_equal(r, name ? 0 : -ENOENT);
	if (name)
		assert_string_equal(found.function, name);
}

static void append(struct fixture *f, const char *text)
{
	int fd = openat(f->proc.root_fd, MAP, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* What the metric grows by in a lookup of the next cycle, which finds nothing. */
static void expect_refused(struct fixture *f, enum symbol_metric reason)
{
	uint64_t before = metric_get(&symbol_metrics[reason]);

	next_cycle(f);
	expect(f, 0x1000, NULL);
	assert_int_equal(metric_get(&symbol_metrics[reason]), before + 1);
	assert_int_equal(unlinkat(f->proc.root_fd, MAP, 0), 0);
}

TEST_FIXTURE(a_file_is_followed_as_it_grows, set_up, tear_down)
{
	struct fixture *f = *state;

	expect(f, 0x1000, NULL);
	fake_proc_put_file(&f->proc, MAP, "1000 10 first\n2000 10 sec");
	expect(f, 0x1000, NULL); /* polled once in a cycle */
	next_cycle(f);
	expect(f, 0x1000, "first");
	expect(f, 0x2000, NULL);
	append(f, "ond\n3000 10 third\n");
	next_cycle(f);
	expect(f, 0x1000, "first");
	expect(f, 0x2000, "second");
	expect(f, 0x3000, "third");
	assert_int_equal(perf_map_files_count(f->files), 1);
	assert_in_range(perf_map_files_bytes(f->files), 1, MAX_BYTES);
}

/* Nobody has written the file for that long. */
static void age(struct fixture *f, int64_t ms)
{
	int64_t ns = (int64_t)clock_realtime_ns() - ms * (int64_t)NS_PER_MS;
	const struct timespec then = {ns / (int64_t)NS_PER_S, ns % (int64_t)NS_PER_S};
	const struct timespec times[] = {then, then};

	assert_int_equal(utimensat(f->proc.root_fd, MAP, times, 0), 0);
}

TEST_FIXTURE(a_last_line_needs_no_newline_once_the_file_has_settled, set_up, tear_down)
{
	struct fixture *f = *state;
	char padded[4096 + 1];

	fake_proc_put_file(&f->proc, MAP, "1000 10 first\n2000 10 las");
	age(f, -3600000);
	expect(f, 0x1000, "first");
	expect(f, 0x2000, NULL);
	age(f, 60000);
	next_cycle(f);
	expect(f, 0x2000, "las");
	/* it was not the last */
	append(f, "t\n3000 10 next");
	next_cycle(f);
	expect(f, 0x2000, "last");
	age(f, 60000);
	next_cycle(f);
	expect(f, 0x3000, "next");
	/* whole blocks are what a buffer writes: the rest of the line is still in it */
	memset(padded, 'x', sizeof(padded));
	memcpy(padded, "4000 10 block", 13);
	padded[sizeof(padded) - 1] = '\0';
	fake_proc_put_file(&f->proc, MAP, padded);
	age(f, 60000);
	next_cycle(f);
	expect(f, 0x4000, NULL);
}

TEST_FIXTURE(a_file_that_is_written_anew_is_read_anew, set_up, tear_down)
{
	struct fixture *f = *state;

	fake_proc_put_file(&f->proc, MAP, "1000 10 old\n");
	expect(f, 0x1000, "old");
	/* the same inode, longer than before */
	fake_proc_put_file(&f->proc, MAP, "2000 10 longer\n3000 10 text\n");
	next_cycle(f);
	expect(f, 0x1000, NULL);
	expect(f, 0x2000, "longer");
	fake_proc_put_file(&f->proc, MAP, "4000 10 short\n");
	next_cycle(f);
	expect(f, 0x2000, NULL);
	expect(f, 0x4000, "short");
	assert_int_equal(unlinkat(f->proc.root_fd, MAP, 0), 0);
	next_cycle(f);
	expect(f, 0x4000, "short"); /* deleted: what is known stays true */
}

TEST_FIXTURE(of_a_large_file_the_newest_part_is_read, set_up, tear_down)
{
	enum { LINES = 1200000 };
	struct fixture *f = *state;
	FILE *file;
	int fd = openat(f->proc.root_fd, MAP, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	file = fdopen(fd, "w");
	assert_non_null(file);
	for (unsigned i = 0; i < LINES; i++)
		(void)fprintf(file, "%x 10 function_with_a_long_name_%u\n", 0x1000 + 16 * i, i);
	assert_int_equal(fclose(file), 0);
	expect(f, 0x1000 + 16 * (LINES - 1), "function_with_a_long_name_1199999");
	expect(f, 0x1000, NULL);
	assert_in_range(perf_map_files_bytes(f->files), 1, 2 * MAX_BYTES);
}

TEST_FIXTURE(what_is_no_file_of_the_process_is_refused, set_up, tear_down)
{
	struct fixture *f = *state;

	fake_proc_put_file(&f->proc, "70/root/tmp/other", "1000 10 a\n");
	assert_int_equal(symlinkat("other", f->proc.root_fd, MAP), 0);
	expect_refused(f, SYMBOL_METRIC_PERF_MAP_NOT_REGULAR);
	assert_int_equal(mkfifoat(f->proc.root_fd, MAP, 0666), 0);
	expect_refused(f, SYMBOL_METRIC_PERF_MAP_NOT_REGULAR);
	fake_proc_put_file(&f->proc, MAP, "1000 10 a\n");
	put_status(&f->proc, "70/status", USER);
	if (geteuid() == 0) {
		assert_int_equal(fchownat(f->proc.root_fd, MAP, USER + 1, 0, 0), 0);
		expect_refused(f, SYMBOL_METRIC_PERF_MAP_OWNER);
		fake_proc_put_file(&f->proc, MAP, "1000 10 of root\n");
		next_cycle(f);
		expect(f, 0x1000, "of root");
		assert_int_equal(fchownat(f->proc.root_fd, MAP, USER, 0, 0), 0);
		append(f, "2000 10 of the user\n");
		next_cycle(f);
		expect(f, 0x2000, "of the user");
		assert_int_equal(unlinkat(f->proc.root_fd, MAP, 0), 0);
	}
}

static void link_tmp(struct fixture *f, const char *to)
{
	(void)unlinkat(f->proc.root_fd, "70/root/tmp", 0);
	assert_int_equal(symlinkat(to, f->proc.root_fd, "70/root/tmp"), 0);
	next_cycle(f);
}

TEST_FIXTURE(a_tmp_that_is_a_link_is_followed_inside_the_root, set_up, tear_down)
{
	static const char *const inside[] = {"var/tmp", "/var/tmp", "/../../var/tmp", "/var/again"};
	static const char map[] = "70/root/var/tmp/perf-7.map";
	struct fixture *f = *state;
	char outside[160];

	assert_int_equal(mkdirat(f->proc.root_fd, "70/root/var", 0755), 0);
	assert_int_equal(
		renameat(f->proc.root_fd, "70/root/tmp", f->proc.root_fd, "70/root/var/tmp"), 0);
	assert_int_equal(symlinkat("/var/tmp", f->proc.root_fd, "70/root/var/again"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(inside); i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "5000 10 by_link_%zu\n", i);
		fake_proc_put_file(&f->proc, map, text);
		link_tmp(f, inside[i]);
		text[strlen(text) - 1] = '\0';
		expect(f, 0x5000, text + strlen("5000 10 "));
		assert_int_equal(unlinkat(f->proc.root_fd, map, 0), 0);
	}
	/* a folder with such a file, but not in the root of the process */
	assert_int_equal(mkdirat(f->proc.root_fd, "outside", 0755), 0);
	fake_proc_put_file(&f->proc, "outside/perf-7.map", "6000 10 a\n");
	(void)snprintf(outside, sizeof(outside), "%s/outside", f->proc.root);
	link_tmp(f, outside);
	expect(f, 0x6000, NULL);
	link_tmp(f, "../../outside");
	expect(f, 0x6000, NULL);
	link_tmp(f, "/tmp");
	expect(f, 0x6000, NULL);
}

TEST_FIXTURE(a_process_that_has_ended_is_forgotten, set_up, tear_down)
{
	struct fixture *f = *state;

	fake_proc_put_file(&f->proc, MAP, "1000 10 a\n");
	expect(f, 0x1000, "a");
	/* its pid is another process's */
	fake_proc_put_stat(&f->proc, PID, START + 1, 0);
	expect(f, 0x1000, "a");
	next_cycle(f);
	assert_int_equal(perf_map_files_count(f->files), 0);
	expect(f, 0x1000, NULL);
}

/* What the process table does when it first sees generated code. */
static void hold(struct fixture *f)
{
	AUTO_CLOSE int fd = openat(f->proc.root_fd, "70", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(jit_files_new(&f->held, fd, NULL, f->caller), 0);
}

/* As a process does that has exited: its folder is another one, or none. */
static void end_process(struct fixture *f)
{
	assert_int_equal(renameat(f->proc.root_fd, "70", f->proc.root_fd, "ended"), 0);
}

TEST_FIXTURE(a_process_that_ended_before_it_was_named_has_names, set_up, tear_down)
{
	struct fixture *f = *state;

	hold(f);
	assert_false(jit_files_has_map(f->held)); /* it is written later */
	fake_proc_put_file(&f->proc, MAP, "1000 10 first\n2000 10 without a newline");
	end_process(f);
	expect(f, 0x1000, "first");
	expect(f, 0x2000, "without a newline");
	next_cycle(f);
	assert_int_equal(perf_map_files_count(f->files), 0);
}

TEST_FIXTURE(a_map_that_was_deleted_at_the_end_has_names, set_up, tear_down)
{
	struct fixture *f = *state;

	fake_proc_put_file(&f->proc, MAP, "1000 10 first\n");
	hold(f);
	assert_true(jit_files_has_map(f->held));
	append(f, "2000 10 second\n");
	assert_int_equal(unlinkat(f->proc.root_fd, MAP, 0), 0);
	end_process(f);
	expect(f, 0x1000, "first");
	expect(f, 0x2000, "second");
}

TEST_FIXTURE(of_an_ended_process_nothing_but_its_own_file_is_read, set_up, tear_down)
{
	static const char map[] = "ended/root/tmp/perf-7.map";
	struct fixture *f = *state;

	hold(f);
	end_process(f);
	fake_proc_put_file(&f->proc, "other", "1000 10 a\n");
	assert_int_equal(symlinkat("../../../other", f->proc.root_fd, map), 0);
	expect(f, 0x1000, NULL);
	assert_int_equal(unlinkat(f->proc.root_fd, map, 0), 0);
	assert_int_equal(mkfifoat(f->proc.root_fd, map, 0666), 0);
	next_cycle(f);
	expect(f, 0x1000, NULL);
}

#define DUMP "70/root/tmp/jit-7.dump"
#define DUMP_HEADER_BYTES 40

/* A header with this time, in a file that is made anew. */
static void begin_dump(struct fixture *f, uint64_t time)
{
	const uint32_t words[] = {0x4a695444, 1, DUMP_HEADER_BYTES, 0, 0, 7};
	const uint64_t flags = 0;
	int fd = openat(f->proc.root_fd, DUMP, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, words, sizeof(words)), sizeof(words));
	assert_int_equal(write(fd, &time, sizeof(time)), sizeof(time));
	assert_int_equal(write(fd, &flags, sizeof(flags)), sizeof(flags));
	close(fd);
}

static void append_code(struct fixture *f, uint64_t address, const char *name, off_t code_bytes)
{
	const uint64_t words[] = {7, address, address, 16, address};
	const size_t len = strlen(name) + 1;
	const uint32_t head[] = {0, (uint32_t)(16 + sizeof(words) + len + (size_t)code_bytes), 0,
				 0};
	int fd = openat(f->proc.root_fd, DUMP, O_WRONLY | O_APPEND | O_CLOEXEC);
	struct stat st;

	assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
	assert_int_equal(write(fd, words, sizeof(words)), sizeof(words));
	assert_int_equal(write(fd, name, len), len);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(ftruncate(fd, st.st_size + code_bytes), 0);
	close(fd);
}

static void hold_dump(struct fixture *f)
{
	AUTO_CLOSE int fd = openat(f->proc.root_fd, "70", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(mapped_file_unrefp) struct mapped_file *dump = NULL;
	const struct file_id id = {.ino = 1};

	assert_int_equal(mapped_file_new(&dump, &id, openat(f->proc.root_fd, DUMP, O_RDONLY),
					 "/tmp/jit-7.dump", 15),
			 0);
	assert_int_equal(jit_files_new(&f->held, fd, dump, f->caller), 0);
}

TEST_FIXTURE(a_jitdump_is_followed_as_it_grows, set_up, tear_down)
{
	struct fixture *f = *state;

	begin_dump(f, 1);
	append_code(f, 0x1000, "first", 64);
	hold_dump(f);
	expect(f, 0x1000, "first");
	expect(f, 0x2000, NULL);
	/* more code than is read at once: it is not read at all */
	append_code(f, 0x2000, "large", (off_t)1 << 31);
	append_code(f, 0x3000, "behind", 0);
	next_cycle(f);
	expect(f, 0x1000, "first");
	expect(f, 0x2000, "large");
	expect(f, 0x3000, "behind");
	/* the same inode, but the program has begun again */
	begin_dump(f, 2);
	append_code(f, 0x4000, "again", 64);
	next_cycle(f);
	expect(f, 0x1000, NULL);
	expect(f, 0x4000, "again");
	append_code(f, 0x5000, "at the end", 64);
	next_cycle(f);
	end_process(f);
	expect(f, 0x5000, "at the end");
}

TEST_FIXTURE(a_map_names_what_is_not_in_the_jitdump, set_up, tear_down)
{
	struct fixture *f = *state;

	begin_dump(f, 1);
	append_code(f, 0x1000, "of the dump", 0);
	fake_proc_put_file(&f->proc, MAP, "1000 10 of the map\n2000 10 of the map\n");
	hold_dump(f);
	expect(f, 0x1000, "of the dump");
	expect(f, 0x2000, "of the map");
}

TEST(a_jitdump_is_known_by_its_name)
{
	static const char *const dumps[] = {"/tmp/jit-7.dump", "/a b/jit-123456.dump",
					    "jit-1.dump"};
	static const char *const others[] = {"",
					     "/tmp/jit-.dump",
					     "/tmp/jit-x.dump",
					     "/tmp/jit-7.dump (deleted)x",
					     "/tmp/jit-7.dumps",
					     "/tmp/xjit-7.dump",
					     "/tmp/jit-7.dump/x",
					     ".dump",
					     "jit-"};

	for (size_t i = 0; i < ARRAY_SIZE(dumps); i++)
		assert_true(jit_files_is_dump(dumps[i], strlen(dumps[i])));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(jit_files_is_dump(others[i], strlen(others[i])));
}

TEST_FIXTURE(a_file_that_hangs_is_not_asked_again, set_up, tear_down)
{
	struct fixture *f = *state;
	uint64_t before = metric_get(&symbol_metrics[SYMBOL_METRIC_PERF_MAP_HANGS]);
	struct silent_file *silent = silent_file_new();
	char dir[128], file[136], map[128];

	if (!silent)
		skip();
	assert_true(own_mounts_enter());
	(void)snprintf(dir, sizeof(dir), "%s/fuse", f->proc.root);
	(void)snprintf(map, sizeof(map), "%s/" MAP, f->proc.root);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(move_mount(silent->mount, "", AT_FDCWD, dir, MOVE_MOUNT_F_EMPTY_PATH), 0);
	fake_proc_put_file(&f->proc, MAP, "");
	(void)snprintf(file, sizeof(file), "%s/file", dir);
	assert_int_equal(mount(file, map, NULL, MS_BIND, NULL), 0);
	silent_file_silence(silent);
	expect(f, 0x1000, NULL);
	assert_int_equal(metric_get(&symbol_metrics[SYMBOL_METRIC_PERF_MAP_HANGS]), before + 1);
	next_cycle(f);
	expect(f, 0x1000, NULL);
	assert_int_equal(metric_get(&symbol_metrics[SYMBOL_METRIC_PERF_MAP_HANGS]), before + 1);
	silent_file_free(silent);
	assert_int_equal(umount2(map, MNT_DETACH), 0);
	assert_int_equal(umount2(dir, MNT_DETACH), 0);
}
