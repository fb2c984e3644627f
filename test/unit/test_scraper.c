#include <errno.h>

#include "test/lib/scraped_pods.h"

/* ---- what is scraped ---- */

/* Slots are one interval apart; the gap is shorter if the first scrape was late. */
static bool three_puts_and_an_interval(struct fixture *f)
{
	return f->n_puts >= 3 && f->puts[f->n_puts - 1].duration_ns >= (int64_t)NS_PER_S / 2;
}

TEST(a_lock_profile_is_taken_every_interval_as_differences)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex"));
	run_until(&f, three_puts_and_an_interval);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(f.puts[i].service, "/k8s/shop/cart");
		assert_string_equal(f.puts[i].pod, "pod-1");
		assert_string_equal(f.puts[i].port, "");
		assert_string_equal(f.puts[i].types,
				    "go:mutex_contentions:count go:mutex_delay:nanoseconds");
		assert_int_equal(f.puts[i].n_samples, 1);
		assert_int_equal(f.puts[i].first, 10);
		assert_int_equal(f.puts[i].last, 1000);
	}
	/* the first profile gave nothing to upload */
	assert_int_equal(outcomes(&f, "ok"), f.n_puts + 1);
	assert_int_equal(metric(&f, "scrape_targets{state=\"up\"}"), 1);
	assert_int_equal(metric(&f, "scrape_baseline_bytes"), 64);
	assert_int_equal(metric(&f, "scrape_memory_bytes"), 0);
	assert_int_equal(metric(&f, "scraped_profiles_total{kind=\"mutex\"}"), f.n_puts);
	assert_string_equal(f.authorization, "-");
	assert_true(strncmp(f.agent, "coroot-cluster-agent/", 21) == 0);
	assert_string_equal(f.query, "-");
}

TEST(namespaces_and_nodes_label_what_pods_do_not)
{
	CLEANUP(teardown) struct fixture f;
	const struct scrape_label labels[] = {{"v", "1"}, {"team", "a"}};
	struct scrape_container c = {"main", "", ""};
	struct scrape_endpoint e;
	struct scrape_target t = {
		.uid = "pod-1",
		.namespace = "shop",
		.pod = "pod-1",
		.node = "node-1",
		.service = "/k8s/shop/cart",
		.ip = "127.0.0.1",
		.containers = &c,
		.n_containers = 1,
		.problem = "",
		.endpoints = &e,
		.n_endpoints = 1,
		.labels = labels,
		.n_labels = ARRAY_SIZE(labels),
	};

	setup(&f);
	e = endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex");
	scraper_set_wishes(f.scraper, &RECEIVER_WISHES_OWN);
	assert_int_equal(scraper_upsert(f.scraper, &t), 0);
	run_until(&f, one_put);
	assert_string_equal(f.puts[0].more, "v=1 team=a zone=z ");

	/* Coroot stores every label that it gets */
	scraper_set_wishes(f.scraper, &RECEIVER_WISHES_COROOT);
	f.n_puts = 0;
	run_until(&f, two_puts);
	assert_string_equal(f.puts[1].more, "");
}

TEST(the_receivers_wishes_are_kept)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex"));
	run_until(&f, two_puts);
	assert_string_equal(f.puts[f.n_puts - 1].service, "/k8s/shop/cart");
	assert_false(f.puts[f.n_puts - 1].has_extra_labels);

	f.n_puts = 0;
	scraper_set_wishes(f.scraper, &RECEIVER_WISHES_OWN);
	run_until(&f, two_puts);
	assert_string_equal(f.puts[1].service, "/k8s/shop/cart");
	assert_true(f.puts[1].has_extra_labels);
	assert_string_equal(f.puts[1].container, "main");
	/* as the node agent calls it */
	assert_string_equal(f.puts[1].container_id, "/k8s/shop/pod-1/main");

	f.n_puts = 0;
	scraper_set_wishes(f.scraper, &RECEIVER_WISHES_COROOT);
	run_until(&f, two_puts);
	assert_string_equal(f.puts[1].service, "/k8s-cronjob/shop/cart/main");
	assert_false(f.puts[1].has_extra_labels);
	assert_string_equal(f.puts[1].container, "");
	assert_string_equal(f.puts[1].container_id, "");
}

static bool one_begins_anew(struct fixture *f)
{
	return f->n_puts > 0 && f->puts[f->n_puts - 1].contentions < 10;
}

