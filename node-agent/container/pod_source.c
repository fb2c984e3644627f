/*
 * Keeps the containers of this node's pods by id, as kube_watch names them, and passes on those
 * that are new or have changed; most changes of a pod are of its conditions and mean nothing here.
 *
 * Containers are not forgotten with their pods, because their last profiles are still on the way:
 * they are marked with the time at which no pod named them any more, and dropped some minutes
 * later. A list of all pods marks in the same way those that it does not name.
 *
 * The status of a pod never names its sandbox, and not all containers of a crash loop. Of an id
 * that it has not named in time, the cgroup's path says which pod it is in: then what is known of
 * the pod is the answer, and stands in the table under that id as well, without a name, until the
 * pod names it after all.
 *
 * The host's name is taken for the node's unless another one is given. If it is wrong, no pod
 * has it, and all that happens is a line in the log.
 */
#include "node-agent/container/pod_source.h"

#include <ctype.h>
#include <errno.h>

#include "common/data/buf.h"
#include "common/data/table.h"
#include "common/kubernetes/kube_client.h"
#include "common/kubernetes/kube_watch.h"
#include "common/kubernetes/label_keys.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/text/kube_names.h"
#include "node-agent/container/pod_facts.h"
#include "node-agent/workload/workload.h"

#define WAIT_NS (2 * NS_PER_S)
#define LABELS_BYTES 16384u /* of one pod: 16 keys of 317 bytes, values of 253 */
#define METRICS_PREFIX "coroot_node_agent"

enum {
	METRIC_CONTAINERS,
	METRIC_UNREADABLE,
	METRIC_LIMIT,
	METRIC_MAX,
};

#define LEFT_OUT(reason)                                                                         \
	METRICS_PREFIX "_kubernetes_containers_left_out_total", "reason=\"" reason "\"",         \
		"Pods that could not be read, and containers beyond the limit, which the agent " \
		"names without the API server"

static const struct metric_def metric_defs[METRIC_MAX] = {
	[METRIC_CONTAINERS] = {METRICS_PREFIX "_kubernetes_containers", NULL,
			       "Containers of this node's pods that the API server has named",
			       METRIC_GAUGE},
	[METRIC_UNREADABLE] = {LEFT_OUT("unreadable")},
	[METRIC_LIMIT] = {LEFT_OUT("limit")},
};
METRIC_TABLE(metric_table, metric_defs);

/* Facts point into texts. */
struct known_container {
	UT_hash_handle hh; /* by facts.id */
	struct container_facts facts;
	uint64_t seen;    /* the state of a pod that named it last */
	uint64_t gone_ns; /* when no pod named it any more; 0: one does */
	char texts[];
};

/* A request of the directory. */
struct pod_request {
	char **asked; /* see join(); those not answered yet; NULL: there is no request */
	size_t n;
	uint64_t deadline_ns;
	container_source_done_fn done;
	void *ctx;
};

struct pod_source {
	struct container_sink sink;
	struct kube_client *client;
	struct kube_watch *watch;
	struct loop_source *timer; /* answers the request */
	uint64_t wait_ns;
	char *node;
	struct known_container *table;
	size_t n_named; /* containers of the table that have a name */
	struct pod_request request;
	uint64_t n_states;      /* of pods, read so far */
	uint64_t list_began_at; /* n_states at the beginning of the list */
	uint64_t sweep_ns;
	bool is_listed;
	bool found_none; /* the last list was empty */
	struct label_keys label_keys;
	const char *labels; /* container_facts.labels of the pod that is being read, or NULL */
	bool no_memory;     /* for a container of the pod that is being read */
	struct metric metrics[METRIC_MAX];
};

/* ---- known containers ---- */

enum { N_TEXTS = 9 };

static void list_texts(struct container_facts *f, const char **ret[static N_TEXTS])
{
	const char **const texts[N_TEXTS] = {&f->id,        &f->name,        &f->image,
					     &f->namespace, &f->pod,         &f->pod_uid,
					     &f->owner,     &f->likely_name, &f->labels};

	memcpy(ret, texts, sizeof(texts));
}

static bool are_equal(const struct container_facts *a, const struct container_facts *b)
{
	struct container_facts x = *a, y = *b;
	const char **xs[N_TEXTS], **ys[N_TEXTS];

	list_texts(&x, xs);
	list_texts(&y, ys);
	for (size_t i = 0; i < N_TEXTS; i++)
		if (strcmp(*xs[i] ?: "", *ys[i] ?: "") != 0)
			return false;
	return x.profiling_disabled == y.profiling_disabled;
}

