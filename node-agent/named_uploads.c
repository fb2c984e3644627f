/*
 * Profiles of a container are renamed at the last moment, when they are uploaded: samples are
 * counted per container whatever its name is, so nothing has to be regrouped.
 *
 * One list in the order of arrival serves all that wait. It is short except when a source of
 * names or the receiver does not answer, and then it is gone through once a turn of the loop at
 * most.
 *
 * A profile waits for its name until its deadline, but for the receiver's first answer as long
 * as there is room: a receiver that cannot be asked cannot take uploads either, and a wrong name
 * cannot be corrected later.
 */
#include "node-agent/named_uploads.h"

#include <errno.h>
#include <utlist.h>

#include "common/kubernetes/label_keys.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/container/container_name.h"

#define WAIT_NS (5 * NS_PER_S)
#define WAIT_AT_END_NS (1 * NS_PER_S)
#define KEEP_NS (60 * NS_PER_S) /* the directory forgets what is not looked up for ten minutes */
#define MAX_ITEMS 4096u
#define MAX_BYTES (32 * MIB)
#define N_OWN_LABELS 10u
#define LABELS_MAX (12 + LABEL_KEYS_MAX + PLACE_LABELS_MAX)

enum {
	METRIC_WAITING,
	METRIC_WAITING_BYTES,
	METRIC_UNNAMED,
	METRIC_CUT_SHORT,
	METRIC_MAX,
};

#define PREFIX "coroot_node_agent_profiles_"

static const struct metric_def metric_defs[METRIC_MAX] = {
	[METRIC_WAITING] = {PREFIX "waiting_for_names", NULL,
			    "Profiles that wait for the name of their container", METRIC_GAUGE},
	[METRIC_WAITING_BYTES] = {PREFIX "waiting_for_names_bytes", NULL,
				  "Compressed bytes of the profiles that wait for a name",
				  METRIC_GAUGE},
	[METRIC_UNNAMED] = {PREFIX "unnamed_total", NULL,
			    "Profiles of containers uploaded under the id: no name was found"},
	[METRIC_CUT_SHORT] = {PREFIX "wait_cut_short_total", NULL,
			      "Profiles that waited no longer for a name: too many waited"},
};
METRIC_TABLE(metric_table, metric_defs);

struct waiting {
	struct waiting *prev, *next;
	struct workload *raw;
	struct buf pprof;
	uint64_t n_samples;
	uint64_t cost_ns;
	bool is_found_by_pod;
	size_t n_bytes;
	uint64_t deadline_ns;
};

struct named_uploads {
	struct named_uploads_config cfg;
	struct container_listener listener;
	struct loop_source *timer;
	struct waiting *list; /* oldest first; deadlines never decrease along it */
	size_t n_waiting;
	size_t n_bytes;
	struct receiver_wishes wishes;
	bool has_wishes;
	bool is_ending;
	struct metric metrics[METRIC_MAX];
};

/* ---- labels ---- */

static bool sends_extra_labels(const struct named_uploads *n)
{
	if (n->cfg.extra_labels == EXTRA_LABELS_AUTO)
		return n->wishes.extra_labels;
	return n->cfg.extra_labels == EXTRA_LABELS_ON;
}

/*
 * Cuts text, "key=value\n" of each, into labels, of which there is room for LABEL_KEYS_MAX. Returns
 * how many.
 */
static size_t add_pod_labels(struct upload_label *labels, char *text)
{
	char *rest = NULL;
	size_t n = 0;

	for (char *line = strtok_r(text, "\n", &rest); line && n < LABEL_KEYS_MAX;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *value = strchr(line, '=');

		if (!value)
			continue;
		*value = '\0';
		labels[n++] = (struct upload_label){line, value + 1};
	}
	return n;
}

/* Those that the pod has itself say more, and stay alone. The first n labels are the pod's. */
static void add_place_labels(const struct named_uploads *u, const char *namespace,
			     struct upload_label *labels, size_t n)
{
	struct place_label places[PLACE_LABELS_MAX];
	size_t n_places = 0, end = n;

