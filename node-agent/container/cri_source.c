/*
 * One question of the directory is a sequence of requests, one at a time:
 *
 *   Version (after a start or a failure) → ListContainers → ListPodSandbox → ListImages
 *
 * A few ids are asked for one by one with a filter, many with one list of everything: a list
 * costs the runtime and us about the same however many of its containers are new. Sandboxes have
 * the pod's annotations, and are what an id may be that is no container: the pod's pause
 * container. Images have names where the kubelet gave the runtime nothing but an id. Both are
 * cached, so ListPodSandbox follows only if a sandbox or an id is not known, and ListImages only
 * if an image is not. Meanwhile the list of containers is kept as it came and decoded again when
 * the rest is there; containers are reported before ListImages, and those whose image it names
 * once more.
 *
 * Everything happens in callbacks of the loop, ask() included: it only sets a timer.
 */
#include "node-agent/container/cri_source.h"

#include <errno.h>

#include "common/data/buf.h"
#include "common/http/http.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/container/cri_cache.h"
#include "node-agent/container/cri_messages.h"

#define REQUEST_TIMEOUT_NS (2 * NS_PER_S)
/* For how long a socket without the service, or without names of images, is left alone. */
#define PAUSE_NS (60 * NS_PER_S)
/* Up to so many ids are asked for one by one. */
#define FEW_IDS 3u
#define REQUEST_MAX_BYTES ((size_t)4096)
#define ID_BYTES 129

enum step {
	STEP_VERSION,
	STEP_CONTAINERS,
	STEP_PODS,
	STEP_IMAGES,
};

struct asked_id {
	const char *id;
	bool is_container;
};

struct cri_source {
	struct http_client *http;
	struct loop_source *timer;
	const struct container_sink *sink;
	char *socket;
	struct cri_cache cache;
	struct cri_version version; /* as logged; empty if it was not */
	bool is_version_known;      /* since the last failure */
	bool is_unsupported;        /* as logged */
	uint64_t not_before_ns;     /* the service was unknown */
	uint64_t images_not_before_ns;

	/* the question under way */
	bool is_asked;
	container_source_done_fn done;
	void *ctx;
	char *id_bytes;
	struct asked_id *ids; /* sorted */
	size_t n_ids;
	size_t at; /* the id that is asked for, if there are few */
	uint64_t timeout_ns;
	uint64_t deadline_ns;

	/* the request under way */
	enum step step;
	struct buf request;
	struct buf containers;     /* answer to ListContainers */
	char sandbox_id[ID_BYTES]; /* one that is to be asked for; "" if none */
	bool wants_images;
};

static void begin(struct cri_source *s, enum step step);

static bool is_few(const struct cri_source *s)
{
	return s->n_ids <= FEW_IDS;
}

/* ---- the question ----------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
	return strcmp(((const struct asked_id *)a)->id, ((const struct asked_id *)b)->id);
}

static struct asked_id *find_id(struct cri_source *s, const char *id)
{
	const struct asked_id key = {.id = id};

	return bsearch(&key, s->ids, s->n_ids, sizeof(*s->ids), compare_ids);
}

static void forget_ids(struct cri_source *s)
{
	free(s->ids);
	free(s->id_bytes);
	s->ids = NULL;
	s->id_bytes = NULL;
	s->n_ids = 0;
}

static int keep_ids(struct cri_source *s, const char *const *ids, size_t n)
{
	size_t size = 0;
	char *at;

	if (n == 0)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		size += strlen(ids[i]) + 1;
	s->ids = calloc(n, sizeof(*s->ids));
	s->id_bytes = malloc(size);
	if (!s->ids || !s->id_bytes) {
		forget_ids(s);
		return -ENOMEM;
	}
	at = s->id_bytes;
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(ids[i]) + 1;

		memcpy(at, ids[i], len);
		s->ids[i].id = at;
		at += len;
	}
	s->n_ids = n;
	qsort(s->ids, n, sizeof(*s->ids), compare_ids);
	return 0;
}

static void finish(struct cri_source *s, int error)
{
	if (error < 0)
		s->is_version_known = false;
	forget_ids(s);
	buf_fini(&s->containers);
	s->is_asked = false;
	/* may ask again */
	s->done(s->ctx, error);
}

/* ---- log lines -------------------------------------------------------------------------- */

static void note_unsupported(struct cri_source *s)
{
	s->not_before_ns = clock_monotonic_ns() + PAUSE_NS;
	if (s->is_unsupported)
		return;
	s->is_unsupported = true;
	log_info("this socket does not offer CRI v1; asking it for no containers", "socket=%s",
		 LOG_QUOTED(s->socket));
}

