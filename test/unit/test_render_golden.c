/*
 * What becomes of resources, compared with files in test/data/operator/golden/: all objects of a
 * resource without fields, those in which each base of cases.json differs from it, and for each
 * field that is honoured the lines in which the objects differ from those of its base.
 * UPDATE_GOLDEN=1 rewrites the files; read their diff.
 */
#include <errno.h>
#include <jansson.h>

#include "cluster-agent/operator/render/render.h"
#include "cluster-agent/operator/spec/coroot_fields.h"
#include "cluster-agent/operator/spec/coroot_spec.h"
#include "common/data/buf.h"
#include "common/limits.h"
#include "common/system/fs.h"
#include "test/lib/json_oom.h"
#include "test/lib/unit.h"

#define DATA "test/data/operator/"
#define LINES_MAX 5000

static const struct operator_images images = {
	.node_agent = "localhost/coroot-node-agent:test",
	.cluster_agent = "localhost/coroot-cluster-agent:test",
	.store = "localhost/coroot-cluster-agent-store:test",
	.clickhouse = "localhost/clickhouse:test",
	.keeper = "localhost/clickhouse:test",
	.pull_secret = "pull",
};

static json_t *load(const char *file)
{
	json_error_t error;
	json_t *v = json_load_file(file, 0, &error);

	if (!v)
		fail_msg("%s:%d: %s", file, error.line, error.text);
	return v;
}

/* ---- a resource and its objects ---- */

struct made {
	json_t *resource;
	struct spec_problems problems;
	struct coroot_spec spec;
	struct rendered out;
};

static void made_fini(struct made *m)
{
	rendered_fini(&m->out);
	coroot_spec_fini(&m->spec);
	spec_problems_fini(&m->problems);
	json_decref(m->resource);
}

/* spec is taken over. */
static void make_started_with(struct made *m, const struct operator_images *started_with,
			      const char *namespace, const char *name, json_t *spec)
{
	const struct render_input in = {.spec = &m->spec, .images = started_with};

	*m = (struct made){0};
	m->resource = json_pack("{s:s s:s s:{s:s s:s s:s} s:o}", "apiVersion", "coroot.com/v1",
				"kind", "Coroot", "metadata", "name", name, "namespace", namespace,
				"uid", "11111111-2222-3333-4444-555555555555", "spec", spec);
	assert_non_null(m->resource);
	assert_int_equal(coroot_spec_parse(&m->spec, m->resource, &m->problems), 0);
	for (size_t i = 0; i < m->problems.wrong.n; i++)
		print_error("%s: %s\n", m->problems.wrong.at[i].path, m->problems.wrong.at[i].text);
	assert_int_equal(m->problems.wrong.n, 0);
	assert_int_equal(render_coroot(&m->out, &in), 0);
}

static void make_named(struct made *m, const char *namespace, const char *name, json_t *spec)
{
	make_started_with(m, &images, namespace, name, spec);
}

static void make(struct made *m, json_t *spec)
{
	make_named(m, "coroot", "main", spec);
}

/* Sets the member at "spec.a.b[].c"; what is on the way is made, and "[]" is the first element. */
static void set_field(json_t *spec, const char *path, json_t *value)
{
	char copy[160], *state;
	json_t *at = spec;

	assert_true((size_t)snprintf(copy, sizeof(copy), "%s", path) < sizeof(copy));
	strtok_r(copy, ".", &state);
	for (char *name = strtok_r(NULL, ".", &state); name;) {
		char *next = strtok_r(NULL, ".", &state), *brackets = strstr(name, "[]");
		json_t *child;

		if (brackets)
			*brackets = '\0';
		if (!next) {
			json_object_set(at, name, value);
			return;
		}
		child = json_object_get(at, name);
		if (!child) {
			child = brackets ? json_pack("[{}]") : json_object();
			json_object_set_new(at, name, child);
		}
		at = brackets ? json_array_get(child, 0) : child;
		name = next;
	}
}

/* ---- objects as lines, one for each value ---- */

struct lines {
	char *at[LINES_MAX];
	size_t n;
};

static void lines_fini(struct lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->at[i]);
}

static void add_line(struct lines *l, char *line)
{
	assert_non_null(line);
	assert_true(l->n < LINES_MAX);
	l->at[l->n++] = line;
}

