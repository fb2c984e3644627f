/*
 * A mapping is read by a table of its keys: each has a function that reads the value. So unknown
 * keys, keys given twice and missing ones are found in one place, and a new key is a row.
 *
 * A job is read twice: first what all of its targets have in common, then the targets, because the
 * keys of a mapping have no order.
 */
#include "cluster-agent/scrape/static_targets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>

#include "common/kubernetes/kube_config_yaml.h"
#include "common/system/clock.h"
#include "common/text/parse.h"
#include "common/text/utf8.h"

#define MAX_TEXT_BYTES 256u
#define MAX_INTERVAL_NS (3600 * NS_PER_S)
#define MAX_KEYS 16u

struct job {
	const char *name;
	uint64_t interval_ns;
	bool https;
	const char *prefix;
	bool kinds[PROFILE_KIND_MAX];
	bool asked_for[PROFILE_KIND_MAX];
	const char *paths[PROFILE_KIND_MAX]; /* NULL: the usual one */
	struct scraper_auth auth;
	const yaml_node_t *static_configs;
	struct scrape_settings *settings;
};

struct target_group {
	const yaml_node_t *targets;
	struct scrape_label labels[SCRAPE_TARGET_MAX_LABELS];
	size_t n_labels;
};

struct reader {
	yaml_document_t doc;
	struct arena *arena;
	const bool *default_kinds;
	struct static_targets *out;
	size_t cap;
	struct job *job;
	struct target_group *group;
	struct err *err;
};

/* A key of a mapping, and how its value is read into the reader's job or group. */
struct key {
	const char *name;
	int (*read)(struct reader *r, const yaml_node_t *value);
};

/* ---- errors ---- */

static int wrong(struct reader *r, const yaml_node_t *at, const char *fmt, ...) PRINTF_LIKE(3, 4);

static int wrong(struct reader *r, const yaml_node_t *at, const char *fmt, ...)
{
	char text[sizeof(r->err->msg) - 16];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	utf8_repair(text, strlen(text));
	return err_set(r->err, -EBADMSG, "%zu: %s", at->start_mark.line + 1, text);
}

static int no_memory(const struct reader *r, size_t size)
{
	return arena_error(r->arena, size);
}

/* ---- values ---- */

static const char *short_text(const yaml_node_t *node)
{
	const char *s = kube_config_yaml_text(node);

	return s && strlen(s) <= MAX_TEXT_BYTES && utf8_is_valid(s, strlen(s)) ? s : NULL;
}

static int read_text(struct reader *r, const yaml_node_t *value, const char **ret)
{
	const char *s = short_text(value);

	if (!s || !s[0])
		return wrong(r, value, "a text of 1 to %u bytes is expected", MAX_TEXT_BYTES);
	*ret = arena_strndup(r->arena, s, strlen(s));
	return *ret ? 0 : no_memory(r, strlen(s));
}

static int read_bool(struct reader *r, const yaml_node_t *value, bool *ret)
{
	const char *s = short_text(value);

	if (!s || (strcmp(s, "true") != 0 && strcmp(s, "false") != 0))
		return wrong(r, value, "true or false is expected");
	*ret = s[0] == 't';
	return 0;
}

static const struct key *find_key(const struct key *keys, const char *name)
{
	for (; keys->name; keys++)
		if (strcmp(keys->name, name) == 0)
			return keys;
	return NULL;
}

/* what names the mapping in errors. */
static int read_mapping(struct reader *r, const yaml_node_t *map, const char *what,
			const struct key *keys)
{
	bool seen[MAX_KEYS] = {false};

	if (map->type != YAML_MAPPING_NODE)
		return wrong(r, map, "%s is no mapping", what);
	for (const yaml_node_pair_t *p = map->data.mapping.pairs.start;
	     p < map->data.mapping.pairs.top; p++) {
		const yaml_node_t *name = yaml_document_get_node(&r->doc, p->key);
		const char *text = short_text(name);
		const struct key *k = text ? find_key(keys, text) : NULL;
		int e;

		if (!k)
			return wrong(r, name, "%s has no key \"%.60s\"", what, text ?: "");
		if (seen[k - keys])
			return wrong(r, name, "%s is given twice", k->name);
		seen[k - keys] = true;
		e = k->read(r, yaml_document_get_node(&r->doc, p->value));
		if (e < 0)
			return e;
	}
	return 0;
}

