/*
 * Three families of annotations say the same in different words, and each has its own
 * fallbacks. They are read by the same helpers into groups (ports, scheme, kinds), each of
 * which becomes one endpoint per port and kind.
 *
 * Somebody has typed these annotations, and looks at the page of targets when nothing arrives.
 * So a mistake is neither an error code nor a log line but a sentence that names the annotation
 * and quotes its value, and reading continues: "8080,x" still scrapes port 8080. Only where the
 * meaning is unclear, such as an unknown scheme, nothing is scraped.
 *
 * Values end up in URLs and on the page, so paths are limited to characters that mean nothing
 * else in a URL, and quoted values are short and printable.
 */
#include "cluster-agent/discover/pod_annotations.h"

#include <errno.h>
#include <stdarg.h>

#include "cluster-agent/discover/annotation_keys.h"
#include "common/text/kube_names.h"
#include "common/text/parse.h"
#include "common/text/utf8.h"

#define COROOT ANNOTATION_COROOT
#define GRAFANA ANNOTATION_GRAFANA
#define PYROSCOPE ANNOTATION_PYROSCOPE

/* of a value quoted in a sentence */
#define MAX_QUOTED_BYTES 64
/* Twice as many as there are. A pod may have thousands, and a look at an unknown one takes long. */
#define MAX_CHECKED_KEYS 128u

struct reader {
	struct pod_annotations *out;
	struct arena *arena;
	const json_t *pod;
	json_t *annotations; /* borrowed; jansson iterates over nothing that is const */
	const bool *default_kinds;
	int error; /* sticky */
};

/* The common part of a group of endpoints. */
struct group {
	struct port_list ports;
	bool https;
	bool kinds[PROFILE_KIND_MAX];
	bool asked_for[PROFILE_KIND_MAX]; /* by name, not by default */
};

/* The value of an annotation; text is NULL if it is missing, or empty as templates leave it. */
struct value {
	const char *text;
	size_t len;
};

/* ---- sentences ---- */

static void complain(struct reader *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void complain(struct reader *r, const char *fmt, ...)
{
	size_t used = strlen(r->out->problem);
	size_t room = sizeof(r->out->problem) - used;
	va_list ap;

	if (used > 0 && room > 2) {
		memcpy(r->out->problem + used, "; ", 3);
		used += 2;
		room -= 2;
	}
	va_start(ap, fmt);
	if (vsnprintf(r->out->problem + used, room, fmt, ap) >= (int)room)
		memcpy(r->out->problem + sizeof(r->out->problem) - 4, "...", 4);
	va_end(ap);
}

/* Makes a value short and printable, so that it can be quoted. */
static const char *shown(char out[static MAX_QUOTED_BYTES], struct value v)
{
	bool cut = v.len >= MAX_QUOTED_BYTES;
	size_t len = cut ? MAX_QUOTED_BYTES - 4 : v.len;

	memcpy(out, v.text, len);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)out[i] < ' ' || out[i] == 0x7f)
			out[i] = '?';
	memcpy(out + len, "...", cut ? 4 : 0);
	out[cut ? len + 3 : len] = '\0';
	utf8_repair(out, strlen(out));
	return out;
}

#define SHOWN(v) shown((char[MAX_QUOTED_BYTES]){""}, v)

/* ---- values ---- */

static struct value get(const struct reader *r, const char *key)
{
	const json_t *v = json_object_get(r->annotations, key);
	size_t len = json_string_length(v);

	return (struct value){len > 0 ? json_string_value(v) : NULL, len};
}

static bool value_is(struct value v, const char *text)
{
	return v.text && v.len == strlen(text) && memcmp(v.text, text, v.len) == 0;
}

/*
 * Returns the part of a comma-separated list at *pos without blanks around it, and advances
 * *pos.
 */
static struct value next_part(struct value list, size_t *pos)
{
	const char *comma = memchr(list.text + *pos, ',', list.len - *pos);
	size_t end = comma ? (size_t)(comma - list.text) : list.len;
	struct value part = {list.text + *pos, end - *pos};

	*pos = end + 1;
	while (part.len > 0 && part.text[0] == ' ') {
		part.text++;
		part.len--;
	}
	while (part.len > 0 && part.text[part.len - 1] == ' ')
		part.len--;
	return part;
}

/* Complains if result, from adding to a list of ports, says that the list is full. */
static bool is_full(struct reader *r, int result)
{
	if (result < 0)
		complain(r, "more than %d ports", SCRAPE_TARGET_MAX_PORTS);
	return result < 0;
}

