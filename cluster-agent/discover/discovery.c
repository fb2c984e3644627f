#include "cluster-agent/discover/discovery.h"

#include <errno.h>

#include "cluster-agent/discover/known_pods.h"
#include "cluster-agent/discover/pod_target.h"
#include "cluster-agent/kubernetes/kube_watch.h"
#include "common/arena.h"
#include "common/log.h"

enum discovery_metric {
	PODS_READ,
	PODS_BAD,
	PODS_NO_MEMORY,
	TARGETS_TOLD,
	TARGETS,
	DISCOVERY_METRIC_MAX,
};

struct discovery {
	struct discovery_config cfg;
	struct kube_watch *watch;
	struct known_pods *pods;
	struct arena arena; /* of the one pod being looked at */
	uint64_t list;      /* number of the list under way, or of the last one */
	struct metric metrics[DISCOVERY_METRIC_MAX];
};

static void tell_removed(void *ctx, const char *uid)
{
	struct discovery *d = ctx;

	d->cfg.remove(d->cfg.ctx, uid);
}

static void forget(struct discovery *d, const json_t *pod)
{
	const char *uid =
		json_string_value(json_object_get(json_object_get(pod, "metadata"), "uid"));

	if (uid && known_pods_remove(d->pods, uid))
		tell_removed(d, uid);
	metric_set(&d->metrics[TARGETS], known_pods_count(d->pods));
}

static int tell(struct discovery *d, const struct scrape_target *t)
{
	int r = known_pods_put(d->pods, t, d->list);

	if (r <= 0)
		return r;
	metric_add(&d->metrics[TARGETS_TOLD], 1);
	d->cfg.upsert(d->cfg.ctx, t);
	return 0;
}

static void on_object(void *ctx, const json_t *pod)
{
	struct discovery *d = ctx;
	struct scrape_target t;
	int r = pod_target_make(&t, &d->arena, pod, d->cfg.kinds);

	metric_add(&d->metrics[PODS_READ], 1);
	if (r > 0)
		r = tell(d, &t);
	else
		forget(d, pod);
	if (r < 0)
		metric_add(&d->metrics[r == -ENOMEM ? PODS_NO_MEMORY : PODS_BAD], 1);
	metric_set(&d->metrics[TARGETS], known_pods_count(d->pods));
	arena_clear(&d->arena);
}

static void on_gone(void *ctx, const json_t *pod)
{
	forget(ctx, pod);
}

static void on_list_begins(void *ctx)
{
	struct discovery *d = ctx;

	d->list++;
}

static void on_listed(void *ctx)
{
	struct discovery *d = ctx;

	known_pods_sweep(d->pods, d->list, tell_removed, d);
	metric_set(&d->metrics[TARGETS], known_pods_count(d->pods));
	log_info("pods are known", "targets=%zu", known_pods_count(d->pods));
}

static void init_metrics(struct discovery *d)
{
	d->metrics[PODS_READ] =
		(struct metric){.name = "coroot_cluster_agent_discovery_pods_read_total",
				.help = "Pods that the API named, changed ones anew."};
	d->metrics[PODS_BAD] =
		(struct metric){.name = "coroot_cluster_agent_discovery_pods_ignored_total",
				.labels = "reason=\"no_pod\"",
				.help = "Objects that could not be looked at, by reason."};
	d->metrics[PODS_NO_MEMORY] = d->metrics[PODS_BAD];
	d->metrics[PODS_NO_MEMORY].labels = "reason=\"memory\"";
	d->metrics[TARGETS_TOLD] =
		(struct metric){.name = "coroot_cluster_agent_discovery_changes_total",
				.help = "Targets that appeared or changed."};
	d->metrics[TARGETS] =
		(struct metric){.name = "coroot_cluster_agent_discovery_targets",
				.help = "Running pods that are annotated to be scraped.",
				.kind = METRIC_GAUGE};
}

static int start_watch(struct discovery *d)
{
	AUTO_FREE char *path = NULL;
	const char *namespace = d->cfg.namespace;
	struct kube_watch_config cfg = {
		.client = d->cfg.client,
		.loop = d->cfg.loop,
		.path = "/api/v1/pods",
		.selectors = "fieldSelector=status.phase%3DRunning",
		.what = "pods",
		.ctx = d,
		.list_begins = on_list_begins,
		.object = on_object,
		.gone = on_gone,
		.listed = on_listed,
	};

	if (namespace && namespace[0]) {
		if (asprintf(&path, "/api/v1/namespaces/%s/pods", namespace) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		cfg.path = path;
	}
	return kube_watch_new(&d->watch, &cfg);
}

int discovery_new(struct discovery **ret, const struct discovery_config *cfg)
{
	CLEANUP(discovery_freep) struct discovery *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->cfg = *cfg;
	arena_init(&d->arena, POD_TARGET_ARENA_BYTES);
	init_metrics(d);
	r = known_pods_new(&d->pods);
	if (r == 0)
		r = start_watch(d);
	if (r < 0)
		return r;
	d->cfg.namespace = NULL; /* borrowed for the call */
	*ret = TAKE_PTR(d);
	return 0;
}

void discovery_free(struct discovery *d)
{
	if (!d)
		return;
	kube_watch_free(d->watch);
	known_pods_free(d->pods);
	arena_fini(&d->arena);
	free(d);
}

bool discovery_synced(const struct discovery *d)
{
	return kube_watch_synced(d->watch);
}

const char *discovery_problem(const struct discovery *d)
{
	return kube_watch_problem(d->watch);
}

int discovery_register(struct discovery *d, struct metrics *ms)
{
	int r = metrics_register(ms, d->metrics, DISCOVERY_METRIC_MAX);

	return r < 0 ? r : kube_watch_register(d->watch, ms);
}