TEST(a_restart_gives_what_the_new_process_did)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex"));
	run_until(&f, two_puts);
	pthread_mutex_lock(&f.lock);
	f.restarts = true;
	pthread_mutex_unlock(&f.lock);
	run_until(&f, one_begins_anew);
	assert_int_equal(f.puts[f.n_puts - 1].first, 3);
	assert_int_equal(f.puts[f.n_puts - 1].last, 210);
	assert_int_equal(metric(&f, "scrape_restarts_total"), 1);
}

TEST(a_cpu_profile_is_asked_for_in_seconds)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_CPU, "/debug/pprof/profile"));
	run_until(&f, two_puts);
	assert_string_equal(f.query, "1");
	assert_string_equal(f.puts[0].types, "go:profile_cpu:nanoseconds");
	assert_int_equal(f.puts[0].first, 30000000);
	assert_int_equal(f.puts[0].duration_ns, NS_PER_S);
}

static bool each_once(struct fixture *f)
{
	return outcomes(f, "ok") >= 3 && f->n_puts >= 1;
}

/* Its slot is up to an hour away. */
TEST(a_new_target_is_scraped_at_once)
{
	static const struct scraper_config seldom = {.interval_ns = 3600 * NS_PER_S};
	CLEANUP(teardown) struct fixture f;

	setup_with(&f, &seldom);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_CPU, "/debug/pprof/profile"));
	upsert(&f, "pod-2", endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex"));
	upsert(&f, "pod-3", endpoint(&f, PROFILE_KIND_GOROUTINE, "/debug/pprof/goroutine"));
	run_until(&f, each_once);
	assert_int_equal(outcomes(&f, "ok"), 3);
	assert_string_equal(f.puts[0].types, "go:profile_cpu:nanoseconds");
}

static bool scraped_thrice(struct fixture *f)
{
	return outcomes(f, "ok") >= 3;
}

TEST(an_empty_profile_is_a_success_with_nothing_to_upload)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_GOROUTINE, "/debug/pprof/goroutine"));
	run_until(&f, scraped_thrice);
	assert_int_equal(f.n_puts, 0);
}

TEST(pods_with_several_ports_have_them_in_their_labels)
{
	CLEANUP(teardown) struct fixture f;
	struct scrape_endpoint endpoints[2];
	struct scrape_container containers[] = {{"app", "svc", "1"}, {"proxy", "", "1"}};
	struct scrape_target t = {"uid", "shop",     "pod", "node-1",  "svc", "127.0.0.1",
				  "",    containers, 2,     endpoints, 2};
	char port[8];

	setup(&f);
	endpoints[0] = endpoint(&f, PROFILE_KIND_CPU, "/debug/pprof/profile");
	endpoints[1] =
		(struct scrape_endpoint){PROFILE_KIND_CPU, false, 1, "/debug/pprof/profile", 1};
	assert_int_equal(scraper_upsert(f.scraper, &t), 0);
	run_until(&f, two_puts);
	snprintf(port, sizeof(port), "%u", endpoints[0].port);
	assert_string_equal(f.puts[0].port, port);
	/* nothing listens on port 1 */
	assert_true(outcomes(&f, "connect") >= 1);
	assert_int_equal(metric(&f, "scrape_targets{state=\"up\"}"), 1);
}

static bool is_end_of_a_put(const struct fixture *f, int64_t ms)
{
	for (size_t i = 0; i < f->n_puts; i++)
		if (f->puts[i].end_ns / (int64_t)NS_PER_MS == ms)
			return true;
	return false;
}

TEST(the_page_shows_what_is_scraped_and_when)
{
	CLEANUP(teardown) struct fixture f;
	const json_t *target, *e;
	json_t *json;
	char url[64];

	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex"));
	scraper_set_discovery(f.scraper, true, "slow");
	assert_int_equal(scraper_set_forwarding(f.scraper, "https://a:b@coroot:8080/x@y"), 0);
	run_until(&f, one_put);
	json = fetch_targets(&f);
	target = json_array_get(json_object_get(json, "targets"), 0);
	e = json_array_get(json_object_get(target, "endpoints"), 0);
	assert_string_equal(text(json, "forwarding"), "https://coroot:8080/x@y");
	assert_true(json_is_true(json_object_get(json_object_get(json, "discovery"), "synced")));
	assert_string_equal(text(json_object_get(json, "discovery"), "problem"), "slow");
	assert_string_equal(text(target, "state"), "up");
	assert_string_equal(text(target, "pod"), "pod-1");
	assert_string_equal(text(e, "type"), "mutex");
	assert_string_equal(text(e, "container"), "main");
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/debug/pprof/mutex",
		 http_server_port(f.server));
	assert_string_equal(text(e, "url"), url);
	assert_string_equal(text(e, "lastError"), "");
	assert_true(json_integer_value(json_object_get(e, "lastBytes")) > 0);
	assert_true(is_end_of_a_put(&f, json_integer_value(json_object_get(e, "lastScrape"))));
	assert_true(json_number_value(json_object_get(e, "lastDurationMs")) > 0);
	json_decref(json);
}

