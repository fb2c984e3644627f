/*
 * All keys that we know can be listed: three families, of which Grafana's has a key for each kind
 * and setting. So a key is looked for in that list, and if it is not there, the nearest one by
 * edit distance is what was meant, unless it is too far.
 */
#include "cluster-agent/discover/annotation_keys.h"

#include "cluster-agent/discover/scrape_target.h"
#include "common/text/kube_names.h"
#include "common/text/near_name.h"

/* A larger edit distance is no typing mistake. */
#define MAX_DISTANCE 3u
/* Of a key without one of our prefixes: another tool of the same domain may well have it. */
#define MAX_FOREIGN_DISTANCE 2u

static const struct {
	const char *key;
	enum annotation_key is;
	const char *switched_by;
} keys[] = {
	{ANNOTATION_COROOT "scrape", ANNOTATION_SCRAPE, ""},
	{ANNOTATION_COROOT "port", ANNOTATION_DETAIL, ANNOTATION_COROOT "scrape"},
	{ANNOTATION_COROOT "port-name", ANNOTATION_DETAIL, ANNOTATION_COROOT "scrape"},
	{ANNOTATION_COROOT "scheme", ANNOTATION_DETAIL, ANNOTATION_COROOT "scrape"},
	{ANNOTATION_COROOT "path-prefix", ANNOTATION_DETAIL, ANNOTATION_COROOT "scrape"},
	{ANNOTATION_COROOT "types", ANNOTATION_DETAIL, ANNOTATION_COROOT "scrape"},
	{ANNOTATION_PYROSCOPE "scrape", ANNOTATION_SCRAPE, ""},
	{ANNOTATION_PYROSCOPE "port", ANNOTATION_DETAIL, ANNOTATION_PYROSCOPE "scrape"},
	{ANNOTATION_PYROSCOPE "scheme", ANNOTATION_DETAIL, ANNOTATION_PYROSCOPE "scrape"},
	{ANNOTATION_PYROSCOPE "profile-cpu-enabled", ANNOTATION_DETAIL,
	 ANNOTATION_PYROSCOPE "scrape"},
	{ANNOTATION_PYROSCOPE "profile-mem-enabled", ANNOTATION_DETAIL,
	 ANNOTATION_PYROSCOPE "scrape"},
	{KUBE_APPLICATION_ANNOTATION, ANNOTATION_IDLE, ""},
	/* names, where Pyroscope gives them: ours come from the workload (docs/naming.md) */
	{ANNOTATION_PYROSCOPE "application-name", ANNOTATION_IDLE, ""},
	{ANNOTATION_PYROSCOPE "service_name", ANNOTATION_IDLE, ""},
	/* where Grafana finds the source code */
	{ANNOTATION_GRAFANA "service_repository", ANNOTATION_IDLE, ""},
	{ANNOTATION_GRAFANA "service_git_ref", ANNOTATION_IDLE, ""},
	{ANNOTATION_GRAFANA "service_root_path", ANNOTATION_IDLE, ""},
};

/* Of Grafana's, after "<type>."; the first switches the others on. */
static const char *const settings[] = {"scrape", "port", "port_name", "scheme", "path"};

static bool begins_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static void make_key(char ret[static ANNOTATION_KEY_BYTES], enum profile_kind k,
		     const char *setting)
{
	snprintf(ret, ANNOTATION_KEY_BYTES, ANNOTATION_GRAFANA "%s.%s", profile_kind_grafana(k),
		 setting);
}

static void copy(char ret[static ANNOTATION_KEY_BYTES], const char *key)
{
	snprintf(ret, ANNOTATION_KEY_BYTES, "%s", key);
}

static enum annotation_key find_grafana(const char *key, char ret[static ANNOTATION_KEY_BYTES])
{
	char known[ANNOTATION_KEY_BYTES];

	for (enum profile_kind k = 0; k < PROFILE_KIND_MAX; k++) {
		for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
			make_key(known, k, settings[i]);
			if (strcmp(key, known) != 0)
				continue;
			if (i > 0)
				make_key(ret, k, settings[0]);
			return i > 0 ? ANNOTATION_DETAIL : ANNOTATION_SCRAPE;
		}
	}
	return ANNOTATION_UNKNOWN;
}

static enum annotation_key find(const char *key, char ret[static ANNOTATION_KEY_BYTES])
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcmp(key, keys[i].key) != 0)
			continue;
		copy(ret, keys[i].switched_by);
		return keys[i].is;
	}
	return begins_with(key, ANNOTATION_GRAFANA) ? find_grafana(key, ret) : ANNOTATION_UNKNOWN;
}

struct nearest {
	const char *key;
	char *ret; /* ANNOTATION_KEY_BYTES */
	unsigned distance;
};

static void consider(struct nearest *n, const char *known)
{
	unsigned d = near_name_edits(n->key, known, MAX_DISTANCE);

	if (d >= n->distance)
		return;
	n->distance = d;
	copy(n->ret, known);
}

/* Returns how far the nearest one is; UINT32_MAX if none is within MAX_DISTANCE. */
static unsigned find_nearest(const char *key, char ret[static ANNOTATION_KEY_BYTES])
{
	struct nearest n = {key, ret, UINT32_MAX};
	char known[ANNOTATION_KEY_BYTES];

	if (strlen(key) >= ANNOTATION_KEY_BYTES)
		return UINT32_MAX;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		consider(&n, keys[i].key);
	for (enum profile_kind k = 0; k < PROFILE_KIND_MAX; k++) {
		for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
			make_key(known, k, settings[i]);
			consider(&n, known);
		}
	}
	return n.distance;
}

/* "profiles.grafana.com/heap.scrape": our name of a type that Grafana calls otherwise. */
static bool find_by_kind(const char *key, char ret[static ANNOTATION_KEY_BYTES])
{
	const char *type = key + strlen(ANNOTATION_GRAFANA), *dot = strchr(type, '.');
	enum profile_kind k =
		dot ? profile_kind_find(type, (size_t)(dot - type)) : PROFILE_KIND_MAX;

	if (k == PROFILE_KIND_MAX)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		if (strcmp(dot + 1, settings[i]) != 0)
			continue;
		make_key(ret, k, settings[i]);
		return true;
	}
	return false;
}

static bool is_ours(const char *key)
{
	return begins_with(key, "coroot.com/profile") || begins_with(key, ANNOTATION_GRAFANA) ||
	       begins_with(key, ANNOTATION_PYROSCOPE);
}

bool annotation_key_has_domain(const char *key)
{
	return is_ours(key) || begins_with(key, "coroot.com/");
}

enum annotation_key annotation_key_classify(const char *key, char ret[static ANNOTATION_KEY_BYTES])
{
	bool ours = is_ours(key);
	enum annotation_key is;

	ret[0] = '\0';
	if (!annotation_key_has_domain(key))
		return ANNOTATION_FOREIGN;
	is = find(key, ret);
	if (is != ANNOTATION_UNKNOWN)
		return is;
	if (begins_with(key, ANNOTATION_GRAFANA) && find_by_kind(key, ret))
		return is;
	if (find_nearest(key, ret) > (ours ? MAX_DISTANCE : MAX_FOREIGN_DISTANCE)) {
		ret[0] = '\0';
		return ours ? ANNOTATION_UNKNOWN : ANNOTATION_FOREIGN;
	}
	return ANNOTATION_UNKNOWN;
}
