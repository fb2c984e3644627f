/*
 * On this program, and on files that are none. The program that reads them is this one, executed
 * with the agent's command.
 */
#include "cluster-agent/symbols/symbol_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster-agent/symbols/symbol_helper.h"
#include "common/symbols/symbol_file.h"
#include "test/lib/slow_symbols.h"
#include "test/lib/unit.h"

/* As much time as a slow machine needs. */
#define PATIENCE_MS 300000

static char own_path[PATH_MAX]; /* /proc/self/exe would be valgrind's */

static struct symbol_reader *new_reader(void)
{
	struct symbol_reader *r = NULL;

	assert_int_equal(symbol_reader_new(&r, own_path), 0);
	return r;
}

static void take(struct symbol_reader *r, struct symbol_reader_answer *ret)
{
	struct pollfd p = {.fd = symbol_reader_fd(r), .events = POLLIN};
	int result;

	do {
		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		result = symbol_reader_take(r, ret);
	} while (result == -EAGAIN);
	assert_int_equal(result, 0);
}

static int memory(const void *data, size_t len)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	return fd;
}

/* Asks for the table of a file, which is closed, and returns that of the answer. */
static int read_file(struct symbol_reader *r, int fd, int program, struct symbol_reader_answer *ret)
{
	int table = memory("", 0);

	assert_int_equal(symbol_reader_ask(r, &(struct symbol_reader_files){fd, program, table}),
			 0);
	close(fd);
	if (program >= 0)
		close(program);
	take(r, ret);
	return table;
}

static void expect_refusal(struct symbol_reader *r, int fd, int result, const char *why)
{
	struct symbol_reader_answer a;
	struct stat st;
	int table = read_file(r, fd, -1, &a);

	assert_int_equal(a.result, result);
	if (why)
		assert_non_null(strstr(a.why, why));
	assert_int_equal(fstat(table, &st), 0);
	assert_int_equal(st.st_size, 0);
	close(table);
}

static struct symbol_file *open_table(int fd)
{
	struct symbol_file *f = NULL;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(
		symbol_file_open(
			&f, &(struct symbol_file_source){.fd = fd, .n_bytes = (uint64_t)st.st_size},
			NULL),
		0);
	assert_int_equal(symbol_file_check(f, NULL), 0);
	return f;
}

TEST(a_program_becomes_a_table)
{
	CLEANUP(symbol_reader_freep) struct symbol_reader *r = new_reader();
	struct symbol_reader_answer a;
	int table = read_file(r, open(own_path, O_RDONLY | O_CLOEXEC),
			      open(own_path, O_RDONLY | O_CLOEXEC), &a);
	struct symbol_file *f;

	assert_int_equal(a.result, 0);
	assert_string_equal(a.why, "");
	f = open_table(table);
	assert_true(symbol_file_header(f)->n_functions > 100);
	assert_true(symbol_file_header(f)->n_segments > 0);
	symbol_file_free(f);
	close(table);
}

TEST(what_is_no_program_has_a_reason_and_the_next_file_is_read)
{
	static const char zeros[4096];
	CLEANUP(symbol_reader_freep) struct symbol_reader *r = new_reader();
	struct symbol_reader_answer a;

	for (unsigned i = 0; i < 3; i++) {
		expect_refusal(r, memory("<html>", 6), -ENOEXEC, "not a 64-bit");
		expect_refusal(r, memory("", 0), -ENOEXEC, NULL);
		expect_refusal(r, memory(zeros, sizeof(zeros)), -ENOEXEC, NULL);
	}
	close(read_file(r, open(own_path, O_RDONLY | O_CLOEXEC), -1, &a));
	assert_int_equal(a.result, 0);
}

TEST(one_request_at_a_time)
{
	CLEANUP(symbol_reader_freep) struct symbol_reader *r = new_reader();
	int fd = open(own_path, O_RDONLY | O_CLOEXEC), table = memory("", 0);
	const struct symbol_reader_files files = {fd, -1, table};
	struct symbol_reader_answer a;

	assert_int_equal(symbol_reader_ask(r, &files), 0);
	assert_int_equal(symbol_reader_ask(r, &files), -EBUSY);
	take(r, &a);
	assert_int_equal(symbol_reader_take(r, &a), -EAGAIN);
	close(fd);
	close(table);
}