/* The state and the error of the only endpoint, and the state of its pod. */
static void expect_shown(struct fixture *f, const char *state, const char *error)
{
	json_t *json = fetch_targets(f);
	const json_t *target = json_array_get(json_object_get(json, "targets"), 0);
	const json_t *e = json_array_get(json_object_get(target, "endpoints"), 0);
	char line[64];

	assert_string_equal(text(target, "state"), state);
	assert_string_equal(text(e, "state"), state);
	assert_string_equal(text(e, "lastError"), error);
	json_decref(json);
	snprintf(line, sizeof(line), "scrape_targets{state=\"%s\"}", state);
	assert_int_equal(metric(f, line), 1);
}

TEST(the_page_shows_what_was_refused_until_a_profile_is_taken)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex"));
	run_until(&f, one_put);
	expect_shown(&f, "up", "");
	/* not a number of ours */
	scraper_take_receipt(f.scraper, f.puts[0].number + 1, "no");
	expect_shown(&f, "up", "");
	scraper_take_receipt(f.scraper, f.puts[0].number, "HTTP 413: too large");
	expect_shown(&f, "refused", "HTTP 413: too large");
	/* another scrape alone changes nothing */
	f.n_before = f.n_puts;
	run_until(&f, one_more_put);
	expect_shown(&f, "refused", "HTTP 413: too large");
	/* what is said of a profile late is not said of its successor */
	scraper_take_receipt(f.scraper, f.puts[0].number, NULL);
	expect_shown(&f, "refused", "HTTP 413: too large");
	scraper_take_receipt(f.scraper, f.puts[f.n_puts - 1].number, NULL);
	expect_shown(&f, "up", "");
	/* of a pod that is gone nothing is remembered */
	f.n_before = f.n_puts;
	run_until(&f, one_more_put);
	scraper_remove(f.scraper, "pod-1");
	scraper_take_receipt(f.scraper, f.puts[f.n_puts - 1].number, "late");
}

static bool scraped_twice_more(struct fixture *f)
{
	return outcomes(f, "ok") >= f->n_before + 2;
}

TEST(a_refusal_is_forgotten_when_there_is_nothing_to_refuse)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex"));
	run_until(&f, one_put);
	scraper_take_receipt(f.scraper, f.puts[f.n_puts - 1].number, "HTTP 413: too large");
	expect_shown(&f, "refused", "HTTP 413: too large");
	pthread_mutex_lock(&f.lock);
	f.stands_still = true;
	pthread_mutex_unlock(&f.lock);
	f.n_before = outcomes(&f, "ok");
	run_until(&f, scraped_twice_more);
	expect_shown(&f, "up", "");
}

/* ---- pods that come and go ---- */

static bool is_asked(struct fixture *f)
{
	bool asked;

	pthread_mutex_lock(&f->lock);
	asked = f->n_requests > 0;
	pthread_mutex_unlock(&f->lock);
	return asked;
}

static uint64_t in_flight(const struct fixture *f)
{
	return metric(f, "scrapes_in_flight");
}

TEST(a_removed_pod_is_left_at_once)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_HEAP, "/never"));
	run_until(&f, is_asked);
	assert_int_equal(in_flight(&f), 1);
	scraper_remove(f.scraper, "pod-1");
	assert_int_equal(in_flight(&f), 0);
	assert_int_equal(outcomes(&f, "cancelled"), 1);
	assert_int_equal(metric(&f, "scrape_targets{state=\"pending\"}"), 0);
	scraper_remove(f.scraper, "pod-1");
}

TEST(a_pod_at_another_address_starts_without_a_baseline)
{
	CLEANUP(teardown) struct fixture f;
	struct scrape_endpoint e;
	struct scrape_container c = {"main", "", "1"};
	struct scrape_target t = {
		"pod-1", "shop", "pod-1", "node-1", "/k8s/shop/cart", "127.0.0.2", "",
		&c,      1,      &e,      1};

	setup(&f);
	e = endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex");
	upsert(&f, "pod-1", e);
	run_until(&f, one_put);
	f.n_before = f.n_puts;
	assert_int_equal(scraper_upsert(f.scraper, &t), 0);
	run_until(&f, one_more_put);
	/* one profile was the baseline of the new address */
	assert_true(f.puts[f.n_before].contentions >= f.puts[f.n_before - 1].contentions + 20);
	assert_true(strncmp(f.host, "127.0.0.2:", 10) == 0);
}

