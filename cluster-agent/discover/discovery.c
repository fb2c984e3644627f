/*
 * Turns the pods that the API server names into targets of the scraper: kube_watch brings Pod
 * objects, pod_target.c reads their annotations, known_pods.c remembers a digest of what was
 * passed on.
 *
 * A pod's object changes far more often than what matters here (conditions, other annotations),
 * and each new list names every pod again. So a target is passed on only when its digest
 * differs from the one before; the scraper never sees the rest.
 *
 * After each list, the pods that it did not name are withdrawn. They are recognized by a mark
 * that the list did not renew, so a list that breaks off half-way withdraws nothing.
 *
 * When the scraper cannot take a target in for lack of memory, on_pod() reports that to
 * kube_watch, which fails the request and repeats it with back-off; it brings the same pod
 * again, since neither the watch's version nor the pod's digest has moved on. The pods that
 * follow wait until then, as they do when the memory for parsing an object is missing.
 */
#include "cluster-agent/discover/discovery.h"

#include <errno.h>

#include "cluster-agent/discover/known_pods.h"
#include "cluster-agent/discover/pod_target.h"
#include "common/data/arena.h"
#include "common/kubernetes/kube_watch.h"
#include "common/kubernetes/label_keys.h"
#include "common/system/clock.h"

#define MAX_NAMESPACE_BYTES 63

enum discovery_metric {
	PODS_READ,
	TARGETS_PUBLISHED,
	TARGETS,
	IGNORED_NO_POD,
	IGNORED_LIMIT,
	IGNORED_MEMORY,
	DISCOVERY_METRIC_MAX,
};

struct discovery {
	struct discovery_config cfg;
	struct kube_watch *watch;
	struct known_pods *known;
	struct arena arena; /* of one pod */
	struct label_keys label_keys;
	struct metric metrics[DISCOVERY_METRIC_MAX];
};

#define IGNORED(reason)                                                               \
	"coroot_cluster_agent_discovery_pods_ignored_total", "reason=\"" reason "\"", \
		"Pods and changes of pods that were ignored"

static const struct metric_def metric_defs[DISCOVERY_METRIC_MAX] = {
	[PODS_READ] = {.name = "coroot_cluster_agent_discovery_pods_read_total",
		       .help = "Pods received from the API server; a changed pod counts again",
		       .kind = METRIC_COUNTER},
	[TARGETS_PUBLISHED] = {.name = "coroot_cluster_agent_discovery_changes_total",
			       .help = "Targets that appeared or changed",
			       .kind = METRIC_COUNTER},
	[TARGETS] = {.name = "coroot_cluster_agent_discovery_targets",
		     .help = "Pods that ask to be scraped",
		     .kind = METRIC_GAUGE},
	[IGNORED_NO_POD] = {IGNORED("no_pod")},
	[IGNORED_LIMIT] = {IGNORED("limit")},
	[IGNORED_MEMORY] = {IGNORED("memory")},
};
METRIC_TABLE(metric_table, metric_defs);

static const char *uid_of(const json_t *pod)
{
	const char *uid =
		json_string_value(json_object_get(json_object_get(pod, "metadata"), "uid"));

	return uid ? uid : "";
}

static void show_count(struct discovery *d)
{
	metric_set(&d->metrics[TARGETS], known_pods_count(d->known));
}

/* Takes back the pod's target, if there is one. */
static void withdraw(struct discovery *d, const char *uid)
{
	if (known_pods_remove(d->known, uid))
		d->cfg.remove(d->cfg.ctx, uid);
	show_count(d);
}

static void on_deleted(void *discovery, const json_t *pod)
{
	withdraw(discovery, uid_of(pod));
}

/* Counts a state of a pod that was not taken in. A target from an earlier state stays. */
static void ignore_state(struct discovery *d, const char *uid, int error)
{
	enum discovery_metric reason = error == -EBADMSG  ? IGNORED_NO_POD
				       : error == -ENOSPC ? IGNORED_LIMIT
							  : IGNORED_MEMORY;

	known_pods_keep(d->known, uid);
	metric_add(&d->metrics[reason], 1);
}

