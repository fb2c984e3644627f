#include "test/lib/scraped_pods.h"

/* ---- what goes wrong ---- */

static bool failed(struct fixture *f)
{
	static const char *const all[] = {"timeout", "connect", "http_status", "too_large",
					  "memory",  "invalid", "credentials", "failed"};
	uint64_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		n += outcomes(f, all[i]);
	return n > 0;
}

static void assert_failure(const char *path, const char *answer, unsigned status,
			   const char *outcome, const char *error)
{
	/* short only in the tests that wait for it: the machine may be busy */
	const struct scraper_config cfg = {
		.interval_ns = 60 * NS_PER_S,
		.timeout_ns = strcmp(outcome, "timeout") == 0 ? 200 * NS_PER_MS : 0,
	};
	CLEANUP(teardown) struct fixture f;
	struct scrape_endpoint e;

	setup_with(&f, &cfg);
	f.answer = answer;
	f.answer_status = status;
	e = endpoint(&f, PROFILE_KIND_MUTEX, path);
	e.asked_for = true;
	upsert(&f, "pod-1", e);
	run_until(&f, failed);
	assert_int_equal(outcomes(&f, outcome), 1);
	assert_true(strncmp(last_error(&f), error, strlen(error)) == 0);
	assert_int_equal(metric(&f, "scrape_targets{state=\"down\"}"), 1);
	assert_int_equal(f.n_puts, 0);
}

TEST(every_failure_has_its_outcome_and_sentence)
{
	static char text[300 * 1024];

	memset(text, 'x', sizeof(text) - 1);
	assert_failure("/text", text, 500, "too_large", "response body: larger than allowed");
	assert_failure("/text", "Could not enable CPU profiling: cpu profiling already in use", 500,
		       "http_status",
		       "HTTP 500: Could not enable CPU profiling: cpu profiling already in use");
	assert_failure("/nowhere", "", 0, "http_status", "HTTP 404: ");
	assert_failure("/text", "moved", 302, "http_status", "HTTP 302: moved");
	assert_failure("/text", "<!DOCTYPE html><html>", 200, "invalid",
		       "not a pprof profile: <!DOCTYPE html><html>");
	assert_failure("/text", "heap profile: 1: 2 [3: 4] @ heap/1\n", 200, "invalid",
		       "a text profile");
	assert_failure("/text", "--- threadz 1 ---", 200, "invalid", "a text profile");
	assert_failure("/large", "", 0, "too_large", "the answer is larger than 1048576 bytes");
	assert_failure("/never", "", 0, "timeout", "");
}

static bool failed_twice(struct fixture *f)
{
	return outcomes(f, "http_status") >= 2;
}

/* A pod is annotated, and has its address, before its program is ready. */
TEST(a_first_scrape_that_fails_is_repeated_before_its_slot)
{
	static const struct scraper_config seldom = {.interval_ns = 3600 * NS_PER_S};
	CLEANUP(teardown) struct fixture f;

	setup_with(&f, &seldom);
	f.answer = "starting";
	f.answer_status = 503;
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_HEAP, "/text"));
	run_until(&f, failed_twice);
	assert_int_equal(outcomes(&f, "http_status"), 2);
}

static bool not_offered(struct fixture *f)
{
	return outcomes(f, "not_offered") > 0;
}

static void assert_not_offered(const char *path, unsigned status)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	f.answer = "no such thing";
	f.answer_status = status;
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_HEAP, path));
	run_until(&f, not_offered);
	assert_int_equal(outcomes(&f, "http_status"), 0);
	assert_int_equal(metric(&f, "scrape_targets{state=\"down\"}"), 0);
	assert_int_equal(metric(&f, "scrape_targets{state=\"not_offered\"}"), 1);
}

TEST(a_type_that_nobody_asked_for_may_be_missing)
{
	assert_not_offered("/nowhere", 0);
	assert_not_offered("/text", 412);
}

TEST(answers_under_way_have_a_limit_together)
{
	static const struct scraper_config little = {
		.interval_ns = 60 * NS_PER_S, .max_memory_bytes = MIB, .max_body_bytes = 16 * MIB};
	CLEANUP(teardown) struct fixture f;

	setup_with(&f, &little);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_HEAP, "/large"));
	run_until(&f, failed);
	assert_int_equal(outcomes(&f, "memory"), 1);
	assert_string_equal(last_error(&f),
			    "the answers being received take more than 1048576 bytes");
}

static bool asked_four_times(struct fixture *f)
{
	return outcomes(f, "not_offered") >= 3;
}

TEST(what_is_not_found_is_asked_for_less_often)
{
	CLEANUP(teardown) struct fixture f;
	json_t *json;
	const json_t *e;
	json_int_t wait;

	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_BLOCK, "/nowhere"));
	run_until(&f, asked_four_times);
	json = fetch_targets(&f);
	e = json_array_get(
		json_object_get(json_array_get(json_object_get(json, "targets"), 0), "endpoints"),
		0);
	wait = json_integer_value(json_object_get(e, "nextScrape")) -
	       json_integer_value(json_object_get(json, "now"));
	assert_in_range(wait, 3000, 10000);
	json_decref(json);
}

/* ---- credentials ---- */

TEST(a_token_is_sent_over_http_only_if_configured)
{
	struct scraper_config cfg = {.interval_ns = NS_PER_S};
	char file[] = "/tmp/scraper-token-XXXXXX";
	int fd = mkstemp(file);

	assert_true(fd >= 0 && write(fd, "s3cret\n", 7) == 7);
	close(fd);
	cfg.auth.token_file = file;
	for (int over_http = 0; over_http < 2; over_http++) {
		CLEANUP(teardown) struct fixture f;

		cfg.auth.over_http = over_http;
		setup_with(&f, &cfg);
		upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_CPU, "/debug/pprof/profile"));
		run_until(&f, one_put);
		assert_string_equal(f.authorization, over_http ? "Bearer s3cret" : "-");
	}
	unlink(file);
}

TEST(without_its_token_file_nothing_is_asked)
{
	static const struct scraper_config cfg = {
		.interval_ns = 60 * NS_PER_S,
		.auth = {.token_file = "/nonexistent/token", .over_http = true}};
	CLEANUP(teardown) struct fixture f;

	setup_with(&f, &cfg);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_CPU, "/debug/pprof/profile"));
	run_until(&f, failed);
	assert_int_equal(outcomes(&f, "credentials"), 1);
	assert_string_equal(last_error(&f),
			    "cannot read /nonexistent/token: No such file or directory");
	assert_int_equal(f.n_requests, 0);
}
