#include <errno.h>
#include <fcntl.h>

#include "common/telemetry/metrics.h"
#include "common/telemetry/process_metrics.h"
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

/* A table of one entry, for as long as the enclosing block. */
#define ONE(def) (&(const struct metric_table){def, 1, __FILE__})

TEST_FIXTURE(metrics_of_one_name_share_help_and_type, set_up, tear_down)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	static const struct metric_def counter_defs[] = {
		{.name = "lost_total", .labels = "reason=\"a\"", .help = "Lost"},
		{.name = "lost_total", .labels = "reason=\"b\""},
		{.name = "lost_total", .labels = "reason=\"c\"", .help = "Lost"},
	};
	static const struct metric_def more_defs[] = {
		{.name = "depth", .help = "Items", .kind = METRIC_GAUGE, .read = read_seven},
		{.name = "busy_seconds_total", .help = "Busy", .scale = 1e-9},
	};
	METRIC_TABLE(counter_table, counter_defs);
	METRIC_TABLE(more_table, more_defs);
	struct metric counters[3] = {0}, more[2] = {0};

	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(metrics_register(ms, &counter_table, counters, NULL), 0);
	assert_int_equal(metrics_register(ms, &more_table, more, NULL), 0);
	metric_add(&counters[0], 2);
	metric_add(&counters[0], 3);
	metric_set(&counters[2], UINT64_MAX);
	metric_set(&more[1], 1500000000);
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

TEST_FIXTURE(names_that_begin_with_an_underscore_get_the_prefix, set_up, tear_down)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	static const struct metric_def defs[] = {
		{.name = "_lost_total", .labels = "reason=\"a\"", .help = "Lost"},
		{.name = "_lost_total", .labels = "reason=\"b\""},
		{.name = "whole", .help = "Whole", .kind = METRIC_GAUGE},
	};
	static const struct metric_def spelled_out = {.name = "agent_lost_total", .help = "L"};
	METRIC_TABLE(table, defs);
	struct metric values[3] = {0}, other = {0};

	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(metrics_register(ms, &table, values, NULL), -EINVAL);
	assert_int_equal(metrics_register_as(ms, "agent", &table, values, NULL), 0);
	assert_int_equal(metrics_register(ms, ONE(&spelled_out), &other, NULL), -EINVAL);
	assert_int_equal(metrics_write(ms, &out), 0);
	assert_string_equal(out.data, "# HELP agent_lost_total Lost\n"
				      "# TYPE agent_lost_total counter\n"
				      "agent_lost_total{reason=\"a\"} 0\n"
				      "agent_lost_total{reason=\"b\"} 0\n"
				      "# HELP whole Whole\n"
				      "# TYPE whole gauge\n"
				      "whole 0\n");
}

TEST_FIXTURE(help_is_escaped, set_up, tear_down)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	static const struct metric_def d = {
		.name = "x", .help = "a\\b\nc \"d\"", .kind = METRIC_GAUGE};
	struct metric m = {0};

	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(metrics_register(ms, ONE(&d), &m, NULL), 0);
	assert_int_equal(metrics_write(ms, &out), 0);
	assert_string_equal(out.data, "# HELP x a\\\\b\\nc \"d\"\n# TYPE x gauge\nx 0\n");
}

TEST_FIXTURE(names_that_break_the_conventions_are_refused, set_up, tear_down)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	static const struct metric_def bad[] = {
		{.name = "lost", .help = "a counter without _total"},
		{.name = "_total", .help = "nothing but the suffix"},
		{.name = "_x_total", .help = "nothing for the underscore to stand for"},
		{.name = "x_total", .help = "a gauge with _total", .kind = METRIC_GAUGE},
		{.name = "a-b_total", .help = "dash"},
		{.name = "9a_total", .help = "digit first"},
		{.name = "", .help = "empty", .kind = METRIC_GAUGE},
		{.name = NULL, .help = "none"},
		{.name = "nohelp_total"},
	};
	struct metric m = {0};

	assert_int_equal(metrics_new(&ms), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(metrics_register(ms, ONE(&bad[i]), &m, NULL), -EINVAL);
	assert_int_equal(metrics_write(ms, &out), 0);
	assert_int_equal(out.len, 0);
}

TEST_FIXTURE(a_name_that_comes_back_after_another_is_refused, set_up, tear_down)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	static const struct metric_def scattered[] = {
		{.name = "a_total", .help = "A"},
		{.name = "b_total", .help = "B"},
		{.name = "a_total", .help = "A"},
	};
	static const struct metric_def mixed[] = {
		{.name = "c_total", .help = "C"},
		{.name = "c_total", .help = "C", .kind = METRIC_GAUGE},
	};
	const struct metric_table all = {scattered, 3, __FILE__}, first = {scattered, 2, __FILE__},
				  kinds = {mixed, 2, __FILE__};
	struct metric values[3] = {0}, other = {0};

	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(metrics_register(ms, &all, values, NULL), -EINVAL);
	assert_int_equal(metrics_register(ms, &kinds, values, NULL), -EINVAL);
	assert_int_equal(metrics_register(ms, &first, values, NULL), 0);
	assert_int_equal(metrics_register(ms, ONE(&scattered[2]), &other, NULL), -EINVAL);
	assert_int_equal(metrics_register(ms, ONE(&scattered[1]), &other, NULL), -EINVAL);
}