/* Passes the target on if it differs from what was passed on before. */
static int publish_if_changed(struct discovery *d, const struct scrape_target *t)
{
	int r = known_pods_put(d->known, t);

	if (r <= 0)
		return r;
	r = d->cfg.upsert(d->cfg.ctx, t);
	if (r < 0)
		known_pods_mark_unpublished(d->known, t->uid);
	else
		metric_add(&d->metrics[TARGETS_PUBLISHED], 1);
	return r;
}

/* The pod's labels that are asked for; in the arena. Returns 0 or -ENOMEM. */
static int read_labels(struct scrape_target *ret, struct discovery *d, const json_t *pod)
{
	struct scrape_label *labels = arena_calloc(&d->arena, d->label_keys.n + 1, sizeof(*labels));

	if (!labels)
		return -ENOMEM;
	for (size_t i = 0; i < d->label_keys.n; i++) {
		const char *value = label_keys_value(pod, d->label_keys.keys[i]);

		if (value)
			labels[ret->n_labels++] =
				(struct scrape_label){d->label_keys.keys[i], value};
	}
	ret->labels = labels;
	return 0;
}

static int on_pod(void *discovery, const json_t *pod)
{
	struct discovery *d = discovery;
	struct scrape_target t;
	int r = pod_target_make(&t, &d->arena, pod, d->cfg.kinds,
				(int64_t)(clock_realtime_ns() / (int64_t)NS_PER_S));

	metric_add(&d->metrics[PODS_READ], 1);
	if (r > 0 && read_labels(&t, d, pod) < 0)
		r = -ENOMEM;
	if (r > 0)
		r = publish_if_changed(d, &t);
	else if (r == 0)
		withdraw(d, uid_of(pod));
	if (r < 0)
		ignore_state(d, uid_of(pod), r);
	show_count(d);
	arena_clear(&d->arena);
	return r == -ENOMEM ? r : 0;
}

static void on_list_begins(void *discovery)
{
	struct discovery *d = discovery;

	known_pods_unmark(d->known);
}

static void on_listed(void *discovery)
{
	struct discovery *d = discovery;

	known_pods_sweep(d->known, d->cfg.remove, d->cfg.ctx);
	show_count(d);
}

static bool is_namespace(const char *s)
{
	size_t len = strlen(s);

	return len > 0 && len <= MAX_NAMESPACE_BYTES &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

static int start_watch(struct discovery *d, const char *namespace)
{
	char path[MAX_NAMESPACE_BYTES + 40] = "/api/v1/pods";
	const struct kube_watch_config cfg = {
		.client = d->cfg.client,
		.loop = d->cfg.loop,
		.path = path,
		.selectors = "fieldSelector=status.phase%3DRunning",
		.what = "pods",
		.ctx = d,
		.list_begins = on_list_begins,
		.object = on_pod,
		.deleted = on_deleted,
		.listed = on_listed,
	};

	if (namespace && namespace[0]) {
		if (!is_namespace(namespace))
			return -EINVAL;
		snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods", namespace);
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
	/* the caller's, and not needed again */
	d->cfg.namespace = d->cfg.pod_labels = NULL;
	arena_init(&d->arena, POD_TARGET_ARENA_BYTES);
	r = label_keys_parse(&d->label_keys, cfg->pod_labels, NULL);
	if (r == 0)
		r = known_pods_new(&d->known, DISCOVERY_MAX_TARGETS);
	if (r == 0)
		r = start_watch(d, cfg->namespace);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(d);
	return 0;
}

void discovery_free(struct discovery *d)
{
	if (!d)
		return;
	kube_watch_free(d->watch);
	known_pods_free(d->known);
	label_keys_fini(&d->label_keys);
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
	int r = metrics_register(ms, &metric_table, d->metrics, NULL);

	return r < 0 ? r : kube_watch_register(d->watch, "coroot_cluster_agent", ms);
}