/* Calls read for each element. */
static int read_list(struct reader *r, const yaml_node_t *list, const char *what,
		     int (*read)(struct reader *r, const yaml_node_t *item))
{
	int e = 0;

	if (list->type != YAML_SEQUENCE_NODE)
		return wrong(r, list, "%s is no list", what);
	for (const yaml_node_item_t *i = list->data.sequence.items.start;
	     i < list->data.sequence.items.top && e == 0; i++)
		e = read(r, yaml_document_get_node(&r->doc, *i));
	return e;
}

/* ---- keys of a job ---- */

static int read_job_name(struct reader *r, const yaml_node_t *v)
{
	return read_text(r, v, &r->job->name);
}

static int read_interval(struct reader *r, const yaml_node_t *v)
{
	const char *s = short_text(v);

	if (!s || parse_duration(s, strlen(s), &r->job->interval_ns) < 0 ||
	    r->job->interval_ns < NS_PER_S || r->job->interval_ns > MAX_INTERVAL_NS)
		return wrong(r, v, "scrape_interval is no duration from 1s to 1h");
	return 0;
}

static int read_scheme(struct reader *r, const yaml_node_t *v)
{
	const char *s = short_text(v);

	if (!s || (strcmp(s, "http") != 0 && strcmp(s, "https") != 0))
		return wrong(r, v, "scheme is neither http nor https");
	r->job->https = strcmp(s, "https") == 0;
	return 0;
}

static int read_path(struct reader *r, const yaml_node_t *v, const char **ret)
{
	const char *s = short_text(v);

	if (!s || !scrape_path_is_valid(s, strlen(s)))
		return wrong(r, v, "\"%.60s\" is no path", s ?: "");
	return read_text(r, v, ret);
}

static int read_prefix(struct reader *r, const yaml_node_t *v)
{
	return read_path(r, v, &r->job->prefix);
}

static enum profile_kind find_kind(const yaml_node_t *v)
{
	const char *s = short_text(v);

	return s ? profile_kind_find(s, strlen(s)) : PROFILE_KIND_MAX;
}

static int no_kind(struct reader *r, const yaml_node_t *v)
{
	return wrong(r, v, "\"%.60s\" is not a type of profile", short_text(v) ?: "");
}

static int read_type(struct reader *r, const yaml_node_t *v)
{
	enum profile_kind k = find_kind(v);

	if (k == PROFILE_KIND_MAX)
		return no_kind(r, v);
	r->job->kinds[k] = r->job->asked_for[k] = true;
	return 0;
}

static int read_types(struct reader *r, const yaml_node_t *v)
{
	memset(r->job->kinds, 0, sizeof(r->job->kinds));
	return read_list(r, v, "types", read_type);
}

static int read_paths(struct reader *r, const yaml_node_t *v)
{
	if (v->type != YAML_MAPPING_NODE)
		return wrong(r, v, "paths is no mapping");
	for (const yaml_node_pair_t *p = v->data.mapping.pairs.start; p < v->data.mapping.pairs.top;
	     p++) {
		const yaml_node_t *name = yaml_document_get_node(&r->doc, p->key);
		enum profile_kind k = find_kind(name);
		int e;

		if (k == PROFILE_KIND_MAX)
			return no_kind(r, name);
		if (r->job->paths[k])
			return wrong(r, name, "the path of %s is given twice",
				     profile_kind_name(k));
		e = read_path(r, yaml_document_get_node(&r->doc, p->value), &r->job->paths[k]);
		if (e < 0)
			return e;
	}
	return 0;
}

static int read_ca_file(struct reader *r, const yaml_node_t *v)
{
	return read_text(r, v, &r->job->auth.ca_file);
}

static int read_cert_file(struct reader *r, const yaml_node_t *v)
{
	return read_text(r, v, &r->job->auth.cert_file);
}

static int read_key_file(struct reader *r, const yaml_node_t *v)
{
	return read_text(r, v, &r->job->auth.key_file);
}

static int read_server_name(struct reader *r, const yaml_node_t *v)
{
	return read_text(r, v, &r->job->auth.tls_server_name);
}

