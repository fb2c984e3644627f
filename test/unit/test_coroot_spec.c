#include <errno.h>
#include <jansson.h>

#include "cluster-agent/operator/render/render.h"
#include "cluster-agent/operator/spec/coroot_fields.h"
#include "cluster-agent/operator/spec/coroot_spec.h"
#include "test/lib/unit.h"

#define PATH_BYTES 320

struct parsed {
	json_t *resource;
	struct spec_problems problems;
	struct coroot_spec spec;
};

static void parsed_fini(struct parsed *p)
{
	coroot_spec_fini(&p->spec);
	spec_problems_fini(&p->problems);
	json_decref(p->resource);
}

static void parse_json(struct parsed *ret, json_t *resource)
{
	assert_non_null(resource);
	ret->resource = resource;
	assert_int_equal(coroot_spec_parse(&ret->spec, resource, &ret->problems), 0);
}

/* spec is JSON with ' for ". */
static void parse(struct parsed *ret, const char *spec)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 "{'metadata': {'name': 'n', 'namespace': 'ns', 'uid': 'u'}, 'spec': %s}", spec);
	for (char *c = strchr(text, '\''); c; c = strchr(c, '\''))
		*c = '"';
	parse_json(ret, json_loads(text, JSON_ALLOW_NUL, NULL));
}

static void parse_file(struct parsed *ret, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "test/data/operator/%s.json", name);
	parse_json(ret, json_load_file(path, 0, NULL));
}

/* The text of the problem with that path, or NULL. */
static const char *problem(const struct parsed *p, const char *path)
{
	for (size_t i = 0; i < p->problems.wrong.n; i++) {
		if (strcmp(p->problems.wrong.at[i].path, path) == 0)
			return p->problems.wrong.at[i].text;
	}
	return NULL;
}

static bool is_unused(const struct parsed *p, const char *path)
{
	for (size_t i = 0; i < p->problems.unused.n; i++) {
		if (strcmp(p->problems.unused.at[i].path, path) == 0)
			return true;
	}
	return false;
}

static void assert_no_problem(const struct parsed *p)
{
	if (p->problems.wrong.n > 0)
		fail_msg("%s %s", p->problems.wrong.at[0].path, p->problems.wrong.at[0].text);
}

/* There is one problem, it has this path, and its text begins so. */
static void assert_problem(const struct parsed *p, const char *path, const char *start)
{
	const char *text = problem(p, path);

	if (!text || p->problems.wrong.n != 1 || strncmp(text, start, strlen(start)) != 0)
		fail_msg("%zu problems; %s: \"%s\" does not begin with \"%s\"", p->problems.wrong.n,
			 path, text ? text : "(nothing)", start);
}

static void assert_json(const json_t *value, const char *expected)
{
	AUTO_FREE char *text = value ? json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	assert_non_null(text);
	for (char *c = strchr(text, '"'); c; c = strchr(c, '"'))
		*c = '\'';
	assert_string_equal(text, expected);
}

static void assert_secret(const struct coroot_secret_key *k, const char *name, const char *key)
{
	assert_non_null(k->name);
	assert_string_equal(k->name, name);
	assert_string_equal(k->key, key);
}

/* ---- whole resources ---- */

TEST(nothing_given_means_the_defaults)
{
	static const char *const empty[] = {
		"{}",
		"null",
		"{'replicas': 0, 'profilesTTL': '', 'storage': {'size': null, 'className': ''},"
		" 'service': {'port': 0, 'annotations': {}}, 'env': [], 'apiKeySecret': null,"
		" 'prometheus': {}, 'cacheTTL': '', 'nodeAgent': {'resources': {}}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(empty); i++) {
		CLEANUP(parsed_fini) struct parsed p = {0};
		const struct coroot_spec *s = &p.spec;

		parse(&p, empty[i]);
		assert_no_problem(&p);
		assert_int_equal(p.problems.unused.n, 0);
		assert_string_equal(s->name, "n");
		assert_string_equal(s->namespace, "ns");
		assert_string_equal(s->uid, "u");
		assert_string_equal(s->metrics_refresh_interval, "15s");
		assert_string_equal(s->profiles_ttl, "7d");
		assert_null(s->coroot_url);
		assert_true(s->node_agent.profiler);
		assert_int_equal(s->server_replicas, 1);
		assert_string_equal(s->server_storage.size, "10Gi");
		assert_false(s->server_storage.retain);
		assert_string_equal(s->service.type, "ClusterIP");
		assert_int_equal(s->service.port, 8080);
		assert_int_equal(s->service.node_port, 0);
		assert_null(s->service.annotations);
		assert_false(s->ingress.wanted);
		assert_string_equal(s->ingress.path, "/");
		assert_false(s->clickhouse.wanted);
		assert_int_equal(s->clickhouse.shards, 1);
		assert_int_equal(s->clickhouse.keeper.replicas, 3);
		assert_string_equal(s->clickhouse.storage.size, "100Gi");
		assert_null(s->clickhouse.s3.endpoint);
		assert_null(s->external_clickhouse.address);
		assert_null(s->server.env);
		assert_null(s->api_key_secret.name);
		assert_int_equal(s->n_project_keys, 0);
	}
}

