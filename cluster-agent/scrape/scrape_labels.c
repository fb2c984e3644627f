#include "cluster-agent/scrape/scrape_labels.h"

#include "common/system/clock.h"

/*
 * The id of the container by which the node agent's profiles of it are labelled too. "" if the
 * container is unknown, or the receiver wants no labels of ours.
 */
static void make_container_id(char ret[static KUBE_NAME_BYTES], const struct target_endpoint *e,
			      const struct receiver_wishes *w)
{
	const struct kube_pod pod = {.namespace = e->target->namespace,
				     .pod = e->target->pod,
				     .container = e->container->name};
	int64_t now_s = (int64_t)(clock_realtime_ns() / NS_PER_S);

	if (!w->extra_labels || !e->container->name[0] ||
	    kube_container_id(ret, &pod, w->naming, now_s) < 0)
		ret[0] = '\0';
}

static bool has_label(const struct target *t, const char *name)
{
	for (size_t i = 0; i < t->n_labels; i++)
		if (strcmp(t->labels[i].name, name) == 0)
			return true;
	return false;
}

/* The pod's own, then those of its namespace and node; returns how many. */
static size_t label_more(const struct scraper_config *cfg, const struct target *t,
			 struct upload_label *labels)
{
	struct place_label places[PLACE_LABELS_MAX];
	size_t n = 0, n_places = 0;

	for (size_t i = 0; i < t->n_labels; i++)
		labels[n++] = (struct upload_label){t->labels[i].name, t->labels[i].value};
	if (cfg->place_labels)
		n_places = cfg->place_labels(cfg->ctx, t->namespace, t->node, places);
	for (size_t i = 0; i < n_places; i++)
		if (!has_label(t, places[i].name))
			labels[n++] = (struct upload_label){places[i].name, places[i].value};
	return n;
}

static void label_pod(struct upload_label labels[static SCRAPE_LABELS_MAX],
		      const struct target_endpoint *e, const struct scraper_config *cfg,
		      const char *port, const char *container_id)
{
	const struct receiver_wishes *w = &cfg->wishes;
	const struct target *t = e->target;
	const struct upload_label all[] = {
		{"service.name", target_endpoint_service(e, w->naming)},
		{"namespace", t->namespace},
		{"pod", t->pod},
		{"node", t->node},
		{"port", port},
		{"k8s.namespace.name", w->extra_labels ? t->namespace : NULL},
		{"k8s.pod.name", w->extra_labels ? t->pod : NULL},
		{"k8s.container.name", w->extra_labels ? e->container->name : NULL},
		{"container.id", container_id},
	};
	size_t n = ARRAY_SIZE(all);

	memcpy(labels, all, sizeof(all));
	if (w->extra_labels)
		n += label_more(cfg, t, labels + n);
	labels[n] = (struct upload_label){0};
}

static void label_other(struct upload_label labels[static SCRAPE_LABELS_MAX],
			const struct target *t, const char *port)
{
	size_t n = 0;

	labels[n++] = (struct upload_label){"service.name", t->service};
	for (size_t i = 0; i < t->n_labels; i++)
		labels[n++] = (struct upload_label){t->labels[i].name, t->labels[i].value};
	if (port[0])
		labels[n++] = (struct upload_label){"port", port};
	labels[n] = (struct upload_label){0};
}

void scrape_labels_make(struct upload_label ret[static SCRAPE_LABELS_MAX],
			struct scrape_label_texts *texts, const struct target_endpoint *e,
			const struct scraper_config *cfg)
{
	const struct target *t = e->target;

	texts->port[0] = '\0';
	if (t->several_ports)
		snprintf(texts->port, sizeof(texts->port), "%u", e->port);
	if (!t->is_pod) {
		label_other(ret, t, texts->port);
		return;
	}
	make_container_id(texts->container_id, e, &cfg->wishes);
	label_pod(ret, e, cfg, texts->port, texts->container_id);
}