static int read_insecure(struct reader *r, const yaml_node_t *v)
{
	return read_bool(r, v, &r->job->auth.insecure_skip_verify);
}

static int read_tls(struct reader *r, const yaml_node_t *v)
{
	static const struct key keys[] = {
		{"ca_file", read_ca_file},
		{"cert_file", read_cert_file},
		{"key_file", read_key_file},
		{"server_name", read_server_name},
		{"insecure_skip_verify", read_insecure},
		{NULL, NULL},
	};
	int e = read_mapping(r, v, "tls_config", keys);

	if (e == 0 && !r->job->auth.cert_file != !r->job->auth.key_file)
		return wrong(r, v, "cert_file and key_file go together");
	return e;
}

static int read_username(struct reader *r, const yaml_node_t *v)
{
	return read_text(r, v, &r->job->auth.username);
}

static int read_password_file(struct reader *r, const yaml_node_t *v)
{
	return read_text(r, v, &r->job->auth.password_file);
}

static int read_basic_auth(struct reader *r, const yaml_node_t *v)
{
	static const struct key keys[] = {
		{"username", read_username},
		{"password_file", read_password_file},
		{NULL, NULL},
	};
	int e = read_mapping(r, v, "basic_auth", keys);

	if (e == 0 && (!r->job->auth.username || !r->job->auth.password_file))
		return wrong(r, v, "basic_auth needs username and password_file");
	return e;
}

static int read_token_file(struct reader *r, const yaml_node_t *v)
{
	return read_text(r, v, &r->job->auth.token_file);
}

static int read_static_configs(struct reader *r, const yaml_node_t *v)
{
	r->job->static_configs = v;
	return 0;
}

/* ---- targets ---- */

static bool is_host(const char *s)
{
	return s[0] && s[0] != '-' &&
	       s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")] ==
		       '\0';
}

/* "host:port" or "[v6]:port" → both, in the arena. Returns 0, -EINVAL or -ENOMEM. */
static int split_address(struct arena *arena, const char *s, const char **ret_host, uint16_t *ret)
{
	const char *colon = strrchr(s, ':');
	struct in6_addr v6;
	uint64_t port;
	char *host;

	if (!colon || parse_u64(colon + 1, strlen(colon + 1), 1, UINT16_MAX, &port) < 0)
		return -EINVAL;
	if (s[0] == '[' && colon[-1] == ']')
		host = arena_strndup(arena, s + 1, (size_t)(colon - s) - 2);
	else
		host = arena_strndup(arena, s, (size_t)(colon - s));
	if (!host)
		return -ENOMEM;
	if (s[0] == '[' ? inet_pton(AF_INET6, host, &v6) != 1 : !is_host(host))
		return -EINVAL;
	*ret_host = host;
	*ret = (uint16_t)port;
	return 0;
}

static const char *join(struct arena *arena, const char *a, const char *b, const char *c)
{
	size_t size = strlen(a) + strlen(b) + strlen(c) + 1;
	char *text = arena_alloc(arena, size);

	if (text)
		snprintf(text, size, "%s%s%s", a, b, c);
	return text;
}

static const char *path_of(struct reader *r, enum profile_kind k)
{
	size_t len = strlen(r->job->prefix);

	if (r->job->paths[k])
		return r->job->paths[k];
	while (len > 0 && r->job->prefix[len - 1] == '/')
		len--;
	return join(r->arena, arena_strndup(r->arena, r->job->prefix, len) ?: "",
		    profile_kind_path(k), "");
}

static int add_endpoints(struct reader *r, struct scrape_target *t, uint16_t port)
{
	t->endpoints = arena_calloc(r->arena, PROFILE_KIND_MAX, sizeof(*t->endpoints));
	if (!t->endpoints)
		return no_memory(r, PROFILE_KIND_MAX * sizeof(*t->endpoints));
	for (enum profile_kind k = 0; k < PROFILE_KIND_MAX; k++) {
		struct scrape_endpoint *e = &t->endpoints[t->n_endpoints];

		if (!r->job->kinds[k])
			continue;
		*e = (struct scrape_endpoint){
			.kind = k,
			.https = r->job->https,
			.port = port,
			.path = path_of(r, k),
			.asked_for = r->job->asked_for[k],
		};
		if (!e->path)
			return no_memory(r, MAX_TEXT_BYTES);
		t->n_endpoints++;
	}
	return 0;
}

