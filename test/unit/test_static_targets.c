#include "cluster-agent/scrape/static_targets.h"

#include <errno.h>

#include "test/lib/unit.h"

static const bool cpu_and_heap[PROFILE_KIND_MAX] = {
	[PROFILE_KIND_CPU] = true, [PROFILE_KIND_HEAP] = true};

struct fixture {
	struct arena arena;
	struct static_targets t;
	struct err err;
};

static void teardown(struct fixture *f)
{
	arena_fini(&f->arena);
}

static int parse(struct fixture *f, const char *text)
{
	*f = (struct fixture){0};
	arena_init(&f->arena, STATIC_TARGETS_ARENA_BYTES);
	return static_targets_parse(&f->t, &f->arena, text, strlen(text), cpu_and_heap, &f->err);
}

static void check_refused(const char *text, const char *why)
{
	CLEANUP(teardown) struct fixture f;

	assert_int_equal(parse(&f, text), -EBADMSG);
	if (strcmp(f.err.msg, why) != 0)
		fail_msg("%s: %s", text, f.err.msg);
}

static const char *label(const struct scrape_target *t, const char *name)
{
	for (size_t i = 0; i < t->n_labels; i++)
		if (strcmp(t->labels[i].name, name) == 0)
			return t->labels[i].value;
	return NULL;
}

#define JOB "scrape_configs:\n- job_name: shop\n  static_configs:\n  - targets: [a.example:80]\n"

TEST(a_job_needs_a_name_and_addresses)
{
	CLEANUP(teardown) struct fixture f;
	const struct scrape_target *t;

	assert_int_equal(parse(&f, JOB), 0);
	assert_int_equal(f.t.n, 1);
	t = f.t.targets;
	assert_string_equal(t->uid, "static/shop/a.example:80");
	assert_string_equal(t->service, "shop");
	assert_string_equal(t->ip, "a.example");
	assert_string_equal(label(t, "job"), "shop");
	assert_string_equal(label(t, "container.id"), "a.example:80");
	assert_int_equal(t->n_endpoints, 2);
	assert_int_equal(t->endpoints[0].port, 80);
	assert_string_equal(t->endpoints[1].path, "/debug/pprof/heap");
	assert_false(t->endpoints[1].asked_for);
	assert_true(t->settings->interval_ns == 0);
}

TEST(a_job_may_say_everything)
{
	static const char text[] =
		"scrape_configs:\n"
		"- static_configs:\n"
		"  - targets: ['10.0.0.1:6060', '[::1]:6061']\n"
		"    labels: {service_name: cart, env: prod, job: other, container.id: x}\n"
		"  - targets: [b:1]\n"
		"  types: [cpu, fgprof, memory]\n"
		"  paths: {fgprof: /f, heap: /h}\n"
		"  path_prefix: /in/\n"
		"  scheme: https\n"
		"  scrape_interval: 1m30s\n"
		"  tls_config: {ca_file: ca, cert_file: c, key_file: k, server_name: s,\n"
		"    insecure_skip_verify: true}\n"
		"  basic_auth: {username: u, password_file: p}\n"
		"  job_name: shop\n";
	CLEANUP(teardown) struct fixture f;
	const struct scrape_target *t;
	const struct scraper_auth *a;

	assert_int_equal(parse(&f, text), 0);
	assert_int_equal(f.t.n, 3);
	t = &f.t.targets[1];
	assert_string_equal(t->ip, "::1");
	assert_string_equal(t->service, "cart");
	assert_string_equal(label(t, "env"), "prod");
	assert_string_equal(label(t, "job"), "other");
	assert_string_equal(label(t, "container.id"), "x");
	assert_null(label(t, "service_name"));
	assert_int_equal(t->n_endpoints, 3);
	assert_string_equal(t->endpoints[0].path, "/in/debug/pprof/profile");
	assert_string_equal(t->endpoints[1].path, "/h");
	assert_string_equal(t->endpoints[2].path, "/f");
	assert_true(t->endpoints[2].https && t->endpoints[2].asked_for);
	assert_true(t->settings->interval_ns == UINT64_C(90000000000));
	a = &t->settings->auth;
	assert_true(a->insecure_skip_verify && a->over_http);
	assert_string_equal(a->ca_file, "ca");
	assert_string_equal(a->tls_server_name, "s");
	assert_string_equal(a->password_file, "p");
	assert_string_equal(f.t.targets[2].service, "shop");
}