static void add_value(struct lines *l, const char *path, const json_t *value);

static void add_array(struct lines *l, const char *path, const json_t *array)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *v = json_array_get(array, i);
		const char *name = json_string_value(json_object_get(v, "name"));
		char *child = NULL;

		assert_true((name ? asprintf(&child, "%s[%s]", path, name)
				  : asprintf(&child, "%s[%zu]", path, i)) > 0);
		add_value(l, child, v);
		free(child);
	}
}

static void add_object(struct lines *l, const char *path, const json_t *object)
{
	void *at = json_object_iter((json_t *)(uintptr_t)object);

	while (at) {
		char *child = NULL;

		assert_true(asprintf(&child, "%s.%s", path, json_object_iter_key(at)) > 0);
		add_value(l, child, json_object_iter_value(at));
		free(child);
		at = json_object_iter_next((json_t *)(uintptr_t)object, at);
	}
}

/* Files in a ConfigMap have a line each for their lines. */
static void add_text(struct lines *l, const char *path, const char *text)
{
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		char *line = NULL;

		n = strcspn(text, "\n");
		assert_true(asprintf(&line, "%s %.*s", path, (int)n, text) > 0);
		add_line(l, line);
	}
}

static void add_value(struct lines *l, const char *path, const json_t *value)
{
	const char *text = json_string_value(value);
	char *line = NULL, *dump;

	if (json_is_array(value) && json_array_size(value) > 0) {
		add_array(l, path, value);
	} else if (json_is_object(value) && json_object_size(value) > 0) {
		add_object(l, path, value);
	} else if (text && strchr(text, '\n')) {
		add_text(l, path, text);
	} else {
		dump = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
		assert_true(asprintf(&line, "%s %s", path, dump) > 0);
		free(dump);
		add_line(l, line);
	}
}

/* Without what all objects have in common. */
static void add_objects(struct lines *l, const struct rendered *r)
{
	static const char *const common[] = {"name", "namespace", "labels", "ownerReferences"};
	char path[320], *line = NULL;

	for (size_t i = 0; i < r->n_objects; i++) {
		const struct rendered_object *o = &r->objects[i];
		json_t *body = json_deep_copy(o->body),
		       *metadata = json_object_get(body, "metadata");

		snprintf(path, sizeof(path), "%s/%s", object_kinds[o->kind].kind, o->name);
		assert_true(asprintf(&line, "%s%s", path,
				     json_object_get(metadata, "ownerReferences")
					     ? ""
					     : ", without an owner") > 0);
		add_line(l, line);
		json_object_del(body, "apiVersion");
		json_object_del(body, "kind");
		for (size_t j = 0; j < ARRAY_SIZE(common); j++)
			json_object_del(metadata, common[j]);
		if (json_object_size(metadata) == 0)
			json_object_del(body, "metadata");
		add_value(l, path, body);
		json_decref(body);
	}
	for (size_t i = 0; i < r->n_secrets; i++) {
		const struct wanted_secret *w = &r->secrets[i];

		assert_true(asprintf(&line, "random Secret/%s.%s of %zu characters", w->name,
				     w->key, w->length) > 0);
		add_line(l, line);
	}
}

static bool has_line(const struct lines *l, const char *line)
{
	for (size_t i = 0; i < l->n; i++) {
		if (!strcmp(l->at[i], line))
			return true;
	}
	return false;
}

/* Appends the lines of a that are not in b. Returns how many they are. */
static size_t add_missing(struct buf *out, char sign, const struct lines *a, const struct lines *b)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (has_line(b, a->at[i]))
			continue;
		assert_int_equal(buf_addf(out, "%c %s\n", sign, a->at[i]), 0);
		n++;
	}
	return n;
}

/* ---- golden files ---- */

