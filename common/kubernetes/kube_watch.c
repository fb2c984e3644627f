/*
 * One request at a time: a list, its further pages, then watch after watch. This file sends
 * requests and takes the answers apart; kube_watch_state.c decides what comes next.
 *
 * Lists are requested without a resourceVersion, which means the current state. With
 * resourceVersion=0 the server would answer from its cache: old servers then ignore the page
 * size, and after a restart the cache may be older than what we have, so that pods would
 * disappear and come back. Servers from 1.31 on also answer the exact question from their
 * cache, so the exact list costs little.
 *
 * w->version advances only after the owner has taken an event in. If the owner cannot (object()
 * returns an error), the stream ends, and the next watch begins with the same event; the same
 * page of a list is requested again.
 */
#include "common/kubernetes/kube_watch.h"

#include <errno.h>
#include <sys/random.h>

#include "common/data/buf.h"
#include "common/kubernetes/kube_stream.h"
#include "common/kubernetes/kube_watch_metrics.h"
#include "common/kubernetes/kube_watch_state.h"
#include "common/telemetry/log.h"

#define DEFAULT_RETRY_MIN_NS (500 * NS_PER_MS)
#define DEFAULT_RETRY_MAX_NS (60 * NS_PER_S)
/* for one page, however slowly it arrives */
#define PAGE_TIMEOUT_NS (120 * NS_PER_S)
/* idle limit of a watch that should end after KUBE_WATCH_SHORT_S */
#define SHORT_IDLE_NS (15 * NS_PER_S)
#define UNSYNCED_NS (120 * NS_PER_S)
/* versions are opaque; etcd's are 64-bit numbers */
#define MAX_VERSION_BYTES 128
#define MAX_PATH_BYTES ((size_t)256 * 1024)
#define MAX_ERROR_BODY_BYTES ((size_t)64 * 1024)

struct kube_watch {
	struct kube_watch_config cfg; /* its strings are the three below */
	char *path;
	char *selectors; /* "": none */
	char *what;
	struct kube_watch_state state;
	struct kube_watch_metrics metrics;
	struct loop_source *timer;
	struct kube_call *call;     /* NULL: none is under way and the timer is set */
	struct kube_stream *stream; /* of the call */

	char version[MAX_VERSION_BYTES];
	char *next; /* the "continue" token of the current list */
	bool listed;
	size_t n_objects; /* in the current list */

	/* of the call */
	uint64_t started_ns;
	unsigned timeout_s; /* of a watch */
	size_t n_events;
	int event_code;
	char event_msg[256];
	struct err why; /* why the answer could not be used */

	uint64_t failing_since_ns;
	int failing_reason; /* status, code of an event, or error; a change is logged */
	char problem[sizeof(struct kube_watch_problem) + 2];
};

/* ---- events ---- */

/* Returns 0 and the object, 0 and NULL if it is skipped, or -ENOMEM. */
static int parse_object(struct kube_watch *w, const char *text, size_t len, json_t **ret)
{
	json_error_t why;

	*ret = json_loadb(text, len, JSON_ALLOW_NUL, &why);
	if (*ret)
		return 0;
	if (json_error_code(&why) == json_error_out_of_memory)
		return -ENOMEM;
	kube_watch_metrics_add(&w->metrics, KUBE_WATCH_METRIC_LEFT_OUT_UNREADABLE);
	return 0;
}

static void end_problem(struct kube_watch *w)
{
	if (w->state.failing || !w->problem[0])
		return;
	w->problem[0] = '\0';
	metric_set(&w->metrics.metrics[KUBE_WATCH_METRIC_FAILING], 0);
	log_info("watch of the API server recovered", "what=%s", w->cfg.what);
}

static int take_error_event(struct kube_watch *w, const json_t *status)
{
	const char *msg = json_string_value(json_object_get(status, "message"));
	json_int_t code = json_integer_value(json_object_get(status, "code"));

	w->event_code = code >= 400 && code <= 599 ? (int)code : 500;
	snprintf(w->event_msg, sizeof(w->event_msg), "%s", msg ? msg : "an error without message");
	return -ECANCELED;
}