/* Whether a field has its default or, without one, nothing. */
static bool is_default(const struct coroot_spec *s, const struct coroot_field *f)
{
	const char *at = (const char *)s + f->offset;

	if (f->type == FIELD_OBJECT || f->type == FIELD_BOOLEAN || f->flag)
		return *(const bool *)at == (f->def && strcmp(f->def, "true") == 0);
	if (f->type == FIELD_INTEGER)
		return *(const int64_t *)at == (f->def ? strtoll(f->def, NULL, 10) : 0);
	if (f->type == FIELD_STRING || f->type == FIELD_QUANTITY) {
		const char *text = *(const char *const *)at;

		return f->def ? strcmp(text, f->def) == 0 : !text;
	}
	return !*(const void *const *)at; /* first member of a secret_key, too */
}

TEST(every_field_of_the_table_is_read)
{
	CLEANUP(parsed_fini) struct parsed every = {0}, other = {0};

	parse_file(&every, "every-field");
	parse_file(&other, "other-fields");
	assert_no_problem(&every);
	assert_no_problem(&other);
	for (size_t i = 0; i < n_coroot_fields; i++) {
		const struct coroot_field *f = &coroot_fields[i];

		if (f->offset > 0 && is_default(&every.spec, f) && is_default(&other.spec, f) &&
		    strcmp(f->path, "spec.externalClickhouse.password") != 0 &&
		    strcmp(f->path, "spec.externalClickhouse.caSecret") != 0)
			fail_msg("%s is given, but has its default", f->path);
	}
	assert_int_equal(every.spec.n_project_keys, 2);
	assert_string_equal(every.spec.project_keys[0].key, "inline-key-1");
	assert_secret(&every.spec.project_keys[1].secret, "production", "key");
	assert_json(other.spec.node_agent.update_strategy, "{'type':'OnDelete'}");
	assert_string_equal(every.spec.clickhouse.s3.endpoint,
			    "https://s3.example.com/bucket/folder/");
}

TEST(every_unused_field_is_listed)
{
	CLEANUP(parsed_fini) struct parsed p = {0};
	size_t n = 0;

	parse_file(&p, "every-field");
	for (size_t i = 0; i < n_coroot_fields; i++) {
		const struct coroot_field *f = &coroot_fields[i];
		bool listed = false;

		if (!f->unused)
			continue;
		n++;
		/* of projects, another one has each */
		for (int k = 0; k < 3; k++) {
			char path[PATH_BYTES];
			const char *rest = strstr(f->path, "[]");

			snprintf(path, sizeof(path), "%.*s[%d]%s", rest ? (int)(rest - f->path) : 0,
				 f->path, k, rest ? rest + 2 : "");
			listed = listed || is_unused(&p, rest ? path : f->path);
		}
		if (!listed)
			fail_msg("%s is not listed as unused", f->path);
	}
	for (size_t i = 0; i < p.problems.unused.n; i++)
		n += p.problems.unused.at[i].text != NULL; /* made-up variables */
	assert_int_equal(p.problems.unused.n, n);
}

TEST(a_secret_is_never_optional)
{
	CLEANUP(parsed_fini) struct parsed p = {0};

	parse(&p, "{'apiKeySecret': {'name': 'a', 'key': 'b', 'optional': true}}");
	assert_no_problem(&p);
	assert_secret(&p.spec.api_key_secret, "a", "b");
	assert_int_equal(p.problems.unused.n, 1);
	assert_true(is_unused(&p, "spec.apiKeySecret.optional"));
}