enum switch_state {
	SWITCH_MISSING,
	SWITCH_OFF,
	SWITCH_ON,
	SWITCH_UNCLEAR,
};

/* Complains if the annotation is neither "true" nor "false". */
static enum switch_state read_switch(struct reader *r, const char *key)
{
	struct value v = get(r, key);

	if (!v.text)
		return SWITCH_MISSING;
	if (value_is(v, "true") || value_is(v, "false"))
		return value_is(v, "true") ? SWITCH_ON : SWITCH_OFF;
	complain(r, "annotation %s is \"%s\", not true or false", key, SHOWN(v));
	return SWITCH_UNCLEAR;
}

/* Adds the ports of "8080" or "8080,9090". Returns whether the annotation exists. */
static bool read_ports(struct reader *r, const char *key, struct port_list *l)
{
	struct value list = get(r, key);

	if (!list.text)
		return false;
	for (size_t pos = 0; pos <= list.len;) {
		struct value part = next_part(list, &pos);
		uint64_t port;

		if (parse_u64(part.text, part.len, 1, UINT16_MAX, &port) < 0)
			complain(r, "annotation %s: \"%s\" is not a port", key, SHOWN(part));
		else if (is_full(r, port_list_add(l, (uint16_t)port)))
			break;
	}
	return true;
}

/* Adds the ports named in "http" or "http,admin". Returns whether the annotation exists. */
static bool read_port_names(struct reader *r, const char *key, struct port_list *l)
{
	struct value list = get(r, key);

	if (!list.text)
		return false;
	for (size_t pos = 0; pos <= list.len;) {
		struct value part = next_part(list, &pos);
		int n = pod_ports_find(r->pod, part.text, part.len, l);

		if (is_full(r, n))
			break;
		if (n == 0)
			complain(r, "annotation %s: no container has a port called \"%s\"", key,
				 SHOWN(part));
	}
	return true;
}

/* Returns false, after a complaint, if the annotation exists but is neither http nor https. */
static bool read_scheme(struct reader *r, const char *key, bool *https)
{
	struct value v = get(r, key);

	*https = value_is(v, "https");
	if (!v.text || *https || value_is(v, "http"))
		return true;
	complain(r, "annotation %s is \"%s\", not http or https", key, SHOWN(v));
	return false;
}

/*
 * Returns false, after a complaint, if the annotation exists but is not a valid path. *path is
 * unchanged if it does not exist.
 */
static bool read_path(struct reader *r, const char *key, struct value *path)
{
	struct value v = get(r, key);

	if (!v.text)
		return true;
	if (!scrape_path_is_valid(v.text, v.len)) {
		complain(r, "annotation %s is \"%s\", not a path", key, SHOWN(v));
		return false;
	}
	*path = v;
	return true;
}

/* Reads "cpu,heap"; without the annotation the defaults apply. */
static void read_kinds(struct reader *r, const char *key, struct group *g)
{
	struct value list = get(r, key);

	if (!list.text) {
		memcpy(g->kinds, r->default_kinds, sizeof(g->kinds));
		return;
	}
	for (size_t pos = 0; pos <= list.len;) {
		struct value part = next_part(list, &pos);
		enum profile_kind k = profile_kind_find(part.text, part.len);

		if (k < PROFILE_KIND_MAX)
			g->kinds[k] = g->asked_for[k] = true;
		else
			complain(r, "annotation %s: \"%s\" is not a type of profile", key,
				 SHOWN(part));
	}
}

/* ---- endpoints ---- */

static void add_endpoints(struct reader *r, const struct group *g, enum profile_kind kind,
			  const char *path)
{
	struct pod_annotations *out = r->out;

	for (size_t i = 0; i < g->ports.n && out->n_endpoints < ARRAY_SIZE(out->endpoints); i++) {
		/* other groups may have filled the list of all ports */
		if (is_full(r, port_list_add(&out->ports, g->ports.ports[i])))
			return;
		out->endpoints[out->n_endpoints++] = (struct scrape_endpoint){
			.kind = kind,
			.https = g->https,
			.port = g->ports.ports[i],
			.path = path,
			.asked_for = g->asked_for[kind],
		};
	}
}

/*
 * Makes prefix + "/debug/pprof/heap" in the arena. Returns NULL and sets the error if out of
 * memory.
 */