static struct known_container *container_new(const struct container_facts *from)
{
	struct container_facts f = *from;
	const char **texts[N_TEXTS];
	struct known_container *k;
	size_t len = 0;
	char *at;

	list_texts(&f, texts);
	for (size_t i = 0; i < N_TEXTS; i++)
		len += strlen(*texts[i] ?: "") + 1;
	k = table_malloc(sizeof(*k) + len);
	if (!k)
		return NULL;
	memset(k, 0, sizeof(*k));
	at = k->texts;
	for (size_t i = 0; i < N_TEXTS; i++) {
		len = strlen(*texts[i] ?: "") + 1;
		memcpy(at, *texts[i] ?: "", len);
		*texts[i] = at;
		at += len;
	}
	k->facts = f;
	return k;
}

static struct known_container *find(const struct pod_source *s, const char *id)
{
	struct known_container *k;

	HASH_FIND(hh, s->table, id, strlen(id), k);
	return k;
}

/* Pods and what is only known by them are no containers that the API server has named. */
static void count_named(struct pod_source *s, const struct known_container *k, int change)
{
	if (!k->facts.name[0])
		return;
	s->n_named += (size_t)change;
	metric_set(&s->metrics[METRIC_CONTAINERS], s->n_named);
}

static void drop(struct pod_source *s, struct known_container *k)
{
	HASH_DEL(s->table, k);
	count_named(s, k, -1);
	table_free(k);
}

static int add(struct pod_source *s, struct known_container *k)
{
	HASH_ADD_KEYPTR(hh, s->table, k->facts.id, strlen(k->facts.id), k);
	if (!TABLE_ADDED(hh, k)) {
		table_free(k);
		return -ENOMEM;
	}
	count_named(s, k, 1);
	return 0;
}

/* Drops containers whose pods have been gone for a while. */
static void sweep(struct pod_source *s)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct known_container *k, *next;

	if (now_ns < s->sweep_ns)
		return;
	s->sweep_ns = now_ns + POD_SOURCE_KEEP_NS / 10;
	HASH_ITER(hh, s->table, k, next)
	{
		if (k->gone_ns != 0 && now_ns >= k->gone_ns + POD_SOURCE_KEEP_NS)
			drop(s, k);
	}
}

/* Marks the containers that were not named since then, of one pod or, if uid is NULL, of all. */
static void mark_gone(struct pod_source *s, const char *uid, uint64_t since)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (struct known_container *k = s->table; k; k = k->hh.next)
		if (k->gone_ns == 0 && k->seen < since &&
		    (!uid || strcmp(k->facts.pod_uid, uid) == 0))
			k->gone_ns = now_ns;
}

/*
 * A container keeps its image, whereas the pod's may change: then the kubelet makes another
 * container, and names it some time later.
 */
static void take_container(void *ctx, const struct container_facts *facts)
{
	struct pod_source *s = ctx;
	struct known_container *k = find(s, facts->id), *new;
	struct container_facts with_image = *facts, *f = &with_image;

	if (s->labels)
		f->labels = s->labels;
	if (k && k->facts.image[0] &&
	    !facts->sandbox) /* what is known of the pod changes with it */
		f->image = k->facts.image;
	if (k && are_equal(&k->facts, f)) {
		k->seen = s->n_states;
		k->gone_ns = 0;
		return;
	}
	if (!k && HASH_COUNT(s->table) >= POD_SOURCE_MAX_CONTAINERS) {
		metric_add(&s->metrics[METRIC_LIMIT], 1);
		return;
	}
	new = container_new(f);
	if (!new) {
		s->no_memory = true;
		return;
	}
	new->seen = s->n_states;
	if (k)
		drop(s, k);
	if (add(s, new) < 0) {
		s->no_memory = true;
		return;
	}
	s->sink.found(s->sink.ctx, &new->facts);
}

/*
 * What is known of a pod, as facts about one of its containers, which the pod itself has not named:
 * likely_name has room for the beginning of the id.
 */
static struct container_facts facts_by_pod(const struct container_facts *pod, const char *id,
					   char likely_name[static WORKLOAD_SHORT_ID_LEN + 1])
{
	struct container_facts f = *pod;

	snprintf(likely_name, WORKLOAD_SHORT_ID_LEN + 1, "%s", id);
	f.id = id;
	f.sandbox = false;
	if (!f.likely_name || !f.likely_name[0])
		f.likely_name = likely_name;
	return f;
}