static void compare(const char *file, const char *text)
{
	struct buf expected;
	const char *at, *line;

	if (getenv("UPDATE_GOLDEN")) {
		FILE *f = fopen(file, "w");

		assert_non_null(f);
		assert_true(fputs(text, f) >= 0);
		assert_int_equal(fclose(f), 0);
		return;
	}
	buf_init(&expected, 16 * MIB);
	if (fs_read_file(file, &expected) < 0)
		fail_msg("%s is missing: UPDATE_GOLDEN=1 makes it", file);
	at = expected.data;
	line = text;
	while (*at && *at == *text) {
		if (*text == '\n')
			line = text + 1;
		at++;
		text++;
	}
	if (*at || *text)
		fail_msg("%s differs; UPDATE_GOLDEN=1 rewrites it. First line that differs: %.*s",
			 file, (int)strcspn(line, "\n"), line);
	buf_fini(&expected);
}

static const struct rendered_object *find(const struct rendered *r, enum object_kind kind,
					  const char *name)
{
	for (size_t i = 0; i < r->n_objects; i++) {
		if (r->objects[i].kind == kind && !strcmp(r->objects[i].name, name))
			return &r->objects[i];
	}
	return NULL;
}

/* Appends the objects, without those that are the same in other. */
static void add_dumps(struct buf *out, const struct rendered *r, const struct rendered *other)
{
	for (size_t i = 0; i < r->n_objects; i++) {
		const struct rendered_object *o = &r->objects[i];
		const struct rendered_object *same = find(other, o->kind, o->name);
		char *text;

		if (same && json_equal(same->body, o->body))
			continue;
		text = json_dumps(o->body, JSON_INDENT(1));
		assert_non_null(text);
		assert_int_equal(buf_addf(out, "%s\n", text), 0);
		free(text);
	}
	for (size_t i = 0; i < r->n_secrets; i++)
		assert_int_equal(buf_addf(out, "random Secret: %s, %s, %zu\n", r->secrets[i].name,
					  r->secrets[i].key, r->secrets[i].length),
				 0);
	for (size_t i = 0; i < other->n_objects; i++) {
		const struct rendered_object *o = &other->objects[i];

		if (!find(r, o->kind, o->name))
			assert_int_equal(
				buf_addf(out, "no %s %s\n", object_kinds[o->kind].kind, o->name),
				0);
	}
}

TEST(bases_match_their_files)
{
	json_t *cases = load(DATA "cases.json"), *spec;
	const struct rendered nothing = {0};
	struct made by_default;
	const char *name;

	make(&by_default, json_object());
	json_object_foreach (json_object_get(cases, "bases"), name, spec) {
		bool is_default = json_object_size(spec) == 0;
		struct made m;
		struct buf text;
		char file[160];

		make(&m, json_deep_copy(spec));
		buf_init(&text, 16 * MIB);
		add_dumps(&text, &m.out, is_default ? &nothing : &by_default.out);
		snprintf(file, sizeof(file), DATA "golden/%s.txt", name);
		compare(file, text.data);
		buf_fini(&text);
		made_fini(&m);
	}
	made_fini(&by_default);
	json_decref(cases);
}

/* The pods need SecurityContextConstraints there; elsewhere nothing of it is rendered. */
TEST(on_openshift_the_accounts_may_use_what_admits_their_pods)
{
	struct operator_images on_openshift = images;
	json_t *spec = json_pack("{s:{}}", "clickhouse");
	struct made elsewhere, m;
	struct buf text;

	on_openshift.node_agent_scc = "coroot-operator-node-agent";
	make(&elsewhere, json_deep_copy(spec));
	make_started_with(&m, &on_openshift, "coroot", "main", spec);
	buf_init(&text, 16 * MIB);
	add_dumps(&text, &m.out, &elsewhere.out);
	compare(DATA "golden/openshift.txt", text.data);
	buf_fini(&text);
	made_fini(&m);
	made_fini(&elsewhere);
}

/* Appends what setting the field changes. Returns how many lines that are. */
static size_t add_differences(struct buf *out, const json_t *cases, const char *path)
{
	const json_t *c = json_object_get(json_object_get(cases, "fields"), path);
	const char *base = json_string_value(json_array_get(c, 0));
	json_t *spec = json_deep_copy(json_object_get(json_object_get(cases, "bases"), base));
	struct lines before = {0}, after = {0};
	struct made m;
	size_t n;

	assert_non_null(spec);
	make(&m, json_deep_copy(spec));
	add_objects(&before, &m.out);
	made_fini(&m);
	set_field(spec, path, json_array_get(c, 1));
	make(&m, spec);
	add_objects(&after, &m.out);
	made_fini(&m);
	assert_int_equal(buf_addf(out, "%s (%s)\n", path, base), 0);
	n = add_missing(out, '-', &before, &after);
	n += add_missing(out, '+', &after, &before);
	assert_int_equal(buf_addf(out, "\n"), 0);
	lines_fini(&before);
	lines_fini(&after);
	return n;
}

