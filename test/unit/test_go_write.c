/* Writes to a child that looks like a Go program. A refused write must leave it unchanged. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/privilege/capabilities.h"
#include "node-agent/go/image/go_reader.h"
#include "node-agent/go/image/go_write.h"
#include "test/lib/go_lookalike.h"
#include "test/lib/unit.h"

#define ON (UINT64_C(1) << 19)
#define AT GO_LOOKALIKE_SPARE
#define GUARD GO_LOOKALIKE_DISABLED

struct fixture {
	struct go_reader *reader;
	struct program_id id;
	struct go_opened *o;
	pid_t child;
	struct go_write w;
};

/* A store of the program in the moment before, or after, the first pwrite(2) of the agent. */
static struct {
	int mem_fd; /* of the child */
	uint64_t address;
	uint64_t value;
	bool after;
	bool armed;
} store;

static void store_now(void)
{
	store.armed = false;
	assert_int_equal(syscall(SYS_pwrite64, store.mem_fd, &store.value, sizeof(store.value),
				 store.address),
			 sizeof(store.value));
}

/* In the place of libc's. */
ssize_t pwrite(int fd, const void *from, size_t len, off_t offset)
{
	bool armed = store.armed;
	ssize_t n;

	if (armed && !store.after)
		store_now();
	n = syscall(SYS_pwrite64, fd, from, len, offset);
	if (armed && store.after)
		store_now();
	return n;
}

/* A child with this value, and with a guard of 1. */
static void begin(struct fixture *f, uint64_t value)
{
	memset(f, 0, sizeof(*f));
	assert_true(go_lookalike_build(4, 1));
	go_lookalike_put(AT, value);
	go_lookalike_put(GUARD, 0x7f01);
	f->child = fork();
	if (f->child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_int_equal(go_reader_new(&f->reader, NULL), 0);
	assert_int_equal(go_reader_identify(f->reader, f->child, &f->id), 0);
	assert_int_equal(go_reader_open(f->reader, &f->id, &f->o), 0);
	f->w = (struct go_write){.address = go_lookalike_address(AT),
				 .from = 0,
				 .to = ON,
				 .guard_address = go_lookalike_address(GUARD),
				 .guard_value = 1};
}

static void end(struct fixture *f)
{
	go_opened_close(f->o);
	go_reader_free(f->reader);
	kill(f->child, SIGKILL);
	waitpid(f->child, NULL, 0);
}

static int write_it(struct fixture *f)
{
	return go_write_word(f->o->runtime, &f->id, &f->w);
}

/* The word and its neighbours. */
static void expect(struct fixture *f, uint64_t value)
{
	uint64_t words[3];

	assert_int_equal(byte_source_read(&f->o->target.memory, go_lookalike_address(AT) - 8, words,
					  sizeof(words)),
			 0);
	assert_int_equal(words[0], 0x7f01);
	assert_int_equal(words[1], value);
	assert_int_equal(words[2], 0);
}

TEST(test_one_byte_is_written_and_taken_back)
{
	struct fixture f;

	begin(&f, 0);
	assert_int_equal(write_it(&f), 1);
	expect(&f, ON);
	assert_int_equal(write_it(&f), 0); /* already written */
	f.w.from = ON;
	f.w.to = 0;
	assert_int_equal(write_it(&f), 1);
	expect(&f, 0);
	/* in each of its bytes, and without a guard */
	f.w.guard_address = 0;
	for (int i = 0; i < 8; i++) {
		f.w.from = 0;
		f.w.to = UINT64_C(0x80) << (8 * i);
		assert_int_equal(write_it(&f), 1);
		expect(&f, f.w.to);
		f.w.from = f.w.to;
		f.w.to = 0;
		assert_int_equal(write_it(&f), 1);
	}
	expect(&f, 0);
	end(&f);
}

TEST(test_values_that_have_more_than_one_byte_are_refused)
{
	static const uint64_t values[][2] = {{0, 0},     {0, 0x101}, {0, UINT64_MAX},
					     {0x180, 0}, {1, 2},     {ON, ON}};
	struct fixture f;

	begin(&f, 0);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		f.w.from = values[i][0];
		f.w.to = values[i][1];
		assert_int_equal(write_it(&f), -EINVAL);
	}
	expect(&f, 0);
	end(&f);
}

