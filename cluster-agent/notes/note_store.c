/*
 * A note is one row, and a newer row of the same id says that it is deleted. FINAL leaves the
 * newest one: the table is small, and its key is the id. The column with the flame graph is read
 * for one note at a time only.
 *
 * The engine removes a row --notes-ttl after its column Created. A note that is to expire earlier
 * has an earlier time there, so that nothing else has to look after it; Written says when it was
 * made. The engine removes whole days, and what has expired is not shown until then.
 */
#include "cluster-agent/notes/note_store.h"

#include <errno.h>
#include <sys/random.h>

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/store/row_insert.h"
#include "cluster-agent/store/rowbinary.h"
#include "cluster-agent/store/store.h"
#include "common/system/clock.h"

#define MAX_LIST_BYTES ((size_t)64 << 20)
#define MAX_COUNT_BYTES ((size_t)4096)

/* one note and its base, and what surrounds them */
#define MAX_ROW_BYTES (2 * NOTE_STORE_SIDE_BYTES + ((size_t)64 << 10))

#define NEWEST                                                  \
	" FROM ${notes} FINAL WHERE Deleted = 0 AND Created > " \
	"fromUnixTimestamp64Nano({since:Int64})"
#define SQL_LIST                                                                                 \
	"SELECT Id, ServiceName, Type, At, Written, Created, Name, Text, Url, Size, BaseSize, "  \
	"count() OVER ()" NEWEST " AND ({service:String} = '' OR "                               \
	"ServiceName IN ('', {service:String})) AND ({id:UInt64} IN (0, Id)) ORDER BY At DESC, " \
	"Id LIMIT {limit:UInt64}"
#define SQL_COUNT "SELECT count(), sum(Size) + sum(BaseSize)" NEWEST
#define SQL_FIND "SELECT Created" NEWEST " AND Id = {id:UInt64}"
#define SQL_BODY "SELECT Body" NEWEST " AND Id = {id:UInt64}"
#define SQL_BASE "SELECT Base" NEWEST " AND Id = {id:UInt64}"

/* Asks about the notes that have not expired. */
static int run(struct bound_query *q, struct store *store, struct err *err)
{
	int64_t since_ns = (int64_t)clock_realtime_ns() - (int64_t)store_note_ttl(store);

	bound_query_add_uint(q, "since", since_ns > 0 ? (uint64_t)since_ns : 0);
	return bound_query_run_optional(
		q,
		"notes are not kept: --notes-ttl is 0, or the cluster-agent may not create or read "
		"the table profiling_notes",
		err);
}

/* ---- the list ---- */

static int read_list(struct note_list *l, const struct bound_query *q, uint32_t limit,
		     uint64_t ttl_ns, struct err *err)
{
	struct rowbinary_reader r;

	l->items = arena_calloc(&l->arena, limit + 1, sizeof(*l->items));
	if (!l->items)
		return -ENOMEM;
	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	while (rowbinary_has_more(&r) && l->n_items < limit) {
		struct note *n = &l->items[l->n_items++];

		n->id = rowbinary_get_u64(&r);
		n->service = rowbinary_take_string(&r, &l->arena);
		n->type = rowbinary_take_string(&r, &l->arena);
		n->at_ns = rowbinary_get_i64(&r);
		n->created_ns = rowbinary_get_i64(&r);
		n->expires_ns = rowbinary_get_i64(&r) + (int64_t)ttl_ns;
		n->name = rowbinary_take_string(&r, &l->arena);
		n->text = rowbinary_take_string(&r, &l->arena);
		n->url = rowbinary_take_string(&r, &l->arena);
		n->n_bytes = rowbinary_get_u64(&r);
		n->n_base_bytes = rowbinary_get_u64(&r);
		l->n = rowbinary_get_u64(&r);
		if (!n->service || !n->type || !n->name || !n->text || !n->url)
			return -ENOMEM;
	}
	return bound_query_check(&r, err);
}

int note_store_list(struct store *store, const struct query_filter *f, uint64_t id, uint32_t limit,
		    struct note_list *ret, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	const struct query_filter asked = {.service = f->service ? f->service : "",
					   .ticket = f->ticket};
	int r;

	*ret = (struct note_list){0};
	arena_init(&ret->arena, MAX_LIST_BYTES);
	bound_query_init(&q, store, &asked, MAX_LIST_BYTES);
	bound_query_add_uint(&q, "limit", limit);
	bound_query_add_uint(&q, "id", id);
	bound_query_add_sql(&q, &asked, SQL_LIST);
	r = run(&q, store, err);
	return r == 0 ? read_list(ret, &q, limit, store_note_ttl(store), err) : r;
}

/* ---- one note ---- */

/* Asks about a note; released with bound_query_fini() in every case. -ENOENT without an answer. */
static int ask_one(struct bound_query *q, struct store *store, const struct store_ticket *ticket,
		   uint64_t id, const char *sql, struct err *err)
{
	const struct query_filter all = {.ticket = ticket};
	int r;

	bound_query_init(q, store, &all, MAX_ROW_BYTES);
	bound_query_add_uint(q, "id", id);
	bound_query_add_sql(q, &all, sql);
	r = run(q, store, err);
	if (r == 0 && q->answer.len == 0)
		r = err_set(err, -ENOENT,
			    "it is not there any more: somebody deleted it, or its time was up");
	return r;
}