/* Returns the number after "\nname ", or -1 if it is not there. */
static double shown(const char *name)
{
	char line[128];
	const char *at;

	snprintf(line, sizeof(line), "\n%s ", name);
	at = strstr(out.data, line);
	return at ? strtod(at + strlen(line), NULL) : -1;
}

TEST_FIXTURE(the_process_describes_itself, set_up, tear_down)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	double fds, now = (double)time(NULL);
	volatile unsigned work = 0;

	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(process_metrics_register(ms, "agent", "1.0-\"x\"\\"), 0);
	assert_int_equal(process_metrics_register(ms, "agent", "1.0"), -EINVAL);
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

TEST_FIXTURE(output_over_the_limit_is_an_error, set_up, tear_down)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;

	out.limit = 300;
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(process_metrics_register(ms, "agent", "1"), 0);
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

static const struct metric_def two_families[] = {
	{"made_total", "of", "Made", METRIC_COUNTER},
	{"kept", "of", "Kept", METRIC_GAUGE},
};
METRIC_TABLE(two_families_table, two_families);

TEST_FIXTURE(a_module_writes_lines_of_its_families, set_up, tear_down)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	static const struct metric_def a = {.name = "a_total", .help = "A"},
				       z = {.name = "z_total", .help = "Z"};
	struct metric before = {0}, after = {0};
	struct two_families f = {{2, 0}};

	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(metrics_register(ms, ONE(&a), &before, NULL), 0);
	assert_int_equal(metrics_register_families(ms, "", &two_families_table, write_lines, &f),
			 0);
	assert_int_equal(metrics_register(ms, ONE(&z), &after, NULL), 0);
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

TEST_FIXTURE(families_keep_to_the_rules_for_names, set_up, tear_down)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	static const struct metric_def taken = {.name = "kept", .help = "K", .kind = METRIC_GAUGE};
	const struct metric_def bad[][2] = {
		{{"made", NULL, "A counter without _total", METRIC_COUNTER}, two_families[1]},
		{two_families[0], {"kept_total", NULL, "A gauge with it", METRIC_GAUGE}},
		{two_families[0], two_families[0]},
		{{"made total_total", NULL, "A blank", METRIC_COUNTER}, two_families[1]},
		{{"made_total", NULL, NULL, METRIC_COUNTER}, two_families[1]},
		{{NULL, NULL, "No name", METRIC_COUNTER}, two_families[1]},
	};
	struct two_families f = {{0, 0}};
	struct metric m = {0};

	assert_int_equal(metrics_new(&ms), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct metric_table t = {bad[i], 2, __FILE__};

		assert_int_equal(metrics_register_families(ms, "", &t, write_lines, &f), -EINVAL);
	}
	assert_int_equal(metrics_register_families(ms, "", &two_families_table, write_lines, &f),
			 0);
	assert_int_equal(metrics_register_families(ms, "", &two_families_table, write_lines, &f),
			 -EINVAL);
	assert_int_equal(metrics_register(ms, ONE(&taken), &m, NULL), -EINVAL);
}

TEST_FIXTURE(lines_over_the_limit_are_an_error, set_up, tear_down)
{
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	struct two_families f = {{0, 100}};

	out.limit = 300;
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(metrics_register_families(ms, "", &two_families_table, write_lines, &f),
			 0);
	assert_int_equal(metrics_write(ms, &out), -EFBIG);
}

static int construct(void *arg)
{
	static const struct metric_def d = {.name = "a_total", .help = "A"};
	static const struct metric_table t = {&d, 1, __FILE__};
	struct two_families f = {{1, 1}};
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	struct metric m = {0};
	struct buf text;
	int r;

	(void)arg;
	buf_init(&text, 1 << 20);
	r = metrics_new(&ms);
	if (r == 0)
		r = process_metrics_register(ms, "agent", "1.0");
	if (r == 0)
		r = metrics_register(ms, &t, &m, NULL);
	if (r == 0)
		r = metrics_register_families(ms, "", &two_families_table, write_lines, &f);
	if (r == 0)
		r = metrics_write(ms, &text);
	buf_fini(&text);
	return r;
}

TEST(construction_survives_lack_of_memory)
{
	check_oom(construct, NULL);
	metrics_free(NULL);
}