static const char *make_path(struct reader *r, struct value prefix, enum profile_kind kind)
{
	char path[POD_ANNOTATIONS_PATH_BYTES + 64];
	const char *copy;
	int len;

	while (prefix.len > 0 && prefix.text[prefix.len - 1] == '/')
		prefix.len--;
	len = snprintf(path, sizeof(path), "%.*s%s", (int)prefix.len, prefix.text,
		       profile_kind_path(kind));
	copy = arena_strndup(r->arena, path, (size_t)len);
	if (!copy)
		r->error = -ENOMEM;
	return copy;
}

/* Adds endpoints for all kinds of the group, at their usual paths. */
static void add_kinds(struct reader *r, const struct group *g, struct value prefix)
{
	for (enum profile_kind k = 0; k < PROFILE_KIND_MAX; k++) {
		const char *path = g->kinds[k] ? make_path(r, prefix, k) : NULL;

		if (path)
			add_endpoints(r, g, k, path);
	}
}

/* ---- families ---- */

static void read_coroot(struct reader *r)
{
	struct value prefix = {"", 0};
	struct group g = {0};
	bool is_clear, has_port, has_name;

	has_port = read_ports(r, COROOT "port", &g.ports);
	has_name = read_port_names(r, COROOT "port-name", &g.ports);
	/* as in Coroot, each annotation has its own fallback */
	if (!has_port && !has_name && !read_ports(r, PYROSCOPE "port", &g.ports))
		complain(r, "annotation " COROOT "port is missing");
	is_clear = read_scheme(r, COROOT "scheme", &g.https);
	is_clear = read_path(r, COROOT "path-prefix", &prefix) && is_clear;
	read_kinds(r, COROOT "types", &g);
	if (is_clear)
		add_kinds(r, &g, prefix);
}

static void grafana_key(char key[static ANNOTATION_KEY_BYTES], const char *type, const char *what)
{
	snprintf(key, ANNOTATION_KEY_BYTES, GRAFANA "%s.%s", type, what);
}

static bool grafana_wants(struct reader *r, enum profile_kind k)
{
	char key[ANNOTATION_KEY_BYTES];

	grafana_key(key, profile_kind_grafana(k), "scrape");
	return read_switch(r, key) == SWITCH_ON;
}

static void read_grafana_ports(struct reader *r, const char *type, struct port_list *l)
{
	char key[ANNOTATION_KEY_BYTES], name_key[ANNOTATION_KEY_BYTES];
	int n;

	grafana_key(key, type, "port");
	grafana_key(name_key, type, "port_name");
	if (read_ports(r, key, l) || read_port_names(r, name_key, l))
		return;
	n = pod_ports_find_usual(r->pod, l);
	if (!is_full(r, n) && n == 0)
		complain(r, "annotation %s is missing", key);
}

static void read_grafana_type(struct reader *r, enum profile_kind k)
{
	const char *type = profile_kind_grafana(k), *path;
	char key[ANNOTATION_KEY_BYTES];
	struct value own_path = {NULL, 0};
	struct group g = {0};
	bool is_clear;

	g.asked_for[k] = true;
	read_grafana_ports(r, type, &g.ports);
	grafana_key(key, type, "scheme");
	is_clear = read_scheme(r, key, &g.https);
	grafana_key(key, type, "path");
	is_clear = read_path(r, key, &own_path) && is_clear;
	if (!is_clear || g.ports.n == 0)
		return;
	if (own_path.text)
		path = arena_strndup(r->arena, own_path.text, own_path.len);
	else
		path = make_path(r, (struct value){"", 0}, k);
	if (path)
		add_endpoints(r, &g, k, path);
	else
		r->error = -ENOMEM;
}

static bool read_grafana(struct reader *r)
{
	bool wanted = false;

	for (enum profile_kind k = 0; k < PROFILE_KIND_MAX; k++) {
		if (!grafana_wants(r, k))
			continue;
		wanted = true;
		read_grafana_type(r, k);
	}
	return wanted;
}

static void read_pyroscope(struct reader *r)
{
	/*
	 * switches from Pyroscope's own Helm chart, before Grafana took over; these two are in
	 * use
	 */
	static const struct {
		const char *key;
		enum profile_kind kind;
	} switches[] = {
		{PYROSCOPE "profile-cpu-enabled", PROFILE_KIND_CPU},
		{PYROSCOPE "profile-mem-enabled", PROFILE_KIND_HEAP},
	};
	struct group g = {0};

	if (!read_ports(r, PYROSCOPE "port", &g.ports) && !read_ports(r, COROOT "port", &g.ports))
		complain(r, "annotation " PYROSCOPE "port is missing");
	memcpy(g.kinds, r->default_kinds, sizeof(g.kinds));
	for (size_t i = 0; i < ARRAY_SIZE(switches); i++) {
		enum switch_state on = read_switch(r, switches[i].key);

		if (on == SWITCH_ON || on == SWITCH_OFF)
			g.kinds[switches[i].kind] = on == SWITCH_ON;
		g.asked_for[switches[i].kind] = on == SWITCH_ON;
	}
	if (read_scheme(r, PYROSCOPE "scheme", &g.https))
		add_kinds(r, &g, (struct value){"", 0});
}