static int take_change(struct kube_watch *w, const char *type, const json_t *object)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const char *version = json_string_value(json_object_get(metadata, "resourceVersion"));
	int r = 0;

	if (!version || !version[0] || strlen(version) >= sizeof(w->version))
		return err_set(&w->why, -EBADMSG, "an event without resourceVersion");
	if (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0)
		r = w->cfg.object(w->cfg.ctx, object);
	else if (strcmp(type, "DELETED") == 0)
		w->cfg.deleted(w->cfg.ctx, object);
	else if (strcmp(type, "BOOKMARK") != 0)
		return err_set(&w->why, -EBADMSG, "an event of unknown type");
	/* w->version does not advance, so the next watch repeats the event */
	if (r < 0)
		return r;
	snprintf(w->version, sizeof(w->version), "%s", version);
	w->n_events++;
	kube_watch_metrics_add(&w->metrics, KUBE_WATCH_METRIC_EVENTS);
	kube_watch_state_event(&w->state);
	end_problem(w);
	return 0;
}

static int on_event(void *watch, const char *text, size_t len)
{
	struct kube_watch *w = watch;
	const json_t *object;
	const char *type;
	json_t *event;
	int r = parse_object(w, text, len, &event);

	if (!event)
		return r;
	type = json_string_value(json_object_get(event, "type"));
	object = json_object_get(event, "object");
	if (!type || !json_is_object(object))
		r = err_set(&w->why, -EBADMSG, "no event");
	else if (strcmp(type, "ERROR") == 0)
		r = take_error_event(w, object);
	else
		r = take_change(w, type, object);
	json_decref(event);
	return r;
}

static int on_item(void *watch, const char *text, size_t len)
{
	struct kube_watch *w = watch;
	json_t *object;
	int r = parse_object(w, text, len, &object);

	if (!object)
		return r;
	w->n_objects++;
	r = w->cfg.object(w->cfg.ctx, object);
	json_decref(object);
	return r;
}

static void on_too_large(void *watch)
{
	struct kube_watch *w = watch;

	kube_watch_metrics_add(&w->metrics, KUBE_WATCH_METRIC_LEFT_OUT_TOO_LARGE);
}

/* ---- answers ---- */

static int on_data(void *watch, const char *data, size_t len)
{
	struct kube_watch *w = watch;
	int r = kube_stream_feed(w->stream, data, len, &w->why);

	if (r < 0 && !w->why.msg[0])
		err_set(&w->why, r, "%s", strerror(-r));
	return r;
}

/* The page is complete. Remembers its version and whether another page follows. */
static int finish_page(struct kube_watch *w, bool *has_more)
{
	struct kube_list_meta meta;
	char *next = NULL;
	int r = kube_stream_finish_list(w->stream, &meta, &w->why);

	if (r < 0)
		return r;
	if (!meta.resource_version[0] || strlen(meta.resource_version) >= sizeof(w->version))
		return err_set(&w->why, -EBADMSG, "a list without resourceVersion");
	if (meta.next[0]) {
		next = strdup(meta.next);
		if (!next)
			return -ENOMEM;
	}
	snprintf(w->version, sizeof(w->version), "%s", meta.resource_version);
	free(w->next);
	w->next = next;
	*has_more = next != NULL;
	return 0;
}

static void finish_list(struct kube_watch *w)
{
	kube_watch_metrics_add(&w->metrics, KUBE_WATCH_METRIC_LISTS);
	if (!w->listed)
		log_info("watching the API server", "what=%s n=%zu", w->cfg.what, w->n_objects);
	w->listed = true;
	w->cfg.listed(w->cfg.ctx);
}

static const char *message_of(const struct kube_watch *w, const struct kube_outcome *o,
			      const struct kube_result *res)
{
	if (o->event_code != 0)
		return w->event_msg;
	if (w->why.msg[0])
		return w->why.msg;
	if (res->msg && res->msg[0])
		return res->msg;
	return o->error < 0 ? strerror(-o->error) : "invalid answer";
}

