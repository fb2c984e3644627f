/*
 * Notes and snapshots, as JSON. A snapshot is made of the profiles as the export of pprof is; those
 * of a comparison have the ranges and the values that the comparison itself has.
 */
#include <errno.h>
#include <inttypes.h>

#include "cluster-agent/notes/note_store.h"
#include "cluster-agent/query/profile_query.h"
#include "cluster-agent/query/read/profile_edges.h"
#include "cluster-agent/store/store.h"
#include "common/system/clock.h"
#include "common/text/json_writer.h"
#include "common/text/utf8.h"

#define DEFAULT_NOTES 500u

static void put_note(struct json_writer *w, const struct note *n)
{
	char id[24];

	snprintf(id, sizeof(id), "%016" PRIx64, n->id);
	json_open(w, '{');
	json_member_text(w, "id", id);
	json_member_text(w, "service", n->service);
	json_member_text(w, "type", n->type);
	json_member_int(w, "at", n->at_ns / (int64_t)NS_PER_MS);
	json_member_int(w, "created", n->created_ns / (int64_t)NS_PER_MS);
	json_member_int(w, "expires", n->expires_ns / (int64_t)NS_PER_MS);
	json_member_text(w, "name", n->name);
	json_member_text(w, "text", n->text);
	json_member_text(w, "url", n->url);
	json_member_int(w, "bytes", (int64_t)(n->n_bytes + n->n_base_bytes));
	json_key(w, "compared");
	json_put_bool(w, n->n_base_bytes > 0);
	json_close(w, '}');
}

int profile_query_notes(struct store *store, const struct query_request *p, struct buf *out,
			struct err *err)
{
	struct note_list list;
	struct json_writer w;
	int r = note_store_list(store, &p->filter, p->id, p->limit > 0 ? p->limit : DEFAULT_NOTES,
				&list, err);

	if (r == 0) {
		json_writer_init(&w, out);
		json_open(&w, '{');
		json_member_int(&w, "n", (int64_t)list.n);
		json_key(&w, "notes");
		json_open(&w, '[');
		for (size_t i = 0; i < list.n_items; i++)
			put_note(&w, &list.items[i]);
		json_close(&w, ']');
		json_close(&w, '}');
		r = json_writer_finish(&w);
	}
	arena_fini(&list.arena);
	return r;
}

/* Whether it is UTF-8 without control characters but `allowed`. */
static bool is_plain(const char *text, const char *allowed)
{
	if (!utf8_is_valid(text, strlen(text)))
		return false;
	for (; *text; text++)
		if (((unsigned char)*text < ' ' || *text == 0x7f) && !strchr(allowed, *text))
			return false;
	return true;
}

static int check_texts(const struct note *n, struct err *err)
{
	if (!is_plain(n->name, "") || !is_plain(n->service, "") || !is_plain(n->type, "") ||
	    !is_plain(n->url, ""))
		return err_set(err, -EINVAL, "a parameter is not one line of UTF-8");
	if (!is_plain(n->text, "\t\n\r"))
		return err_set(err, -EINVAL, "the text is not UTF-8");
	/* it becomes a link of the page, which must not lead elsewhere, nor be a script */
	if (n->url[0] && n->url[0] != '?')
		return err_set(err, -EINVAL, "url does not begin with \"?\"");
	return 0;
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static int set_expiry(const struct store *store, uint64_t ttl_ns, struct note *n, struct err *err)
{
	const uint64_t most_ns = store_note_ttl(store);

	if (ttl_ns > most_ns && most_ns > 0)
		return err_set(err, -EINVAL, "ttl is longer than --notes-ttl, %" PRIu64 " s",
			       most_ns / NS_PER_S);
	n->expires_ns = ttl_ns > 0 ? (int64_t)(clock_realtime_ns() + ttl_ns) : 0;
	return 0;
}

static int add(struct store *store, const struct query_request *p, const struct buf *body,
	       const struct buf *base, struct buf *out, struct err *err)
{
	struct json_writer w;
	struct note n = {
		.service = or_empty(p->filter.service),
		.type = or_empty(p->filter.type),
		.name = p->name,
		.text = or_empty(p->text),
		.url = or_empty(p->url),
		.at_ns = p->at_ns,
	};
	int r = check_texts(&n, err);

	if (r == 0)
		r = set_expiry(store, p->ttl_ns, &n, err);
	if (r == 0)
		r = note_store_add(store, p->filter.ticket, &n, body, base, err);
	if (r < 0)
		return r;
	json_writer_init(&w, out);
	put_note(&w, &n);
	return json_writer_finish(&w);
}

int profile_query_note_add(struct store *store, const struct query_request *p, struct buf *out,
			   struct err *err)
{
	return add(store, p, NULL, NULL, out, err);
}

/* One side of a selection, as a pprof. */
static int make_side(struct store *store, const struct query_filter *side, bool compared,
		     struct buf *out, struct err *err)
{
	struct query_request one = {.filter = *side, .by_share = compared};
	int r = compared ? profile_edges_snap(store, &one.filter, err) : 0;

	if (r == 0)
		r = profile_query_pprof(store, &one, out, err);
	return r == -EFBIG ? err_set(err, r,
				     "the flame graph is too large for a snapshot (%zu MiB): ask "
				     "for a shorter range, or filter it",
				     NOTE_STORE_SIDE_BYTES >> 20)
			   : r;
}

int profile_query_snapshot_add(struct store *store, const struct query_request *p, struct buf *out,
			       struct err *err)
{
	CLEANUP(buf_fini) struct buf body;
	CLEANUP(buf_fini) struct buf base;
	int r;

	buf_init(&body, NOTE_STORE_SIDE_BYTES);
	buf_init(&base, NOTE_STORE_SIDE_BYTES);
	r = make_side(store, &p->filter, p->has_base, &body, err);
	if (r == 0 && p->has_base)
		r = make_side(store, &p->base, true, &base, err);
	return r < 0 ? r : add(store, p, &body, p->has_base ? &base : NULL, out, err);
}

int profile_query_note_delete(struct store *store, const struct query_request *p, struct buf *out,
			      struct err *err)
{
	int r = note_store_delete(store, p->filter.ticket, p->id, err);

	return r < 0 ? r : buf_addf(out, "{}");
}

int profile_query_snapshot(struct store *store, const struct query_request *p, struct buf *out,
			   struct err *err)
{
	return note_store_read(store, p->filter.ticket, p->id, p->side > 0, out, err);
}