static void note_version(struct cri_source *s, const struct cri_version *v)
{
	s->is_version_known = true;
	s->is_unsupported = false;
	if (strcmp(s->version.runtime, v->runtime) == 0 &&
	    strcmp(s->version.version, v->version) == 0)
		return;
	s->version = *v;
	log_info("asking a container runtime for names of containers",
		 "socket=%s runtime=%s version=%s", LOG_QUOTED(s->socket), LOG_QUOTED(v->runtime),
		 LOG_QUOTED(v->version));
}

static void note_skipped(const struct cri_source *s, int n)
{
	if (n > 0)
		log_warn_limited("descriptions of containers are too large; they keep their ids",
				 "socket=%s n=%d", LOG_QUOTED(s->socket), n);
}

/* ---- what was found --------------------------------------------------------------------- */

static bool is_image_id(const char *image)
{
	return image[0] == '\0' || strncmp(image, "sha256:", 7) == 0 ||
	       (strlen(image) == 64 && strspn(image, "0123456789abcdef") == 64);
}

/* Returns NULL if the image's name is not known. */
static const char *image_name(const struct cri_source *s, const struct cri_container *c)
{
	const char *name;

	if (!is_image_id(c->image))
		return c->image;
	name = cri_cache_find_image(&s->cache, c->image_id);
	return name ? name : cri_cache_find_image(&s->cache, c->image);
}

/* image may be NULL: not known yet. */
static void report(struct cri_source *s, const struct cri_container *c, const char *image)
{
	struct container_facts facts = {
		.id = c->id,
		.name = c->name,
		.image = image,
		.namespace = c->namespace,
		.pod = c->pod,
		.pod_uid = c->pod_uid,
	};

	cri_cache_find_pod(&s->cache, c->sandbox_id, &facts);
	s->sink->found(s->sink->ctx, &facts);
}

static void report_asked_or_running(void *source, const struct cri_container *c)
{
	struct cri_source *s = source;
	bool is_asked = find_id(s, c->id);
	const char *image;

	if (!c->is_running && !is_asked)
		return;
	/* an image may have another tag since its name was read, and a new container be of that */
	image = is_asked && is_image_id(c->image) ? NULL : image_name(s, c);
	if (!image)
		s->wants_images = true;
	report(s, c, image);
}

/* Reports a container whose image ListImages has named, for the second time. */
static void report_image(void *source, const struct cri_container *c)
{
	struct cri_source *s = source;
	const char *name;

	if (!is_image_id(c->image) || (!c->is_running && !find_id(s, c->id)))
		return;
	name = image_name(s, c);
	if (!name)
		cri_cache_add_image(&s->cache, c->image_id[0] ? c->image_id : c->image, "");
	else if (name[0])
		report(s, c, name);
}

static void report_sandbox(struct cri_source *s, const char *id)
{
	struct container_facts facts = {.id = id, .sandbox = true};

	if (cri_cache_find_pod(&s->cache, id, &facts))
		s->sink->found(s->sink->ctx, &facts);
}

/* ---- steps ------------------------------------------------------------------------------ */

/* Asks for the next id, or ends the question. */
static void next_id(struct cri_source *s)
{
	struct container_facts facts;

	buf_fini(&s->containers);
	if (is_few(s)) {
		/* pause containers of known pods need no request */
		for (; s->at < s->n_ids; s->at++) {
			if (!cri_cache_find_pod(&s->cache, s->ids[s->at].id, &facts))
				break;
			report_sandbox(s, s->ids[s->at].id);
		}
	}
	if (s->at < s->n_ids)
		begin(s, STEP_CONTAINERS);
	else
		finish(s, 0);
}

static void end_of_list(struct cri_source *s)
{
	s->at = is_few(s) ? s->at + 1 : s->n_ids;
	next_id(s);
}

static void report_all(struct cri_source *s)
{
	const struct cri_visitor v = {.container = report_asked_or_running, .ctx = s};
	size_t end = is_few(s) ? s->at + 1 : s->n_ids;
	int r;

	s->wants_images = false;
	r = cri_visit_containers(s->containers.data, s->containers.len, &v);
	if (r < 0) {
		finish(s, r);
		return;
	}
	for (size_t i = is_few(s) ? s->at : 0; i < end; i++) {
		if (!s->ids[i].is_container)
			report_sandbox(s, s->ids[i].id);
	}
	if (s->wants_images && clock_monotonic_ns() >= s->images_not_before_ns)
		begin(s, STEP_IMAGES);
	else
		end_of_list(s);
}

