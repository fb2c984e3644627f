#include "common/upload/receiver_probe.h"

#include <errno.h>

#include "common/access/sent_key.h"
#include "common/http/backoff.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"

#define TIMEOUT_NS (5 * NS_PER_S)
#define RETRY_MIN_NS (500 * NS_PER_MS)
#define RETRY_MAX_NS (30 * NS_PER_S)
#define REPEAT_NS (300 * NS_PER_S)
#define CLOCK_HOLD_NS (2 * NS_PER_S)
#define CONFIRM_NS (5 * NS_PER_S)
#define UNCLEAR_MAX 5u /* a server that says nothing so many times is not one of ours */

struct receiver_probe {
	struct http_client *client; /* borrowed */
	struct loop_source *timer;
	struct http_transfer *transfer; /* NULL unless a request is under way */
	struct uploader *uploader;      /* borrowed; NULL: no answer is kept */
	struct backoff backoff;
	char *endpoint;
	struct sent_key *key; /* borrowed; NULL if there is none */
	unsigned key_no;      /* of the last request, as the next one */
	uint64_t sent_ns;     /* since boot */
	void (*on_answer)(void *ctx, const struct receiver_wishes *w);
	void *ctx;
	struct receiver_wishes wishes; /* the last answer */
	bool has_answered;
	bool is_doubted; /* our own receiver's place gave another answer, which may be a proxy's */
	unsigned n_unclear; /* answers of an HTTP server before the first that says something */
	uint64_t confirm_ns;
};

bool receiver_probe_read(const struct http_result *res, struct receiver_wishes *ret)
{
	*ret = RECEIVER_WISHES_COROOT;
	/* a longer answer than ours: somebody's page */
	if (res->error)
		return res->error == -EFBIG;
	if (res->status == 429 || (res->status >= 500 && res->status != 501))
		return false;
	if (res->status == 200 && receiver_wishes_parse(ret, res->body, res->body_len) < 0)
		*ret = RECEIVER_WISHES_COROOT;
	return true;
}

static void pass_on(struct receiver_probe *p, const struct receiver_wishes *w)
{
	p->has_answered = true;
	p->wishes = *w;
	p->on_answer(p->ctx, w);
}

static void take_answer(struct receiver_probe *p, const struct receiver_wishes *w)
{
	if (!p->has_answered || w->naming != p->wishes.naming ||
	    w->extra_labels != p->wishes.extra_labels)
		log_info("learned how the receiver wants profiles to be named",
			 "naming=%s extra_labels=%s",
			 w->naming == KUBE_NAMING_OWN ? "own" : "coroot",
			 w->extra_labels ? "yes" : "no");
	pass_on(p, w);
	if (p->uploader)
		uploader_write_note(p->uploader, receiver_wishes_json(w));
}

/* What stands in for our own receiver while it restarts may answer 404. */
static bool must_confirm(const struct receiver_probe *p, const struct receiver_wishes *w)
{
	return p->has_answered && p->wishes.naming == KUBE_NAMING_OWN &&
	       w->naming != KUBE_NAMING_OWN && !p->is_doubted;
}

/* Whoever answers this takes no uploads; with the right key the same receiver answers otherwise. */
static bool is_key_refused(const struct http_result *res)
{
	return !res->error && (res->status == 401 || res->status == 403 || res->status == 407);
}

static void on_done(void *ctx, const struct http_result *res)
{
	struct receiver_probe *p = ctx;
	struct receiver_wishes w;

	p->transfer = NULL;
	if (p->uploader)
		uploader_note_answer(p->uploader, res, p->sent_ns);
	if (!res->error && res->status == 401)
		sent_key_refused(p->key, p->key_no);
	if (!receiver_probe_read(res, &w) || (p->has_answered && is_key_refused(res))) {
		p->is_doubted = false;
		loop_set_timer(p->timer, backoff_next_ns(&p->backoff));
		if (!p->has_answered && res->error == 0 && ++p->n_unclear == UNCLEAR_MAX)
			take_answer(p, &RECEIVER_WISHES_COROOT);
		return;
	}
	backoff_reset(&p->backoff);
	if (must_confirm(p, &w)) {
		p->is_doubted = true;
		loop_set_timer(p->timer, p->confirm_ns);
		return;
	}
	p->is_doubted = false;
	loop_set_timer(p->timer, REPEAT_NS);
	take_answer(p, &w);
}

/* What an earlier process was answered. */
static void on_note(void *ctx, const char *text)
{
	struct receiver_probe *p = ctx;
	struct receiver_wishes w;

	if (p->has_answered || receiver_wishes_parse(&w, text, strlen(text)) < 0)
		return;
	log_info("naming profiles as the receiver wanted before; it has not answered yet",
		 "naming=%s extra_labels=%s", w.naming == KUBE_NAMING_OWN ? "own" : "coroot",
		 w.extra_labels ? "yes" : "no");
	pass_on(p, &w);
}

static void on_timer(void *ctx)
{
	struct receiver_probe *p = ctx;
	const char *const headers[] = {sent_key_header(p->key, &p->key_no), NULL};
	const struct http_request req = {
		.method = "GET",
		.url = p->endpoint,
		.headers = headers,
		.timeout_ns = TIMEOUT_NS,
		.max_response_bytes = RECEIVER_WISHES_BYTES,
	};

	if (p->transfer)
		return;
	p->sent_ns = clock_boottime_ns();
	if (http_start(p->client, &req, on_done, p, &p->transfer) < 0)
		loop_set_timer(p->timer, backoff_next_ns(&p->backoff));
}

int receiver_probe_new(struct receiver_probe **ret, struct loop *l, struct http_client *client,
		       const struct receiver_probe_config *cfg)
{
	CLEANUP(receiver_probe_freep) struct receiver_probe *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->client = client;
	p->on_answer = cfg->on_answer;
	p->ctx = cfg->ctx;
	p->confirm_ns = cfg->confirm_ns ? cfg->confirm_ns : CONFIRM_NS;
	p->backoff = (struct backoff){
		.min_ns = RETRY_MIN_NS,
		.max_ns = RETRY_MAX_NS,
		.random = clock_monotonic_ns() ^ ((uint64_t)getpid() << 32),
	};
	p->key = cfg->key;
	p->endpoint = strdup(cfg->endpoint);
	if (!p->endpoint)
		return -ENOMEM;
	r = loop_add_timer(l, on_timer, p, &p->timer);
	if (r < 0)
		return r;
	loop_set_timer(p->timer, 0);
	if (cfg->uploader) {
		p->uploader = cfg->uploader;
		uploader_on_note(p->uploader, on_note, p);
		/* its answer says how the clocks differ, too */
		uploader_hold(p->uploader, CLOCK_HOLD_NS);
	}
	*ret = TAKE_PTR(p);
	return 0;
}

void receiver_probe_free(struct receiver_probe *p)
{
	if (!p)
		return;
	if (p->uploader)
		uploader_on_note(p->uploader, NULL, NULL);
	http_cancel(p->transfer);
	loop_remove(p->timer);
	free(p->endpoint);
	free(p);
}

void receiver_probe_hurry(struct receiver_probe *p)
{
	if (p && !p->is_doubted)
		loop_set_timer(p->timer, 0);
}