TEST(a_file_may_be_empty)
{
	CLEANUP(teardown) struct fixture f;
	CLEANUP(teardown) struct fixture g;

	assert_int_equal(parse(&f, ""), 0);
	assert_int_equal(f.t.n, 0);
	assert_int_equal(parse(&g, "scrape_configs: []\n"), 0);
	assert_int_equal(g.t.n, 0);
}

TEST(mistakes_name_their_line)
{
	check_refused("scrape_config: []\n", "1: the file has no key \"scrape_config\"");
	check_refused("[]", "1: the file is no mapping");
	check_refused("scrape_configs: {}\n", "1: scrape_configs is no list");
	check_refused("scrape_configs:\n- x\n", "2: scrape_configs is no mapping");
	check_refused("a: [\n", "2: did not find expected node content");
	check_refused(JOB "  tpyes: [cpu]\n", "5: scrape_configs has no key \"tpyes\"");
	check_refused(JOB "  types: [gpu]\n", "5: \"gpu\" is not a type of profile");
	check_refused(JOB "  types: cpu\n", "5: types is no list");
	check_refused(JOB "  job_name: x\n", "5: job_name is given twice");
	check_refused(JOB "  scheme: ftp\n", "5: scheme is neither http nor https");
	check_refused(JOB "  scrape_interval: 1ms\n",
		      "5: scrape_interval is no duration from 1s to 1h");
	check_refused(JOB "  path_prefix: /../x\n", "5: \"/../x\" is no path");
	check_refused(JOB "  paths: {heap: 'x?y'}\n", "5: \"x?y\" is no path");
	check_refused(JOB "  paths: {gpu: /x}\n", "5: \"gpu\" is not a type of profile");
	check_refused(JOB "  tls_config: {cert_file: x}\n",
		      "5: cert_file and key_file go together");
	check_refused(JOB "  tls_config: {insecure_skip_verify: 1}\n",
		      "5: true or false is expected");
	check_refused(JOB "  basic_auth: {username: x}\n",
		      "5: basic_auth needs username and password_file");
	check_refused(JOB "  basic_auth: {username: x, password: y}\n",
		      "5: basic_auth has no key \"password\"");
	check_refused(JOB "  basic_auth: {username: x, password_file: y}\n"
			  "  bearer_token_file: z\n",
		      "2: basic_auth and bearer_token_file contradict each other");
	check_refused(JOB "    labels: {a: b, a: c}\n", "5: the label a is given twice");
	check_refused(JOB "    labels: [a]\n", "5: labels is no mapping");
	check_refused(JOB "  - labels: {a: b}\n", "5: targets are missing");
	check_refused("scrape_configs:\n- job_name: x\n", "2: static_configs are missing");
	check_refused("scrape_configs:\n- static_configs: []\n", "2: job_name is missing");
	check_refused(JOB "- job_name: shop\n  static_configs: [{targets: [a.example:80]}]\n",
		      "1: job shop has the target a.example:80 twice");
}

TEST(addresses_are_one_host_and_one_port)
{
	static const char *const bad[] = {"a",       "a:",     ":80",   "a:0",         "a:65536",
					  "a/b:1",   "u@a:1",  "a?b:1", "http://a:80", "[x]:80",
					  "[::1:80", "::1:80", "a b:1", "[]:80",       "-a:1"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char text[256], why[256];

		snprintf(text, sizeof(text),
			 "scrape_configs:\n- job_name: x\n  static_configs:\n  - targets: ['%s']\n",
			 bad[i]);
		snprintf(why, sizeof(why), "4: \"%s\" is not host:port", bad[i]);
		check_refused(text, why);
	}
}

static int parse_with_little_memory(void *ctx)
{
	CLEANUP(arena_fini) struct arena arena;
	struct static_targets t;

	(void)ctx;
	arena_init(&arena, STATIC_TARGETS_ARENA_BYTES);
	return static_targets_parse(&t, &arena, JOB, strlen(JOB), cpu_and_heap, NULL);
}

TEST(lack_of_memory_is_an_error)
{
	check_oom(parse_with_little_memory, NULL);
}