TEST(what_is_no_resource_is_refused)
{
	static const char *const wrong[] = {
		"[]",
		"{}",
		"{\"metadata\": {\"name\": \"a\", \"namespace\": \"b\"}}",
		"{\"metadata\": {\"name\": \"a\", \"uid\": \"b\"}}",
		"{\"metadata\": {\"namespace\": \"a\", \"uid\": \"b\"}}",
		"{\"metadata\": {\"name\": \"../a\", \"namespace\": \"b\", \"uid\": \"c\"}}",
		"{\"metadata\": {\"name\": \"a\", \"namespace\": \"b/c\", \"uid\": \"c\"}}",
		"{\"metadata\": {\"name\": 1, \"namespace\": \"b\", \"uid\": \"c\"}}",
		"{\"metadata\": {\"name\": \"a\", \"namespace\": \"b\", \"uid\": \"c\"},"
		" \"kind\": \"Pod\"}",
		"{\"metadata\": {\"name\": \"a\", \"namespace\": \"b\", \"uid\": \"c\"},"
		" \"apiVersion\": \"coroot.com/v2\"}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct coroot_spec s = {.name = "x"};
		struct spec_problems problems = {0};
		json_t *v = json_loads(wrong[i], 0, NULL);

		assert_int_equal(coroot_spec_parse(&s, v, &problems), -EBADMSG);
		assert_null(s.name);
		json_decref(v);
	}
}

/* ---- wrong values ---- */

/* A resource in which only the field at path, "[]" being a list's only item, has that value. */
static json_t *resource_with(const char *path, const char *value)
{
	char text[1024] = "", closing[256] = "";
	const char *part = path;

	while (*part) {
		size_t len = strcspn(part, ".["), n = strlen(text);
		bool is_list = part[len] == '[';

		snprintf(text + n, sizeof(text) - n, "{\"%.*s\": %s", (int)len, part,
			 is_list ? "[" : "");
		memmove(closing + (is_list ? 2 : 1), closing, strlen(closing) + 1);
		memcpy(closing, is_list ? "]}" : "}", is_list ? 2 : 1);
		part += len + (is_list ? 2 : 0);
		part += *part == '.';
	}
	part = text + strlen(text);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", value, closing);
	{
		json_t *v = json_loads(text, JSON_ALLOW_NUL, NULL);

		assert_non_null(v);
		json_object_set_new(
			v, "metadata",
			json_pack("{s:s, s:s, s:s}", "name", "n", "namespace", "ns", "uid", "u"));
		return v;
	}
}

/* Values of every type of JSON, and which types of fields take one like it. */
static const struct {
	const char *json;
	unsigned types; /* bits */
} values[] = {
#define TAKEN_BY(type) (1u << (type))
	{"5", TAKEN_BY(FIELD_INTEGER) | TAKEN_BY(FIELD_QUANTITY)},
	{"-5", 0},
	{"1.5", TAKEN_BY(FIELD_QUANTITY)},
	{"1e30", TAKEN_BY(FIELD_QUANTITY)},
	{"true", TAKEN_BY(FIELD_BOOLEAN)},
	{"\"\\u0001\"", 0},
	{"\"\\u0000\"", 0},
	{"[\"x\"]", TAKEN_BY(FIELD_STRINGS)},
	{"[null]", 0},
	{"[{\"a\": 5}]", TAKEN_BY(FIELD_ANY_LIST)},
	{"{\"a\": 5}", TAKEN_BY(FIELD_ANY)},
	{"{\"name\": \"a/b\", \"key\": \"c\"}", TAKEN_BY(FIELD_ANY) | TAKEN_BY(FIELD_MAP)},
	{"{\"name\": \"a\", \"key\": \"..\"}", TAKEN_BY(FIELD_ANY) | TAKEN_BY(FIELD_MAP)},
	{"{\"limits\": {\"cpu\": \"x\"}}", TAKEN_BY(FIELD_ANY)},
};