/* Those that are only for people, by the table's own words. */
static bool is_honoured(const struct coroot_field *f)
{
	bool is_parent = f->type == FIELD_OBJECT || f->type == FIELD_OBJECTS;

	return !f->unused && !(is_parent && f->offset == 0) && strncmp(f->help, "for people", 10);
}

TEST(every_honoured_field_changes_an_object)
{
	json_t *cases = load(DATA "cases.json");
	size_t n = 0;
	struct buf text;

	buf_init(&text, 16 * MIB);
	for (size_t i = 0; i < n_coroot_fields; i++) {
		const char *path = coroot_fields[i].path;

		if (!is_honoured(&coroot_fields[i]))
			continue;
		if (!json_object_get(json_object_get(cases, "fields"), path))
			fail_msg("cases.json has no case for %s", path);
		if (add_differences(&text, cases, path) == 0)
			fail_msg("%s changes nothing", path);
		n++;
	}
	assert_int_equal(n, json_object_size(json_object_get(cases, "fields")));
	compare(DATA "golden/fields.txt", text.data);
	buf_fini(&text);
	json_decref(cases);
}

/* ---- what is not there ---- */

TEST(a_resource_with_every_field_is_rendered)
{
	json_t *resource = load(DATA "every-field.json");
	struct made m;

	make(&m, json_deep_copy(json_object_get(resource, "spec")));
	assert_non_null(find(&m.out, OBJECT_DAEMON_SET, "main-node-agent"));
	assert_non_null(find(&m.out, OBJECT_DEPLOYMENT, "main-cluster-agent"));
	made_fini(&m);
	json_decref(resource);
}

TEST(the_embedded_engine_has_one_pod)
{
	struct made m;
	const json_t *spec;

	make(&m, json_pack("{s:i}", "replicas", 3));
	spec = json_object_get(find(&m.out, OBJECT_STATEFUL_SET, "main-coroot")->body, "spec");
	assert_int_equal(json_integer_value(json_object_get(spec, "replicas")), 1);
	assert_null(find(&m.out, OBJECT_PERSISTENT_VOLUME_CLAIM, "data-main-coroot-1"));
	assert_null(find(&m.out, OBJECT_POD_DISRUPTION_BUDGET, "main-coroot"));
	made_fini(&m);
}

TEST(agents_only_have_no_server)
{
	struct made m;

	make(&m, json_pack("{s:{s:s} s:s s:{}}", "agentsOnly", "corootURL", "http://x", "apiKey",
			   "inline-key", "clickhouse"));
	assert_null(find(&m.out, OBJECT_STATEFUL_SET, "main-coroot"));
	assert_null(find(&m.out, OBJECT_SERVICE, "main-coroot"));
	/* but their key */
	assert_non_null(find(&m.out, OBJECT_SECRET, "main-coroot-api-keys"));
	made_fini(&m);
}

/* The path of the node on which profiles wait; owned by the caller. */
static char *spool_of(const struct made *m, const char *daemon_set)
{
	const json_t *volumes = NULL, *v;
	const char *path = NULL;
	size_t i;

	assert_int_equal(json_unpack(find(&m->out, OBJECT_DAEMON_SET, daemon_set)->body,
				     "{s:{s:{s:{s:o}}}}", "spec", "template", "spec", "volumes",
				     &volumes),
			 0);
	json_array_foreach (volumes, i, v)
		if (strcmp(json_string_value(json_object_get(v, "name")), "spool") == 0)
			path = json_string_value(
				json_object_get(json_object_get(v, "hostPath"), "path"));
	assert_non_null(path);
	return strdup(path);
}

