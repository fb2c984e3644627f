/*
 * How a segment becomes rows of the store, each exactly once. What is said here is about one
 * receiver; drain_claims.c is about several.
 *
 * The insert of a piece (drain_pieces.h) is repeated until its outcome is known. Within one process
 * and an engine that lives that is simple: it returns 0, or it is sent again with the same token,
 * which does nothing if the rows are there. But a token is not written together with the rows it
 * stands for (store.h). After a kill or a lost answer the token may be known and the rows missing,
 * or, after a power cut, the other way round. A piece is *uncertain* if it may have been sent
 * before: it is of a recovered segment, or an insert of it failed without saying what had happened.
 * Then
 *
 *	stacks   are inserted without a token; their table drops duplicates by itself
 *	samples  are looked for first, then inserted, then looked for again: if the store takes the
 *	         insert for a repetition and has not got the rows, another token is used
 *	quality  likewise; its rows are looked for by the id of the upload
 *
 * If the tables are replicated, their tokens are exact: then one insert is enough, of stacks too,
 * and on a cluster nothing is looked for.
 *
 * The frames of a table are inserted in their order, so what the store has of them is a beginning.
 * It may end within a piece: an earlier process may have divided the piece, or another release may
 * have made other pieces, or a record in between can no longer be read (such a segment is
 * *damaged*). Then the piece is divided until each half is there or not. Frames of a damaged
 * segment may have been inserted under any token, so tokens prove nothing for it.
 *
 * Quality is inserted last. So an upload with rows of quality is complete, and in a recovered
 * segment such uploads are left out: they may have been sent again meanwhile, to another receiver.
 *
 * Refusals: a piece that the store does not take is halved until the frame that it refuses is
 * alone. The record of that frame is refused; the rest of it is not inserted. A halved range has a
 * token of its own, made of the same numbers each time.
 */
#include <errno.h>

#include "cluster-agent/store/store_probe.h"
#include "cluster-agent/wal/drain_job.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"

/* Attempts with a token of their own after which the rows are taken for expired. */
#define MAX_ATTEMPTS 4u
/* Frames of a piece whose first rows are looked for. */
#define MAX_PROBES 4u

/* ---- one insert ---- */

static size_t collect_frames(struct drain_job *j, const struct drain_piece *p,
			     struct store_frame *out)
{
	size_t n = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct log_frame *f = j->pieces.frames[p->table][p->first + i];

		if (!drain_leaves_out(j, f))
			out[n++] = f->data.frame;
	}
	return n;
}

/* Returns 0 or the error of the store. */
static int send(struct drain_job *j, const struct drain_piece *p, const char *token,
		struct err *err)
{
	struct log_drain *d = j->drain;
	AUTO_FREE struct store_frame *frames = calloc(p->n, sizeof(*frames));
	uint64_t start_ns = clock_monotonic_ns(), n_rows = 0;
	size_t n;
	int r;

	/* the drain waits and tries again */
	if (!frames)
		return err_set(err, -EAGAIN, "out of memory");
	r = drain_claims_renew(j, err);
	if (r < 0)
		return r;
	n = collect_frames(j, p, frames);
	r = store_insert(d->cfg.store, p->table, token, frames, n, err);
	metric_add(&d->metrics[DRAIN_INSERTS], 1);
	metric_add(&d->metrics[DRAIN_INSERT_NS], clock_monotonic_ns() - start_ns);
	for (size_t i = 0; i < n; i++)
		n_rows += frames[i].n_rows;
	if (r == 0)
		metric_add(&d->metrics[DRAIN_ROWS_STACKS + p->table], n_rows);
	return r;
}

/* ---- looking for rows ---- */

enum presence {
	ABSENT,
	PRESENT,
	PARTLY, /* the first ones, or on some shards of a cluster */
};

static enum presence presence_of(size_t n_found, size_t n)
{
	return n_found == n ? PRESENT : n_found == 0 ? ABSENT : PARTLY;
}

