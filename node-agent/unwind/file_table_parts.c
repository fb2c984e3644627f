/*
 * The table of a file with many functions is published empty, and its parts are built as the file
 * is read: where samples come first, the rest while nothing else is to be built. Its file stays
 * open until then, as those who had it mapped may have exited. When all is read, the file gets its
 * key, as far as that was left for later (code_files.h), and the table goes to the disk. What is
 * given up while memory is short (file_table_room.c) is read again in the same way.
 *
 * Parts of deferred code are built only where samples come.
 */
#include "node-agent/unwind/file_tables_state.h"

#include <errno.h>

#include "common/system/clock.h"
#include "node-agent/unwind/unwind_cache.h"

/* That is made for a part: 2 MiB of code need less. */
#define PART_ROOM_BYTES (UINT64_C(256) << 10)

static bool may_build_part(const struct file_tables *t, const struct table *e, uint64_t now_ns)
{
	return e->state == TABLE_BUILT && e->built.hot && now_ns >= e->retry_ns &&
	       (e->filled_from || e->n_refs > 0) && table_owners_may_build(&t->owners, e->owner);
}

/* Of two tables that are to be read: walks asked for it, or did so later. */
static bool is_read_before(const struct file_tables *t, const struct table *a,
			   const struct table *b)
{
	if (file_tables_is_wanted(t, a) != file_tables_is_wanted(t, b))
		return file_tables_is_wanted(t, a);
	return file_tables_last_used(t, a) > file_tables_last_used(t, b);
}

/*
 * The table with the part that most samples came to. If there is none, the next one that is yet to
 * be read, unless memory is short, or to be settled. NULL: none.
 */
static struct table *find_hot(const struct file_tables *t, uint64_t now_ns)
{
	bool is_short = t->stats.n_deferred > 0 && file_tables_room(t, FILE_TABLES_ASKED) == 0;
	struct table *found = NULL, *filling = NULL;
	unsigned most = 0;

	for (struct table *e = t->stats.n_deferred > 0 ? t->tables : NULL; e; e = e->hh.next) {
		unsigned n;

		if (!may_build_part(t, e, now_ns))
			continue;
		n = hot_code_samples(e->built.hot);
		if (n > most) {
			found = e;
			most = n;
		}
		if (!e->filled_from || (is_short && hot_code_is_filling(e->built.hot)))
			continue;
		if (!filling || is_read_before(t, e, filling))
			filling = e;
	}
	return found ?: filling;
}

static int take_part(const struct file_tables *t, struct table *e, struct hot_part *ret)
{
	bool reads_rest = file_tables_room(t, FILE_TABLES_MOST) > 0;

	if (hot_code_take(e->built.hot, reads_rest, ret) == 0)
		return 0;
	return hot_code_take_rest(e->built.hot, ret);
}

static void end_parts(struct file_tables *t, struct table *e)
{
	if (!e->filled_from && !hot_code_has_more(e->built.hot) && !e->built.has_parts) {
		hot_code_free(e->built.hot);
		e->built.hot = NULL;
	}
	file_tables_note_more(t, e);
}

static void keep(const struct file_tables *t, const struct table *e)
{
	const struct table_builder builder = {.slabs = t->cfg.slabs, .cache = t->cfg.cache};
	const struct table_file_key key = file_tables_file_key(e);

	table_builder_keep(&builder, &e->built, &key);
}

/*
 * All of a file is read that had to be known by its identity until now. From now on, equal files
 * share its table, unless one of them was first: then only processes use it that have it.
 */
static void settle(struct file_tables *t, struct table *e)
{
	struct mapped_file *file = TAKE_PTR(e->filled_from);
	uint64_t begin_ns = clock_thread_cpu_ns(), cpu_ns;
	struct table *other = NULL;

	e->was_read = true;
	if (!e->has_content && !t->cfg.is_alone &&
	    code_files_settle(t->files, file, &e->content) == 0)
		HASH_FIND(hh, t->tables, &e->content, sizeof(e->content), other);
	else
		other = e;
	if (!other)
		HASH_FIND(by_content, t->settled, &e->content, sizeof(e->content), other);
	if (!other) {
		HASH_ADD(by_content, t->settled, content, sizeof(e->content), e);
		e->has_content = TABLE_ADDED(by_content, e);
	}
	end_parts(t, e);
	if (table_key_is_of_build(file_tables_key(e)))
		keep(t, e);
	mapped_file_unref(file);
	cpu_ns = clock_thread_cpu_ns() - begin_ns;
	t->stats.build_ns += cpu_ns;
	table_owners_charge(&t->owners, e->owner, cpu_ns);
}

/* Nothing is new of a file that was read before. */
static void end_filling(struct file_tables *t, struct table *e)
{
	mapped_file_unref(e->filled_from);
	e->filled_from = NULL;
	file_tables_note_more(t, e);
}

/* Whether there is a table of it, or may be on disk. */
bool file_tables_knows_build(void *ctx, const uint64_t id[2])
{
	const struct file_tables *t = ctx;

	for (const struct table *e = t->tables; e; e = e->hh.next) {
		const struct table_key *key = file_tables_key(e);

		if (table_key_is_of_build(key) && memcmp(key->id, id, sizeof(key->id)) == 0)
			return true;
	}
	return t->cfg.cache && unwind_cache_may_have(t->cfg.cache, id);
}

/*
 * Without room, what is read of a file waits, as a whole table would; code that could not be
 * analysed stays as it is.
 */
static void note_part_failure(struct file_tables *t, struct table *e, const struct hot_part *part,
			      int error, uint64_t now_ns)
{
	uint64_t freed = 0;

	e->retry_ns = now_ns + FILE_TABLES_RETRY_NS;
	if (part->fills)
		hot_code_put_back(e->built.hot, part);
	file_tables_note_more(t, e);
	if (part->fills && error == -ENOSPC)
		freed = file_tables_make_room(t, e, PART_ROOM_BYTES, now_ns);
	if (freed > 0)
		e->retry_ns = now_ns + 2 * t->cfg.grace_ns;
	t->stats.lost_budget += (error == -ENOSPC && freed == 0) || error == -EFBIG;
	t->stats.lost_unreadable += error != -ENOSPC && error != -EFBIG && error != -ECANCELED;
}

bool file_tables_build_part(struct file_tables *t, uint64_t now_ns)
{
	struct table *e = find_hot(t, now_ns);
	struct mapped_file *source = !e ? NULL : e->filled_from ?: file_tables_source(t, e);
	struct hot_part part = {.fills = false};
	uint64_t bytes, n_rows;
	int r;

	if (!e)
		return false;
	if (source && source->fd >= 0 && take_part(t, e, &part) < 0 && e->filled_from) {
		if (e->was_read)
			end_filling(t, e);
		else
			settle(t, e);
		return true;
	}
	if (!source || source->fd < 0 || part.extent.n_pages == 0) {
		e->retry_ns = now_ns + FILE_TABLES_RETRY_NS;
		return true;
	}
	file_tables_fill(t, e, source);
	e->source = mapped_file_ref(source);
	bytes = e->built.bytes;
	n_rows = e->built.n_rows;
	r = file_tables_build(t, e, &part);
	file_tables_drop_source(e);
	t->stats.built_parts += r == 0;
	file_tables_count_parts(t, e, bytes, n_rows);
	if (r < 0)
		note_part_failure(t, e, &part, r, now_ns);
	else
		end_parts(t, e);
	return true;
}