static void begin_problem(struct kube_watch *w, enum kube_step step, const struct kube_outcome *o,
			  const char *msg)
{
	int reason = o->event_code ? o->event_code : o->status ? o->status : o->error;
	struct kube_watch_problem p = {"", ""};

	kube_watch_explain(&p, w->cfg.what, step, o, msg);
	if (!w->problem[0])
		w->failing_since_ns = clock_monotonic_ns();
	if (!w->problem[0] || w->failing_reason != reason)
		log_warn("watch of the API server failed, retrying",
			 "what=%s error=%s hint=%s in_ms=%llu", w->cfg.what, LOG_QUOTED(p.text),
			 LOG_QUOTED(p.hint), (unsigned long long)(w->state.delay_ns / NS_PER_MS));
	w->failing_reason = reason;
	snprintf(w->problem, sizeof(w->problem), "%s%s%s", p.text, p.hint[0] ? "; " : "", p.hint);
	metric_set(&w->metrics.metrics[KUBE_WATCH_METRIC_FAILING], 1);
}

static void decide(struct kube_watch *w, const struct kube_outcome *o, const char *msg)
{
	enum kube_step step = w->state.step;

	switch (kube_watch_state_advance(&w->state, o)) {
	case KUBE_VERDICT_FINE:
		if (step != KUBE_STEP_WATCH && !o->has_more)
			finish_list(w);
		end_problem(w);
		break;
	case KUBE_VERDICT_GONE:
		kube_watch_metrics_add(&w->metrics, KUBE_WATCH_METRIC_GONE);
		break;
	case KUBE_VERDICT_FAILED:
		kube_watch_metrics_add_failure(&w->metrics, o);
		begin_problem(w, step, o, msg);
		break;
	}
	loop_set_timer(w->timer, w->state.delay_ns);
}

static void on_done(void *watch, const struct kube_result *res)
{
	struct kube_watch *w = watch;
	struct kube_outcome o = {
		.error = res->error,
		.status = res->status,
		.event_code = w->event_code,
		.n_events = w->n_events,
		.lasted_ns = clock_monotonic_ns() - w->started_ns,
		.retry_after_ns = res->retry_after_ns,
	};

	w->call = NULL;
	if (w->state.step != KUBE_STEP_WATCH && o.error == 0 && o.status >= 200 && o.status < 300)
		o.error = finish_page(w, &o.has_more);
	kube_stream_free(TAKE_PTR(w->stream));
	decide(w, &o, message_of(w, &o, res));
}

/* ---- requests ---- */

/* Appends a query parameter's value; other characters than unreserved ones become %XX. */
static int add_value(struct buf *b, const char *s)
{
	int r = 0;

	for (; *s && r == 0; s++) {
		bool is_plain = (*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'z') ||
				(*s >= 'A' && *s <= 'Z') || strchr("-._~", *s);

		r = is_plain ? buf_add(b, s, 1) : buf_addf(b, "%%%02X", (unsigned char)*s);
	}
	return r;
}

static int make_path(struct kube_watch *w, struct buf *path)
{
	int r = buf_addf(path, "%s?%s%s", w->path, w->selectors, w->selectors[0] ? "&" : "");

	if (r < 0)
		return r;
	if (w->state.step != KUBE_STEP_WATCH) {
		r = buf_addf(path, "limit=%d", KUBE_WATCH_PAGE);
		if (r == 0 && w->state.step == KUBE_STEP_PAGE)
			r = buf_add(path, "&continue=", 10);
		if (r == 0 && w->state.step == KUBE_STEP_PAGE)
			r = add_value(path, w->next);
		return r;
	}
	r = buf_addf(path, "watch=1&allowWatchBookmarks=true&timeoutSeconds=%u&resourceVersion=",
		     w->timeout_s);
	return r < 0 ? r : add_value(path, w->version);
}

static uint64_t idle_ns(const struct kube_watch *w)
{
	bool is_short = w->state.step == KUBE_STEP_WATCH && w->timeout_s == KUBE_WATCH_SHORT_S;

	return is_short && w->cfg.idle_ns > SHORT_IDLE_NS ? SHORT_IDLE_NS : w->cfg.idle_ns;
}

