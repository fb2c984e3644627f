/* Processes are images in memory; what they belong to is what the test does. */
#include <errno.h>
#include <fcntl.h>

#include "node-agent/go_profile/go_counters.h"
#include "test/lib/gc_process.h"

#define UNREAD "coroot_node_agent_go_counters_unread_total{reason="

struct fixture {
	struct gc_process process;
	struct go_opened opened;
	struct go_process go;
	struct metrics *ms;
	struct go_counters *counters;
};

static void start(struct fixture *f, unsigned minor)
{
	memset(f, 0, sizeof(*f));
	gc_process_begin(&f->process, minor, true);
	f->opened.runtime = &f->process.rt;
	f->opened.target.proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->opened.target.proc_fd >= 0);
	f->go.start = BUCKET_HISTORY_FROM_ZERO;
	assert_int_equal(metrics_new(&f->ms), 0);
	assert_int_equal(go_counters_new(&f->counters, f->ms), 0);
}

static void stop(struct fixture *f)
{
	go_share_free(f->go.share);
	go_counters_free(f->counters);
	metrics_free(f->ms);
	close(f->opened.target.proc_fd);
}

/* Of the first line that begins so; -1: there is none. */
static double shown(struct fixture *f, const char *beginning)
{
	CLEANUP(buf_fini) struct buf text;
	double v = -1;
	char *at;

	buf_init(&text, (size_t)1 << 20);
	assert_int_equal(metrics_write(f->ms, &text), 0);
	at = strstr(text.data, beginning);
	while (at && at != text.data && at[-1] != '\n')
		at = strstr(at + 1, beginning);
	if (at) {
		at = strstr(at, "} ");
		assert_non_null(at);
		v = strtod(at + 1, NULL);
	}
	return v;
}

static void what_a_process_counts_is_shown(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, 24);
	assert_int_equal(go_counters_read(f.counters, &f.go, &f.opened), 0);
	assert_true(shown(&f, "container_go_gc_cycles_total{") == GC_IMAGE_CYCLES);
	assert_true(shown(&f, "container_go_gc_pause_seconds_total{") == GC_IMAGE_PAUSE_NS * 1e-9);
	assert_true(shown(&f, "container_go_alloc_objects_total{") == 115);
	assert_true(shown(&f, "container_go_gc_heap_goal_bytes{") == GC_IMAGE_GOAL);
	/* it has no list of goroutines */
	assert_true(shown(&f, "container_go_goroutines{") == -1);
	assert_true(shown(&f, UNREAD "\"goroutines\"") == 1);
	stop(&f);
}

static void a_reading_without_sense_changes_nothing_and_is_counted(void **state)
{
	struct fixture f;
	size_t buckhash_sys;

	(void)state;
	start(&f, 24);
	buckhash_sys = GC_PROCESS_MEMSTATS + f.process.gc.l.memstats.buckhash_sys;
	assert_int_equal(go_counters_read(f.counters, &f.go, &f.opened), 0);
	go_image_put(&f.process.image, buckhash_sys, UINT64_MAX, 8);
	assert_int_equal(go_counters_read(f.counters, &f.go, &f.opened), 0);
	assert_true(shown(&f, UNREAD "\"implausible\"") == 1);
	assert_true(shown(&f, "container_go_gc_cycles_total{") == GC_IMAGE_CYCLES);
	assert_true(shown(&f, "container_go_gc_live_heap_bytes{") == GC_IMAGE_LIVE);
	stop(&f);
}

static void a_release_that_is_not_known_is_counted(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, 24);
	f.process.rt.image.minor = 28;
	assert_int_equal(go_counters_read(f.counters, &f.go, &f.opened), 0);
	assert_true(shown(&f, UNREAD "\"unknown_release\"") == 1);
	assert_null(f.go.share);
	stop(&f);
}

static void variables_that_are_not_there_are_counted(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, 24);
	f.process.executable.searched = UINT32_MAX;
	assert_int_equal(go_counters_read(f.counters, &f.go, &f.opened), 0);
	assert_true(shown(&f, UNREAD "\"not_found\"") == 1);
	stop(&f);
}

static void a_process_whose_memory_is_gone_is_an_error(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, 24);
	byte_source_from_memory(&f.process.image.memory, f.process.image.data,
				GC_PROCESS_MEMSTATS + 8);
	assert_int_equal(go_counters_read(f.counters, &f.go, &f.opened), -ENODATA);
	stop(&f);
}

static void allocations_of_the_profile_are_taken_where_nothing_is_exact(void **state)
{
	const struct heap_reading heap = {.alloc_objects = 3, .alloc_bytes = 5000};
	struct fixture f;

	(void)state;
	start(&f, 15);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(go_counters_add_heap(f.counters, &f.go, &f.opened, &heap), 0);
		assert_int_equal(go_counters_read(f.counters, &f.go, &f.opened), 0);
	}
	assert_true(shown(&f, "container_go_alloc_bytes_total{") == 10000);
	assert_true(shown(&f, "container_go_alloc_objects_total{") == 6);
	assert_true(shown(&f, "container_go_gc_cycles_total{") == GC_IMAGE_CYCLES);
	stop(&f);
	start(&f, 24);
	assert_int_equal(go_counters_add_heap(f.counters, &f.go, &f.opened, &heap), 0);
	assert_true(shown(&f, "container_go_alloc_bytes_total{") == -1);
	assert_int_equal(go_counters_read(f.counters, &f.go, &f.opened), 0);
	assert_true(shown(&f, "container_go_alloc_bytes_total{") == 283896);
	stop(&f);
}

static void a_profiler_that_is_off_tells_nothing(void **state)
{
	const struct heap_reading off = {.off = true}, forced = {.forced = true};
	struct fixture f;

	(void)state;
	start(&f, 15);
	assert_int_equal(go_counters_add_heap(f.counters, &f.go, &f.opened, &off), 0);
	assert_int_equal(go_counters_add_heap(f.counters, &f.go, &f.opened, &forced), 0);
	assert_true(shown(&f, "container_go_alloc_bytes_total{") == -1);
	stop(&f);
}

static int read_once(void *arg)
{
	struct fixture *f = arg;
	int r;

	f->go.share = NULL;
	f->ms = NULL;
	f->counters = NULL;
	r = metrics_new(&f->ms);
	if (r == 0)
		r = go_counters_new(&f->counters, f->ms);
	if (r == 0)
		r = go_counters_read(f->counters, &f->go, &f->opened);
	go_share_free(f->go.share);
	go_counters_free(f->counters);
	metrics_free(f->ms);
	return r;
}

static void failed_allocations_are_survived(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, 24);
	go_counters_free(f.counters);
	metrics_free(f.ms);
	check_oom(read_once, &f);
	close(f.opened.target.proc_fd);
	go_counters_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_process_counts_is_shown),
		cmocka_unit_test(a_reading_without_sense_changes_nothing_and_is_counted),
		cmocka_unit_test(a_release_that_is_not_known_is_counted),
		cmocka_unit_test(variables_that_are_not_there_are_counted),
		cmocka_unit_test(a_process_whose_memory_is_gone_is_an_error),
		cmocka_unit_test(allocations_of_the_profile_are_taken_where_nothing_is_exact),
		cmocka_unit_test(a_profiler_that_is_off_tells_nothing),
		cmocka_unit_test(failed_allocations_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
