/* Times that cannot be right, and the hosts that they come from. */
#include <errno.h>

#include "cluster-agent/ingest/clock_skews.h"
#include "cluster-agent/ingest/profile_rows.h"
#include "common/system/clock.h"
#include "common/telemetry/metrics.h"
#include "test/lib/unit.h"

#define S ((int64_t)NS_PER_S)
#define NOW (INT64_C(1700000000) * S)
#define DAY (86400 * S)
#define TTL (7 * DAY)

static void check_window(int64_t end_ns, int64_t want_end_ns, int64_t want_skew_ns)
{
	struct profile_window w;

	profile_window_set(&w, end_ns, 10 * S, NOW, TTL);
	assert_true(w.end_ns == want_end_ns);
	assert_true(w.start_ns == want_end_ns - 10 * S);
	assert_true(w.skew_ns == want_skew_ns);
}

TEST(what_cannot_be_right_is_stored_when_it_arrives)
{
	struct profile_window w;

	check_window(NOW + 7200 * S, NOW, 7200 * S);
	check_window(NOW + 3000 * S, NOW, 3000 * S);
	check_window(NOW + 61 * S, NOW, 61 * S);
	check_window(NOW - 30 * DAY, NOW, -30 * DAY);
	check_window(1, NOW, 1 - NOW);
	check_window(-1, NOW, -1 - NOW);
	check_window(INT64_MAX, NOW, INT64_MAX - NOW);
	check_window(INT64_MIN, NOW, INT64_MIN);
	/* what is old and still kept, and what is a little ahead, stay where they are */
	check_window(NOW - TTL, NOW - TTL, 0);
	check_window(NOW - DAY, NOW - DAY, 0);
	check_window(NOW + 60 * S, NOW + 60 * S, 0);
	check_window(NOW, NOW, 0);
	/* no time at all */
	check_window(0, NOW, 0);
	profile_window_set(&w, NOW, -1, NOW, TTL);
	assert_true(w.bad_duration && w.start_ns == NOW && w.end_ns == NOW);
	profile_window_set(&w, NOW, TTL + 1, NOW, TTL);
	assert_true(w.bad_duration && w.start_ns == NOW);
}

TEST(a_skew_is_told_in_few_words)
{
	static const struct {
		int64_t skew_ns;
		const char *text;
	} cases[] = {
		{7200 * S, "2h ahead"},
		{7201 * S, "2h ahead"},
		{7180 * S, "2h ahead"},
		{3000 * S, "50m ahead"},
		{-3000 * S, "50m behind"},
		{-30 * DAY - 9 * S, "30d behind"},
		{-30 * DAY + 9 * S, "30d behind"},
		{-NOW, "19676d behind"},
		{61 * S, "1m ahead"},
		{INT64_MAX, "106752d ahead"},
		{INT64_MIN, "106752d behind"},
	};
	char text[CLOCK_SKEW_TEXT_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		clock_skew_text(cases[i].skew_ns, text);
		assert_string_equal(text, cases[i].text);
	}
}

static struct row_text text_of(const char *s)
{
	return (struct row_text){s, strlen(s)};
}

static void expect_json(struct clock_skews *cs, const char *want)
{
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, 1 << 20);
	assert_int_equal(clock_skews_json(cs, &b), 0);
	if (!strstr(b.data, want))
		fail_msg("no %s in %s", want, b.data);
}

TEST(hosts_are_listed_by_metric_and_page)
{
	CLEANUP(clock_skews_freep) struct clock_skews *cs = NULL;
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, 1 << 20);
	assert_int_equal(clock_skews_new(&cs), 0);
	assert_int_equal(metrics_new(&ms), 0);
	assert_int_equal(clock_skews_register(cs, ms), 0);
	expect_json(cs, "{\"hosts\":[]}");
	clock_skews_note(cs, text_of("b"), -3600 * S, CLOCK_SKEW_AT_ARRIVAL);
	clock_skews_note(cs, text_of("b"), -7200 * S, CLOCK_SKEW_AT_ARRIVAL);
	clock_skews_note(cs, text_of("a\"\n"), 9000 * S, CLOCK_SKEW_CORRECTED);
	clock_skews_note(cs, text_of(""), 60 * S, CLOCK_SKEW_AT_ARRIVAL);
	assert_int_equal(metrics_write(ms, &b), 0);
	assert_non_null(strstr(b.data, "_clock_skew_seconds{host=\"b\"} -7200\n"));
	assert_non_null(strstr(b.data, "{host=\"unknown\"} 60\n"));
	assert_non_null(strstr(b.data, " 9000\n"));
	expect_json(cs, "{\"hosts\":[{\"host\":\"a");
	expect_json(cs, "{\"host\":\"b\",\"skewSeconds\":-7200,\"corrected\":false,\"lastSeen\":");
	expect_json(cs, "\"skewSeconds\":9000,\"corrected\":true,");
}

TEST(hosts_are_limited_in_number)
{
	CLEANUP(clock_skews_freep) struct clock_skews *cs = NULL;
	CLEANUP(buf_fini) struct buf b;
	char long_name[1000], name[32];
	size_t n = 0;

	buf_init(&b, 1 << 20);
	assert_int_equal(clock_skews_new(&cs), 0);
	for (unsigned i = 0; i < 3 * CLOCK_SKEWS_MAX_HOSTS; i++) {
		snprintf(name, sizeof(name), "node-%u", i);
		clock_skews_note(cs, text_of(name), (i + 60) * S, CLOCK_SKEW_AT_ARRIVAL);
	}
	memset(long_name, 'x', sizeof(long_name));
	clock_skews_note(cs, (struct row_text){long_name, sizeof(long_name)}, 99 * S,
			 CLOCK_SKEW_AT_ARRIVAL);
	assert_int_equal(clock_skews_json(cs, &b), 0);
	for (const char *at = b.data; (at = strstr(at, "\"host\"")); at++)
		n++;
	assert_int_equal(n, CLOCK_SKEWS_MAX_HOSTS);
	/* the newest are there */
	expect_json(cs, "\"node-767\"");
	expect_json(cs, "\"xxxxxxxx");
}
