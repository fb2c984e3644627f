#include "cluster-agent/scrape/targets_page.h"

#include <errno.h>

#include "cluster-agent/scrape/scrape_request.h"
#include "common/http/http_server.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/text/json_writer.h"
#include "common/thread/queue.h"

#define MAX_WAITING 64u
/* 25,000 endpoints take 8 MiB. */
#define MAX_JSON_BYTES (128 * MIB)

struct targets_page {
	struct queue *waiting; /* struct http_exchange */
	struct loop_source *wake;
};

/* 0 becomes null. */
static void put_ms(struct json_writer *w, const char *key, uint64_t ns)
{
	json_key(w, key);
	if (ns > 0)
		json_put_int(w, (int64_t)(ns / NS_PER_MS));
	else
		json_put_null(w);
}

static void put_url(struct json_writer *w, const struct target_endpoint *e,
		    const struct targets_view *v)
{
	const struct scrape_place place = {e->target->ip, e->port, e->https, e->path};
	AUTO_FREE char *url = NULL;
	int r = scrape_url_make(&url, &place, NULL,
				profile_kind_is_timed(e->kind) ? v->cpu_seconds : 0);

	if (r < 0 && w->error == 0)
		w->error = r;
	json_member_text(w, "url", url ? url : "");
}

static void put_endpoint(struct json_writer *w, const struct target_endpoint *e,
			 const struct targets_view *v)
{
	uint64_t next_ns = 0;

	/* an item that is already due is about to start */
	if (e->item.position > 0)
		next_ns = v->now_ns +
			  (e->item.due_ns > v->monotonic_ns ? e->item.due_ns - v->monotonic_ns : 0);
	json_open(w, '{');
	json_member_text(w, "type", profile_kind_name(e->kind));
	put_url(w, e, v);
	json_member_text(w, "container", e->container->name);
	json_member_text(w, "state", target_state_name(target_endpoint_state(e)));
	put_ms(w, "lastScrape", e->last_at_ns);
	json_key(w, "lastDurationMs");
	json_put_double(w, (double)e->last_took_ns / (double)NS_PER_MS);
	json_key(w, "lastBytes");
	json_put_int(w, (int64_t)e->last_bytes);
	json_member_text(w, "lastError", target_endpoint_error(e));
	put_ms(w, "nextScrape", next_ns);
	json_close(w, '}');
}

static void put_target(struct json_writer *w, const struct target *t, const struct targets_view *v)
{
	json_open(w, '{');
	json_member_text(w, "namespace", t->namespace);
	json_member_text(w, "pod", t->pod);
	json_member_text(w, "node", t->node);
	json_member_text(w, "service", target_service(t, v->naming));
	json_member_text(w, "ip", t->ip);
	json_member_text(w, "state", target_state_name(target_state_of(t)));
	json_member_text(w, "problem", t->problem);
	json_key(w, "endpoints");
	json_open(w, '[');
	for (size_t i = 0; i < t->n_endpoints; i++)
		put_endpoint(w, t->endpoints[i], v);
	json_close(w, ']');
	json_close(w, '}');
}

int targets_json_write(struct buf *out, const struct targets_view *v)
{
	struct json_writer w;

	json_writer_init(&w, out);
	json_open(&w, '{');
	put_ms(&w, "now", v->now_ns);
	put_ms(&w, "intervalMs", v->interval_ns);
	json_key(&w, "discovery");
	json_open(&w, '{');
	json_key(&w, "synced");
	json_put_bool(&w, v->discovery_synced);
	json_member_text(&w, "problem", v->discovery_problem);
	json_close(&w, '}');
	if (v->forwarding)
		json_member_text(&w, "forwarding", v->forwarding);
	json_key(&w, "targets");
	json_open(&w, '[');
	for (const struct target *t = target_table_first(v->table); t; t = target_table_next(t))
		put_target(&w, t, v);
	json_close(&w, ']');
	json_close(&w, '}');
	return json_writer_finish(&w);
}

int targets_page_new(struct targets_page **ret, struct loop_source *wake)
{
	struct targets_page *page = calloc(1, sizeof(*page));
	int r;

	if (!page)
		return -ENOMEM;
	page->wake = wake;
	r = queue_new(&page->waiting, MAX_WAITING);
	if (r < 0) {
		free(page);
		return r;
	}
	*ret = page;
	return 0;
}

static void refuse(struct http_exchange *x, const char *why)
{
	if (http_exchange_set_header(x, "Retry-After", "1") < 0)
		why = "out of memory";
	http_respond_text(x, 503, "%s", why);
}

void targets_page_free(struct targets_page *page)
{
	if (!page)
		return;
	targets_page_stop(page);
	queue_free(page->waiting);
	free(page);
}

void targets_page_serve(struct targets_page *page, struct http_exchange *x)
{
	int r = queue_push(page->waiting, x);

	if (r == 0)
		loop_wake(page->wake);
	else
		refuse(x, r == -EPIPE ? "shutting down" : "too many requests wait");
}

void targets_page_answer(struct targets_page *page, const struct targets_view *v)
{
	struct http_exchange *x;

	while ((x = queue_pop_timeout(page->waiting, 0))) {
		CLEANUP(buf_fini) struct buf out;
		size_t len;
		char *body;
		int r;

		buf_init(&out, MAX_JSON_BYTES);
		r = targets_json_write(&out, v);
		if (r < 0) {
			refuse(x, strerror(-r));
			continue;
		}
		body = buf_take(&out, &len);
		http_respond(x, 200, "application/json", body, len);
	}
}

void targets_page_stop(struct targets_page *page)
{
	struct http_exchange *x;

	queue_close(page->waiting);
	while ((x = queue_pop_timeout(page->waiting, 0)))
		refuse(x, "shutting down");
}
