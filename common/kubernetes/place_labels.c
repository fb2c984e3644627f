/*
 * Labels are joined to a profile at the last moment, by the names of its pod's namespace and node.
 * The other way, to keep them with each pod, would have to find all pods of a namespace again when
 * one label of it changes, and all that were learned of before their node was.
 */
#include "common/kubernetes/place_labels.h"

#include <errno.h>

#include "common/data/table.h"
#include "common/kubernetes/kube_pod.h"
#include "common/kubernetes/kube_watch.h"

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789-."

enum { METRIC_LIMIT, METRIC_MAX };

static const struct metric_def metric_defs[METRIC_MAX] = {
	[METRIC_LIMIT] = {"_kubernetes_places_left_out_total", "reason=\"limit\"",
			  "Namespaces and nodes beyond the limit, whose labels profiles lack"},
};
METRIC_TABLE(metric_table, metric_defs);

/* A namespace or node with at least one of the labels. */
struct place {
	UT_hash_handle hh; /* by name */
	const char *name;
	uint64_t list; /* number of the list that named it last */
	size_t n_labels;
	struct place_label labels[LABEL_KEYS_MAX]; /* names are those of the keys */
	char texts[];
};

struct place_kind {
	struct place_labels *all;
	struct kube_watch *watch; /* NULL: nothing is asked of this kind */
	struct label_keys keys;
	struct place *table;
	uint64_t list; /* lists begun so far */
};

enum { NAMESPACES, NODES, N_KINDS };

struct place_labels {
	const char *prefix;
	struct place_kind kinds[N_KINDS];
	struct metric metrics[METRIC_MAX];
};

/* ---- what the API server says ---- */

static const char *name_of(const json_t *object)
{
	return kube_part_text(json_object_get(json_object_get(object, "metadata"), "name"));
}

static struct place *find(const struct place_kind *k, const char *name)
{
	struct place *place;

	HASH_FIND(hh, k->table, name, strlen(name), place);
	return place;
}

static void drop(struct place_kind *k, struct place *place)
{
	HASH_DEL(k->table, place);
	table_free(place);
}

/* Returns NULL if out of memory. */
static struct place *place_new(const struct place_kind *k, const char *name, const json_t *object)
{
	const char *values[LABEL_KEYS_MAX];
	size_t size = strlen(name) + 1;
	struct place *place;
	char *at;

	for (size_t i = 0; i < k->keys.n; i++) {
		values[i] = label_keys_value(object, k->keys.keys[i]);
		size += values[i] ? strlen(values[i]) + 1 : 0;
	}
	place = table_malloc(sizeof(*place) + size);
	if (!place)
		return NULL;
	*place = (struct place){.list = k->list};
	at = stpcpy(place->texts, name) + 1;
	place->name = place->texts;
	for (size_t i = 0; i < k->keys.n; i++) {
		if (!values[i])
			continue;
		place->labels[place->n_labels++] = (struct place_label){k->keys.keys[i], at};
		at = stpcpy(at, values[i]) + 1;
	}
	return place;
}

static int add(struct place_kind *k, struct place *place)
{
	if (HASH_COUNT(k->table) >= PLACE_LABELS_MAX_OBJECTS) {
		metric_add(&k->all->metrics[METRIC_LIMIT], 1);
		table_free(place);
		return 0;
	}
	HASH_ADD_KEYPTR(hh, k->table, place->name, strlen(place->name), place);
	if (TABLE_ADDED(hh, place))
		return 0;
	table_free(place);
	return -ENOMEM;
}

static int on_object(void *ctx, const json_t *object)
{
	struct place_kind *k = ctx;
	const char *name = name_of(object);
	struct place *old = name ? find(k, name) : NULL;
	struct place *new = name ? place_new(k, name, object) : NULL;

	if (name && !new)
		return -ENOMEM;
	if (old)
		drop(k, old);
	if (new &&new->n_labels > 0)
		return add(k, new);
	table_free(new);
	return 0;
}