/* ---- a process that is killed ---- */

/* In a container there may be no init that reaps orphans. */
static bool is_zombie(pid_t pid)
{
	char path[64], line[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return true;
	(void)!fgets(line, sizeof(line), f);
	(void)fclose(f);
	return strstr(line, ") Z ") || strstr(line, ") X ");
}

TEST(a_reader_that_is_killed_midway_is_an_error_and_the_next_file_is_read)
{
	CLEANUP(symbol_reader_freep) struct symbol_reader *r = new_reader();
	int fd = slow_symbols_file(SLOW_SYMBOLS_MANY), table = memory("", 0);
	const struct symbol_reader_files files = {fd, -1, table};
	struct symbol_reader_answer a;
	pid_t helper = 0, reader = 0;

	eventually((helper = slow_symbols_helper()) > 0);
	assert_int_equal(symbol_reader_ask(r, &files), 0);
	eventually((reader = slow_symbols_child(helper)) > 0);
	assert_int_equal(kill(reader, SIGKILL), 0);
	take(r, &a);
	assert_int_equal(a.result, -EIO);
	assert_int_equal(symbol_reader_ask(r, &files), 0);
	take(r, &a);
	assert_int_equal(a.result, 0);
	close(fd);
	close(table);
}

TEST(a_helper_that_is_killed_comes_back)
{
	CLEANUP(symbol_reader_freep) struct symbol_reader *r = new_reader();
	int fd = open(own_path, O_RDONLY | O_CLOEXEC), table = memory("", 0);
	const struct symbol_reader_files files = {fd, -1, table};
	struct symbol_reader_answer a;
	pid_t helper = 0;

	for (unsigned i = 0; i < 2; i++) {
		struct pollfd p = {.fd = symbol_reader_fd(r), .events = POLLIN};

		eventually((helper = slow_symbols_helper()) > 0);
		assert_int_equal(kill(helper, SIGKILL), 0);
		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		assert_int_equal(symbol_reader_take(r, &a), -ECONNRESET);
		assert_int_equal(symbol_reader_ask(r, &files), 0);
		take(r, &a);
		assert_int_equal(a.result, 0);
	}
	close(fd);
	close(table);
}

TEST(nothing_remains_of_a_helper_at_work_that_is_not_needed_any_more)
{
	struct symbol_reader *r = new_reader();
	int fd = slow_symbols_file(SLOW_SYMBOLS_MANY), table = memory("", 0);
	const struct symbol_reader_files files = {fd, -1, table};
	pid_t helper = 0, reader = 0;

	assert_int_equal(symbol_reader_ask(r, &files), 0);
	eventually((helper = slow_symbols_helper()) > 0);
	eventually((reader = slow_symbols_child(helper)) > 0);
	symbol_reader_free(r);
	eventually(kill(helper, 0) < 0 || is_zombie(helper));
	eventually(kill(reader, 0) < 0 || is_zombie(reader));
	close(fd);
	close(table);
}

TEST(a_keeper_that_is_killed_with_its_helper_is_noticed)
{
	CLEANUP(symbol_reader_freep) struct symbol_reader *r = new_reader();
	int fd = open(own_path, O_RDONLY | O_CLOEXEC), table = memory("", 0);
	struct pollfd p = {.fd = symbol_reader_fd(r), .events = POLLIN};
	struct symbol_reader_answer a;

	assert_int_equal(kill(-slow_symbols_child(getpid()), SIGKILL), 0);
	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	assert_int_equal(symbol_reader_take(r, &a), -EPIPE);
	assert_int_equal(symbol_reader_ask(r, &(struct symbol_reader_files){fd, -1, table}),
			 -EPIPE);
	close(fd);
	close(table);
}

TEST(nobody_starts_the_helper_by_hand)
{
	struct err err = {.msg = ""};

	/* descriptor 3 is no socket of ours here */
	assert_true(symbol_helper_run(&err) < 0);
	assert_non_null(strstr(err.msg, "starts this command by itself"));
}

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);

	if (argc == 2 && strcmp(argv[1], SYMBOL_HELPER_COMMAND) == 0)
		return symbol_helper_run(NULL) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	assert_true(n > 0);
	return unit_run(NULL, NULL);
}
