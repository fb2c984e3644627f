/*
 * When lines are looked up: while a profile is built, or after it. On the DWARF of this program,
 * which is also the program that reads it.
 */
#include "node-agent/symbol/native_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/system/clock.h"
#include "node-agent/lines/line_helper.h"
#include "node-agent/symbol/symbol_metrics.h"
#include "test/lib/unit.h"

#define PATIENCE_NS (60 * NS_PER_S)
#define NUMBER 1u
#define OTHER 2u

static char own_path[PATH_MAX];

struct fixture {
	struct frame_cache *cache;
	struct native_lines *lines;
	uint64_t left_ns;
	struct native_lines_file file;
};

static int note_base(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	*(uintptr_t *)ctx = info->dlpi_addr;
	return 1;
}

/* An address of this program that DWARF knows. */
static uint64_t known_address(void)
{
	uintptr_t at = 0;

	dl_iterate_phdr(note_base, &at);
	return (uintptr_t)native_lines_find - at;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct stat st;

	assert_non_null(f);
	assert_int_equal(frame_cache_new(&f->cache, 1 << 20, 1024), 0);
	assert_int_equal(native_lines_new(&f->lines, f->cache, own_path), 0);
	f->file = (struct native_lines_file){
		.number = NUMBER, .label = "[own]", .left_ns = &f->left_ns};
	f->file.fd = open(own_path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(f->file.fd, &st), 0);
	f->file.size_bytes = (uint64_t)st.st_size;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	close(f->file.fd);
	native_lines_free(f->lines);
	frame_cache_free(f->cache);
	free(f);
	return 0;
}

/* What the symbolizer does when there is no line yet. */
static void put_plain(struct fixture *f, uint64_t vaddr, const char *function)
{
	const struct symbol_frame frame = {.function = function, .file = "[own]"};
	const struct symbol_location *l;

	assert_int_equal(frame_cache_intern(f->cache, &frame, 1, &l), 0);
	frame_cache_put(f->cache, f->file.number, vaddr, l);
}

static void work(struct fixture *f)
{
	int r;

	do {
		r = native_lines_work(f->lines, PATIENCE_NS);
	} while (r > 0);
	assert_int_equal(r, 0);
}

static uint64_t counted(enum symbol_metric m)
{
	return metric_get(&symbol_metrics[m]);
}

TEST_FIXTURE(what_a_profile_has_no_time_for_is_there_for_the_next_one, set_up, tear_down)
{
	struct fixture *f = *state;
	const struct symbol_location *l = NULL;
	uint64_t vaddr = known_address(), late = counted(SYMBOL_METRIC_LINES_LATE);

	assert_int_equal(native_lines_find(f->lines, &f->file, vaddr, "as the table has it", &l),
			 -EINPROGRESS);
	assert_int_equal(counted(SYMBOL_METRIC_LINES_LATE), late + 1);
	put_plain(f, vaddr, "as the table has it");
	work(f);
	l = frame_cache_get(f->cache, NUMBER, vaddr);
	assert_non_null(l);
	assert_string_equal(symbol_location_outermost(l)->function, "as the table has it");
	assert_non_null(strstr(symbol_location_outermost(l)->file, "native_lines.c"));
	assert_true(symbol_location_outermost(l)->line > 0);
}

TEST_FIXTURE(a_profile_that_has_time_has_lines_at_once, set_up, tear_down)
{
	struct fixture *f = *state;
	const struct symbol_location *l = NULL;

	f->left_ns = PATIENCE_NS;
	/* the time of the cycle may not suffice to open the file */
	if (native_lines_find(f->lines, &f->file, known_address(), NULL, &l) == -EINPROGRESS) {
		work(f);
		native_lines_end_cycle(f->lines);
		assert_int_equal(native_lines_find(f->lines, &f->file, known_address(), NULL, &l),
				 0);
	}
	assert_string_equal(symbol_location_outermost(l)->function, "native_lines_find");
	assert_true(f->left_ns < PATIENCE_NS);
}

TEST_FIXTURE(a_patient_profile_has_many_times_the_time, set_up, tear_down)
{
	struct fixture *f = *state;
	const struct symbol_location *l = NULL;

	f->left_ns = 1000; /* too little for an answer */
	native_lines_set_patience(f->lines, PATIENCE_NS / 1000);
	assert_int_equal(native_lines_find(f->lines, &f->file, known_address(), NULL, &l), 0);
	assert_true(symbol_location_outermost(l)->line > 0);
}

TEST_FIXTURE(a_large_file_waits_for_the_end_of_the_profile, set_up, tear_down)
{
	struct fixture *f = *state;
	const struct symbol_location *l = NULL;

	f->left_ns = PATIENCE_NS;
	f->file.size_bytes = NATIVE_LINES_AT_ONCE_MAX_BYTES + 1;
	assert_int_equal(native_lines_find(f->lines, &f->file, known_address(), NULL, &l),
			 -EINPROGRESS);
	assert_int_equal(f->left_ns, PATIENCE_NS);
	work(f);
	assert_non_null(frame_cache_get(f->cache, NUMBER, known_address()));
	f->file.size_bytes = UINT64_MAX;
	f->file.number = OTHER;
	assert_int_equal(native_lines_find(f->lines, &f->file, known_address(), NULL, &l), -EFBIG);
}