	if (u->cfg.place_labels && namespace[0])
		n_places = u->cfg.place_labels(u->cfg.place_ctx, namespace, places);
	for (size_t i = 0; i < n_places; i++) {
		size_t j = 0;

		while (j < n && strcmp(labels[j].name, places[i].name) != 0)
			j++;
		if (j == n)
			labels[end++] = (struct upload_label){places[i].name, places[i].value};
	}
}

static void send(struct named_uploads *n, const struct workload *w,
		 const struct finished_profile *p)
{
	bool is_extra = sends_extra_labels(n);
	bool has_pod = is_extra || (p->is_found_by_pod && n->cfg.extra_labels != EXTRA_LABELS_OFF);
	AUTO_FREE char *pod_labels = is_extra ? strdup(w->labels) : NULL;
	struct upload_label labels[LABELS_MAX] = {
		{"service.name", w->service},
		{"container.id", w->container_id},
		{"host.name", n->cfg.host->name},
		{"host.id", n->cfg.host->id},
		/* a NULL name ends the list; these are what the scraper sends, too */
		{has_pod ? "namespace" : NULL, w->namespace},
		{"pod", w->pod},
		{is_extra ? "k8s.namespace.name" : NULL, w->namespace},
		{"k8s.pod.name", w->pod},
		{"k8s.container.name", w->namespace[0] ? w->container : ""},
		{"container.image.name", w->image},
	};
	int r;

	if (n->cfg.admit && !n->cfg.admit(n->cfg.admit_ctx, w, p))
		return;
	if (pod_labels)
		add_place_labels(n, w->namespace, labels + N_OWN_LABELS,
				 add_pod_labels(labels + N_OWN_LABELS, pod_labels));
	r = uploader_add(n->cfg.uploader, labels, p->pprof);

	if (r < 0)
		log_warn_limited("cannot queue a profile", "service=%s error=\"%s\"", w->service,
				 strerror(-r));
	if (container_kind_has_names(p->raw->kind) &&
	    strcmp(w->container_id, p->raw->container_id) == 0)
		metric_add(&n->metrics[METRIC_UNNAMED], 1);
}

/* ---- waiting ---- */

static struct finished_profile profile_of(struct waiting *w)
{
	return (struct finished_profile){w->raw, &w->pprof, w->n_samples, w->cost_ns,
					 w->is_found_by_pod};
}

static bool needs_wishes(const struct named_uploads *n)
{
	return !n->has_wishes && !n->is_ending;
}

/* Returns false if the profile has to wait and may. */
static bool send_if_named(struct named_uploads *n, const struct finished_profile *p, bool may_wait)
{
	CLEANUP(workload_unrefp) struct workload *named = NULL;
	int r = container_directory_name(n->cfg.directory, p->raw, &named);

	/* only names and labels of containers depend on the receiver */
	if (!n->has_wishes && container_kind_has_names(p->raw->kind))
		r = -EAGAIN;
	if (r < 0 && may_wait)
		return false;
	send(n, named, p);
	return true;
}

static void show_waiting(struct named_uploads *n)
{
	metric_set(&n->metrics[METRIC_WAITING], n->n_waiting);
	metric_set(&n->metrics[METRIC_WAITING_BYTES], n->n_bytes);
}

static void forget(struct named_uploads *n, struct waiting *w)
{
	DL_DELETE(n->list, w);
	n->n_waiting--;
	n->n_bytes -= w->n_bytes;
	workload_unref(w->raw);
	buf_fini(&w->pprof);
	free(w);
	show_waiting(n);
}

/* Passes on what has a name or has waited long enough. */
static void flush(void *ctx)
{
	struct named_uploads *n = ctx;
	uint64_t now_ns = clock_monotonic_ns();
	bool had_any = n->list != NULL;
	struct waiting *w, *next;

	DL_FOREACH_SAFE(n->list, w, next)
	{
		const struct finished_profile p = profile_of(w);

		if (send_if_named(n, &p, needs_wishes(n) || now_ns < w->deadline_ns))
			forget(n, w);
	}
	if (n->list && needs_wishes(n))
		loop_set_timer(n->timer, KEEP_NS);
	else if (n->list)
		loop_set_timer(n->timer,
			       n->list->deadline_ns > now_ns ? n->list->deadline_ns - now_ns : 0);
	else if (had_any && n->cfg.idle)
		n->cfg.idle(n->cfg.ctx);
}