/* Also renews what was answered by the pod. */
static void take_pod(void *ctx, const struct container_facts *pod)
{
	struct pod_source *s = ctx;
	struct known_container *k, *next;
	char likely_name[WORKLOAD_SHORT_ID_LEN + 1];

	take_container(s, pod);
	HASH_ITER(hh, s->table, k, next)
	{
		AUTO_FREE char *id = NULL;
		struct container_facts f;

		if (k->facts.name[0] || k->seen == s->n_states ||
		    strcmp(k->facts.pod_uid, pod->pod_uid) != 0)
			continue;
		id = strdup(k->facts.id);
		if (!id) {
			s->no_memory = true;
			return;
		}
		f = facts_by_pod(pod, id, likely_name);
		take_container(s, &f);
	}
}

/* ---- requests ---- */

/*
 * A failing watch is not reported as a failed request: kube_watch logs and counts it, and there is
 * no need to ask again, since all that becomes known is passed on unasked.
 */
static void free_asked(char **asked, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(asked[i]);
	free(asked);
}

/* The id, and after its NUL that of its pod, "pod<uid>", which is "pod" if unknown. */
static char *join(const char *id, const char *pod_uid)
{
	size_t id_size = strlen(id) + 1, pod_size = strlen("pod") + strlen(pod_uid) + 1;
	char *s = malloc(id_size + pod_size);

	if (!s)
		return NULL;
	memcpy(s, id, id_size);
	snprintf(s + id_size, pod_size, "pod%s", pod_uid);
	return s;
}

static const char *pod_of(const char *asked)
{
	return asked + strlen(asked) + 1;
}

/* Returns NULL if out of memory. */
static char **copy_question(const struct container_question *q)
{
	char **copy = calloc(q->n, sizeof(*copy));

	for (size_t i = 0; copy && i < q->n; i++) {
		copy[i] = join(q->ids[i], q->pod_uids ? q->pod_uids[i] : "");
		if (!copy[i]) {
			free_asked(copy, i);
			return NULL;
		}
	}
	return copy;
}

static void end_request(struct pod_source *s)
{
	struct pod_request r = s->request;

	s->request = (struct pod_request){0};
	free_asked(r.asked, r.n);
	if (r.done)
		r.done(r.ctx, 0);
}

static void answer_by_pod(struct pod_source *s, const char *asked)
{
	const struct known_container *k = find(s, pod_of(asked));
	char likely_name[WORKLOAD_SHORT_ID_LEN + 1];
	struct container_facts f;

	if (!k)
		return;
	f = facts_by_pod(&k->facts, asked, likely_name);
	take_container(s, &f);
}

static void on_timer(void *ctx)
{
	struct pod_source *s = ctx;
	struct pod_request *r = &s->request;
	uint64_t now_ns = clock_monotonic_ns();
	size_t n = 0;

	if (!r->asked)
		return;
	for (size_t i = 0; i < r->n; i++) {
		const struct known_container *k = find(s, r->asked[i]);

		if (!k) {
			r->asked[n++] = r->asked[i];
			continue;
		}
		s->sink.found(s->sink.ctx, &k->facts);
		free(r->asked[i]);
	}
	r->n = n;
	if (n > 0 && now_ns < r->deadline_ns && !kube_watch_problem(s->watch)[0]) {
		loop_set_timer(s->timer, r->deadline_ns - now_ns);
		return;
	}
	for (size_t i = 0; i < n; i++)
		answer_by_pod(s, r->asked[i]);
	end_request(s);
}

static int ask(void *source, const struct container_question *q, container_source_done_fn done,
	       void *ctx)
{
	struct pod_source *s = source;
	struct pod_request r = {.n = q->n, .done = done, .ctx = ctx};

	r.asked = copy_question(q);
	if (!r.asked)
		return -ENOMEM;
	r.deadline_ns = clock_monotonic_ns() + s->wait_ns;
	s->request = r;
	loop_set_timer(s->timer, 0);
	return 0;
}

/* Something was learned, which may answer the request. */
static void look_at_request(struct pod_source *s)
{
	if (s->request.asked)
		loop_set_timer(s->timer, 0);
}

/* ---- the watch ---- */

static const char *uid_of(const json_t *pod)
{
	const json_t *metadata = json_object_get(pod, "metadata");

	return json_string_value(json_object_get(metadata, "uid")) ?: "";
}

/* Returns NULL if out of memory. */
static char *read_labels(const struct pod_source *s, const json_t *pod)
{
	struct buf out;
	size_t len;
	int r = 0;

	buf_init(&out, LABELS_BYTES);
	for (size_t i = 0; i < s->label_keys.n && r == 0; i++) {
		const char *value = label_keys_value(pod, s->label_keys.keys[i]);

		if (value)
			r = buf_addf(&out, "%s=%s\n", s->label_keys.keys[i], value);
	}
	if (r == 0)
		r = buf_add(&out, "", 1);
	if (r < 0) {
		buf_fini(&out);
		return NULL;
	}
	return buf_take(&out, &len);
}