/* A copy of this program that is cut off after it was opened: reading it is SIGBUS. */
static int broken_file(void)
{
	AUTO_CLOSE int from = open(own_path, O_RDONLY | O_CLOEXEC);
	int to = memfd_create("broken", MFD_CLOEXEC);
	static char chunk[1 << 20];
	ssize_t n;

	while ((n = read(from, chunk, sizeof(chunk))) > 0)
		assert_int_equal(write(to, chunk, (size_t)n), n);
	return to;
}

TEST_FIXTURE(a_file_that_crashes_the_reader_is_given_up_and_others_are_not, set_up, tear_down)
{
	struct fixture *f = *state;
	struct native_lines_file broken = f->file;
	const struct symbol_location *l = NULL;
	uint64_t failed = counted(SYMBOL_METRIC_LINES_FAILED), vaddr = known_address();
	AUTO_CLOSE int fd = broken_file();

	broken.fd = fd;
	broken.number = OTHER;
	assert_int_equal(native_lines_find(f->lines, &broken, vaddr, NULL, &l), -EINPROGRESS);
	work(f);
	assert_non_null(frame_cache_get(f->cache, OTHER, vaddr));
	assert_int_equal(ftruncate(fd, 4096), 0);
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(native_lines_find(f->lines, &broken, vaddr + 4096 * i, NULL, &l),
				 -EINPROGRESS);
	assert_int_equal(native_lines_find(f->lines, &f->file, vaddr, NULL, &l), -EINPROGRESS);
	work(f);
	assert_int_equal(counted(SYMBOL_METRIC_LINES_FAILED), failed + 1);
	assert_int_equal(native_lines_find(f->lines, &broken, vaddr, NULL, &l), -EIO);
	assert_non_null(frame_cache_get(f->cache, NUMBER, vaddr));
}

TEST_FIXTURE(what_waits_has_a_limit, set_up, tear_down)
{
	struct fixture *f = *state;
	const struct symbol_location *l = NULL;
	uint64_t no_room = counted(SYMBOL_METRIC_LINES_NO_ROOM);

	for (uint64_t i = 0; i < NATIVE_LINES_ADDRESSES_MAX; i++)
		assert_int_equal(native_lines_find(f->lines, &f->file, i, NULL, &l), -EINPROGRESS);
	assert_int_equal(native_lines_find(f->lines, &f->file, 1, NULL, &l), -EAGAIN);
	f->file.number = OTHER;
	assert_int_equal(native_lines_find(f->lines, &f->file, 1, NULL, &l), -EAGAIN);
	assert_int_equal(counted(SYMBOL_METRIC_LINES_NO_ROOM), no_room + 2);
}

TEST_FIXTURE(files_that_wait_have_a_limit, set_up, tear_down)
{
	struct fixture *f = *state;
	const struct symbol_location *l = NULL;

	for (uint32_t i = 1; i <= NATIVE_LINES_FILES_MAX; i++) {
		f->file.number = i;
		assert_int_equal(native_lines_find(f->lines, &f->file, 1, NULL, &l), -EINPROGRESS);
	}
	f->file.number++;
	assert_int_equal(native_lines_find(f->lines, &f->file, 1, NULL, &l), -EAGAIN);
	work(f);
	assert_int_equal(native_lines_find(f->lines, &f->file, 1, NULL, &l), -EINPROGRESS);
}

TEST_FIXTURE(the_hottest_addresses_are_first, set_up, tear_down)
{
	struct fixture *f = *state;
	const struct symbol_location *l = NULL;
	uint64_t hot = known_address(), waiting = 100, timeout_ns = 1;

	/* all within one function, so that each has an answer */
	for (uint64_t i = 0; i < waiting; i++) {
		f->file.weight = i == waiting / 2 ? 1000 : (uint32_t)(1 + i % 7);
		assert_int_equal(native_lines_find(f->lines, &f->file, hot + i, NULL, &l),
				 -EINPROGRESS);
	}
	while (!frame_cache_get(f->cache, NUMBER, hot + waiting / 2)) {
		assert_true(native_lines_work(f->lines, timeout_ns) >= 0);
		for (uint64_t i = 0; i < waiting; i++)
			assert_true(i == waiting / 2 ||
				    !frame_cache_get(f->cache, NUMBER, hot + i));
	}
}

TEST_FIXTURE(what_costs_more_than_the_budget_waits, set_up, tear_down)
{
	struct fixture *f = *state;
	const struct symbol_location *l = NULL;
	uint64_t vaddr = known_address();

	/* a profile may spend none of the second half, and the first question all of it */
	native_lines_limit(f->lines, 1);
	f->left_ns = PATIENCE_NS;
	for (uint64_t i = 0; i < 2; i++)
		assert_int_equal(native_lines_find(f->lines, &f->file, vaddr + i, NULL, &l),
				 -EINPROGRESS);
	assert_int_equal(f->left_ns, PATIENCE_NS);
	assert_int_equal(native_lines_work(f->lines, PATIENCE_NS), 0);
	assert_true(!frame_cache_get(f->cache, NUMBER, vaddr) !=
		    !frame_cache_get(f->cache, NUMBER, vaddr + 1));
	assert_int_equal(native_lines_work(f->lines, PATIENCE_NS), 0);
}

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);

	if (argc == 2 && strcmp(argv[1], LINE_HELPER_COMMAND) == 0)
		return line_helper_run(NULL) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	assert_true(n > 0);
	return unit_run(NULL, NULL);
}
