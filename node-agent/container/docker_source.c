/*
 * A question is about up to a thousand containers. A few are asked for one by one; if there are
 * more, the list of all containers comes first, which has their labels, and that is all that most
 * names need. (A list of only those that are asked for costs podman more than the list of all.)
 * Containers whose name is only in their environment (Nomad's) are then asked for one by one, and
 * so are all of them if the list is too large or cannot be read, because one container has labels
 * that are no text: one container cannot hide the others. Nor can one that the daemon does not
 * answer about: the question goes on, fails at its end, and the next one begins after it.
 *
 * The socket of a user may be anybody's program. It is not asked for lists, and its answers are
 * short, because they are parsed on the loop thread.
 *
 * A container with --rm that lives 200 ms cannot be asked for: it is gone. But its events came
 * before its first process ran.
 */
#include "node-agent/container/docker_source.h"

#include <errno.h>

#include "common/data/buf.h"
#include "common/http/backoff.h"
#include "common/http/http.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/container/docker_messages.h"

#define ONE_BY_ONE 16u /* more ids than these are looked up in a list */
#define TIMEOUT_NS (2 * NS_PER_S)
#define ASK_NS (5 * NS_PER_S) /* for one question; what is not answered by then has failed */
#define IDLE_NS (600 * NS_PER_S)
#define RETRY_MIN_NS (NS_PER_S / 2)
#define RETRY_MAX_NS (30 * NS_PER_S)

/* The host is only what the server sees. */
#define BASE_URL "http://localhost"
/* filters={"type":["container"],"event":["create","start","rename"]} */
#define EVENTS_URL                                                                        \
	BASE_URL "/events?filters=%7B%22type%22%3A%5B%22container%22%5D%2C%22event%22%3A" \
		 "%5B%22create%22%2C%22start%22%2C%22rename%22%5D%7D"

struct asked {
	char id[DOCKER_ID_LEN + 1];
	bool inspect; /* ask for this one alone */
};

struct docker_source {
	struct http_client *http;
	struct container_sink sink;
	bool on_demand;
	bool untrusted;

	/* the question under way */
	struct asked *asked; /* NULL: none */
	size_t n_asked;
	size_t n_inspected; /* those that were asked for alone, or passed over */
	int error;          /* the first one about a container */
	uint64_t deadline_ns;
	bool found_any;
	container_source_done_fn done;
	void *done_ctx;
	struct loop_source *start_timer;      /* begins a question */
	char resume_after[DOCKER_ID_LEN + 1]; /* where the last question failed */

	struct docker_events events;
	struct http_transfer *events_transfer;
	struct loop_source *events_timer;
	struct backoff events_backoff;
};

static void next_request(struct docker_source *s);

/* ---- answers --------------------------------------------------------------------------------- */

static struct asked *find_asked(struct docker_source *s, const char *id)
{
	for (size_t i = 0; i < s->n_asked; i++)
		if (strcmp(s->asked[i].id, id) == 0)
			return &s->asked[i];
	return NULL;
}

static void on_container(void *ctx, const struct container_facts *facts, bool inspect)
{
	struct docker_source *s = ctx;
	struct asked *a = find_asked(s, facts->id);

	if (!a)
		return;
	s->found_any = true;
	if (inspect)
		a->inspect = true;
	else
		s->sink.found(s->sink.ctx, facts);
}

/* What a container is called in full is only known when it is asked for. */
static void on_event_container(void *ctx, const struct container_facts *facts, bool inspect)
{
	struct docker_source *s = ctx;

	if (!inspect)
		s->sink.found(s->sink.ctx, facts);
}

static void end_question(struct docker_source *s, int error)
{
	container_source_done_fn done = s->done;

	free(s->asked);
	s->asked = NULL;
	s->n_asked = 0;
	if (s->found_any && s->on_demand && !s->untrusted && !s->events_transfer)
		loop_set_timer(s->events_timer, 0);
	done(s->done_ctx, error);
}