TEST(other_labels_keep_the_state_of_a_pod)
{
	CLEANUP(teardown) struct fixture f;
	struct scrape_endpoint both[2];
	struct scrape_container c = {"main", "", "2"};
	struct scrape_target t = {
		"pod-1", "shop", "pod-1", "node-1", "/k8s/shop/other", "127.0.0.1", "",
		&c,      1,      both,    2};

	setup(&f);
	both[0] = endpoint(&f, PROFILE_KIND_GOROUTINE, "/debug/pprof/goroutine");
	both[1] = endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex");
	upsert(&f, "pod-1", both[1]);
	run_until(&f, one_put);
	f.n_before = f.n_puts;
	assert_int_equal(scraper_upsert(f.scraper, &t), 0);
	run_until(&f, one_more_put);
	assert_string_equal(f.puts[f.n_before].service, "/k8s/shop/other");
	assert_int_equal(f.puts[f.n_before].first, 10);
	assert_int_equal(f.puts[f.n_before].contentions, f.puts[f.n_before - 1].contentions + 10);
	/* the endpoint that was removed disappears, the other one stays */
	t.endpoints = &both[1];
	t.n_endpoints = 1;
	f.n_before = f.n_puts;
	assert_int_equal(scraper_upsert(f.scraper, &t), 0);
	run_until(&f, one_more_put);
	assert_int_equal(f.puts[f.n_before].contentions, f.puts[f.n_before - 1].contentions + 10);
}

TEST(a_container_of_this_host_is_not_shared_with_other_replicas)
{
	CLEANUP(teardown) struct fixture f;
	struct scrape_endpoint e[2];
	char port[8];
	struct scrape_container c = {"cart", "", ""};
	const struct scrape_label labels[] = {
		{"pod", "p"}, {"namespace", "shop"}, {"node", "node-1"}};
	const struct scrape_target t = {
		.uid = "docker/1",
		.namespace = "docker",
		.pod = "cart",
		.node = "",
		.service = "/docker/cart",
		.ip = "127.0.0.1",
		.containers = &c,
		.n_containers = 1,
		.problem = "",
		.endpoints = e,
		.n_endpoints = ARRAY_SIZE(e),
		.is_local = true,
		.labels = labels,
		.n_labels = ARRAY_SIZE(labels),
	};

	setup(&f);
	f.owns = false;
	e[0] = e[1] = endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex");
	e[1].port = 1;
	assert_int_equal(scraper_upsert(f.scraper, &t), 0);
	scraper_ownership_changed(f.scraper);
	run_until(&f, one_put);
	assert_string_equal(f.puts[0].service, "/docker/cart");
	assert_string_equal(f.puts[0].pod, "p");
	snprintf(port, sizeof(port), "%u", e[0].port);
	assert_string_equal(f.puts[0].port, port);
	assert_int_equal(metric(&f, "scrape_targets{state=\"up\"}"), 1);
}

TEST(what_another_replica_owns_is_not_scraped)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	f.owns = false;
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex"));
	assert_int_equal(metric(&f, "scrape_targets{state=\"elsewhere\"}"), 1);
	f.owns = true;
	scraper_ownership_changed(f.scraper);
	run_until(&f, one_put);
	f.owns = false;
	scraper_ownership_changed(f.scraper);
	assert_int_equal(metric(&f, "scrape_targets{state=\"elsewhere\"}"), 1);
	f.owns = true;
	f.n_before = f.n_puts;
	scraper_ownership_changed(f.scraper);
	run_until(&f, one_more_put);
	/* its first profile gave nothing */
	assert_int_equal(f.puts[f.n_before].first, 10);
	assert_true(f.puts[f.n_before].contentions >= f.puts[f.n_before - 1].contentions + 20);
}

static bool waited(struct fixture *f)
{
	return clock_monotonic_ns() > f->deadline_ns - PATIENCE_NS + 300 * NS_PER_MS;
}

TEST(ownership_is_asked_again_before_each_scrape)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	upsert(&f, "pod-1", endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex"));
	/* not reported yet: the process was suspended while its pods were taken over */
	f.owns = false;
	run_until(&f, waited);
	assert_int_equal(metric(&f, "scrapes_in_flight"), 0);
	assert_int_equal(f.n_requests, 0);
	f.owns = true;
	run_until(&f, one_put);
}

