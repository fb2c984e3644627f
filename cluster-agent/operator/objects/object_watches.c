#include "cluster-agent/operator/objects/object_watches.h"

#include <errno.h>

#include "cluster-agent/operator/render/object_kinds.h"
#include "common/kubernetes/kube_watch.h"
#include "common/telemetry/log.h"

#define MAX_PATH_BYTES ((size_t)1024)

struct kind_watch {
	struct object_watches *all;
	enum object_kind kind;
	struct kube_watch *watch; /* NULL: this kind is not watched */
};

struct object_watches {
	struct object_watches_config cfg;
	struct kind_watch kinds[OBJECT_KIND_MAX];
};

static void on_list_begins(void *ctx)
{
	struct kind_watch *k = ctx;

	object_table_list_begin(k->all->cfg.table, k->kind);
}

static void on_vanished(void *ctx, const char *owner)
{
	struct kind_watch *k = ctx;

	k->all->cfg.changed(k->all->cfg.ctx, owner, OBJECT_DRIFTED);
}

static void on_listed(void *ctx)
{
	struct kind_watch *k = ctx;

	object_table_list_end(k->all->cfg.table, k->kind, on_vanished, k);
}

static int on_object(void *ctx, const json_t *object)
{
	struct kind_watch *k = ctx;
	struct object_watches_config *cfg = &k->all->cfg;
	struct known_object *o;
	int r = object_table_saw(cfg->table, k->kind, object, &o);

	if (r == -ENOSPC) {
		log_warn_limited("too many objects with the label of the operator; the drift of "
				 "some is not noticed",
				 "kind=%s max=%u", object_kinds[k->kind].kind, OBJECT_TABLE_MAX);
		return 0;
	}
	if (r == -ENAMETOOLONG) /* no API server allows that */
		return 0;
	if (r < 0)
		return r;
	if ((r == OBJECT_DRIFTED || r == OBJECT_APPEARED) && cfg->is_running(cfg->ctx, o->owner))
		o->unsettled = true;
	else if (r != OBJECT_UNCHANGED)
		cfg->changed(cfg->ctx, o->owner, r);
	return 0;
}

static void on_deleted(void *ctx, const json_t *object)
{
	struct kind_watch *k = ctx;
	struct object_watches_config *cfg = &k->all->cfg;
	struct known_object *o;
	struct object_facts f;

	object_facts_read(&f, object);
	o = object_table_find(cfg->table, k->kind, f.namespace, f.name);
	if (!o || strcmp(o->uid, f.uid) != 0)
		return;
	if (!o->leaving)
		cfg->changed(cfg->ctx, o->owner, OBJECT_DRIFTED);
	object_table_remove(cfg->table, o);
}

static int start(struct kind_watch *k)
{
	const struct object_watches_config *cfg = &k->all->cfg;
	struct kube_watch_config watch = {
		.client = cfg->client,
		.loop = cfg->loop,
		.selectors = "labelSelector=app.kubernetes.io%2Fmanaged-by%3Dcoroot-operator",
		.what = object_kinds[k->kind].plural,
		.ctx = k,
		.list_begins = on_list_begins,
		.object = on_object,
		.deleted = on_deleted,
		.listed = on_listed,
	};
	CLEANUP(buf_fini) struct buf path;
	int r;

	buf_init(&path, MAX_PATH_BYTES);
	r = object_kind_path(&path, k->kind, cfg->namespace, NULL);
	if (r < 0)
		return r;
	watch.path = path.data;
	return kube_watch_new(&k->watch, &watch);
}

int object_watches_new(struct object_watches **ret, const struct object_watches_config *cfg)
{
	CLEANUP(object_watches_freep) struct object_watches *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->cfg = *cfg;
	for (unsigned i = 0; i < OBJECT_KIND_MAX; i++) {
		int r = 0;

		w->kinds[i] = (struct kind_watch){.all = w, .kind = i};
		if (i != OBJECT_SECRET)
			r = start(&w->kinds[i]);
		if (r < 0)
			return r;
	}
	*ret = TAKE_PTR(w);
	return 0;
}

void object_watches_free(struct object_watches *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < OBJECT_KIND_MAX; i++)
		kube_watch_free(w->kinds[i].watch);
	free(w);
}

const char *object_watches_problem(const struct object_watches *w)
{
	for (unsigned i = 0; i < OBJECT_KIND_MAX; i++)
		if (w->kinds[i].watch && kube_watch_problem(w->kinds[i].watch)[0])
			return kube_watch_problem(w->kinds[i].watch);
	return "";
}