/* Returns whether a family asks for the pod to be scraped, and complains of those unclear. */
static bool read_families(struct reader *r, enum switch_state own)
{
	if (own == SWITCH_ON) {
		read_coroot(r);
		return true;
	}
	if (own == SWITCH_UNCLEAR)
		return false;
	if (read_grafana(r))
		return true;
	if (read_switch(r, PYROSCOPE "scrape") != SWITCH_ON)
		return false;
	read_pyroscope(r);
	return true;
}

/*
 * Both would count the same allocations and waits twice. godeltaprof's are left out, because they
 * are wrong as soon as somebody else asks for them too.
 */
static bool is_double(const struct pod_annotations *out, const struct scrape_endpoint *e)
{
	enum profile_kind whole = profile_kind_whole(e->kind);

	for (size_t i = 0; i < out->n_endpoints && whole < PROFILE_KIND_MAX; i++)
		if (out->endpoints[i].kind == whole && out->endpoints[i].port == e->port)
			return true;
	return false;
}

static void drop_doubles(struct reader *r)
{
	struct pod_annotations *out = r->out;

	for (size_t i = out->n_endpoints; i-- > 0;) {
		const struct scrape_endpoint *e = &out->endpoints[i];

		if (!is_double(out, e))
			continue;
		complain(r, "%s of port %u is left out: %s has the same values",
			 profile_kind_name(e->kind), e->port,
			 profile_kind_grafana(profile_kind_whole(e->kind)));
		out->n_endpoints--;
		memmove(&out->endpoints[i], &out->endpoints[i + 1],
			(out->n_endpoints - i) * sizeof(out->endpoints[0]));
	}
}

/* ---- keys that have no effect ---- */

static void check_key(struct reader *r, const char *key, bool asked)
{
	char other[ANNOTATION_KEY_BYTES];

	switch (annotation_key_classify(key, other)) {
	case ANNOTATION_DETAIL:
		if (!asked && get(r, key).text && !get(r, other).text)
			complain(r, "annotation %s has no effect without %s", key, other);
		break;
	case ANNOTATION_UNKNOWN:
		complain(r,
			 other[0] ? "annotation %s is unknown; did you mean %s?"
				  : "annotation %s is unknown",
			 SHOWN(((struct value){key, strlen(key)})), other);
		break;
	default:
		break;
	}
}

static void check_keys(struct reader *r, bool asked)
{
	unsigned n = 0;
	const char *key;
	json_t *v;

	json_object_foreach (r->annotations, key, v) {
		if (!annotation_key_has_domain(key))
			continue;
		if (n++ == MAX_CHECKED_KEYS)
			break;
		check_key(r, key, asked);
	}
}

/* Whoever names the service reads it: here it is only said why that has another name. */
static void check_application(struct reader *r)
{
	struct value v = get(r, KUBE_APPLICATION_ANNOTATION);

	if (v.text && (strlen(v.text) != v.len || !kube_part_is_valid(v.text)))
		complain(r, "annotation " KUBE_APPLICATION_ANNOTATION ": \"%s\" cannot be a name",
			 SHOWN(v));
}

int pod_annotations_read(struct pod_annotations *ret, struct arena *arena, const json_t *pod,
			 const bool default_kinds[static PROFILE_KIND_MAX])
{
	struct reader r = {
		.out = ret,
		.arena = arena,
		.pod = pod,
		.annotations = json_object_get(json_object_get(pod, "metadata"), "annotations"),
		.default_kinds = default_kinds,
	};

	enum switch_state own;
	bool asked;

	*ret = (struct pod_annotations){0};
	own = read_switch(&r, COROOT "scrape");
	if (own == SWITCH_OFF)
		return 0;
	asked = read_families(&r, own);
	if (r.error < 0)
		return r.error;
	drop_doubles(&r);
	check_keys(&r, asked);
	check_application(&r);
	if (!asked && !ret->problem[0])
		return 0;
	if (ret->n_endpoints == 0 && !ret->problem[0])
		complain(&r, "no type of profile is switched on");
	utf8_repair(ret->problem, strlen(ret->problem));
	return 1;
}
