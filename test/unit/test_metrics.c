#include <errno.h>
#include <fcntl.h>

#include "common/telemetry/metrics.h"
#include "test/lib/unit.h"

static struct buf out;

static int set_up(void **state)
{
	(void)state;
	buf_init(&out, 64 * 1024);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	buf_fini(&out);
	return 0;
}

static uint64_t read_seven(void *ctx)
{
	(void)ctx;
	return 7;
}

static void metrics_of_one_name_share_help_and_type(void **state)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	struct metric counters[] = {
		{.name = "lost_total", .labels = "reason=\"a\"", .help = "Lost"},
		{.name = "lost_total", .labels = "reason=\"b\"", .help = "Lost"},
	};
	struct metric more[] = {
		{.name = "lost_total", .labels = "reason=\"c\"", .help = "Lost"},
		{.name = "depth", .help = "Items", .kind = METRIC_GAUGE, .read = read_seven},
		{.name = "busy_seconds_total", .help = "Busy", .scale = 1e-9},
	};

	(void)state;
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(metrics_register(ms, counters, ARRAY_SIZE(counters)), 0);
	assert_int_equal(metrics_register(ms, more, ARRAY_SIZE(more)), 0);
	metric_add(&counters[0], 2);
	metric_add(&counters[0], 3);
	metric_set(&more[0], UINT64_MAX);
	metric_set(&more[2], 1500000000);
	assert_int_equal(metrics_write(ms, &out), 0);
	assert_string_equal(out.data, "# HELP lost_total Lost\n"
				      "# TYPE lost_total counter\n"
				      "lost_total{reason=\"a\"} 5\n"
				      "lost_total{reason=\"b\"} 0\n"
				      "lost_total{reason=\"c\"} 18446744073709551615\n"
				      "# HELP depth Items\n"
				      "# TYPE depth gauge\n"
				      "depth 7\n"
				      "# HELP busy_seconds_total Busy\n"
				      "# TYPE busy_seconds_total counter\n"
				      "busy_seconds_total 1.5\n");
}

static void help_is_escaped(void **state)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	struct metric m = {.name = "x", .help = "a\\b\nc \"d\"", .kind = METRIC_GAUGE};

	(void)state;
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(metrics_register(ms, &m, 1), 0);
	assert_int_equal(metrics_write(ms, &out), 0);
	assert_string_equal(out.data, "# HELP x a\\\\b\\nc \"d\"\n# TYPE x gauge\nx 0\n");
}

static void names_that_break_the_conventions_are_refused(void **state)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	struct metric bad[] = {
		{.name = "lost", .help = "a counter without _total"},
		{.name = "_total", .help = "nothing but the suffix"},
		{.name = "x_total", .help = "a gauge with _total", .kind = METRIC_GAUGE},
		{.name = "a-b_total", .help = "dash"},
		{.name = "9a_total", .help = "digit first"},
		{.name = "", .help = "empty", .kind = METRIC_GAUGE},
		{.name = NULL, .help = "none"},
		{.name = "nohelp_total"},
	};

	(void)state;
	assert_int_equal(metrics_new(&ms), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(metrics_register(ms, &bad[i], 1), -EINVAL);
	assert_int_equal(metrics_write(ms, &out), 0);
	assert_int_equal(out.len, 0);
}

static void a_name_that_comes_back_after_another_is_refused(void **state)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	struct metric scattered[] = {
		{.name = "a_total", .help = "A"},
		{.name = "b_total", .help = "B"},
		{.name = "a_total", .help = "A"},
	};
	struct metric gauge = {.name = "b_total", .help = "B", .kind = METRIC_GAUGE};

	(void)state;
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(metrics_register(ms, scattered, 3), -EINVAL);
	assert_int_equal(metrics_register(ms, scattered, 2), 0);
	assert_int_equal(metrics_register(ms, &scattered[2], 1), -EINVAL);
	assert_int_equal(metrics_register(ms, &gauge, 1), -EINVAL);
}

/* The number after "\nname "; -1 when it is not there. */
static double shown(const char *name)
{
	char line[128];
	const char *at;

	snprintf(line, sizeof(line), "\n%s ", name);
	at = strstr(out.data, line);
	return at ? strtod(at + strlen(line), NULL) : -1;
}

static void the_process_describes_itself(void **state)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	double fds, now = (double)time(NULL);
	volatile unsigned work = 0;

	(void)state;
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(metrics_register_process(ms, "agent", "1.0-\"x\"\\"), 0);
	assert_int_equal(metrics_register_process(ms, "agent", "1.0"), -EEXIST);
	for (int i = 0; i < 20000000; i++)
		work++;
	assert_int_equal(metrics_write(ms, &out), 0);
	assert_non_null(strstr(out.data, "\nagent_build_info{version=\"1.0-\\\"x\\\"\\\\\"} 1\n"));
	assert_true(shown("process_cpu_seconds_total") > 0.001);
	assert_true(shown("process_cpu_seconds_total") < 60);
	assert_true(shown("process_resident_memory_bytes") > 100e3);
	assert_true(shown("process_start_time_seconds") > now - 600);
	assert_true(shown("process_start_time_seconds") < now + 5);
	fds = shown("process_open_fds");
	assert_true(fds >= 3);

	AUTO_CLOSE int one_more = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(one_more >= 0);
	buf_fini(&out);
	assert_int_equal(metrics_write(ms, &out), 0);
	assert_true(shown("process_open_fds") == fds + 1);
}