static int try_request(struct kube_watch *w, struct buf *path)
{
	bool is_watch = w->state.step == KUBE_STEP_WATCH;
	const struct kube_stream_config stream = {
		.mode = is_watch ? KUBE_STREAM_WATCH : KUBE_STREAM_LIST,
		.max_object_bytes = KUBE_WATCH_OBJECT_BYTES,
		.ctx = w,
		.object = is_watch ? on_event : on_item,
		.too_large = on_too_large,
	};
	struct kube_request req = {
		.method = "GET",
		.timeout_ns = is_watch ? 0 : PAGE_TIMEOUT_NS,
		.idle_timeout_ns = idle_ns(w),
		.max_response_bytes = MAX_ERROR_BODY_BYTES,
		.on_data = on_data,
	};
	int r = make_path(w, path);

	if (r < 0)
		return r;
	r = kube_stream_new(&w->stream, &stream);
	if (r < 0)
		return r;
	req.path = path->data;
	return kube_client_send(w->cfg.client, &req, on_done, w, &w->call);
}

static void send_request(void *watch)
{
	struct kube_watch *w = watch;
	struct buf path;
	int r;

	w->started_ns = clock_monotonic_ns();
	w->n_events = 0;
	w->event_code = 0;
	w->why.msg[0] = '\0';
	if (w->state.step == KUBE_STEP_LIST) {
		w->n_objects = 0;
		w->cfg.list_begins(w->cfg.ctx);
	} else if (w->state.step == KUBE_STEP_WATCH) {
		w->timeout_s = kube_watch_state_timeout_s(&w->state);
		kube_watch_metrics_add(&w->metrics, KUBE_WATCH_METRIC_WATCHES);
	}
	buf_init(&path, MAX_PATH_BYTES);
	r = try_request(w, &path);
	buf_fini(&path);
	if (r < 0) {
		kube_stream_free(TAKE_PTR(w->stream));
		decide(w, &(struct kube_outcome){.error = r}, strerror(-r));
	}
}

/* ---- create and destroy ---- */

static int copy_config(struct kube_watch *w, const struct kube_watch_config *cfg)
{
	w->path = strdup(cfg->path);
	w->selectors = strdup(cfg->selectors ? cfg->selectors : "");
	w->what = strdup(cfg->what);
	if (!w->path || !w->selectors || !w->what)
		return -ENOMEM;
	w->cfg = *cfg;
	w->cfg.path = w->path;
	w->cfg.selectors = w->selectors;
	w->cfg.what = w->what;
	return 0;
}

int kube_watch_new(struct kube_watch **ret, const struct kube_watch_config *cfg)
{
	CLEANUP(kube_watch_freep) struct kube_watch *w = calloc(1, sizeof(*w));
	uint64_t random;
	int r;

	if (!w)
		return -ENOMEM;
	r = copy_config(w, cfg);
	if (r < 0)
		return r;
	if (w->cfg.idle_ns == 0)
		w->cfg.idle_ns = KUBE_WATCH_IDLE_NS;
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
		random = clock_monotonic_ns();
	kube_watch_state_init(&w->state,
			      cfg->retry_min_ns ? cfg->retry_min_ns : DEFAULT_RETRY_MIN_NS,
			      cfg->retry_max_ns ? cfg->retry_max_ns : DEFAULT_RETRY_MAX_NS, random);
	r = loop_add_timer(cfg->loop, send_request, w, &w->timer);
	if (r < 0)
		return r;
	loop_set_timer(w->timer, 0);
	*ret = TAKE_PTR(w);
	return 0;
}

void kube_watch_free(struct kube_watch *w)
{
	if (!w)
		return;
	kube_call_cancel(w->call);
	loop_remove(w->timer);
	kube_stream_free(w->stream);
	kube_watch_metrics_fini(&w->metrics);
	free(w->next);
	free(w->path);
	free(w->selectors);
	free(w->what);
	free(w);
}

bool kube_watch_synced(const struct kube_watch *w)
{
	if (!w->listed)
		return false;
	return !w->problem[0] || clock_monotonic_ns() - w->failing_since_ns <= UNSYNCED_NS;
}

const char *kube_watch_problem(const struct kube_watch *w)
{
	return w->problem;
}

int kube_watch_register(struct kube_watch *w, const char *prefix, struct metrics *ms)
{
	return kube_watch_metrics_register(&w->metrics, prefix, w->cfg.what, ms);
}