static int look_for_samples(struct drain_job *j, const struct drain_piece *p, struct err *err)
{
	AUTO_FREE struct store_frame *frames = calloc(p->n, sizeof(*frames));
	size_t n, n_probes, n_found = 0;

	if (!frames)
		return err_set(err, -EAGAIN, "out of memory");
	n = collect_frames(j, p, frames);
	n_probes = n < MAX_PROBES ? n : MAX_PROBES;
	for (size_t i = 0; i < n_probes; i++) {
		/* the first, the last, and some between */
		size_t at = n_probes > 1 ? i * (n - 1) / (n_probes - 1) : 0;
		int r = store_find_samples(j->drain->cfg.store, &frames[at], err);

		if (r < 0)
			return r;
		n_found += r == 1;
	}
	return (int)presence_of(n_found, n_probes);
}

static int look_for_quality(struct drain_job *j, const struct drain_piece *p, struct err *err)
{
	AUTO_FREE uint64_t *ids = calloc(p->n, sizeof(*ids));
	AUTO_FREE bool *found = calloc(p->n, sizeof(*found));
	size_t n = 0, n_found = 0;
	int r;

	if (!ids || !found)
		return err_set(err, -EAGAIN, "out of memory");
	for (uint32_t i = 0; i < p->n; i++) {
		const struct log_frame *f = j->pieces.frames[p->table][p->first + i];

		if (!drain_leaves_out(j, f))
			ids[n++] = j->segment.ids[f->record].low;
	}
	r = store_find_uploads(j->drain->cfg.store, ids, n, found, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		n_found += found[i];
	return (int)presence_of(n_found, n);
}

/* Returns an enum presence or an error of store_query(). */
static int look_for(struct drain_job *j, const struct drain_piece *p, struct err *err)
{
	return p->table == STORE_SAMPLES ? look_for_samples(j, p, err)
					 : look_for_quality(j, p, err);
}

/* ---- one piece ---- */

static int insert_piece(struct drain_job *j, const struct drain_piece *p, bool uncertain);

/*
 * Of a segment that was postponed, the same piece has other frames than before. Its token says
 * which, so that it is the same only for the same rows.
 */
static void make_token(const struct drain_job *j, const struct drain_piece *p, unsigned attempt,
		       char ret[static STORE_TOKEN_BYTES + 1])
{
	size_t len;

	drain_piece_token(p, j->segment.token, attempt, ret);
	len = strlen(ret);
	if (j->is_resumed)
		snprintf(ret + len - 8, STORE_TOKEN_BYTES + 1 - len + 8, "%016llx",
			 (unsigned long long)(drain_claims_set(j, p) ^ attempt));
}

static void refuse(struct drain_job *j, const struct drain_piece *p, const struct err *err)
{
	const struct log_frame *f = j->pieces.frames[p->table][p->first];
	char service[128];

	store_frame_service(&f->data.frame, service, sizeof(service));
	log_error("the store refuses an upload; its rows are put aside",
		  "service=%s upload=%016llx "
		  "error=%s",
		  LOG_QUOTED(service), (unsigned long long)j->segment.ids[f->record].low,
		  LOG_QUOTED(err->msg));
	j->refused[f->record] = true;
}

/* The store does not take the whole piece. */
static int divide(struct drain_job *j, const struct drain_piece *p, bool uncertain)
{
	struct drain_piece left = *p, right = *p;
	int r;

	left.n = p->n / 2;
	right.first += left.n;
	right.n -= left.n;
	r = insert_piece(j, &left, uncertain);
	return r < 0 ? r : insert_piece(j, &right, uncertain);
}

/* Asks once whether tokens can be relied on. */
static int learn_about_tokens(struct drain_job *j, struct err *err)
{
	int r;

	if (j->exact_tokens >= 0)
		return 0;
	r = store_has_exact_tokens(j->drain->cfg.store, err);
	if (r < 0)
		return r;
	j->exact_tokens = r;
	return 0;
}

/*
 * The store takes rows under a token that it cannot know, and has not got them: they are older than
 * it keeps rows, or of a day that the space guard has dropped. To repeat that would hold up all
 * segments after this one.
 */
static void give_up_expired(struct drain_job *j, const struct drain_piece *p)
{
	log_warn_limited("the store keeps no rows of some uploads; they are taken for too old",
			 "frames=%u", p->n);
	for (uint32_t i = 0; i < p->n; i++) {
		const struct log_frame *f = j->pieces.frames[p->table][p->first + i];

		if (!drain_leaves_out(j, f))
			j->expired[f->record] = true;
	}
}

/* What insert_uncertain() returns if the store has some frames of the piece and not others. */
#define DIVIDE 1

/* Whether the piece is to be divided: on a cluster, rows may be missing on one shard only. */
static bool is_divided(const struct drain_job *j, const struct drain_piece *p, int presence)
{
	return presence == PARTLY && p->n > 1 && !store_is_distributed(j->drain->cfg.store);
}

/*
 * A piece that may have been sent before. Returns 0 once its rows are there, DIVIDE, or an error of
 * the store.
 */
static int insert_uncertain(struct drain_job *j, const struct drain_piece *p, struct err *err)
{
	char token[STORE_TOKEN_BYTES + 1];
	int r = learn_about_tokens(j, err);
	bool exact = j->exact_tokens == 1 && !j->segment.damaged;

	if (r < 0)
		return r;
	make_token(j, p, 0, token);
	if (p->table == STORE_STACKS)
		return send(j, p, exact ? token : NULL, err);
	if (exact && store_is_distributed(j->drain->cfg.store))
		return send(j, p, token, err);
	for (unsigned attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
		r = look_for(j, p, err);
		if (r < 0)
			return r;
		if (is_divided(j, p, r))
			return DIVIDE;
		/* what is missing on one shard, the token of the first attempt decides about */
		if (r == PRESENT || (r == PARTLY && attempt > 0))
			return 0;
		make_token(j, p, attempt, token);
		r = send(j, p, token, err);
		if (r < 0 || exact)
			return r;
	}
	r = look_for(j, p, err);
	if (r == ABSENT)
		give_up_expired(j, p);
	return r < 0 ? r : 0;
}

static int insert_certain(struct drain_job *j, const struct drain_piece *p, struct err *err)
{
	char token[STORE_TOKEN_BYTES + 1];

	make_token(j, p, 0, token);
	return send(j, p, token, err);
}

static bool is_empty(const struct drain_job *j, const struct drain_piece *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (!drain_leaves_out(j, j->pieces.frames[p->table][p->first + i]))
			return false;
	return true;
}

/* Returns 0, or -EPIPE if it gave up because the drain is stopping. */
static int insert_piece(struct drain_job *j, const struct drain_piece *p, bool uncertain)
{
	struct log_drain *d = j->drain;

	while (!is_empty(j, p)) {
		struct err err = {""};
		int r;

		if (drain_is_over(d))
			return -EPIPE;
		r = uncertain ? insert_uncertain(j, p, &err) : insert_certain(j, p, &err);
		if (r == 0) {
			drain_succeeded(d);
			return 0;
		}
		if (r == DIVIDE || ((r == -EREMOTEIO || r == -ENOMEM) && p->n > 1))
			return divide(j, p, uncertain);
		if (r == -EREMOTEIO) {
			refuse(j, p, &err);
			return 0;
		}
		/* a frame is small, so the store has no memory for anybody: that passes */
		uncertain = uncertain || r != -ENOMEM;
		j->was_uncertain = j->was_uncertain || uncertain;
		r = drain_wait_to_retry(d, r, &err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- one segment ---- */

static void job_free(struct drain_job *j)
{
	if (!j)
		return;
	drain_pieces_fini(&j->pieces);
	drain_days_fini(&j->days);
	free(j->refused);
	free(j->found);
	free(j->contested);
	free(j->settled);
	free(j->expired);
	free(j->present);
	free(j);
}
DEFINE_CLEANUP(struct drain_job *, job_free);

static int allocate(struct drain_job *j)
{
	size_t n = j->segment.n_records + 1;

	j->refused = calloc(n, sizeof(*j->refused));
	j->found = calloc(n, sizeof(*j->found));
	j->contested = calloc(n, sizeof(*j->contested));
	j->settled = calloc(n, sizeof(*j->settled));
	j->expired = calloc(n, sizeof(*j->expired));
	j->present = calloc(j->segment.n_frames + 1, sizeof(*j->present));
	return j->refused && j->found && j->contested && j->settled && j->expired && j->present
		       ? 0
		       : -ENOMEM;
}

/*
 * Profiles of weeks that are uploaded in one go are of many quarters of an hour and of few days. A
 * store that cannot tell the days gets an insert for each quarter.
 */
static int find_days(struct drain_job *j, struct err *err)
{
	int r = drain_days_make(&j->days, &j->segment);

	if (r < 0)
		return err_set(err, r, "out of memory");
	if (j->days.n > 1)
		r = store_find_days(j->drain->cfg.store, j->days.quarters, j->days.n, j->days.days,
				    err);
	if (r == -EREMOTEIO || r == -EBADMSG)
		drain_days_fini(&j->days);
	return r == -EREMOTEIO || r == -EBADMSG ? 0 : r;
}

/* Returns NULL and *ret_error if it fails. */
static struct drain_job *make_job(struct log_drain *d, struct log_segment *s, int *ret_error,
				  struct err *err)
{
	struct drain_job *j = calloc(1, sizeof(*j));

	*ret_error = err_set(err, -ENOMEM, "out of memory");
	if (!j)
		return NULL;
	j->drain = d;
	j->of = s;
	j->exact_tokens = -1;
	*ret_error = log_segment_read(s, &j->segment, err);
	if (*ret_error == 0)
		*ret_error = find_days(j, err);
	if (*ret_error == 0 &&
	    (allocate(j) < 0 || drain_pieces_make(&j->pieces, &j->segment, &j->days) < 0))
		*ret_error = err_set(err, -ENOMEM, "out of memory");
	if (*ret_error == 0)
		return j;
	job_free(j);
	return NULL;
}

/*
 * Continues a job that was postponed. Returns 1, or 0 if the file has become another one, so that
 * it begins anew; the records that are there are found then.
 */
static int continue_job(struct drain_job *j, struct err *err)
{
	size_t n_records = j->segment.n_records, n_frames = j->segment.n_frames;
	int r;

	drain_pieces_fini(&j->pieces);
	r = log_segment_read(j->of, &j->segment, err);
	if (r < 0)
		return r;
	if (j->segment.n_records != n_records || j->segment.n_frames != n_frames)
		return 0;
	j->is_resumed = true;
	r = drain_pieces_make(&j->pieces, &j->segment, &j->days);
	return r < 0 ? err_set(err, r, "out of memory") : 1;
}

static struct drain_job *take_postponed(struct log_drain *d, const struct log_segment *s)
{
	struct drain_job **at = &d->postponed, *j;

	while (*at && (*at)->of != s)
		at = &(*at)->next;
	j = *at;
	if (j)
		*at = j->next;
	return j;
}

static void keep_postponed(struct log_drain *d, struct drain_job *j)
{
	j->next = d->postponed;
	d->postponed = j;
}

/* Leaves out the uploads of a recovered segment that the store has. */
static int find_stored(struct drain_job *j, struct err *err)
{
	size_t n = j->segment.n_records;
	AUTO_FREE uint64_t *ids = calloc(n + 1, sizeof(*ids));

	if (!ids)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		ids[i] = j->segment.ids[i].low;
	return store_find_uploads(j->drain->cfg.store, ids, n, j->found, err);
}

/* The store may have been killed after it had the samples and before it had listed their types. */
static int restore_types(struct drain_job *j, struct err *err)
{
	size_t n = j->pieces.n_frames[STORE_SAMPLES];
	const struct log_frame *const *frames = (const void *)j->pieces.frames[STORE_SAMPLES];
	const int64_t quarter_ns = (int64_t)(STORE_QUARTER_S * NS_PER_S);

	/* by quarter */
	if (n == 0)
		return 0;
	return store_restore_types(j->drain->cfg.store, frames[0]->data.frame.quarter * quarter_ns,
				   (frames[n - 1]->data.frame.quarter + 1) * quarter_ns, err);
}

/*
 * Inserts the pieces of the table `first` and of those after it, except what is left out. Returns 0
 * or -EPIPE.
 */
static int insert_pieces(struct drain_job *j, enum store_table first, bool uncertain)
{
	int r = 0;

	for (size_t i = 0; i < j->pieces.n_pieces && r == 0; i++) {
		if (j->pieces.pieces[i].table >= first)
			r = insert_piece(j, &j->pieces.pieces[i], uncertain);
	}
	return r;
}

/* Returns 0, or -EPIPE as above. */
static int insert_all(struct drain_job *j)
{
	int r = j->segment.recovered ? drain_insist(j, find_stored) : 0;

	j->was_uncertain = j->segment.recovered;
	if (r == 0)
		r = drain_insist(j, drain_claims_ask);
	return r == 0 ? insert_pieces(j, STORE_STACKS, j->segment.recovered) : r;
}

static void settle(struct drain_job *j)
{
	for (size_t i = 0; i < j->segment.n_records; i++)
		j->settled[i] = !j->refused[i] && !j->found[i] && !j->contested[i];
}

static void count(struct drain_job *j)
{
	struct metric *m = j->drain->metrics;
	uint64_t n_refused = 0, n_found = 0, n_expired = 0;

	for (size_t i = 0; i < j->segment.n_records; i++) {
		n_refused += j->refused[i];
		n_found += j->found[i];
		n_expired += j->expired[i] && !j->refused[i];
	}
	metric_add(&m[DRAIN_BATCHES], 1);
	metric_add(&m[DRAIN_UPLOADS_REFUSED], n_refused);
	metric_add(&m[DRAIN_UPLOADS_FOUND], n_found);
	metric_add(&m[DRAIN_UPLOADS_EXPIRED], n_expired);
	metric_add(&m[DRAIN_UPLOADS_STORED],
		   j->segment.n_records - n_refused - n_found - n_expired);
	if ((n_refused > 0 || j->segment.damaged) && j->drain->cfg.refused)
		j->drain->cfg.refused(j->drain->cfg.ctx);
}

/* Stacks were inserted, and whatever was not contested, before the segment was postponed. */
static int insert_rest(struct drain_job *j)
{
	int r = drain_claims_resume(j);

	return r == 1 ? insert_pieces(j, STORE_SAMPLES, j->segment.recovered) : r;
}

/* Returns 1 if the segment is postponed, because of what is contested. */
static int insert_segment(struct drain_job *j)
{
	uint64_t at_ns = 0;
	int r = j->is_resumed ? insert_rest(j) : insert_all(j);

	if (r == 0)
		settle(j);
	if (r == 0 && j->was_uncertain)
		r = drain_insist(j, restore_types);
	if (r == 0)
		r = drain_claims_wait(j, &at_ns);
	if (r < 0 || at_ns == 0)
		return r;
	upload_log_postpone(j->drain->cfg.log, j->of, at_ns);
	return 1;
}

/* The job of a segment that was postponed, or a new one; NULL with *ret_error if it fails. */
static struct drain_job *get_job(struct log_drain *d, struct log_segment *s, int *ret_error,
				 struct err *err)
{
	struct drain_job *j = take_postponed(d, s);
	int r = j ? continue_job(j, err) : 0;

	*ret_error = r;
	if (r == 1)
		return j;
	if (r < 0) {
		keep_postponed(d, j);
		return NULL;
	}
	job_free(j);
	return make_job(d, s, ret_error, err);
}

int drain_segment(struct log_drain *d, struct log_segment *s)
{
	struct err err = {""};
	int r = 0;
	CLEANUP(job_freep) struct drain_job *j = get_job(d, s, &r, &err);

	if (!j)
		return drain_wait_to_retry(d, r, &err);
	if (!j->is_resumed)
		d->last_uploads = j->segment.n_records;
	r = insert_segment(j);
	if (r == 1)
		keep_postponed(d, TAKE_PTR(j));
	if (r != 0)
		return r < 0 ? r : 0;
	/* counted before the content goes with the segment */
	count(j);
	r = upload_log_commit(d->cfg.log, s, j->refused, &err);
	return r < 0 ? drain_wait_to_retry(d, r, &err) : 0;
}

void drain_forget_postponed(struct log_drain *d)
{
	while (d->postponed) {
		struct drain_job *j = d->postponed;

		d->postponed = j->next;
		job_free(j);
	}
}