TEST(resources_share_neither_cluster_roles_nor_spools)
{
	static const char *const names[][2] = {{"coroot", "main-x"},
					       {"coroot-main", "x"},
					       {"coroot", "main.x"},
					       {"coroot", "main"}};
	char *spools[ARRAY_SIZE(names)], *roles[ARRAY_SIZE(names)];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct made m;
		char name[64];

		make_named(&m, names[i][0], names[i][1],
			   json_pack("{s:{s:s}}", "agentsOnly", "corootURL", "http://x"));
		snprintf(name, sizeof(name), "%s-node-agent", names[i][1]);
		spools[i] = spool_of(&m, name);
		roles[i] = NULL;
		for (size_t o = 0; o < m.out.n_objects && !roles[i]; o++)
			if (m.out.objects[o].kind == OBJECT_CLUSTER_ROLE)
				roles[i] = strdup(m.out.objects[o].name);
		assert_non_null(roles[i]);
		for (size_t j = 0; j < i; j++) {
			assert_string_not_equal(spools[i], spools[j]);
			assert_string_not_equal(roles[i], roles[j]);
		}
		made_fini(&m);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		free(spools[i]);
		free(roles[i]);
	}
}

static json_t *resources_of(const char *spec)
{
	struct made m;
	json_t *body, *r;

	make(&m, json_loads(spec, 0, NULL));
	body = find(&m.out, OBJECT_STATEFUL_SET, "main-coroot")->body;
	r = json_object_get(json_object_get(json_object_get(body, "spec"), "template"), "spec");
	r = json_array_get(json_object_get(r, "containers"), 0);
	r = json_incref(json_object_get(r, "resources"));
	made_fini(&m);
	return r;
}