static void output_over_the_limit_is_an_error(void **state)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;

	(void)state;
	out.limit = 300;
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(metrics_register_process(ms, "agent", "1"), 0);
	assert_int_equal(metrics_write(ms, &out), -EFBIG);
}

struct two_families {
	size_t n_lines[2];
};

static int write_lines(void *ctx, size_t family, struct buf *to)
{
	const struct two_families *f = ctx;
	int r = 0;

	for (size_t i = 0; i < f->n_lines[family] && r == 0; i++) {
		r = buf_addf(to, "%s{of=\"", family == 0 ? "made_total" : "kept");
		if (r == 0)
			r = metrics_add_label_value(to, i == 0 ? "a\"b\\c\nd" : "plain");
		if (r == 0)
			r = buf_addf(to, "\"} %zu\n", i);
	}
	return r;
}

static const struct metric_family two_families[] = {
	{"made_total", "Made", METRIC_COUNTER},
	{"kept", "Kept", METRIC_GAUGE},
};

static void a_module_writes_lines_of_its_families(void **state)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	struct metric before = {.name = "a_total", .help = "A"},
		      after = {.name = "z_total", .help = "Z"};
	struct two_families f = {{2, 0}};

	(void)state;
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(metrics_register(ms, &before, 1), 0);
	assert_int_equal(metrics_register_families(ms, two_families, 2, write_lines, &f), 0);
	assert_int_equal(metrics_register(ms, &after, 1), 0);
	assert_int_equal(metrics_write(ms, &out), 0);
	assert_string_equal(out.data, "# HELP a_total A\n"
				      "# TYPE a_total counter\n"
				      "a_total 0\n"
				      "# HELP made_total Made\n"
				      "# TYPE made_total counter\n"
				      "made_total{of=\"a\\\"b\\\\c\\nd\"} 0\n"
				      "made_total{of=\"plain\"} 1\n"
				      "# HELP kept Kept\n"
				      "# TYPE kept gauge\n"
				      "# HELP z_total Z\n"
				      "# TYPE z_total counter\n"
				      "z_total 0\n");
}

static void families_keep_to_the_rules_for_names(void **state)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	struct metric taken = {.name = "kept", .help = "K", .kind = METRIC_GAUGE};
	const struct metric_family bad[][2] = {
		{{"made", "A counter without _total", METRIC_COUNTER}, two_families[1]},
		{two_families[0], {"kept_total", "A gauge with it", METRIC_GAUGE}},
		{two_families[0], two_families[0]},
		{{"made total_total", "A blank", METRIC_COUNTER}, two_families[1]},
		{{"made_total", NULL, METRIC_COUNTER}, two_families[1]},
		{{NULL, "No name", METRIC_COUNTER}, two_families[1]},
	};
	struct two_families f = {{0, 0}};

	(void)state;
	assert_int_equal(metrics_new(&ms), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(metrics_register_families(ms, bad[i], 2, write_lines, &f),
				 -EINVAL);
	assert_int_equal(metrics_register_families(ms, two_families, 2, write_lines, &f), 0);
	assert_int_equal(metrics_register_families(ms, two_families, 2, write_lines, &f), -EINVAL);
	assert_int_equal(metrics_register(ms, &taken, 1), -EINVAL);
}

static void lines_over_the_limit_are_an_error(void **state)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	struct two_families f = {{0, 100}};

	(void)state;
	out.limit = 300;
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(metrics_register_families(ms, two_families, 2, write_lines, &f), 0);
	assert_int_equal(metrics_write(ms, &out), -EFBIG);
}

static int construct(void *arg)
{
	static struct metric m = {.name = "a_total", .help = "A"};
	struct two_families f = {{1, 1}};
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	struct buf text;
	int r;

	(void)arg;
	buf_init(&text, 1 << 20);
	r = metrics_new(&ms);
	if (r == 0)
		r = metrics_register_process(ms, "agent", "1.0");
	if (r == 0)
		r = metrics_register(ms, &m, 1);
	if (r == 0)
		r = metrics_register_families(ms, two_families, 2, write_lines, &f);
	if (r == 0)
		r = metrics_write(ms, &text);
	buf_fini(&text);
	return r;
}

static void construction_survives_lack_of_memory(void **state)
{
	(void)state;
	check_oom(construct, NULL);
	metrics_free(NULL);
}

#define with_output(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_output(metrics_of_one_name_share_help_and_type),
		with_output(help_is_escaped),
		with_output(names_that_break_the_conventions_are_refused),
		with_output(a_name_that_comes_back_after_another_is_refused),
		with_output(the_process_describes_itself),
		with_output(output_over_the_limit_is_an_error),
		with_output(a_module_writes_lines_of_its_families),
		with_output(families_keep_to_the_rules_for_names),
		with_output(lines_over_the_limit_are_an_error),
		cmocka_unit_test(construction_survives_lack_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
