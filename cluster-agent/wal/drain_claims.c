/*
 * Who inserts an upload that several receivers of one store may have in their logs.
 *
 * A sender that gets no answer sends the profile again, and a Service takes it to any receiver. The
 * first one, A, may have it in its log, may be inserting it, or may be dead and insert it hours
 * later from its log. Ids in the memory of one receiver do not help the other, and two that look in
 * the store at the same moment both find nothing.
 *
 * The sender says which requests are repeats, and those pay:
 *
 *	a first attempt   is inserted unless a claim for it is in the store
 *	a repeat          is claimed, then held back for T; then it is inserted if the newest claim
 *	                  is still ours and the store does not have its rows
 *
 * T (claim_wait_ns) is longer than an insert may take from the question for claims to its end:
 * FRESH, after which the question is asked again, and the client's time limit. So:
 *
 *	- A asked before the claim was there: its insert has ended when the repeat is looked for.
 *	- A asked afterwards, also after a restart: it sees the claim and holds its copy back.
 *	- Two repeats: each sees the other's claim, or has ended before the other looks.
 *
 * Nothing here depends on wall clocks. The server's time orders claims, and all that matters is
 * that all see the same order. Whoever holds an upload back keeps it in its log until it finds it
 * complete (rows of quality are the last) or has inserted it. If the newest claimant does not come
 * back for RECLAIM, others claim anew, so an upload is lost only with all logs that have it.
 *
 * Limits. On a cluster all this is as true as replicas are at most T behind. A process that is
 * stopped for longer than T between the question and the insert, not counting the request, may
 * insert twice. Claims of a first attempt would close that, for an insert with each segment.
 *
 * Tried and left: a deduplication token for each upload needs an insert for each upload, as a token
 * is of an insert; 64 uploads a second would be 64 parts a second in each of three tables. To send
 * again to the same receiver does not help when that one is dead. Block numbers of parts order
 * inserts on one server only.
 */
#include <errno.h>

#include "cluster-agent/store/store_claims.h"
#include "cluster-agent/store/store_probe.h"
#include "cluster-agent/wal/drain_job.h"
#include "common/data/table.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"

/* Of T: how old the answer about claims may be when an insert begins. */
#define FRESH_SHARE 8u
/* Of T: how often the store is asked whether another receiver has inserted the upload. */
#define POLL_SHARE 15u
#define FREQUENT_POLLS 3u
/* Times T: after that a claimant is taken for lost. */
#define RECLAIM_FACTOR 4u

bool drain_leaves_out(const struct drain_job *j, const struct log_frame *f)
{
	if (j->refused[f->record] || j->found[f->record] || j->settled[f->record])
		return true;
	/* stacks are inserted at once: later uploads refer to them, and two rows of one are fine */
	if (j->contested[f->record] && f->data.table != STORE_STACKS)
		return true;
	return j->present[f - j->segment.frames];
}

uint64_t drain_claims_set(const struct drain_job *j, const struct drain_piece *p)
{
	uint64_t set = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct log_frame *f = j->pieces.frames[p->table][p->first + i];
		const uint64_t pair[2] = {set, (uint64_t)(f - j->segment.frames)};

		if (!drain_leaves_out(j, f))
			set = XXH3_64bits(pair, sizeof(pair));
	}
	return set;
}

/* ---- questions ---- */

/* Records for which the answer of which() is true, and their ids. */
struct chosen {
	uint64_t *ids;
	uint32_t *records;
	size_t n;
};

static void chosen_fini(struct chosen *c)
{
	free(c->ids);
	free(c->records);
}

static bool is_contested(const struct drain_job *j, size_t record)
{
	return j->contested[record];
}

static bool is_contested_repeat(const struct drain_job *j, size_t record)
{
	return j->contested[record] && j->segment.is_repeat[record];
}

/* Of which something may be inserted now. */
static bool is_open(const struct drain_job *j, size_t record)
{
	return !j->refused[record] && !j->found[record] && !j->settled[record] &&
	       !j->contested[record];
}

static int choose(struct chosen *ret, const struct drain_job *j,
		  bool (*which)(const struct drain_job *j, size_t record), struct err *err)
{
	size_t n = j->segment.n_records;

	*ret = (struct chosen){.ids = calloc(n + 1, sizeof(*ret->ids)),
			       .records = calloc(n + 1, sizeof(*ret->records))};
	if (!ret->ids || !ret->records)
		return err_set(err, -EAGAIN, "out of memory");
	for (uint32_t i = 0; i < n; i++) {
		if (!which(j, i))
			continue;
		ret->ids[ret->n] = j->segment.ids[i].low;
		ret->records[ret->n++] = i;
	}
	return 0;
}

/* Records that may be inserted and have a claim become contested; of a resumed job, ours do not. */
static int ask(struct drain_job *j, struct err *err)
{
	CLEANUP(chosen_fini) struct chosen c;
	AUTO_FREE enum store_claim *claims = NULL;
	uint64_t now_ns = clock_monotonic_ns();
	int r = choose(&c, j, is_open, err);

	if (r < 0)
		return r;
	claims = calloc(c.n + 1, sizeof(*claims));
	if (!claims)
		return err_set(err, -EAGAIN, "out of memory");
	r = store_find_claims(j->drain->cfg.store, j->segment.token, c.ids, c.n, claims, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < c.n; i++) {
		if (claims[i] == STORE_CLAIMED_BY_OTHERS ||
		    (claims[i] == STORE_CLAIMED_BY_US && !j->is_resumed))
			j->contested[c.records[i]] = true;
	}
	j->asked_ns = now_ns;
	return 0;
}

