#include "node-agent/naming.h"

#include <errno.h>

#include "common/upload/receiver_probe.h"
#include "node-agent/container/container_sources.h"
#include "node-agent/kubernetes_names.h"
#include "node-agent/named_uploads.h"
#include "node-agent/node_options.h"

struct naming {
	struct agent *base; /* borrowed */
	struct container_directory *directory;
	struct kubernetes_names *kubernetes;
	struct container_sources *sources;
	struct named_uploads *uploads;
	struct receiver_probe *probe;
	struct process_listener listener;
	bool was_down; /* the receiver, a second ago */
};

/* Asks early: the answer is there when the first profile is. */
static void on_snapshot(void *ctx, struct process_snapshot *s)
{
	struct naming *n = ctx;
	struct workload *named;

	(void)container_directory_name(n->directory, s->workload, &named);
	workload_unref(named);
}

static void on_answer(void *ctx, const struct receiver_wishes *w)
{
	struct naming *n = ctx;

	named_uploads_set_wishes(n->uploads, w);
}

static void on_idle(void *ctx)
{
	struct naming *n = ctx;

	agent_stop_if_done(n->base);
}

static int make_directory(struct naming *n, const struct host_identity *host)
{
	const struct container_directory_config cfg = {.node = host->name};
	int r = container_directory_new(&n->directory, n->base->loop, &cfg);

	return r == 0 ? container_directory_register_metrics(n->directory, n->base->metrics) : r;
}

static int make_kubernetes(struct naming *n, const struct node_options *o,
			   const struct host_identity *host, struct err *err)
{
	const struct kubernetes_names_config cfg = {
		.directory = n->directory,
		.loop = n->base->loop,
		.metrics = n->base->metrics,
		.options = o,
		.node = host->name,
	};

	return kubernetes_names_new(&n->kubernetes, &cfg, err);
}

static size_t place_labels(void *ctx, const char *namespace,
			   struct place_label ret[static PLACE_LABELS_MAX])
{
	const struct naming *n = ctx;

	return kubernetes_names_labels(n->kubernetes, namespace, ret);
}

static int make_sources(struct naming *n, const struct node_options *o,
			const struct host_identity *host)
{
	const struct container_sources_config cfg = {
		.loop = n->base->loop,
		.directory = n->directory,
		.host_root = o->host_root,
		.cri_socket = o->cri_socket,
		.node = host->name,
	};

	return container_sources_new(&n->sources, &cfg);
}

static int make_uploads(struct naming *n, const struct node_options *o,
			const struct naming_config *naming)
{
	const struct named_uploads_config cfg = {
		.directory = n->directory,
		.uploader = n->base->uploader,
		.host = naming->host,
		.extra_labels = o->extra_labels,
		.idle = on_idle,
		.ctx = n,
		.admit = naming->admit,
		.admit_ctx = naming->ctx,
		.place_labels = place_labels,
		.place_ctx = n,
	};
	int r = named_uploads_new(&n->uploads, n->base->loop, &cfg);

	return r == 0 ? named_uploads_register_metrics(n->uploads, n->base->metrics) : r;
}

static int make_probe(struct naming *n)
{
	const struct receiver_probe_config cfg = {
		.endpoint = n->base->upload_endpoint,
		.key = n->base->key,
		.uploader = n->base->uploader,
		.on_answer = on_answer,
		.ctx = n,
	};

	return receiver_probe_new(&n->probe, n->base->loop, n->base->client, &cfg);
}

int naming_new(struct naming **ret, struct agent *base, const struct node_options *o,
	       const struct naming_config *cfg, struct err *err)
{
	CLEANUP(naming_freep) struct naming *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	n->base = base;
	n->listener = (struct process_listener){.on_snapshot = on_snapshot, .ctx = n};
	r = make_directory(n, cfg->host);
	if (r == 0)
		r = make_kubernetes(n, o, cfg->host, err);
	if (r == 0)
		r = make_sources(n, o, cfg->host);
	if (r == 0)
		r = make_uploads(n, o, cfg);
	/* OTLP has no way to ask */
	if (r == 0 && o->otlp_endpoint)
		named_uploads_set_wishes(n->uploads, &RECEIVER_WISHES_OWN);
	else if (r == 0)
		r = make_probe(n);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(n);
	return 0;
}

void naming_free(struct naming *n)
{
	if (!n)
		return;
	receiver_probe_free(n->probe);
	named_uploads_free(n->uploads);
	container_directory_free(n->directory);
	container_sources_free(n->sources);
	kubernetes_names_free(n->kubernetes);
	free(n);
}

struct container_directory *naming_directory(struct naming *n)
{
	return n->directory;
}

struct process_listener *naming_listener(struct naming *n)
{
	return &n->listener;
}

void naming_upload(struct naming *n, const struct finished_profile *p)
{
	named_uploads_add(n->uploads, p);
}

void naming_beat(struct naming *n)
{
	bool is_down = uploader_is_down(n->base->uploader);

	if (n->was_down && !is_down)
		receiver_probe_hurry(n->probe);
	n->was_down = is_down;
}

void naming_hurry(struct naming *n)
{
	named_uploads_hurry(n->uploads);
}

bool naming_is_done(const struct naming *n)
{
	return named_uploads_pending(n->uploads) == 0;
}