static void on_deleted(void *ctx, const json_t *object)
{
	struct place_kind *k = ctx;
	const char *name = name_of(object);
	struct place *place = name ? find(k, name) : NULL;

	if (place)
		drop(k, place);
}

static void on_list_begins(void *ctx)
{
	struct place_kind *k = ctx;

	k->list++;
}

static void drop_unless_listed(struct place_kind *k, uint64_t list)
{
	struct place *place, *next;

	HASH_ITER(hh, k->table, place, next)
	{
		if (place->list != list)
			drop(k, place);
	}
}

static void on_listed(void *ctx)
{
	struct place_kind *k = ctx;

	drop_unless_listed(k, k->list);
}

/* ---- what a profile gets ---- */

static bool has_name(const struct place_label *labels, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(labels[i].name, name) == 0)
			return true;
	return false;
}

size_t place_labels_find(const struct place_labels *p, const char *namespace, const char *node,
			 struct place_label ret[static PLACE_LABELS_MAX])
{
	const char *const names[N_KINDS] = {[NAMESPACES] = namespace, [NODES] = node};
	size_t n = 0;

	for (size_t i = 0; p && i < N_KINDS; i++) {
		const struct place *place = names[i] ? find(&p->kinds[i], names[i]) : NULL;

		for (size_t j = 0; place && j < place->n_labels; j++)
			if (!has_name(ret, n, place->labels[j].name))
				ret[n++] = place->labels[j];
	}
	return n;
}

/* ---- create and destroy ---- */

static int start(struct place_kind *k, const struct place_labels_config *cfg, const char *what,
		 const char *only)
{
	char path[32], selectors[KUBE_PART_BYTES + 40];
	const struct kube_watch_config watch = {
		.client = cfg->client,
		.loop = cfg->loop,
		.path = path,
		.selectors = only && only[0] ? selectors : NULL,
		.what = what,
		.ctx = k,
		.list_begins = on_list_begins,
		.object = on_object,
		.deleted = on_deleted,
		.listed = on_listed,
	};

	if (k->keys.n == 0)
		return 0;
	if (watch.selectors && (!kube_part_is_valid(only) || only[strspn(only, NAME_CHARS)]))
		return -EINVAL;
	snprintf(path, sizeof(path), "/api/v1/%s", what);
	snprintf(selectors, sizeof(selectors), "fieldSelector=metadata.name%%3D%s", only ?: "");
	return kube_watch_new(&k->watch, &watch);
}

int place_labels_new(struct place_labels **ret, const struct place_labels_config *cfg)
{
	CLEANUP(place_labels_freep) struct place_labels *p = calloc(1, sizeof(*p));
	struct place_kind *namespaces, *nodes;
	int r;

	if (!p)
		return -ENOMEM;
	p->prefix = cfg->prefix;
	namespaces = &p->kinds[NAMESPACES];
	nodes = &p->kinds[NODES];
	namespaces->all = nodes->all = p;
	r = label_keys_parse(&namespaces->keys, cfg->namespace_keys, NULL);
	if (r == 0)
		r = label_keys_parse(&nodes->keys, cfg->node_keys, NULL);
	if (r == 0)
		r = start(namespaces, cfg, "namespaces", cfg->namespace);
	if (r == 0)
		r = start(nodes, cfg, "nodes", cfg->node);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

void place_labels_free(struct place_labels *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < N_KINDS; i++) {
		struct place_kind *k = &p->kinds[i];

		kube_watch_free(k->watch);
		drop_unless_listed(k, UINT64_MAX);
		label_keys_fini(&k->keys);
	}
	free(p);
}

int place_labels_register(struct place_labels *p, struct metrics *ms)
{
	int r = metrics_register_as(ms, p->prefix, &metric_table, p->metrics, NULL);

	for (size_t i = 0; i < N_KINDS && r == 0; i++)
		if (p->kinds[i].watch)
			r = kube_watch_register(p->kinds[i].watch, p->prefix, ms);
	return r;
}