int drain_claims_ask(struct drain_job *j, struct err *err)
{
	if (!store_is_shared(j->drain->cfg.store))
		return 0;
	for (size_t i = 0; i < j->segment.n_records; i++)
		j->contested[i] = j->segment.is_repeat[i] && !j->found[i];
	return ask(j, err);
}

int drain_claims_renew(struct drain_job *j, struct err *err)
{
	uint64_t fresh_ns = j->drain->cfg.claim_wait_ns / FRESH_SHARE;

	if (!store_is_shared(j->drain->cfg.store) || clock_monotonic_ns() < j->asked_ns + fresh_ns)
		return 0;
	return ask(j, err);
}

/* Contested uploads that the store has by now. */
static int find_complete(struct drain_job *j, struct err *err)
{
	CLEANUP(chosen_fini) struct chosen c;
	AUTO_FREE bool *found = NULL;
	int r = choose(&c, j, is_contested, err);

	if (r < 0)
		return r;
	found = calloc(c.n + 1, sizeof(*found));
	if (!found)
		return err_set(err, -EAGAIN, "out of memory");
	r = store_find_uploads(j->drain->cfg.store, c.ids, c.n, found, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < c.n; i++) {
		j->found[c.records[i]] = found[i];
		j->contested[c.records[i]] = !found[i];
	}
	return 0;
}

/* ---- claims ---- */

static int claim(struct drain_job *j, bool (*which)(const struct drain_job *j, size_t record),
		 struct err *err)
{
	CLEANUP(chosen_fini) struct chosen c;
	int r = choose(&c, j, which, err);

	if (r == 0 && c.n > 0)
		r = store_add_claims(j->drain->cfg.store, j->segment.token, c.ids, c.n, err);
	if (r < 0)
		return r;
	if (c.n > 0)
		j->claimed_ns = clock_monotonic_ns();
	metric_add(&j->drain->metrics[DRAIN_CLAIMED], c.n);
	return 0;
}

static int claim_repeats(struct drain_job *j, struct err *err)
{
	return claim(j, is_contested_repeat, err);
}

static int claim_all(struct drain_job *j, struct err *err)
{
	return claim(j, is_contested, err);
}

static size_t count_contested(const struct drain_job *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->segment.n_records; i++)
		n += j->contested[i];
	return n;
}

static uint64_t next_poll_ns(const struct drain_job *j, uint64_t now_ns)
{
	uint64_t wait_ns = j->drain->cfg.claim_wait_ns;
	uint64_t at_ns = now_ns + wait_ns / (j->n_polls < FREQUENT_POLLS ? POLL_SHARE : 4);
	uint64_t due_ns = j->claimed_ns + wait_ns;

	return j->claimed_ns > 0 && due_ns > now_ns && due_ns < at_ns ? due_ns : at_ns;
}

int drain_claims_wait(struct drain_job *j, uint64_t *ret_at_ns)
{
	uint64_t reclaim_ns = RECLAIM_FACTOR * j->drain->cfg.claim_wait_ns;
	int r = 0;

	*ret_at_ns = 0;
	if (count_contested(j) == 0)
		return 0;
	if (!j->is_resumed) {
		r = drain_insist(j, claim_repeats);
		j->since_ns = clock_monotonic_ns();
	} else if (clock_monotonic_ns() >= j->since_ns + reclaim_ns) {
		log_warn_limited("another receiver claims uploads and does not store them; "
				 "claiming them",
				 "uploads=%zu", count_contested(j));
		r = drain_insist(j, claim_all);
		j->since_ns = clock_monotonic_ns();
		j->n_polls = 0;
	}
	if (r < 0)
		return r;
	*ret_at_ns = next_poll_ns(j, clock_monotonic_ns());
	j->n_polls++;
	return 0;
}

/* ---- after the wait ---- */

/* Samples may be there without quality: whoever inserted them was killed in between. */
static int find_present(struct drain_job *j, struct err *err)
{
	for (size_t i = 0; i < j->segment.n_frames; i++) {
		const struct log_frame *f = &j->segment.frames[i];
		int r;

		if (f->data.table != STORE_SAMPLES || drain_leaves_out(j, f))
			continue;
		r = store_find_samples(j->drain->cfg.store, &f->data.frame, err);
		if (r < 0)
			return r;
		j->present[i] = r == 1;
	}
	return 0;
}

/* What was contested is open again; what others have claimed becomes contested. */
static int open_ours(struct drain_job *j, struct err *err)
{
	memset(j->present, 0, j->segment.n_frames * sizeof(*j->present));
	for (size_t i = 0; i < j->segment.n_records; i++)
		j->contested[i] = false;
	return ask(j, err);
}

int drain_claims_resume(struct drain_job *j)
{
	uint64_t due_ns = j->claimed_ns + j->drain->cfg.claim_wait_ns;
	int r = drain_insist(j, find_complete);

	if (r < 0 || j->claimed_ns == 0 || clock_monotonic_ns() < due_ns)
		return r;
	r = drain_insist(j, open_ours);
	if (r == 0)
		r = drain_insist(j, find_present);
	return r < 0 ? r : 1;
}