/* Marks ids that are containers, and finds a sandbox that is not known. */
static void examine(void *source, const struct cri_container *c)
{
	struct cri_source *s = source;
	struct asked_id *asked = find_id(s, c->id);
	struct container_facts facts;

	if (asked)
		asked->is_container = true;
	if ((asked || c->is_running) && !cri_cache_find_pod(&s->cache, c->sandbox_id, &facts))
		snprintf(s->sandbox_id, sizeof(s->sandbox_id), "%s", c->sandbox_id);
}

static void got_containers(struct cri_source *s)
{
	const struct cri_visitor v = {.container = examine, .ctx = s};
	size_t end = is_few(s) ? s->at + 1 : s->n_ids;
	struct container_facts facts;
	int r;

	s->sandbox_id[0] = '\0';
	r = cri_visit_containers(s->containers.data, s->containers.len, &v);
	if (r < 0) {
		finish(s, r);
		return;
	}
	note_skipped(s, r);
	for (size_t i = is_few(s) ? s->at : 0; i < end && !s->sandbox_id[0]; i++) {
		if (!s->ids[i].is_container && !cri_cache_find_pod(&s->cache, s->ids[i].id, &facts))
			snprintf(s->sandbox_id, sizeof(s->sandbox_id), "%s", s->ids[i].id);
	}
	if (s->sandbox_id[0])
		begin(s, STEP_PODS);
	else
		report_all(s);
}

static void add_pod(void *source, const struct cri_sandbox *p)
{
	struct cri_source *s = source;

	cri_cache_add_pod(&s->cache, p);
}

static void add_image(void *source, const struct cri_image *i)
{
	struct cri_source *s = source;

	cri_cache_add_image(&s->cache, i->id, i->name);
}

static void got_pods(struct cri_source *s, const struct http_result *answer)
{
	const struct cri_visitor v = {.sandbox = add_pod, .ctx = s};
	int r;

	cri_cache_begin_list(&s->cache);
	r = cri_visit_sandboxes(answer->body, answer->body_len, &v);
	if (r < 0) {
		finish(s, r);
		return;
	}
	note_skipped(s, r);
	/* with a filter, the list does not say what has ended */
	if (!is_few(s))
		cri_cache_end_pods(&s->cache);
	report_all(s);
}

static void got_images(struct cri_source *s, const struct http_result *answer)
{
	const struct cri_visitor add = {.image = add_image, .ctx = s};
	const struct cri_visitor again = {.container = report_image, .ctx = s};
	int r;

	cri_cache_begin_list(&s->cache);
	r = cri_visit_images(answer->body, answer->body_len, &add);
	if (r >= 0) {
		cri_cache_end_images(&s->cache);
		r = cri_visit_containers(s->containers.data, s->containers.len, &again);
	}
	if (r < 0)
		s->images_not_before_ns = clock_monotonic_ns() + PAUSE_NS;
	end_of_list(s);
}

static void got_version(struct cri_source *s, const struct http_result *answer)
{
	struct cri_version v;
	int r = cri_parse_version(answer->body, answer->body_len, &v);

	if (r < 0) {
		finish(s, r);
		return;
	}
	note_version(s, &v);
	next_id(s);
}

static void failed(struct cri_source *s, int error)
{
	if (s->step == STEP_IMAGES) {
		/* names are worth more than images: those were reported */
		s->images_not_before_ns = clock_monotonic_ns() + PAUSE_NS;
		log_debug("cannot ask for names of images", "socket=%s error=\"%s\"",
			  LOG_QUOTED(s->socket), strerror(-error));
		end_of_list(s);
		return;
	}
	if (error == -EOPNOTSUPP) {
		note_unsupported(s);
		s->is_version_known = false;
		finish(s, 0);
		return;
	}
	finish(s, error);
}

static void on_answer(void *source, const struct http_result *answer)
{
	struct cri_source *s = source;
	bool is_absent;
	int r;

	if (answer->error < 0) {
		log_debug("a container runtime did not answer", "socket=%s error=%s",
			  LOG_QUOTED(s->socket), LOG_QUOTED(answer->msg));
		failed(s, answer->error);
		return;
	}
	r = cri_error(answer->status, http_result_header(answer, "grpc-status"));
	is_absent = r == -ENOENT;
	if (r < 0 && !is_absent) {
		failed(s, r);
		return;
	}
	switch (s->step) {
	case STEP_VERSION:
		got_version(s, answer);
		break;
	case STEP_CONTAINERS:
		/* "not found" is an empty list, which is the same bytes as an empty request */
		buf_init(&s->containers, CRI_ANSWER_MAX_BYTES);
		r = is_absent ? cri_put_empty_request(&s->containers)
			      : buf_add(&s->containers, answer->body, answer->body_len);
		if (r < 0)
			finish(s, r);
		else
			got_containers(s);
		break;
	case STEP_PODS:
		if (is_absent)
			report_all(s);
		else
			got_pods(s, answer);
		break;
	case STEP_IMAGES:
		got_images(s, answer);
		break;
	}
}