TEST(every_wrong_value_is_reported_with_its_path_and_counts_as_not_given)
{
	for (size_t i = 0; i < n_coroot_fields * ARRAY_SIZE(values); i++) {
		const struct coroot_field *f = &coroot_fields[i / ARRAY_SIZE(values)];
		CLEANUP(parsed_fini) struct parsed p = {0};
		char path[PATH_BYTES] = "";
		bool reported = false;

		if (f->unused || (values[i % ARRAY_SIZE(values)].types & TAKEN_BY(f->type)) != 0)
			continue;
		for (const char *c = f->path; *c; c++) {
			size_t len = strlen(path);

			snprintf(path + len, sizeof(path) - len, *c == ']' ? "0]" : "%c", *c);
		}
		parse_json(&p, resource_with(f->path, values[i % ARRAY_SIZE(values)].json));
		for (size_t k = 0; k < p.problems.wrong.n; k++) {
			if (strncmp(p.problems.wrong.at[k].path, path, strlen(path)) == 0)
				reported = true;
		}
		if (!reported)
			fail_msg("%s: %s is not reported", path,
				 values[i % ARRAY_SIZE(values)].json);
		if (f->offset > 0 && f->type != FIELD_OBJECT && !is_default(&p.spec, f))
			fail_msg("%s: %s is used", path, values[i % ARRAY_SIZE(values)].json);
	}
}

TEST(problems_say_what_is_right_and_what_is_used)
{
	static const struct {
		const char *spec, *path, *text;
	} cases[] = {
		{"'x'", "spec", "must be an object; it is ignored"},
		{"{'service': {'port': 65536}}", "spec.service.port",
		 "must be a whole number from 1 to 65535; the default, 8080, is used"},
		{"{'metricsRefreshInterval': '15'}", "spec.metricsRefreshInterval",
		 "must be a number followed by s or m, such as \"15s\"; the default, 15s, is used"},
		{"{'clickhouse': {'logLevel': 'warn'}}", "spec.clickhouse.logLevel",
		 "must be one of none, fatal, critical, error, warning, notice, information, "
		 "debug, trace, test; the default, warning, is used"},
		{"{'service': {'type': 'ExternalName'}}", "spec.service.type",
		 "must be one of ClusterIP, NodePort, LoadBalancer; the default, ClusterIP, is "
		 "used"},
		{"{'externalClickhouse': {'address': 'a', 'tlsSkipVerify': true,"
		 " 'caSecret': {'name': 'a', 'key': 'b'}}}",
		 "spec.externalClickhouse.tlsSkipVerify", "is given together with caSecret"},
		{"{'authAnonymousRole': 'admin'}", "spec.authAnonymousRole",
		 "must be one of Admin, Editor, Viewer; it is ignored"},
		{"{'storage': {'size': '10GB'}}", "spec.storage.size",
		 "must be a quantity such as \"10Gi\"; the default, 10Gi, is used"},
		{"{'nodeAgent': {'podAnnotations': {'a': true}}}",
		 "spec.nodeAgent.podAnnotations.a",
		 "must be a string: write it in quotes; it is ignored"},
		{"{'nodeAgent': {'env': [{'name': 'A', 'value': 1}]}}", "spec.nodeAgent.env[0]",
		 "must be an object with a \"value\" that is a string: write it in quotes; it is "
		 "ignored"},
		{"{'apiKeySecret': {'name': 'a'}}", "spec.apiKeySecret",
		 "must be an object with the \"key\" in the Secret; it is ignored"},
		{"{'profilesTTL': '11y'}", "spec.profilesTTL",
		 "must be from 1h to 10y; the default, 7d, is used"},
		{"{'profilesTTL': '59m'}", "spec.profilesTTL", "must be from 1h to 10y"},
		{"{'nodeagent': {}}", "spec.nodeagent",
		 "unknown field; did you mean \"nodeAgent\"?"},
		{"{'nothingLikeIt': 1}", "spec.nothingLikeIt", "unknown field; it is ignored"},
		{"{'projects': [{'name': 'a', 'apiKeys': [{'key': 'k', 'kind': 1}]}]}",
		 "spec.projects[0].apiKeys[0].kind", "unknown field"},
		{"{'nodeAgent': {'resources': {'requests': {'cpu': 'half'}}}}",
		 "spec.nodeAgent.resources.requests.cpu", "must be a quantity"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(parsed_fini) struct parsed p = {0};

		parse(&p, cases[i].spec);
		assert_problem(&p, cases[i].path, cases[i].text);
	}
}

TEST(endless_resources_are_read_in_time)
{
	CLEANUP(parsed_fini) struct parsed p = {0};
	json_t *spec = json_object();
	char name[32];

	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "nodeAgents%d", i);
		json_object_set_new(spec, name, json_true());
	}
	parse_json(&p, json_pack("{s:{s:s, s:s, s:s}, s:o}", "metadata", "name", "n", "namespace",
				 "ns", "uid", "u", "spec", spec));
	assert_int_equal(p.problems.wrong.n, SPEC_PROBLEMS_MAX);
	assert_int_equal(p.problems.wrong.n_more, 20000 - SPEC_PROBLEMS_MAX);
}