/* The API server refuses a request above its limit. */
TEST(a_default_of_resources_gives_way_to_what_the_user_says)
{
	static const struct {
		const char *given, *made;
	} cases[] = {
		{"{}", "{\"requests\": {\"cpu\": \"100m\", \"memory\": \"512Mi\"},"
		       " \"limits\": {\"memory\": \"2Gi\"}}"},
		{"{\"limits\": {\"memory\": \"256Mi\", \"cpu\": 2}}",
		 "{\"requests\": {\"cpu\": \"100m\", \"memory\": \"256Mi\"},"
		 " \"limits\": {\"memory\": \"256Mi\", \"cpu\": 2}}"},
		{"{\"requests\": {\"memory\": \"4Gi\"}}",
		 "{\"requests\": {\"memory\": \"4Gi\"}, \"limits\": {\"memory\": \"4Gi\"}}"},
		{"{\"requests\": {\"memory\": 1000000000}}",
		 "{\"requests\": {\"memory\": 1000000000}, \"limits\": {\"memory\": \"2Gi\"}}"},
		{"{\"limits\": {}}", "{\"requests\": {\"cpu\": \"100m\", \"memory\": \"512Mi\"},"
				     " \"limits\": {}}"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char spec[160];
		json_t *wanted = json_loads(cases[i].made, 0, NULL), *got;

		snprintf(spec, sizeof(spec), "{\"resources\": %s}", cases[i].given);
		got = resources_of(spec);
		assert_non_null(wanted);
		if (!json_equal(got, wanted))
			fail_msg("%s is %s", cases[i].given, json_dumps(got, 0));
		json_decref(wanted);
		json_decref(got);
	}
}

/* The agent refuses to have a key and a file of keys. */
TEST(a_variable_of_the_user_keeps_our_file_away)
{
	static const char *const names[] = {"API_KEY", "READ_API_KEY",
					    "GLOBAL_CLICKHOUSE_PASSWORD"};
	static const char *const options[] = {"--api-key-file", "--read-api-key-file",
					      "--clickhouse-password-file"};

	for (size_t i = 0; i <= ARRAY_SIZE(names); i++) {
		struct made m;
		json_t *spec =
			json_pack("{s:s s:s s:{s:s s:s}}", "apiKey", "inline-key",
				  "authBootstrapAdminPassword", "correct horse",
				  "externalClickhouse", "address", "ch", "password", "inline");
		char *text;

		if (i < ARRAY_SIZE(names))
			json_object_set_new(
				spec, "env",
				json_pack("[{s:s s:s}]", "name", names[i], "value", "mine"));
		make(&m, spec);
		text = json_dumps(find(&m.out, OBJECT_STATEFUL_SET, "main-coroot")->body, 0);
		for (size_t j = 0; j < ARRAY_SIZE(options); j++)
			assert_int_equal(strstr(text, options[j]) != NULL, j != i);
		free(text);
		made_fini(&m);
	}
}

TEST(the_agent_may_override_modes_only_where_it_writes_memory)
{
	static const struct {
		const char *name, *value;
		bool writes;
	} cases[] = {
		{"GO_HEAP_PROFILER", "force", true},    {"GO_HEAP_PROFILER", "enabled", false},
		{"GO_MUTEX_PROFILER", "on", true},      {"GO_MUTEX_PROFILER", "off", false},
		{"GO_BLOCK_PROFILER", "burst", true},   {"GO_BLOCK_PROFILER", "off", false},
		{"GO_GOROUTINE_PROFILER", "on", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made m;
		char *text;

		make(&m, json_pack("{s:{s:[{s:s s:s}]}}", "nodeAgent", "env", "name", cases[i].name,
				   "value", cases[i].value));
		text = json_dumps(find(&m.out, OBJECT_DAEMON_SET, "main-node-agent")->body, 0);
		assert_int_equal(strstr(text, "DAC_OVERRIDE") != NULL, cases[i].writes);
		free(text);
		made_fini(&m);
	}
}

TEST(the_agent_may_act_as_others_only_where_it_loads_into_jvms)
{
	static const struct {
		const char *value;
		bool loads;
	} cases[] = {{"true", true},   {"TRUE", true}, {"1", true},
		     {"false", false}, {"0", false},   {"", false}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made m;
		char *text;

		make(&m, json_pack("{s:{s:[{s:s s:s}]}}", "nodeAgent", "env", "name",
				   "ENABLE_JAVA_ASYNC_PROFILER", "value", cases[i].value));
		text = json_dumps(find(&m.out, OBJECT_DAEMON_SET, "main-node-agent")->body, 0);
		assert_int_equal(strstr(text, "\"SETUID\", \"SETGID\"]") != NULL, cases[i].loads);
		assert_int_equal(strstr(text, "SETUID") != NULL, cases[i].loads);
		free(text);
		made_fini(&m);
	}
}

TEST(without_the_profiler_an_endpoint_of_the_user_keeps_the_agent)
{
	struct made m;

	make(&m, json_pack("{s:{s:{s:b} s:[{s:s s:s}]}}", "nodeAgent", "ebpfProfiler", "enabled", 0,
			   "env", "name", "PROFILES_ENDPOINT", "value", "http://elsewhere"));
	assert_non_null(find(&m.out, OBJECT_DAEMON_SET, "main-node-agent"));
	made_fini(&m);
}

/* ---- memory ---- */

static const struct coroot_spec rich = {
	.name = "main",
	.namespace = "coroot",
	.uid = "u",
	.metrics_refresh_interval = "15s",
	.profiles_ttl = "7d",
	.api_key = "inline-key",
	.page_key = "correct horse",
	.tls_cert = {"cert", "tls.crt"},
	.tls_key = {"cert", "tls.key"},
	.node_agent = {.profiler = true, .pod.priority_class = "high"},
	.project_keys = &(struct coroot_api_key){.secret = {"shop", "key"}},
	.n_project_keys = 1,
	.server_replicas = 2,
	.server_storage = {.size = "1Gi", .class_name = "fast"},
	.service = {.type = "NodePort", .port = 8080, .node_port = 30080, .grpc_port = 4317},
	.ingress = {.wanted = true, .host = "h", .path = "/p", .class_name = "c"},
	.external_clickhouse = {.address = "ch", .password = "inline"},
};

static int render_part(void *part)
{
	int (**render)(struct rendered *, const struct render_input *) = part;
	const struct render_input in = {.spec = &rich, .images = &images};
	struct rendered out = {0};
	int r = (*render)(&out, &in);

	rendered_fini(&out);
	return r;
}

TEST(a_lack_of_memory_is_reported)
{
	int (*parts[])(struct rendered *, const struct render_input *) = {
		render_node_agent, render_cluster_agent, render_server};

	assert_int_equal(render_part(&parts[0]), 0); /* the templates are read once */
	json_oom_begin();
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		check_oom(render_part, &parts[i]);
	json_oom_end();
}