TEST(test_a_value_that_the_program_chose_is_left_alone)
{
	static const uint64_t values[] = {1, 4096, ON | 1, ON << 1, UINT64_MAX};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct fixture f;

		begin(&f, values[i]);
		assert_int_equal(write_it(&f), -EALREADY);
		f.w.from = ON;
		f.w.to = 0;
		assert_int_equal(write_it(&f), -EALREADY);
		expect(&f, values[i]);
		end(&f);
	}
}

/*
 * Lets the program store a value around the agent's write; returns what the agent's write
 * returned.
 */
static int write_while_storing(struct fixture *f, uint64_t value, bool after)
{
	AUTO_CLOSE int mem_fd = openat(f->o->target.proc_fd, "mem", O_RDWR | O_CLOEXEC);
	int r;

	assert_true(mem_fd >= 0);
	store.mem_fd = mem_fd;
	store.address = f->w.address;
	store.value = value;
	store.after = after;
	store.armed = true;
	r = write_it(f);
	assert_false(store.armed);
	return r;
}

TEST(test_a_value_stored_between_check_and_write_stays_as_it_is)
{
	static const uint64_t values[] = {1, 100, 4096, 65535, UINT64_C(0x3b9aca00ff)};
	struct fixture f;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		begin(&f, 0);
		f.w.to = i % 2 ? ON : UINT64_C(0x2000000000000);
		assert_int_equal(write_while_storing(&f, values[i], false), -EALREADY);
		expect(&f, values[i]);
		end(&f);
	}
}

TEST(test_a_value_stored_right_after_the_write_stays_as_it_is)
{
	struct fixture f;

	begin(&f, 0);
	assert_int_equal(write_while_storing(&f, 1, true), -EALREADY);
	expect(&f, 1);
	end(&f);
	begin(&f, 0);
	assert_int_equal(write_while_storing(&f, 0, true), -EALREADY);
	expect(&f, 0);
	end(&f);
}

TEST(test_a_value_stored_while_ours_is_taken_back_stays_as_it_is)
{
	struct fixture f;

	for (int after = 0; after < 2; after++) {
		begin(&f, ON);
		f.w.from = ON;
		f.w.to = 0;
		assert_int_equal(write_while_storing(&f, 4096, after), -EALREADY);
		expect(&f, 4096);
		end(&f);
	}
}

/* go_write.h says what is left of the race. */
TEST(test_a_value_that_needs_our_byte_loses_it_and_nothing_else)
{
	struct fixture f;

	begin(&f, 0);
	assert_int_equal(write_while_storing(&f, ON << 1 | 5, false), -EALREADY);
	expect(&f, 5);
	end(&f);
	begin(&f, 0);
	assert_int_equal(write_while_storing(&f, ON << 1, false), 1);
	expect(&f, ON);
	end(&f);
}

TEST(test_a_wrong_guard_prevents_the_write)
{
	struct fixture f;

	begin(&f, 0);
	f.w.guard_value = 0;
	assert_int_equal(write_it(&f), -EALREADY);
	f.w.guard_value = 1;
	f.w.guard_address += 1; /* 0x7f there */
	assert_int_equal(write_it(&f), -EALREADY);
	expect(&f, 0);
	end(&f);
}

TEST(test_addresses_outside_of_variables_are_not_written_to)
{
	struct fixture f;

	begin(&f, 0);
	const uint64_t addresses[] = {
		go_lookalike_address(AT) + 4,            /* not a word */
		go_lookalike_address(GO_IMAGE_TEXT),     /* code */
		go_lookalike_address(GO_IMAGE_DATA) - 8, /* before all data */
		go_lookalike_address(GO_IMAGE_DATA) + 0x4000,
		(uint64_t)(uintptr_t)go_lookalike_records,
		0,
		UINT64_MAX - 7,
	};

	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		f.w.address = addresses[i];
		assert_int_equal(write_it(&f), -ENOTSUP);
	}
	f.w.address = go_lookalike_address(AT);
	f.w.guard_address = go_lookalike_address(GO_IMAGE_TEXT);
	assert_int_equal(write_it(&f), -ENOTSUP);
	expect(&f, 0);
	end(&f);
}