static bool has_label(const struct target_group *g, const char *name)
{
	for (size_t i = 0; i < g->n_labels; i++)
		if (strcmp(g->labels[i].name, name) == 0)
			return true;
	return false;
}

/* job and container.id, which is what makes an instance, unless the file has others. */
static int add_labels(struct reader *r, struct scrape_target *t, const char *address)
{
	const struct target_group *g = r->group;
	struct scrape_label *labels = arena_calloc(r->arena, g->n_labels + 2, sizeof(*labels));

	if (!labels)
		return no_memory(r, (g->n_labels + 2) * sizeof(*labels));
	t->service = r->job->name;
	for (size_t i = 0; i < g->n_labels; i++) {
		if (strcmp(g->labels[i].name, "service_name") == 0 ||
		    strcmp(g->labels[i].name, "service.name") == 0)
			t->service = g->labels[i].value;
		else
			labels[t->n_labels++] = g->labels[i];
	}
	if (!has_label(g, "job"))
		labels[t->n_labels++] = (struct scrape_label){"job", r->job->name};
	if (!has_label(g, "container.id"))
		labels[t->n_labels++] = (struct scrape_label){"container.id", address};
	t->labels = labels;
	return 0;
}

static int grow(struct reader *r)
{
	size_t cap = r->cap ? 2 * r->cap : 16;
	struct scrape_target *more;

	if (r->out->n < r->cap)
		return 0;
	more = arena_calloc(r->arena, cap, sizeof(*more));
	if (!more)
		return no_memory(r, cap * sizeof(*more));
	if (r->out->n > 0)
		memcpy(more, r->out->targets, r->out->n * sizeof(*more));
	r->out->targets = more;
	r->cap = cap;
	return 0;
}

static int read_target(struct reader *r, const yaml_node_t *v)
{
	struct scrape_target t = {.node = "", .problem = "", .settings = r->job->settings};
	const char *address;
	uint16_t port = 0;
	int e = read_text(r, v, &address);

	if (e < 0)
		return e;
	if (r->out->n == STATIC_TARGETS_MAX)
		return err_set(r->err, -EFBIG, "more than %u targets", STATIC_TARGETS_MAX);
	e = split_address(r->arena, address, &t.ip, &port);
	if (e == -EINVAL)
		return wrong(r, v, "\"%.60s\" is not host:port", address);
	t.namespace = r->job->name;
	t.pod = address;
	t.uid = join(r->arena, "static/", r->job->name, "/");
	t.uid = t.uid ? join(r->arena, t.uid, address, "") : NULL;
	if (e < 0 || !t.uid)
		return no_memory(r, MAX_TEXT_BYTES);
	e = add_endpoints(r, &t, port);
	if (e == 0)
		e = add_labels(r, &t, address);
	if (e == 0)
		e = grow(r);
	if (e == 0)
		r->out->targets[r->out->n++] = t;
	return e;
}

static int read_targets(struct reader *r, const yaml_node_t *v)
{
	r->group->targets = v;
	return 0;
}

static int read_labels(struct reader *r, const yaml_node_t *v)
{
	struct target_group *g = r->group;

	if (v->type != YAML_MAPPING_NODE)
		return wrong(r, v, "labels is no mapping");
	for (const yaml_node_pair_t *p = v->data.mapping.pairs.start; p < v->data.mapping.pairs.top;
	     p++) {
		const yaml_node_t *name = yaml_document_get_node(&r->doc, p->key);
		struct scrape_label *l = &g->labels[g->n_labels];
		int e;

		if (g->n_labels == SCRAPE_TARGET_MAX_LABELS - 2)
			return wrong(r, name, "more than %d labels", SCRAPE_TARGET_MAX_LABELS - 2);
		e = read_text(r, name, &l->name);
		if (e == 0 && has_label(g, l->name))
			return wrong(r, name, "the label %.60s is given twice", l->name);
		if (e == 0)
			e = read_text(r, yaml_document_get_node(&r->doc, p->value), &l->value);
		if (e < 0)
			return e;
		g->n_labels++;
	}
	return 0;
}