/* Returns 0, or why the answer is of no use. A container that is gone is no error. */
static int check_answer(const struct http_result *result, bool is_list)
{
	if (result->error < 0) {
		log_debug("cannot ask a container runtime", "error=%s", LOG_QUOTED(result->msg));
		return result->error;
	}
	return result->status == 200 || (result->status == 404 && !is_list) ? 0 : -EBADMSG;
}

/* Whether the daemon may still answer about other containers. */
static bool is_about_one(int error)
{
	return error == -ETIMEDOUT || error == -EBADMSG || error == -EFBIG || error == -EPROTO ||
	       error == -ECONNRESET;
}

/* The id that was asked for last. */
static void resume_after_last(struct docker_source *s)
{
	if (s->n_inspected > 0)
		memcpy(s->resume_after, s->asked[s->n_inspected - 1].id, sizeof(s->resume_after));
}

static void on_list(void *ctx, const struct http_result *result)
{
	struct docker_source *s = ctx;
	const struct docker_reader reader = {on_container, s, s->untrusted};
	int r = check_answer(result, true);

	if (r < 0 && r != -EFBIG) {
		end_question(s, r);
		return;
	}
	if (r < 0 || docker_list_read(result->body, result->body_len, &reader) < 0)
		for (size_t i = 0; i < s->n_asked; i++)
			s->asked[i].inspect = true;
	next_request(s);
}

static void on_one(void *ctx, const struct http_result *result)
{
	struct docker_source *s = ctx;
	const struct docker_reader reader = {on_container, s, s->untrusted};
	int r = check_answer(result, false);

	if (r == 0 && result->status == 200)
		r = docker_container_read(result->body, result->body_len, &reader);
	if (r < 0) {
		resume_after_last(s);
		if (!is_about_one(r)) {
			end_question(s, r);
			return;
		}
		if (s->error == 0)
			s->error = r;
	}
	next_request(s);
}

/* ---- questions ------------------------------------------------------------------------------ */

static int get(struct docker_source *s, const char *url, size_t max_bytes, http_done_fn done)
{
	const struct http_request req = {
		.method = "GET",
		.url = url,
		.timeout_ns = TIMEOUT_NS,
		.max_response_bytes = max_bytes,
	};

	return http_send(s->http, &req, done, s);
}

/* all=true: a container that has just ended is of interest too. */
static int ask_list(struct docker_source *s)
{
	return get(s, BASE_URL "/containers/json?all=true", DOCKER_ANSWER_BYTES, on_list);
}

static int ask_one(struct docker_source *s, const char *id)
{
	char url[sizeof(BASE_URL) + 32 + DOCKER_ID_LEN];

	snprintf(url, sizeof(url), BASE_URL "/containers/%s/json", id);
	return get(s, url, s->untrusted ? DOCKER_ONE_UNTRUSTED_BYTES : DOCKER_ONE_BYTES, on_one);
}

/* Asks what is left of the question, or ends it. */
static void next_request(struct docker_source *s)
{
	int r;

	if (clock_monotonic_ns() > s->deadline_ns) {
		resume_after_last(s);
		end_question(s, -ETIMEDOUT);
		return;
	}
	while (s->n_inspected < s->n_asked && !s->asked[s->n_inspected].inspect)
		s->n_inspected++;
	if (s->n_inspected == s->n_asked) {
		end_question(s, s->error);
		return;
	}
	r = ask_one(s, s->asked[s->n_inspected++].id);
	if (r < 0)
		end_question(s, r);
}

static void on_start_timer(void *ctx)
{
	struct docker_source *s = ctx;

	if (s->asked && s->n_asked > 0 && !s->asked[0].inspect) {
		int r = ask_list(s);

		if (r < 0)
			end_question(s, r);
	} else if (s->asked) {
		next_request(s);
	}
}

/* The place in ids to begin with: after the container that the last question failed at. */
static size_t first_of(const struct docker_source *s, const char *const *ids, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++)
		if (strcmp(ids[i], s->resume_after) == 0)
			return i + 1;
	return 0;
}