/* ---- lists and maps ---- */

TEST(wrong_items_are_left_out)
{
	CLEANUP(parsed_fini) struct parsed p = {0};

	parse(&p,
	      "{'env': [{'name': 'A', 'value': 'a'}, {'name': '1', 'value': 'b'}, 'C',"
	      "         {'name': 'D', 'valueFrom': {'fieldRef': {'fieldPath': 'x'}}}],"
	      " 'tolerations': [5, {'operator': 'Exists'}],"
	      " 'nodeSelector': {'a': 1, 'b': 'c'},"
	      " 'nodeAgent': {'resources': {'limits': {}, 'requests': {'cpu': 'x'}}},"
	      " 'resources': {'limits': {'cpu': 1, 'memory': 'x'}, 'requests': 5, 'a': 1},"
	      " 'communityEdition': {'image': {'pullSecrets': [{'name': 'a'}, {'name': 'A_'}]}}}");
	assert_json(p.spec.server.env, "[{'name':'A','value':'a'},"
				       "{'name':'D','valueFrom':{'fieldRef':{'fieldPath':'x'}}}]");
	assert_json(p.spec.server.tolerations, "[{'operator':'Exists'}]");
	assert_json(p.spec.server.node_selector, "{'b':'c'}");
	assert_json(p.spec.server.resources, "{'limits':{'cpu':1}}");
	assert_json(p.spec.node_agent.pod.resources, "{'limits':{}}");
	assert_json(p.spec.server.image.pull_secrets, "[{'name':'a'}]");
	assert_non_null(problem(&p, "spec.env[1]"));
	assert_non_null(problem(&p, "spec.env[2]"));
	assert_non_null(problem(&p, "spec.tolerations[0]"));
	assert_non_null(problem(&p, "spec.nodeSelector.a"));
	assert_non_null(problem(&p, "spec.resources.limits.memory"));
	assert_non_null(problem(&p, "spec.resources.requests"));
	assert_non_null(problem(&p, "spec.resources.a"));
	assert_non_null(problem(&p, "spec.communityEdition.image.pullSecrets[1]"));
	assert_int_equal(p.problems.wrong.n, 9);
}

TEST(a_list_of_nothing_right_is_not_given)
{
	CLEANUP(parsed_fini) struct parsed p = {0};

	parse(&p, "{'env': [1], 'nodeSelector': {'a': 1}, 'tolerations': [null]}");
	assert_null(p.spec.server.env);
	assert_null(p.spec.server.node_selector);
	assert_null(p.spec.server.tolerations);
}

TEST(of_variables_with_one_name_the_last_one_counts)
{
	CLEANUP(parsed_fini) struct parsed p = {0};

	parse(&p,
	      "{'env': [{'name': 'A', 'value': '1'}, {'name': 'B'}, {'name': 'A', 'value': '2'},"
	      " {'name': 'A', 'value': 3}]}");
	assert_json(p.spec.server.env, "[{'name':'B'},{'name':'A','value':'2'}]");
	assert_string_equal(problem(&p, "spec.env[0]"),
			    "has the name of a later variable, which is used");
	assert_non_null(problem(&p, "spec.env[3]"));
	assert_int_equal(p.problems.wrong.n, 2);
}

TEST(variables_are_checked_whole)
{
	static const char *const wrong[] = {
		"{'value': 'a'}",
		"{'name': 'A', 'value': true}",
		"{'name': 'A', 'value': null}",
		"{'name': 'A', 'value': 'a', 'valueFrom': {'x': {}}}",
		"{'name': 'A', 'valueFrom': 'x'}",
		"{'name': 'A', 'value': 'a', 'comment': 'x'}",
		"{'name': 'A B', 'value': 'a'}",
		"{'name': 'A', 'value': 'a\\u0000b'}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		CLEANUP(parsed_fini) struct parsed p = {0};
		char spec[256];

		snprintf(spec, sizeof(spec), "{'nodeAgent': {'env': [%s]}}", wrong[i]);
		parse(&p, spec);
		assert_problem(&p, "spec.nodeAgent.env[0]", "must be ");
		assert_null(p.spec.node_agent.pod.env);
	}
}