TEST(what_cannot_be_asked_is_invalid)
{
	CLEANUP(teardown) struct fixture f;
	struct scrape_endpoint e;
	struct scrape_target t = {"pod-1", "shop", "pod-1", "node-1", "svc", "example.com",
				  "",      NULL,   0,       &e,       1};
	json_t *json;

	setup(&f);
	e = endpoint(&f, PROFILE_KIND_HEAP, "@example.com/");
	assert_int_equal(scraper_upsert(f.scraper, &t), 0);
	t.uid = "pod-2";
	t.ip = "127.0.0.1";
	assert_int_equal(scraper_upsert(f.scraper, &t), 0);
	t.uid = "pod-3";
	t.problem = "no port given";
	assert_int_equal(scraper_upsert(f.scraper, &t), 0);
	assert_int_equal(metric(&f, "scrape_targets{state=\"invalid\"}"), 3);
	json = fetch_targets(&f);
	assert_string_equal(text(json_array_get(json_object_get(json, "targets"), 2), "problem"),
			    "no port given");
	json_decref(json);
}

static bool eight_are_done(struct fixture *f)
{
	assert_in_range(in_flight(f), 0, 2);
	return outcomes(f, "ok") >= 40;
}

TEST(no_more_than_max_in_flight_run_at_once)
{
	static const struct scraper_config two = {.max_in_flight = 2};
	CLEANUP(teardown) struct fixture f;
	char uid[16];

	setup_with(&f, &two);
	for (int i = 0; i < 20; i++) {
		snprintf(uid, sizeof(uid), "pod-%d", i);
		upsert(&f, uid, endpoint(&f, PROFILE_KIND_MUTEX, "/debug/pprof/mutex"));
	}
	run_until(&f, eight_are_done);
}

/* Random changes at random moments: no memory is used after it was freed. */
static bool after_a_while(struct fixture *f)
{
	static unsigned n;
	char uid[16];

	n = f->n_puts == 0 ? n : n + 1;
	for (unsigned i = 0; i < 8; i++) {
		snprintf(uid, sizeof(uid), "pod-%u", i);
		if ((n + i) % 5 == 0)
			scraper_remove(f->scraper, uid);
		else if ((n + i) % 3 == 0)
			upsert(f, uid,
			       endpoint(f, PROFILE_KIND_MUTEX,
					n % 2 ? "/debug/pprof/mutex" : "/never"));
	}
	f->owns = n % 7 != 0;
	scraper_ownership_changed(f->scraper);
	if (n % 11 == 0)
		release(f);
	return n >= 150;
}

TEST(pods_may_go_at_any_moment)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	upsert(&f, "steady", endpoint(&f, PROFILE_KIND_CPU, "/debug/pprof/profile"));
	run_until(&f, one_put);
	run_until(&f, after_a_while);
	assert_true(outcomes(&f, "cancelled") > 0);
}

/* ---- construction ---- */

TEST(settings_that_cannot_work_are_refused)
{
	struct scraper_config cfg = {.interval_ns = 10 * NS_PER_S,
				     .timeout_ns = NS_PER_S,
				     .cpu_duration_ns = 11 * NS_PER_S,
				     .max_in_flight = 1};
	struct scraper *s = NULL;
	struct err err = {""};

	assert_int_equal(scraper_new(&s, &cfg, &err), -EINVAL);
	assert_string_equal(err.msg, "a CPU profile must not take longer than the interval");
	cfg.cpu_duration_ns = NS_PER_S + 1;
	assert_int_equal(scraper_new(&s, &cfg, &err), -EINVAL);
	assert_string_equal(err.msg, "a CPU profile must take whole seconds");
	cfg.cpu_duration_ns = NS_PER_S;
	cfg.max_in_flight = 0;
	assert_int_equal(scraper_new(&s, &cfg, &err), -EINVAL);
}

static int make_and_fill(void *ctx)
{
	struct fixture *f = ctx;
	struct scraper_config cfg = default_config(f);
	CLEANUP(scraper_freep) struct scraper *s = NULL;
	struct scrape_endpoint e[] = {{PROFILE_KIND_HEAP, false, 80, "/a", 0},
				      {PROFILE_KIND_CPU, true, 81, "/b", 0}};
	struct scrape_container c = {"app", "svc", "1"};
	struct scrape_target t = {"pod-1", "shop", "pod-1", "node-1", "svc", "::1",
				  "",      &c,     1,       e,        2};
	int r = scraper_new(&s, &cfg, NULL);

	for (int i = 0; i < 3 && r == 0; i++) {
		r = scraper_upsert(s, &t);
		c.process = "2";
	}
	return r == 0 ? scraper_set_forwarding(s, "http://x") : r;
}

TEST(no_memory_is_an_error)
{
	struct fixture f = {.owns = true};

	assert_int_equal(loop_new(&f.loop), 0);
	check_oom(make_and_fill, &f);
	loop_free(f.loop);
}