static int on_pod(void *ctx, const json_t *pod)
{
	struct pod_source *s = ctx;
	AUTO_FREE char *labels = read_labels(s, pod);

	if (!labels)
		return -ENOMEM;
	s->labels = labels;
	s->n_states++;
	s->found_none = false;
	s->no_memory = false;
	if (pod_facts_each(pod, take_container, s) < 0 || pod_facts_of_pod(pod, take_pod, s) < 0)
		metric_add(&s->metrics[METRIC_UNREADABLE], 1);
	s->labels = NULL;
	if (s->no_memory)
		return -ENOMEM;
	mark_gone(s, uid_of(pod), s->n_states);
	sweep(s);
	look_at_request(s);
	return 0;
}

static void on_deleted(void *ctx, const json_t *pod)
{
	struct pod_source *s = ctx;

	mark_gone(s, uid_of(pod), UINT64_MAX);
	sweep(s);
}

static void on_list_begins(void *ctx)
{
	struct pod_source *s = ctx;

	s->list_began_at = s->n_states;
	s->found_none = true;
}

static void on_listed(void *ctx)
{
	struct pod_source *s = ctx;

	mark_gone(s, NULL, s->list_began_at + 1);
	if (!s->is_listed && s->found_none)
		log_warn("the API server has no pods on this node; give --node-name if the node "
			 "has another name",
			 "node=%s", s->node);
	s->is_listed = true;
	look_at_request(s);
}

/* ---- create and destroy ---- */

static int start_watch(struct pod_source *s, struct loop *l)
{
	char selectors[KUBE_PART_BYTES + 40];
	const struct kube_watch_config cfg = {
		.client = s->client,
		.loop = l,
		.path = "/api/v1/pods",
		.selectors = selectors,
		.what = "pods",
		.ctx = s,
		.list_begins = on_list_begins,
		.object = on_pod,
		.deleted = on_deleted,
		.listed = on_listed,
	};

	snprintf(selectors, sizeof(selectors), "fieldSelector=spec.nodeName%%3D%s", s->node);
	return kube_watch_new(&s->watch, &cfg);
}

/* Names of nodes are DNS subdomains; the kubelet makes the host's name lower case for that. */
static int set_node(struct pod_source *s, const char *node, struct err *err)
{
	s->node = strdup(node);
	if (!s->node)
		return -ENOMEM;
	for (char *c = s->node; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (!kube_part_is_valid(s->node) ||
	    s->node[strspn(s->node, "abcdefghijklmnopqrstuvwxyz0123456789-.")] != '\0')
		return err_set(err, -EINVAL, "\"%s\" is not the name of a node", node);
	return 0;
}

int pod_source_new(struct pod_source **ret, const struct pod_source_config *cfg, struct err *err)
{
	CLEANUP(pod_source_freep) struct pod_source *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->sink = *cfg->sink;
	s->wait_ns = cfg->wait_ns ? cfg->wait_ns : WAIT_NS;
	r = set_node(s, cfg->node, err);
	if (r == 0)
		r = label_keys_parse(&s->label_keys, cfg->pod_labels, err);
	if (r == 0)
		r = loop_add_timer(cfg->loop, on_timer, s, &s->timer);
	if (r == 0)
		r = kube_client_new(&s->client, cfg->loop, cfg->kube, err);
	if (r == 0)
		r = start_watch(s, cfg->loop);
	if (r < 0)
		return r;
	log_info("watching the pods of this node", "api=%s node=%s", kube_client_server(s->client),
		 s->node);
	*ret = TAKE_PTR(s);
	return 0;
}

void pod_source_free(struct pod_source *s)
{
	struct known_container *k, *next;

	if (!s)
		return;
	s->request.done = NULL;
	end_request(s);
	kube_watch_free(s->watch);
	kube_client_free(s->client);
	loop_remove(s->timer);
	HASH_ITER(hh, s->table, k, next)
	{
		drop(s, k);
	}
	label_keys_fini(&s->label_keys);
	free(s->node);
	free(s);
}

static void free_source(void *source)
{
	pod_source_free(source);
}

const struct container_source_ops pod_source_ops = {
	.name = "kubernetes",
	.ask = ask,
	.free = free_source,
};

int pod_source_register(struct pod_source *s, struct metrics *ms)
{
	int r = metrics_register(ms, &metric_table, s->metrics, NULL);

	return r < 0 ? r : kube_watch_register(s->watch, METRICS_PREFIX, ms);
}