int note_store_read(struct store *store, const struct store_ticket *ticket, uint64_t id,
		    bool is_base, struct buf *out, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	struct rowbinary_reader in;
	const char *body;
	size_t len;
	int r = ask_one(&q, store, ticket, id, is_base ? SQL_BASE : SQL_BODY, err);

	if (r < 0)
		return r;
	rowbinary_reader_init(&in, q.answer.data, q.answer.len);
	body = rowbinary_get_string(&in, &len);
	r = bound_query_check(&in, err);
	if (r < 0)
		return r;
	return len > 0 ? buf_add(out, body, len)
		       : err_set(err, -ENOENT, "this note has no flame graph");
}

static void put_text(struct rowbinary_writer *w, const char *text)
{
	rowbinary_put_string(w, text ? text : "", text ? strlen(text) : 0);
}

static void put_side(struct rowbinary_writer *w, const struct buf *side)
{
	rowbinary_put_string(w, side && side->len > 0 ? side->data : "", side ? side->len : 0);
}

/* A row for the note, or for that it is deleted. */
struct note_row {
	const struct note *note;
	int64_t counted_ns; /* it is removed --notes-ttl later */
	bool is_deleted;
	const struct buf *body, *base;
};

static int write_row(struct store *store, const struct note_row *of, struct err *err)
{
	const struct note *n = of->note;
	CLEANUP(buf_fini) struct buf row;
	struct rowbinary_writer w;
	int r;

	buf_init(&row, MAX_ROW_BYTES);
	rowbinary_writer_init(&w, &row);
	rowbinary_put_u64(&w, n->id);
	put_text(&w, n->service);
	put_text(&w, n->type);
	rowbinary_put_i64(&w, n->at_ns);
	rowbinary_put_i64(&w, of->counted_ns);
	rowbinary_put_i64(&w, of->is_deleted ? (int64_t)clock_realtime_ns() : n->created_ns);
	rowbinary_put_u8(&w, of->is_deleted);
	put_text(&w, n->name);
	put_text(&w, n->text);
	put_text(&w, n->url);
	rowbinary_put_u64(&w, n->n_bytes);
	rowbinary_put_u64(&w, n->n_base_bytes);
	put_side(&w, of->body);
	put_side(&w, of->base);
	r = rowbinary_writer_finish(&w);
	return r < 0 ? r : row_insert(store, STORE_NOTES, &row, 1, err);
}

static int check_room(struct store *store, const struct store_ticket *ticket, uint64_t n_bytes,
		      struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	const struct query_filter all = {.ticket = ticket};
	struct rowbinary_reader in;
	uint64_t n, used;
	int r;

	bound_query_init(&q, store, &all, MAX_COUNT_BYTES);
	bound_query_add_sql(&q, &all, SQL_COUNT);
	r = run(&q, store, err);
	if (r < 0)
		return r;
	rowbinary_reader_init(&in, q.answer.data, q.answer.len);
	n = rowbinary_get_u64(&in);
	used = rowbinary_get_u64(&in);
	r = bound_query_check(&in, err);
	if (r < 0)
		return r;
	if (n >= NOTE_STORE_MAX_NOTES)
		return err_set(err, -EINVAL, "there are %u notes already: delete some first",
			       NOTE_STORE_MAX_NOTES);
	if (n_bytes > 0 && used + n_bytes > NOTE_STORE_MAX_BYTES)
		return err_set(err, -EINVAL,
			       "snapshots have 1 GiB already: delete some of them first");
	return 0;
}

int note_store_add(struct store *store, const struct store_ticket *ticket, struct note *n,
		   const struct buf *body, const struct buf *base, struct err *err)
{
	const int64_t ttl_ns = (int64_t)store_note_ttl(store);
	int r;

	n->n_bytes = body ? body->len : 0;
	n->n_base_bytes = base ? base->len : 0;
	r = check_room(store, ticket, n->n_bytes + n->n_base_bytes, err);
	if (r < 0)
		return r;
	if (getrandom(&n->id, sizeof(n->id), 0) != sizeof(n->id))
		return -EIO;
	n->created_ns = (int64_t)clock_realtime_ns();
	if (n->expires_ns == 0)
		n->expires_ns = n->created_ns + ttl_ns;
	return write_row(store,
			 &(struct note_row){
				 .note = n,
				 .counted_ns = n->expires_ns - ttl_ns,
				 .body = body,
				 .base = base,
			 },
			 err);
}

int note_store_delete(struct store *store, const struct store_ticket *ticket, uint64_t id,
		      struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	const struct note gone = {.id = id};
	struct note_row row = {.note = &gone, .is_deleted = true};
	struct rowbinary_reader in;
	int r = ask_one(&q, store, ticket, id, SQL_FIND, err);

	if (r < 0)
		return r;
	/* of the same day, so that the engine merges both rows, and the text is gone */
	rowbinary_reader_init(&in, q.answer.data, q.answer.len);
	row.counted_ns = rowbinary_get_i64(&in);
	r = bound_query_check(&in, err);
	return r < 0 ? r : write_row(store, &row, err);
}