/* Many names become known in one turn of the loop; one pass takes them all. */
static void flush_soon(struct named_uploads *n)
{
	if (n->list)
		loop_set_timer(n->timer, 0);
}

static void on_name(void *ctx, struct workload *w)
{
	(void)w;
	flush_soon(ctx);
}

static void send_oldest(struct named_uploads *n)
{
	const struct finished_profile oldest = profile_of(n->list);

	(void)send_if_named(n, &oldest, false);
	forget(n, n->list);
}

static void make_room(struct named_uploads *n, size_t n_bytes)
{
	while (n->list &&
	       (n->n_waiting >= n->cfg.max_items || n->n_bytes + n_bytes > n->cfg.max_bytes)) {
		send_oldest(n);
		metric_add(&n->metrics[METRIC_CUT_SHORT], 1);
	}
}

void named_uploads_add(struct named_uploads *n, const struct finished_profile *p)
{
	uint64_t wait_ns = n->is_ending ? WAIT_AT_END_NS : n->cfg.wait_ns;
	struct waiting *w;

	if (send_if_named(n, p, true))
		return;
	w = calloc(1, sizeof(*w));
	if (!w) {
		(void)send_if_named(n, p, false);
		return;
	}
	make_room(n, p->pprof->len);
	w->raw = workload_ref(p->raw);
	w->n_bytes = p->pprof->len;
	w->n_samples = p->n_samples;
	w->cost_ns = p->cost_ns;
	w->is_found_by_pod = p->is_found_by_pod;
	w->pprof = *p->pprof;
	buf_init(p->pprof, w->pprof.limit);
	w->deadline_ns = clock_monotonic_ns() + wait_ns;
	DL_APPEND(n->list, w);
	n->n_waiting++;
	n->n_bytes += w->n_bytes;
	show_waiting(n);
	if (n->n_waiting == 1)
		loop_set_timer(n->timer, wait_ns);
}

void named_uploads_set_wishes(struct named_uploads *n, const struct receiver_wishes *w)
{
	n->wishes = *w;
	n->has_wishes = true;
	container_directory_set_naming(n->cfg.directory, w->naming);
	flush_soon(n);
}

void named_uploads_hurry(struct named_uploads *n)
{
	uint64_t by_ns = clock_monotonic_ns() + WAIT_AT_END_NS;
	struct waiting *w;

	n->is_ending = true;
	DL_FOREACH (n->list, w) {
		if (w->deadline_ns > by_ns)
			w->deadline_ns = by_ns;
	}
	flush_soon(n);
}

size_t named_uploads_pending(const struct named_uploads *n)
{
	return n->n_waiting;
}

/* ---- create and destroy ---- */

int named_uploads_new(struct named_uploads **ret, struct loop *l,
		      const struct named_uploads_config *cfg)
{
	CLEANUP(named_uploads_freep) struct named_uploads *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	n->cfg = *cfg;
	n->wishes = RECEIVER_WISHES_COROOT;
	n->cfg.wait_ns = cfg->wait_ns ? cfg->wait_ns : WAIT_NS;
	n->cfg.max_items = cfg->max_items ? cfg->max_items : MAX_ITEMS;
	n->cfg.max_bytes = cfg->max_bytes ? cfg->max_bytes : MAX_BYTES;
	r = loop_add_timer(l, flush, n, &n->timer);
	if (r < 0)
		return r;
	n->listener = (struct container_listener){.on_name = on_name, .ctx = n};
	if (n->cfg.directory)
		container_directory_listen(n->cfg.directory, &n->listener);
	*ret = TAKE_PTR(n);
	return 0;
}

void named_uploads_free(struct named_uploads *n)
{
	if (!n)
		return;
	while (n->list)
		send_oldest(n);
	loop_remove(n->timer);
	free(n);
}

int named_uploads_register_metrics(struct named_uploads *n, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, n->metrics, NULL);
}