static const char *url_of(enum step step)
{
#define RUNTIME "http://localhost/runtime.v1.RuntimeService/"
	switch (step) {
	case STEP_VERSION:
		return RUNTIME "Version";
	case STEP_CONTAINERS:
		return RUNTIME "ListContainers";
	case STEP_PODS:
		return RUNTIME "ListPodSandbox";
	default:
		return "http://localhost/runtime.v1.ImageService/ListImages";
	}
#undef RUNTIME
}

static int put_request(struct cri_source *s, enum step step)
{
	const char *id = NULL;

	buf_fini(&s->request);
	buf_init(&s->request, REQUEST_MAX_BYTES);
	if (step == STEP_VERSION || step == STEP_IMAGES)
		return cri_put_empty_request(&s->request);
	if (is_few(s))
		id = step == STEP_PODS ? s->sandbox_id : s->ids[s->at].id;
	return cri_put_list_request(&s->request, id);
}

static void begin(struct cri_source *s, enum step step)
{
	static const char *const headers[] = {"Content-Type: application/grpc", "TE: trailers",
					      NULL};
	uint64_t now_ns = clock_monotonic_ns();
	struct http_request req = {
		.method = "POST",
		.url = url_of(step),
		.headers = headers,
		.timeout_ns = s->timeout_ns,
		.max_response_bytes = CRI_ANSWER_MAX_BYTES,
	};
	int r = now_ns < s->deadline_ns ? put_request(s, step) : -ETIMEDOUT;

	s->step = step;
	if (r == 0) {
		if (req.timeout_ns > s->deadline_ns - now_ns)
			req.timeout_ns = s->deadline_ns - now_ns;
		req.body = s->request.data;
		req.body_len = s->request.len;
		r = http_send(s->http, &req, on_answer, s);
	}
	if (r < 0)
		failed(s, r);
}

/* ---- the source ------------------------------------------------------------------------- */

static void on_timer(void *source)
{
	struct cri_source *s = source;

	if (!s->is_asked)
		return;
	if (clock_monotonic_ns() < s->not_before_ns)
		finish(s, 0);
	else if (!s->is_version_known)
		begin(s, STEP_VERSION);
	else
		next_id(s);
}

static int ask(void *source, const struct container_question *q, container_source_done_fn done,
	       void *ctx)
{
	struct cri_source *s = source;
	int r;

	r = keep_ids(s, q->ids, q->n);
	if (r < 0)
		return r;
	s->is_asked = true;
	s->done = done;
	s->ctx = ctx;
	s->at = 0;
	s->deadline_ns = clock_monotonic_ns() + 2 * s->timeout_ns;
	loop_set_timer(s->timer, 0);
	return 0;
}

static void cri_source_free(void *source)
{
	struct cri_source *s = source;

	if (!s)
		return;
	http_client_free(s->http);
	loop_remove(s->timer);
	forget_ids(s);
	buf_fini(&s->request);
	buf_fini(&s->containers);
	cri_cache_fini(&s->cache);
	free(s->socket);
	free(s);
}

static void free_half_built(struct cri_source **s)
{
	cri_source_free(*s);
}

int cri_source_new(struct cri_source **ret, const struct cri_source_config *cfg)
{
	const struct http_client_config http = {
		.unix_socket = cfg->connect ? cfg->connect : cfg->socket,
		.http2 = true,
		.user_agent = "coroot-node-agent",
	};
	CLEANUP(free_half_built) struct cri_source *s = NULL;
	int r;

	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->sink = cfg->sink;
	s->timeout_ns = cfg->timeout_ns ? cfg->timeout_ns : REQUEST_TIMEOUT_NS;
	s->socket = strdup(cfg->socket);
	if (!s->socket)
		return -ENOMEM;
	r = cri_cache_init(&s->cache, cfg->node);
	if (r == 0)
		r = loop_add_timer(cfg->loop, on_timer, s, &s->timer);
	if (r == 0)
		r = http_client_new(&s->http, cfg->loop, &http);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

const struct container_source_ops cri_source_ops = {
	.name = "cri",
	.ask = ask,
	.free = cri_source_free,
};
