#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "node-agent/heap/heap_force.h"
#include "node-agent/process/procfs.h"
#include "test/lib/unit.h"

/* What would be Go's, in the child; our own copy stays as it is. */
static struct {
	uint64_t before;
	uint64_t rate;
	uint64_t behind;
	uint8_t disabled;
} variables __attribute__((used));

/* clang-format off */
__asm__(".set \"runtime.MemProfileRate\", variables + 8\n"
	".set \"runtime.disableMemoryProfiling\", variables + 24\n");
/* clang-format on */

struct fixture {
	pid_t child;
	int root_fd;
	struct go_target_files files;
	struct go_process_id id;
	struct go_target target;
	struct go_executable executable;
	struct go_runtime runtime;
};

/* A child with these values. */
static void begin(struct fixture *f, uint64_t rate, uint8_t disabled)
{
	AUTO_CLOSE int proc_fd = -1;
	struct proc_stat st;

	variables.rate = rate;
	variables.disabled = disabled;
	f->child = fork();
	if (f->child == 0) {
		for (;;)
			pause();
	}
	assert_true(f->child > 0);
	f->root_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f->files.layouts = NULL;
	assert_int_equal(deadline_caller_new(&f->files.caller, UINT64_C(60000000000), 1), 0);
	proc_fd = procfs_open_process(f->root_fd, f->child);
	assert_int_equal(procfs_read_stat(proc_fd, &st), 0);
	f->id = (struct go_process_id){.pid = f->child, .start_time = st.start_time};
	assert_int_equal(go_target_read_key(proc_fd, &f->id.exe), 0);
	assert_int_equal(go_target_open(&f->target, f->root_fd, &f->id, &f->files), 0);

	f->executable = (struct go_executable){
		.sought = 1u << GO_MEMORY_RATE | 1u << GO_MEMORY_DISABLED,
	};
	f->executable.at[GO_MEMORY_RATE] = (uint64_t)(uintptr_t)&variables.rate - f->target.bias;
	f->executable.at[GO_MEMORY_DISABLED] =
		(uint64_t)(uintptr_t)&variables.disabled - f->target.bias;
	f->runtime = (struct go_runtime){
		.target = &f->target,
		.image = {.layout = &f->target.layout,
			  .file = &f->target.file,
			  .memory = &f->target.memory,
			  .bias = f->target.bias,
			  .minor = 24},
		.executable = &f->executable,
		.n_modules = 1,
	};
	f->runtime.modules[0].data[1] = (struct go_range){(uint64_t)(uintptr_t)&variables,
							  (uint64_t)(uintptr_t)(&variables + 1)};
}

static void end(struct fixture *f)
{
	kill(f->child, SIGKILL);
	waitpid(f->child, NULL, 0);
	go_target_close(&f->target);
	deadline_caller_free(f->files.caller);
	close(f->root_fd);
}

static int force(struct fixture *f, enum heap_force_wish wish)
{
	return heap_force(&f->runtime, &f->id, wish);
}

static void expect_rate(struct fixture *f, uint64_t rate)
{
	uint64_t words[3];

	assert_int_equal(byte_source_read(&f->target.memory, (uint64_t)(uintptr_t)&variables, words,
					  sizeof(words)),
			 0);
	assert_int_equal(words[0], 0);
	assert_int_equal(words[1], rate);
	assert_int_equal(words[2], 0);
}

static void test_a_profiler_that_the_linker_switched_off_is_switched_on_and_off(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 0, 1);
	assert_int_equal(force(&f, HEAP_FORCE_OFF), 0);
	assert_int_equal(force(&f, HEAP_FORCE_ON), 1);
	expect_rate(&f, 524288);
	assert_int_equal(force(&f, HEAP_FORCE_ON), 0);
	assert_int_equal(force(&f, HEAP_FORCE_OFF), 1);
	expect_rate(&f, 0);
	end(&f);
}

/* What is remembered was found in another process, whose owner may have liked it so. */
static void test_an_address_from_another_process_is_not_written_to(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 0, 1);
	f.executable.at[GO_MEMORY_RATE] -= 8; /* 0 too, and a variable */
	assert_int_equal(force(&f, HEAP_FORCE_ON), 1);
	expect_rate(&f, 524288);
	end(&f);
}

static void test_what_the_program_has_chosen_stays(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 0, 0); /* off, but not by the linker */
	assert_int_equal(force(&f, HEAP_FORCE_ON), -EALREADY);
	expect_rate(&f, 0);
	end(&f);
	begin(&f, 4096, 1);
	assert_int_equal(force(&f, HEAP_FORCE_ON), -EALREADY);
	assert_int_equal(force(&f, HEAP_FORCE_OFF), -EALREADY);
	expect_rate(&f, 4096);
	end(&f);
	begin(&f, 524288, 0); /* the default of a program that has its profiler */
	assert_int_equal(force(&f, HEAP_FORCE_OFF), -EALREADY);
	expect_rate(&f, 524288);
	end(&f);
}

static void test_unknown_releases_and_places_are_not_written_to(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 0, 1);
	f.runtime.image.minor = 28;
	assert_int_equal(force(&f, HEAP_FORCE_ON), -ENOTSUP);
	f.runtime.image.minor = 16;
	assert_int_equal(force(&f, HEAP_FORCE_ON), -ENOTSUP);
	f.runtime.image.minor = 24;
	f.runtime.modules[0].data[1].end = f.runtime.modules[0].data[1].start + 12;
	assert_int_equal(force(&f, HEAP_FORCE_ON), -ENOTSUP);
	f.executable.at[GO_MEMORY_DISABLED] = 0;
	assert_int_equal(force(&f, HEAP_FORCE_ON), -ENOTSUP);
	expect_rate(&f, 0);
	end(&f);
}

static void test_another_process_is_not_written_to(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 0, 1);
	f.id.start_time++;
	assert_int_equal(force(&f, HEAP_FORCE_ON), -ESRCH);
	f.id.start_time--;
	f.id.exe.ino++;
	assert_int_equal(force(&f, HEAP_FORCE_ON), -ESRCH);
	expect_rate(&f, 0);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_profiler_that_the_linker_switched_off_is_switched_on_and_off),
		cmocka_unit_test(test_an_address_from_another_process_is_not_written_to),
		cmocka_unit_test(test_what_the_program_has_chosen_stays),
		cmocka_unit_test(test_unknown_releases_and_places_are_not_written_to),
		cmocka_unit_test(test_another_process_is_not_written_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