static int docker_ask(void *source, const struct container_question *q,
		      container_source_done_fn done, void *ctx)
{
	struct docker_source *s = source;
	size_t first = first_of(s, q->ids, q->n);

	if (s->asked)
		return -EBUSY;
	s->asked = calloc(q->n, sizeof(*s->asked));
	if (!s->asked)
		return -ENOMEM;
	s->n_asked = 0;
	for (size_t i = 0; i < q->n; i++) {
		const char *id = q->ids[(first + i) % q->n];

		if (!docker_id_is_valid(id))
			continue;
		memcpy(s->asked[s->n_asked].id, id, DOCKER_ID_LEN);
		s->asked[s->n_asked++].inspect = q->n <= ONE_BY_ONE || s->untrusted;
	}
	s->n_inspected = 0;
	s->error = 0;
	s->found_any = false;
	s->done = done;
	s->done_ctx = ctx;
	s->deadline_ns = clock_monotonic_ns() + ASK_NS;
	/* not from here: done must not be called within this function */
	loop_set_timer(s->start_timer, 0);
	return 0;
}

/* ---- events --------------------------------------------------------------------------------- */

static int on_events_data(void *ctx, const char *data, size_t len)
{
	struct docker_source *s = ctx;
	const struct docker_reader reader = {on_event_container, s, s->untrusted};

	backoff_reset(&s->events_backoff);
	return docker_events_feed(&s->events, data, len, &reader);
}

/*
 * Whoever needs a container asks for it, so a stream that ended is worth no line in the log. One
 * that was silent too long ends for good if it keeps the daemon from ending.
 */
static void on_events_done(void *ctx, const struct http_result *result)
{
	struct docker_source *s = ctx;

	s->events_transfer = NULL;
	docker_events_fini(&s->events);
	if (s->on_demand && result->error != 0)
		return;
	loop_set_timer(s->events_timer, backoff_next_ns(&s->events_backoff));
}

static void follow_events(void *ctx)
{
	struct docker_source *s = ctx;
	const struct http_request req = {
		.method = "GET",
		.url = EVENTS_URL,
		.idle_timeout_ns = IDLE_NS,
		.max_response_bytes = DOCKER_EVENT_BYTES,
		.on_data = on_events_data,
	};

	if (s->events_transfer)
		return;
	if (http_start(s->http, &req, on_events_done, s, &s->events_transfer) < 0)
		loop_set_timer(s->events_timer, backoff_next_ns(&s->events_backoff));
}

/* ---- create and destroy --------------------------------------------------------------------- */

static void docker_free(void *source)
{
	struct docker_source *s = source;

	if (!s)
		return;
	http_client_free(s->http);
	loop_remove(s->start_timer);
	loop_remove(s->events_timer);
	docker_events_fini(&s->events);
	free(s->asked);
	free(s);
}

static void docker_freep(struct docker_source **s)
{
	docker_free(*s);
}

int docker_source_new(struct docker_source **ret, const struct docker_source_config *cfg)
{
	const struct http_client_config http = {.unix_socket = cfg->socket};
	CLEANUP(docker_freep) struct docker_source *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->sink = cfg->sink;
	s->on_demand = cfg->on_demand;
	s->untrusted = cfg->untrusted;
	s->events_backoff = (struct backoff){RETRY_MIN_NS, RETRY_MAX_NS, 0, clock_realtime_ns()};
	docker_events_init(&s->events);
	r = http_client_new(&s->http, cfg->loop, &http);
	if (r == 0)
		r = loop_add_timer(cfg->loop, on_start_timer, s, &s->start_timer);
	if (r == 0)
		r = loop_add_timer(cfg->loop, follow_events, s, &s->events_timer);
	if (r < 0)
		return r;
	if (!s->on_demand && !s->untrusted)
		loop_set_timer(s->events_timer, 0);
	*ret = TAKE_PTR(s);
	return 0;
}

const struct container_source_ops docker_source_ops = {"docker", docker_ask, docker_free};
const struct container_source_ops podman_source_ops = {"podman", docker_ask, docker_free};