TEST(test_a_newer_release_is_not_written_to)
{
	struct fixture f;

	begin(&f, 0);
	f.o->runtime->image.minor = GO_WRITE_MINOR_MAX + 1;
	assert_int_equal(write_it(&f), -ENOTSUP);
	expect(&f, 0);
	f.o->runtime->image.minor = GO_WRITE_MINOR_MAX;
	assert_int_equal(write_it(&f), 1);
	end(&f);
}

TEST(test_only_the_process_that_is_meant_is_written_to)
{
	struct program_id id;
	struct fixture f;

	begin(&f, 0);
	id = f.id;
	f.id.start_time--;
	assert_int_equal(write_it(&f), -ESRCH);
	f.id = id;
	f.id.exe.ino++;
	assert_int_equal(write_it(&f), -ESRCH);
	f.id = id;
	f.id.exe.dev++;
	assert_int_equal(write_it(&f), -ESRCH);
	f.id = id;
	/* as after it has executed its own file again: addresses are others then */
	f.o->target.image++;
	assert_int_equal(write_it(&f), -ESRCH);
	f.o->target.image--;
	expect(&f, 0);
	kill(f.child, SIGKILL);
	waitpid(f.child, NULL, 0);
	assert_int_equal(write_it(&f), -ESRCH);
	end(&f);
}

/* A zombie still has its name and start time. */
TEST(test_a_process_that_exited_is_not_written_to)
{
	struct fixture f;
	siginfo_t info;
	int r;

	begin(&f, 0);
	kill(f.child, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)f.child, &info, WEXITED | WNOWAIT), 0);
	r = write_it(&f);
	assert_true(r == -ESRCH || r == -ENOENT || r == -EACCES);
	end(&f);
}

static int write_as_told(void *arg)
{
	return write_it(arg);
}

/* Runs fn without the capabilities of root that let it write to files of others. */
struct without_rights {
	int (*fn)(void *arg);
	void *arg;
	int result;
};

static bool run_without_rights(const void *arg)
{
	struct without_rights *w = *(struct without_rights *const *)arg;

	w->result = w->fn(w->arg);
	return true;
}

static int without_rights(int (*fn)(void *arg), void *arg)
{
	struct without_rights w = {fn, arg, 0}, *p = &w;

	assert_true(capabilities_try_without(CAPABILITY(CAP_DAC_OVERRIDE), run_without_rights, &p));
	return w.result;
}

/* Its user is another one, and so may read its memory but not write to it. */
static void begin_as_another_user(struct fixture *f, uint64_t value)
{
	begin(f, value);
	go_opened_close(f->o);
	kill(f->child, SIGKILL);
	waitpid(f->child, NULL, 0);
	f->child = fork();
	if (f->child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
			_exit(1);
		(void)prctl(PR_SET_DUMPABLE, 1); /* its files in /proc are the user's again */
		(void)raise(SIGSTOP);
		for (;;)
			pause();
	}
	assert_int_equal(waitpid(f->child, NULL, WUNTRACED), f->child);
	assert_int_equal(go_reader_identify(f->reader, f->child, &f->id), 0);
	assert_int_equal(go_reader_open(f->reader, &f->id, &f->o), 0);
}

TEST(test_a_refused_write_says_so_and_one_that_is_not_due_is_not_tried)
{
	struct fixture f;

	if (geteuid() != 0)
		skip();
	begin_as_another_user(&f, 0);
	assert_int_equal(without_rights(write_as_told, &f), -EROFS);
	expect(&f, 0);
	f.w.to = 0;
	f.w.from = ON;
	assert_int_equal(without_rights(write_as_told, &f), 0);
	end(&f);
	begin_as_another_user(&f, 4096); /* the program's own choice */
	assert_int_equal(without_rights(write_as_told, &f), -EALREADY);
	/* another process than the one that is meant is not "refused" */
	f.w.from = 4096;
	f.w.to = 0;
	f.id.start_time--;
	assert_int_equal(without_rights(write_as_told, &f), -ESRCH);
	end(&f);
}