static int read_static_config(struct reader *r, const yaml_node_t *v)
{
	static const struct key keys[] = {
		{"targets", read_targets},
		{"labels", read_labels},
		{NULL, NULL},
	};
	struct target_group g = {0};
	int e;

	r->group = &g;
	e = read_mapping(r, v, "static_configs", keys);
	if (e == 0 && !g.targets)
		e = wrong(r, v, "targets are missing");
	if (e == 0)
		e = read_list(r, g.targets, "targets", read_target);
	r->group = NULL;
	return e;
}

/* ---- jobs ---- */

static int check_job(struct reader *r, const yaml_node_t *v)
{
	struct job *job = r->job;

	if (!job->name)
		return wrong(r, v, "job_name is missing");
	if (!job->static_configs)
		return wrong(r, v, "static_configs are missing");
	if (job->auth.username && job->auth.token_file)
		return wrong(r, v, "basic_auth and bearer_token_file contradict each other");
	job->settings = arena_calloc(r->arena, 1, sizeof(*job->settings));
	if (!job->settings)
		return no_memory(r, sizeof(*job->settings));
	/* whoever names both the address and the credentials means it */
	job->auth.over_http = true;
	*job->settings = (struct scrape_settings){job->interval_ns, job->auth};
	return 0;
}

static int read_job(struct reader *r, const yaml_node_t *v)
{
	static const struct key keys[] = {
		{"job_name", read_job_name},
		{"scrape_interval", read_interval},
		{"scheme", read_scheme},
		{"path_prefix", read_prefix},
		{"types", read_types},
		{"paths", read_paths},
		{"tls_config", read_tls},
		{"basic_auth", read_basic_auth},
		{"bearer_token_file", read_token_file},
		{"static_configs", read_static_configs},
		{NULL, NULL},
	};
	struct job job = {.prefix = ""};
	int e;

	_Static_assert(ARRAY_SIZE(keys) <= MAX_KEYS, "each key has a bit");
	memcpy(job.kinds, r->default_kinds, sizeof(job.kinds));
	r->job = &job;
	e = read_mapping(r, v, "scrape_configs", keys);
	if (e == 0)
		e = check_job(r, v);
	if (e == 0)
		e = read_list(r, job.static_configs, "static_configs", read_static_config);
	r->job = NULL;
	return e;
}

static int read_scrape_configs(struct reader *r, const yaml_node_t *v)
{
	return read_list(r, v, "scrape_configs", read_job);
}

static int by_uid(const void *a, const void *b)
{
	const struct scrape_target *const *x = a, *const *y = b;

	return strcmp((*x)->uid, (*y)->uid);
}

/* The same address twice in one job, or in two jobs of one name. */
static int check_doubles(struct reader *r)
{
	size_t n = r->out->n;
	const struct scrape_target **sorted = arena_calloc(r->arena, n + 1, sizeof(*sorted));

	if (!sorted)
		return no_memory(r, n * sizeof(*sorted));
	for (size_t i = 0; i < n; i++)
		sorted[i] = &r->out->targets[i];
	qsort(sorted, n, sizeof(*sorted), by_uid);
	for (size_t i = 1; i < n; i++)
		if (strcmp(sorted[i]->uid, sorted[i - 1]->uid) == 0)
			return err_set(r->err, -EBADMSG, "1: job %.60s has the target %.60s twice",
				       sorted[i]->namespace, sorted[i]->pod);
	return 0;
}

static int read_document(struct reader *r)
{
	static const struct key keys[] = {{"scrape_configs", read_scrape_configs}, {NULL, NULL}};
	const yaml_node_t *root = yaml_document_get_root_node(&r->doc);
	int e = root ? read_mapping(r, root, "the file", keys) : 0;

	return e == 0 ? check_doubles(r) : e;
}

int static_targets_parse(struct static_targets *ret, struct arena *arena, const char *text,
			 size_t len, const bool default_kinds[static PROFILE_KIND_MAX],
			 struct err *err)
{
	struct static_targets out = {0};
	struct reader r = {.arena = arena, .default_kinds = default_kinds, .out = &out, .err = err};
	int e = kube_config_yaml_load(&r.doc, text, len, err);

	if (e < 0)
		return e;
	e = read_document(&r);
	yaml_document_delete(&r.doc);
	if (e == 0)
		*ret = out;
	return e;
}
