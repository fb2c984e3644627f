/*
 * Who makes room where memory is short.
 *
 * Most of a large program never runs, so parts of tables go first that no sample came to for a
 * while (hot_code.h). Samples tell as soon as three quarters of the budget are used. From then on,
 * cold parts are dropped each second, so that there is room when something new starts. If there is
 * none, what no sample came to is dropped, too, which was read because it may be needed.
 *
 * If that is not enough, tables go, of which each has a use: samples that came by it, or where they
 * are not told, seconds in which walks did, of which a thirty-second part is forgotten each second.
 * Tables without processes are first. One with processes makes room only for what is used twice as
 * much as all that goes for it, because else they would evict each other in turns; or its owner has
 * more than a share of the room, and that of the other one would not. Of several, that one goes of
 * which a byte is used least.
 */
#include "node-agent/unwind/file_tables_state.h"

#define USE_SECONDS 32u
#define COOL_NS (20 * NS_PER_S)

/* ---- use ---- */

static void count_use(const struct file_tables *t, struct table *e)
{
	uint64_t used = __atomic_load_n(&t->cfg.memory->used[e->index], __ATOMIC_RELAXED);
	uint64_t n = e->n_samples > 0 ? e->n_samples : used != e->last_used;

	e->use += n * FILE_TABLES_SAMPLE - e->use / USE_SECONDS;
	e->last_used = used;
	e->n_samples = 0;
}

/* Whether a byte of it is. */
static bool is_less_used(const struct file_tables *t, const struct table *a, const struct table *b)
{
	uint64_t of_a = a->use * b->built.bytes, of_b = b->use * a->built.bytes;

	if (of_a != of_b)
		return of_a < of_b;
	return file_tables_last_used(t, a) < file_tables_last_used(t, b);
}

uint64_t file_tables_room(const struct file_tables *t, unsigned part)
{
	struct unwind_slabs_stats slabs;
	uint64_t used, max;

	unwind_slabs_read_stats(t->cfg.slabs, &slabs);
	used = slabs.used_bytes + slabs.waiting_bytes;
	max = slabs.max_bytes / FILE_TABLES_ALL * part;
	return used < max ? max - used : 0;
}

/* ---- parts ---- */

static uint64_t drop_of(struct file_tables *t, struct table *e, enum hot_code_drop what,
			uint64_t bytes, uint64_t now_ns)
{
	uint64_t before = e->built.bytes, n_rows = e->built.n_rows;
	struct hot_part part;

	if (e->n_refs == 0)
		what = HOT_CODE_ENDED;
	while (before - e->built.bytes < bytes && hot_code_drop(e->built.hot, what, &part) == 0)
		built_table_drop(&e->built, t->cfg.slabs, &part.extent,
				 &t->cfg.memory->tables[e->index], now_ns);
	file_tables_count_parts(t, e, before, n_rows);
	return before - e->built.bytes;
}

/* The table to drop parts of next: those without processes are first. NULL: none. */
static struct table *find_cold(const struct file_tables *t)
{
	struct table *found = NULL;

	for (struct table *e = t->has_cold ? t->tables : NULL; e; e = e->hh.next) {
		if (!e->has_cold || (found && !found->n_refs && e->n_refs > 0))
			continue;
		if (!found || (found->n_refs > 0 && !e->n_refs) || is_less_used(t, e, found))
			found = e;
	}
	return found;
}

static uint64_t drop(struct file_tables *t, enum hot_code_drop what, uint64_t bytes,
		     uint64_t now_ns)
{
	uint64_t freed = 0;

	while (freed < bytes) {
		struct table *e = find_cold(t);

		t->has_cold = e != NULL;
		if (!e)
			break;
		freed += drop_of(t, e, what, bytes - freed, now_ns);
		e->has_cold = freed >= bytes;
	}
	t->stats.dropped_bytes += freed;
	return freed;
}

/* Has all tables searched for something to drop. */
static void expect_cold(struct file_tables *t)
{
	t->has_cold = true;
	for (struct table *e = t->tables; e; e = e->hh.next)
		e->has_cold = e->state == TABLE_BUILT && e->built.has_parts;
}

static void cool(struct file_tables *t, uint64_t now_ns)
{
	if (now_ns < t->cool_ns)
		return;
	t->cool_ns = now_ns + COOL_NS;
	expect_cold(t);
	for (struct table *e = t->tables; e; e = e->hh.next) {
		if (e->has_cold)
			hot_code_cool(e->built.hot);
	}
}

void file_tables_count_use(struct file_tables *t, uint64_t now_ns)
{
	struct unwind_slabs_stats slabs;
	uint64_t most;

	for (struct table *e = t->tables; e; e = e->hh.next)
		count_use(t, e);
	if (file_tables_room(t, FILE_TABLES_MOST) > 0)
		return;
	cool(t, now_ns);
	unwind_slabs_read_stats(t->cfg.slabs, &slabs);
	most = slabs.max_bytes / FILE_TABLES_ALL * FILE_TABLES_MOST;
	if (slabs.used_bytes > most)
		(void)drop(t, HOT_CODE_COLD, slabs.used_bytes - most, now_ns);
}

/* ---- tables ---- */

/* Of those of an owner; of all, if that is below 0. */
static struct table *find_least_used(const struct file_tables *t, const struct table *wanted,
				     int owner, bool unreferenced)
{
	struct table *found = NULL;

	for (struct table *e = t->tables; e; e = e->hh.next) {
		if (e->state != TABLE_BUILT || e == wanted || (unreferenced && e->n_refs > 0) ||
		    (owner >= 0 && e->owner != (uint32_t)owner))
			continue;
		if (!found || is_less_used(t, e, found))
			found = e;
	}
	return found;
}

/* spent is the use of those that went for it. */
static struct table *find_victim(const struct file_tables *t, const struct table *wanted,
				 uint64_t bytes, uint64_t spent)
{
	struct table *e = find_least_used(t, wanted, -1, true);
	int debtor;

	if (e)
		return e;
	e = find_least_used(t, wanted, -1, false);
	if (e && 2 * (spent + e->use) <= wanted->use)
		return e;
	debtor = table_owners_find_debtor(&t->owners, wanted->owner, bytes,
					  2 * t->cfg.max_table_bytes);
	return debtor < 0 ? NULL : find_least_used(t, wanted, debtor, false);
}

uint64_t file_tables_make_room(struct file_tables *t, const struct table *wanted, uint64_t bytes,
			       uint64_t now_ns)
{
	uint64_t freed = drop(t, HOT_CODE_COLD, bytes, now_ns), spent = 0;

	if (freed < bytes) {
		expect_cold(t);
		freed += drop(t, HOT_CODE_UNSAMPLED, bytes - freed, now_ns);
	}
	while (freed < bytes) {
		struct table *e = find_victim(t, wanted, bytes, spent);

		if (!e)
			break;
		freed += e->built.bytes;
		spent += e->n_refs > 0 ? e->use : 0;
		file_tables_evict(t, e, now_ns);
	}
	return freed;
}