/* ---- what must agree ---- */

TEST(fields_that_contradict_each_other_are_reported)
{
	static const struct {
		const char *spec, *path, *text;
	} cases[] = {
		{"{'apiKey': 'a', 'apiKeySecret': {'name': 'b', 'key': 'c'}}", "spec.apiKey",
		 "is given together with the Secret, which is used"},
		{"{'authBootstrapAdminPassword': 'a',"
		 " 'authBootstrapAdminPasswordSecret': {'name': 'b', 'key': 'c'}}",
		 "spec.authBootstrapAdminPassword", "is given together with the Secret"},
		{"{'externalClickhouse': {'address': 'a', 'password': 'b',"
		 " 'passwordSecret': {'name': 'b', 'key': 'c'}}}",
		 "spec.externalClickhouse.password", "is given together with the Secret"},
		{"{'tls': {'certSecret': {'name': 'a', 'key': 'b'}}}", "spec.tls.keySecret",
		 "must be given; without it"},
		{"{'tls': {'keySecret': {'name': 'a', 'key': 'b'}}}", "spec.tls.certSecret",
		 "must be given; without it"},
		{"{'tls': {'keySecret': {'name': 'a', 'key': 'b'}, 'certSecret': 1}}",
		 "spec.tls.certSecret", "must be an object"},
		{"{'agentsOnly': {}}", "spec.agentsOnly.corootURL",
		 "must be given; a server is installed"},
		{"{'agentsOnly': {'corootURL': 'a'}}", "spec.agentsOnly.corootURL",
		 "must be a URL that begins with http:// or https://"},
		{"{'service': {'grpcPort': 8080}}", "spec.service.grpcPort", "must not be spec"},
		{"{'externalClickhouse': {'user': 'a', 'tlsEnabled': true}}",
		 "spec.externalClickhouse.address", "must be given; externalClickhouse is ignored"},
		{"{'clickhouse': {'s3': {'region': 'a'}}}", "spec.clickhouse.s3.endpoint",
		 "must be given; nothing is kept in S3"},
		{"{'clickhouse': {'s3': {'endpoint': 'http://a/b/', 'cacheSize': '100Gi'}}}",
		 "spec.clickhouse.s3.cacheSize",
		 "100Gi must be less than spec.clickhouse.storage.size, 100Gi; nothing is kept"},
		{"{'clickhouse': {'s3': {'endpoint': 'http://a/b/', 'credentials':"
		 " {'accessKeyId': {'name': 'a', 'key': 'b'}}}}}",
		 "spec.clickhouse.s3.credentials.secretAccessKey", "must be given; without it"},
		{"{'service': {'nodePort': 1}}", "spec.service.nodePort", "needs the type"},
		{"{'service': {'grpcNodePort': 1}}", "spec.service.grpcNodePort", "needs the type"},
		{"{'nodeAgent': {'update_strategy': {'type': 'OnDelete'},"
		 " 'updateStrategy': {'type': 'RollingUpdate'}}}",
		 "spec.nodeAgent.updateStrategy", "is given together with update_strategy"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(parsed_fini) struct parsed p = {0};
		const struct coroot_spec *s = &p.spec;

		parse(&p, cases[i].spec);
		assert_problem(&p, cases[i].path, cases[i].text);
		assert_true(!s->api_key && !s->page_key && !s->external_clickhouse.password);
		assert_true(!s->tls_cert.name && !s->tls_key.name && !s->coroot_url);
		assert_true(!s->external_clickhouse.tls && !s->external_clickhouse.user);
		assert_true(!s->clickhouse.s3.access_key_id.name);
		if (s->node_agent.update_strategy)
			assert_json(s->node_agent.update_strategy, "{'type':'OnDelete'}");
	}
}

TEST(several_servers_need_a_store_that_they_share)
{
	static const struct {
		const char *spec;
		bool is_there, is_wrong;
	} cases[] = {
		{"{'replicas': 2}", false, true},
		{"{'replicas': 2}", true, false},
		{"{'replicas': 1}", false, false},
		{"{'replicas': 2, 'clickhouse': {}}", false, false},
		{"{'replicas': 2, 'externalClickhouse': {'address': 'a'}}", false, false},
		{"{'replicas': 2, 'agentsOnly': {'corootURL': 'http://a'}}", false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(parsed_fini) struct parsed p = {0};
		const struct render_input in = {.spec = &p.spec,
						.clickhouse_is_there = cases[i].is_there};

		parse(&p, cases[i].spec);
		assert_int_equal(render_check(&in, &p.problems), 0);
		if (cases[i].is_wrong)
			assert_problem(&p, "spec.replicas", "must be 1 while profiles are stored");
		else
			assert_no_problem(&p);
	}
}

TEST(a_name_of_which_no_objects_can_be_made_is_reported)
{
	static const char long_name[] = "a-name-that-has-fifty-characters-and-is-much-long1";
	static const struct {
		int length;
		const char *spec, *name, *text;
	} cases[] = {
		{45, "{}", long_name, NULL},
		{46, "{}", long_name, "must have at most 45 characters, "},
		{33, "{'clickhouse': {}}", long_name, NULL},
		{34, "{'clickhouse': {}}", long_name, "must have at most 33 characters, "},
		{33, "{'clickhouse': {'shards': 11}}", long_name, "must have at most 32 char"},
		{50, "{'agentsOnly': {'corootURL': 'http://a'}}", long_name, NULL},
		{3, "{}", "a.b", "must begin with a letter and have no dots, "},
		{3, "{}", "1ab", "must begin with a letter and have no dots, "},
		{3, "{'agentsOnly': {'corootURL': 'http://a'}}", "a.b", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(parsed_fini) struct parsed p = {0};
		const struct render_input in = {.spec = &p.spec};
		char name[64];

		snprintf(name, sizeof(name), "%.*s", cases[i].length, cases[i].name);
		parse(&p, cases[i].spec);
		p.spec.name = name;
		assert_int_equal(render_check(&in, &p.problems), 0);
		if (cases[i].text)
			assert_problem(&p, "metadata.name", cases[i].text);
		else
			assert_no_problem(&p);
	}
}

TEST(texts_get_the_form_that_programs_take)
{
	static const struct {
		const char *ttl, *path, *url;
		const char *right_ttl, *right_path, *right_url;
	} cases[] = {
		{"2w", "/a/b/", "http://a//", "14d", "/a/b", "http://a"},
		{"1y", "a", "https://a/b", "365d", "/a", "https://a/b"},
		{"90m", "/", "https://a/b/", "90m", "/", "https://a/b"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(parsed_fini) struct parsed p = {0};
		char spec[256];

		snprintf(spec, sizeof(spec),
			 "{'profilesTTL': '%s', 'ingress': {'path': '%s'},"
			 " 'agentsOnly': {'corootURL': '%s'}, 'storage': {'size': 1000000}}",
			 cases[i].ttl, cases[i].path, cases[i].url);
		parse(&p, spec);
		assert_no_problem(&p);
		assert_string_equal(p.spec.profiles_ttl, cases[i].right_ttl);
		assert_true(p.spec.ingress.wanted);
		assert_string_equal(p.spec.ingress.path, cases[i].right_path);
		assert_string_equal(p.spec.coroot_url, cases[i].right_url);
		assert_string_equal(p.spec.server_storage.size, "1000000");
	}
}

TEST(a_path_that_the_server_cannot_have_is_reported)
{
	static const char *const paths[] = {"/a:b",   "/a/../b", "/.",       "/api",
					    "/api/x", "v1",      "/targets", "/metrics/"};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		CLEANUP(parsed_fini) struct parsed p = {0};
		char spec[256];

		snprintf(spec, sizeof(spec), "{'ingress': {'path': '%s'}}", paths[i]);
		parse(&p, spec);
		assert_problem(&p, "spec.ingress.path", "cannot be a path of the server");
		assert_string_equal(p.spec.ingress.path, "/");
		assert_true(p.spec.ingress.wanted);
	}
}

TEST(a_path_may_begin_like_one_of_the_server)
{
	CLEANUP(parsed_fini) struct parsed p = {0};

	parse(&p, "{'ingress': {'path': '/apis'}}");
	assert_no_problem(&p);
	assert_string_equal(p.spec.ingress.path, "/apis");
}

/* ---- keys of projects ---- */

TEST(keys_of_all_projects_are_taken)
{
	CLEANUP(parsed_fini) struct parsed p = {0};

	parse(&p,
	      "{'projects': ["
	      " {'name': 'a', 'apiKeys': [{'key': 'k1'}, {'keySecret': {'name': 's', 'key': 'k'},"
	      "                                         'description': 'd'}]},"
	      " {'name': 'b', 'apiKeys': [{'key': 'k2'}]}]}");
	assert_no_problem(&p);
	assert_int_equal(p.spec.n_project_keys, 3);
	assert_string_equal(p.spec.project_keys[0].key, "k1");
	assert_null(p.spec.project_keys[1].key);
	assert_secret(&p.spec.project_keys[1].secret, "s", "k");
	assert_string_equal(p.spec.project_keys[2].key, "k2");
}

TEST(wrong_projects_and_keys_are_left_out)
{
	static const struct {
		const char *project, *path, *text;
		size_t n_keys;
	} cases[] = {
		{"5", "spec.projects[0]", "must be an object; it is ignored", 0},
		{"{'name': 'a'}", "spec.projects[0]", "must have exactly one of apiKeys, ", 0},
		{"{'name': 'a', 'apiKeys': [{'key': 'k'}], 'memberProjects': ['b']}",
		 "spec.projects[0]", "must have exactly one of apiKeys, ", 0},
		{"{'apiKeys': [{'key': 'k'}]}", "spec.projects[0].name", "must be given", 1},
		{"{'name': 'a', 'apiKeys': [{}, {'key': 'k'}]}", "spec.projects[0].apiKeys[0]",
		 "must have a key or a keySecret; it is ignored", 1},
		{"{'name': 'a', 'apiKeys': [5, {'key': 'k'}]}", "spec.projects[0].apiKeys[0]",
		 "must be an object; it is ignored", 1},
		{"{'name': 'a', 'apiKeys': [{'key': 'a\\tb'}]}", "spec.projects[0].apiKeys[0].key",
		 "must be at most 511 printable", 0},
		{"{'name': 'a', 'apiKeys': [{'key': 'k', 'keySecret': {'name': 's', 'key': 'k'}}]}",
		 "spec.projects[0].apiKeys[0]", "has a key and a keySecret; the Secret is used", 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(parsed_fini) struct parsed p = {0};
		char spec[256];

		snprintf(spec, sizeof(spec), "{'projects': [%s]}", cases[i].project);
		parse(&p, spec);
		assert_problem(&p, cases[i].path, cases[i].text);
		assert_int_equal(p.spec.n_project_keys, cases[i].n_keys);
	}
}

TEST(keys_are_limited)
{
	CLEANUP(parsed_fini) struct parsed p = {0};
	json_t *keys = json_array();

	for (int i = 0; i < COROOT_PROJECT_KEYS_MAX + 2; i++)
		json_array_append_new(keys, json_pack("{s:s}", "key", "k"));
	parse_json(&p, json_pack("{s:{s:s, s:s, s:s}, s:{s:[{s:s, s:o}]}}", "metadata", "name", "n",
				 "namespace", "ns", "uid", "u", "spec", "projects", "name", "a",
				 "apiKeys", keys));
	assert_int_equal(p.spec.n_project_keys, COROOT_PROJECT_KEYS_MAX);
	assert_int_equal(p.problems.wrong.n, 2);
	assert_string_equal(p.problems.wrong.at[0].path, "spec.projects[0].apiKeys[1000]");
}

/* ---- memory ---- */

static int parse_and_free(void *arg)
{
	struct spec_problems problems = {0};
	struct coroot_spec s;
	int r = coroot_spec_parse(&s, arg, &problems);

	if (r < 0)
		assert_null(s.name);
	coroot_spec_fini(&s);
	spec_problems_fini(&problems);
	return r;
}

TEST(memory_may_be_short)
{
	CLEANUP(parsed_fini) struct parsed p = {0};

	parse_file(&p, "every-field");
	check_oom(parse_and_free, p.resource);
	json_object_set_new(json_object_get(p.resource, "spec"), "env", json_pack("[i]", 1));
	check_oom(parse_and_free, p.resource);
}
