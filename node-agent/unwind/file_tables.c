/*
 * Tables are known by build id where there is one: the files of two containers with the same image
 * layer are two, and share a table. A table stays as long as mappings refer to its index, and
 * longer if there is room.
 *
 * Walks write when they last used a table, also while it is not built. Of all libraries that a
 * process maps, most never appear in its stacks, so a table is built when a walk has asked for it,
 * which costs that walk its callers. Only that of a process's executable is built at once, and that
 * of a small library if it is on disk: the C library and its like need not be asked for again after
 * each start of the agent.
 *
 * When the budget is spent, parts of tables, or tables, make room for others (file_table_room.c). A
 * table that finds no room is tried again as long as walks ask for it.
 *
 * Of files with more code without descriptions than can be analysed at once, parts are analysed as
 * samples come to them (hot_code.h), while no table waits to be built. Tables of files with many
 * functions are there in parts at first, too: those of code where samples come, then the rest.
 *
 * The memory of an evicted table can be used only after the grace period, so what needed the room
 * waits for that long, and for its turn. An index is reused after the grace period, too.
 */
#include "node-agent/unwind/file_tables.h"

#include <errno.h>

#include "common/system/clock.h"
#include "node-agent/unwind/file_tables_state.h"
#include "node-agent/unwind/unwind_cache.h"

#define ROOM_RETRY_NS (5 * NS_PER_S)
#define RETRY_MAX_NS (3600 * NS_PER_S)
#define EXPECTED_MAX_BYTES (UINT64_C(4) << 20)
#define WANTED_S 60u /* a table that walks asked for so lately is built again */

static uint64_t used_clock(uint64_t now_ns)
{
	return now_ns >> UNWIND_USED_SHIFT;
}

/* ---- tables ---- */

static void append_pending(struct file_tables *t, struct table *e)
{
	e->state = TABLE_PENDING;
	e->next = NULL;
	*t->end_pending = e;
	t->end_pending = &e->next;
	t->stats.n_waiting++;
}

static void unlink_pending(struct file_tables *t, const struct table *e)
{
	for (struct table **p = &t->first_pending; *p; p = &(*p)->next) {
		if (*p != e)
			continue;
		*p = e->next;
		if (!*p)
			t->end_pending = p;
		t->stats.n_waiting--;
		return;
	}
}

static uint64_t file_bytes(const struct table *e)
{
	return e->source ? e->source->id.size_bytes : 0;
}

/*
 * Of several owners, the one for whom least was built lately is first; of his tables, those that
 * walks have asked for, and of these the smallest: that of the C library takes a millisecond, and
 * is not to wait for that of a compiler.
 */
static bool is_before(const struct file_tables *t, const struct table *a, const struct table *b)
{
	const struct table_owner *owners = t->owners.owners;

	if (a->owner != b->owner)
		return owners[a->owner].build_ns < owners[b->owner].build_ns;
	if (file_tables_is_wanted(t, a) != file_tables_is_wanted(t, b))
		return file_tables_is_wanted(t, a);
	return file_bytes(a) < file_bytes(b);
}

/* The next one whose owner may have a table built. NULL: none. */
static struct table *take_pending(struct file_tables *t)
{
	struct table *found = NULL;

	for (struct table *e = t->first_pending; e; e = e->next) {
		if (!table_owners_may_build(&t->owners, e->owner)) {
			t->stats.postponed += !e->postponed;
			e->postponed = true;
		} else if (!found || is_before(t, e, found)) {
			found = e;
		}
	}
	if (found)
		unlink_pending(t, found);
	return found;
}

void file_tables_drop_source(struct table *e)
{
	mapped_file_unref(e->source);
	e->source = NULL;
}

void file_tables_note_more(struct file_tables *t, struct table *e)
{
	bool has_more = e->built.hot && (e->filled_from || hot_code_has_more(e->built.hot));

	t->stats.n_deferred += has_more - (uint64_t)e->has_more;
	e->has_more = has_more;
}

static void withdraw(struct file_tables *t, struct table *e, uint64_t now_ns)
{
	t->stats.n_tables--;
	t->stats.n_rows -= e->built.n_rows;
	t->stats.bytes -= e->built.bytes;
	t->owners.owners[e->owner].bytes -= e->built.bytes;
	hot_code_free(e->hot_before);
	e->hot_before = TAKE_PTR(e->built.hot);
	built_table_withdraw(&e->built, t->cfg.slabs, &t->cfg.memory->tables[e->index], now_ns);
	mapped_file_unref(e->filled_from);
	e->filled_from = NULL;
	e->has_cold = false;
	file_tables_note_more(t, e);
}

static void free_table(struct file_tables *t, struct table *e, uint64_t now_ns)
{
	if (e->state == TABLE_PENDING)
		unlink_pending(t, e);
	if (e->state == TABLE_BUILT)
		withdraw(t, e, now_ns);
	file_tables_drop_source(e);
	hot_code_free(e->hot_before);
	code_files_hide(t->files, e->index);
	t->by_index[e->index] = NULL;
	t->owners.owners[e->owner].n_tables--;
	t->index_free_ns[e->index] = now_ns + t->cfg.grace_ns;
	if (e->has_content)
		HASH_DELETE(by_content, t->settled, e);
	HASH_DEL(t->tables, e);
	table_free(e);
}

uint64_t file_tables_last_used(const struct file_tables *t, const struct table *e)
{
	uint64_t used = __atomic_load_n(&t->cfg.memory->used[e->index], __ATOMIC_RELAXED);

	return used > e->born ? used : e->born;
}

void file_tables_evict(struct file_tables *t, struct table *e, uint64_t now_ns)
{
	t->stats.evicted++;
	if (e->n_refs == 0) {
		free_table(t, e, now_ns);
		return;
	}
	e->needed_bytes = e->built.bytes;
	withdraw(t, e, now_ns);
	e->state = TABLE_WAITING;
	e->retry_ns = now_ns + ROOM_RETRY_NS;
}

/* The table without processes that was used longest ago, or NULL. */
static struct table *find_unreferenced(const struct file_tables *t)
{
	struct table *found = NULL;

	for (struct table *e = t->tables; e; e = e->hh.next) {
		if (e->n_refs == 0 &&
		    (!found || file_tables_last_used(t, e) < file_tables_last_used(t, found)))
			found = e;
	}
	return found;
}

/* Returns 0 if there is none. */
static uint32_t take_index(struct file_tables *t, uint64_t now_ns)
{
	struct table *idle;

	for (unsigned i = 0; i < UNWIND_TABLES; i++) {
		uint32_t index = t->next_index;

		t->next_index = index + 1 < UNWIND_TABLES ? index + 1 : UNWIND_TABLE_FIRST;
		if (!t->by_index[index] && now_ns >= t->index_free_ns[index])
			return index;
	}
	/* for the next file */
	idle = find_unreferenced(t);
	if (idle)
		free_table(t, idle, now_ns);
	return UNWIND_TABLE_NONE;
}

static struct table *add_table(struct file_tables *t, const struct table_key *key, uint32_t owner,
			       bool vdso)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint32_t index = UNWIND_TABLE_NONE;
	struct table *e;

	if (table_owners_may_add(&t->owners, owner, UNWIND_TABLES))
		index = take_index(t, now_ns);
	if (index == UNWIND_TABLE_NONE) {
		t->stats.lost_indexes++;
		return NULL;
	}
	e = table_malloc(sizeof(*e));
	if (!e)
		return NULL;
	*e = (struct table){
		.key = *key,
		.index = index,
		.born = used_clock(now_ns),
		.owner = owner,
		.vdso = vdso,
		.retry_delay_ns = FILE_TABLES_RETRY_NS,
	};
	HASH_ADD(hh, t->tables, key, sizeof(e->key), e);
	if (!TABLE_ADDED(hh, e)) {
		table_free(e);
		return NULL;
	}
	__atomic_store_n(&t->cfg.memory->used[index], 0, __ATOMIC_RELAXED);
	t->by_index[index] = e;
	t->owners.owners[owner].n_tables++;
	return e;
}

static uint32_t index_of(struct file_tables *t, const struct table_key *key, uint32_t owner,
			 bool vdso)
{
	struct table *e;

	HASH_FIND(hh, t->tables, key, sizeof(*key), e);
	if (!e)
		HASH_FIND(by_content, t->settled, key, sizeof(*key), e);
	if (!e)
		e = add_table(t, key, owner, vdso);
	return e ? e->index : UNWIND_TABLE_NONE;
}

/* Returns false if there is no file to build it from. */
static bool queue_build(struct file_tables *t, struct table *e, struct mapped_file *source)
{
	if (!e->vdso) {
		if (!source || source->fd < 0)
			return false;
		e->source = mapped_file_ref(source);
	}
	append_pending(t, e);
	return true;
}

void file_tables_want(struct file_tables *t, uint32_t table, struct mapped_file *source)
{
	struct table *e = table < UNWIND_TABLES ? t->by_index[table] : NULL;

	if (e && e->state == TABLE_UNWANTED)
		(void)queue_build(t, e, source);
	else if (e && e->state == TABLE_BUILT)
		file_tables_fill(t, e, source);
}

void file_tables_fill(struct file_tables *t, struct table *e, struct mapped_file *source)
{
	if (e->filled_from || !source || source->fd < 0 || !e->built.hot ||
	    !hot_code_is_filling(e->built.hot))
		return;
	e->filled_from = mapped_file_ref(source);
	file_tables_note_more(t, e);
}

struct mapped_file *file_tables_source(const struct file_tables *t, const struct table *e)
{
	return e->vdso || e->n_refs == 0 ? NULL : t->cfg.find_file(t->cfg.ctx, e->index);
}

void file_tables_find_wanted(struct file_tables *t)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (struct table *e = t->tables; e; e = e->hh.next) {
		if (e->state != TABLE_UNWANTED || !file_tables_is_wanted(t, e) ||
		    now_ns < e->retry_ns)
			continue;
		/* the search for an open file takes too long to repeat it each time */
		if (!queue_build(t, e, file_tables_source(t, e)) && e->n_refs > 0)
			e->retry_ns = now_ns + FILE_TABLES_RETRY_NS;
	}
}

void file_tables_ref(struct file_tables *t, uint32_t table)
{
	if (table < UNWIND_TABLES && t->by_index[table])
		t->by_index[table]->n_refs++;
}

void file_tables_unref(struct file_tables *t, uint32_t table)
{
	struct table *e = table < UNWIND_TABLES ? t->by_index[table] : NULL;

	if (!e || --e->n_refs > 0)
		return;
	e->has_cold = e->state == TABLE_BUILT && e->built.has_parts;
	t->has_cold |= e->has_cold;
}

/* ---- get ---- */

/* A table that is on disk was asked for before; that of a small file takes half a millisecond. */
static void expect(struct file_tables *t, struct table *e, struct mapped_file *source)
{
	const struct table_key *key = file_tables_key(e);

	if (e->state == TABLE_UNWANTED && t->cfg.cache && source &&
	    source->id.size_bytes <= EXPECTED_MAX_BYTES && table_key_is_of_build(key) &&
	    unwind_cache_may_have(t->cfg.cache, key->id))
		(void)queue_build(t, e, source);
}

uint32_t file_tables_get(struct file_tables *t, const struct process_mapping *m, uint32_t owner,
			 uint64_t *ret_bias)
{
	struct code_file *f;
	uint32_t index;

	*ret_bias = 0;
	if (m->kind == PROCESS_MAPPING_ANONYMOUS)
		return UNWIND_TABLE_ANONYMOUS;
	f = code_files_get(t->files, m, ret_bias);
	if (!f)
		return UNWIND_TABLE_NONE;
	index = index_of(t, code_file_key(f), owner, m->kind == PROCESS_MAPPING_VDSO);
	if (index == UNWIND_TABLE_NONE)
		return index;
	code_files_show(t->files, f, m, index);
	expect(t, t->by_index[index], m->file);
	return index;
}

/* ---- build ---- */

static void wait_long(struct table *e, uint64_t now_ns)
{
	e->state = TABLE_WAITING;
	e->retry_ns = now_ns + e->retry_delay_ns;
	if (e->retry_delay_ns < RETRY_MAX_NS)
		e->retry_delay_ns *= 2;
}

/* Returns whether the table will have room, from retry_ns on. */
static bool find_room(struct file_tables *t, struct table *e, uint64_t now_ns)
{
	uint64_t room = file_tables_room(t, FILE_TABLES_ALL);
	uint64_t missing = e->needed_bytes > room ? e->needed_bytes - room : 1;

	e->retry_ns = now_ns + ROOM_RETRY_NS;
	if (file_tables_make_room(t, e, missing, now_ns) == 0)
		return false;
	e->needed_bytes = 0;
	e->retry_ns = now_ns + 2 * t->cfg.grace_ns;
	return true;
}

/* What could be built of it says how much room all of it needs, roughly. */
static void wait_for_room(struct file_tables *t, struct table *e, uint64_t needed, uint64_t now_ns)
{
	e->state = TABLE_WAITING;
	e->needed_bytes = needed;
	t->stats.lost_budget += !find_room(t, e, now_ns);
}

static void note_failure(struct file_tables *t, struct table *e, int error, uint64_t built_bytes,
			 uint64_t now_ns)
{
	switch (error) {
	case -ECANCELED:
		e->state = TABLE_WAITING;
		e->retry_ns = now_ns;
		break;
	case -ENOSPC:
		wait_for_room(t, e, 2 * built_bytes, now_ns);
		break;
	case -EFBIG:
		t->stats.lost_too_large++;
		e->state = TABLE_IMPOSSIBLE;
		break;
	case -ENOENT:
	case -ENOEXEC:
	case -EBADMSG:
		e->state = TABLE_IMPOSSIBLE;
		break;
	default:
		t->stats.lost_unreadable++;
		wait_long(e, now_ns);
	}
}

static struct debug_cfi_query debug_query(const struct file_tables *t, const struct table *e)
{
	const struct process_snapshot *user =
		t->cfg.find_process ? t->cfg.find_process(t->cfg.ctx, e->index) : NULL;

	return (struct debug_cfi_query){
		.caller = t->cfg.caller,
		.proc_root = t->cfg.proc_root,
		.path = e->source ? e->source->path : "",
		.pid = user ? user->pid : 0,
		.start_time = user ? user->start_time : 0,
	};
}

struct build {
	struct file_tables *tables;
	const struct table *table;
};

static bool is_current(void *ctx)
{
	const struct build *b = ctx;

	return code_files_is_current(b->tables->files, b->table->source, file_tables_key(b->table));
}

/* Builds the table, or if there is a part, only that. */
static int build(struct file_tables *t, struct table *e, const struct hot_part *part)
{
	const struct debug_cfi_query debug = debug_query(t, e);
	struct build build = {t, e};
	const struct table_builder builder = {
		.slabs = t->cfg.slabs,
		.cache = t->cfg.cache,
		.max_table_bytes = t->cfg.max_table_bytes,
		.open_functions = t->cfg.open_functions,
		.opens_kept = file_tables_room(t, FILE_TABLES_MOST) == 0,
		.debug = t->cfg.proc_root && e->source ? &debug : NULL,
		.on_pause = t->cfg.on_pause,
		.ctx = t->cfg.ctx,
		.is_current = is_current,
		.check_ctx = &build,
	};
	const struct table_file_key key = file_tables_file_key(e);
	struct byte_source src;
	int r;

	code_files_open(t->files, e->source, &src);
	if (part) {
		r = table_builder_build_part(&builder, &src, &e->built, part,
					     &t->cfg.memory->tables[e->index],
					     clock_monotonic_ns());
		if (r == 0 && part->fills && !e->was_read && !hot_code_is_filling(e->built.hot))
			table_builder_end_parts(&builder, &src, &e->built);
		return r;
	}
	return table_builder_build(
		&builder, &src, table_key_is_of_build(file_tables_key(e)) ? &key : NULL, &e->built);
}

static void note_built(struct file_tables *t, struct table *e, uint64_t now_ns)
{
	e->state = TABLE_BUILT;
	e->retry_ns = 0;
	e->retry_delay_ns = FILE_TABLES_RETRY_NS;
	e->needed_bytes = 0;
	if (e->use < FILE_TABLES_SAMPLE)
		e->use = FILE_TABLES_SAMPLE; /* until it is counted for the first time */
	e->born = used_clock(now_ns);
	t->stats.built++;
	t->stats.n_tables++;
	t->stats.n_rows += e->built.n_rows;
	t->stats.bytes += e->built.bytes;
	t->owners.owners[e->owner].bytes += e->built.bytes;
	if (e->built.hot && e->hot_before)
		hot_code_remember(e->built.hot, e->hot_before);
	e->was_read = !e->built.hot || !hot_code_is_filling(e->built.hot);
	if (!e->was_read)
		e->filled_from = mapped_file_ref(e->source);
	file_tables_note_more(t, e);
	built_table_publish(&e->built, &t->cfg.memory->tables[e->index]);
}

int file_tables_build(struct file_tables *t, struct table *e, const struct hot_part *part)
{
	uint64_t begin_ns = clock_thread_cpu_ns(), cpu_ns;
	int r;

	e->n_refs++;
	r = build(t, e, part);
	cpu_ns = clock_thread_cpu_ns() - begin_ns;
	t->stats.build_ns += cpu_ns;
	table_owners_charge(&t->owners, e->owner, cpu_ns);
	e->n_refs--;
	return r;
}

/* ---- parts ---- */

void file_tables_begin_sample(struct file_tables *t)
{
	t->n_samples++;
}

void file_tables_note_sample(struct file_tables *t, uint32_t table, uint64_t vaddr)
{
	struct table *e = table < UNWIND_TABLES ? t->by_index[table] : NULL;

	if (e && e->last_sample != t->n_samples) {
		e->last_sample = t->n_samples;
		e->n_samples++;
	}
	if (e && e->state == TABLE_BUILT && e->built.hot)
		hot_code_note(e->built.hot, vaddr);
}

enum file_tables_wish file_tables_wants_samples(const struct file_tables *t)
{
	if (file_tables_room(t, FILE_TABLES_MOST) == 0)
		return FILE_TABLES_ANY_SAMPLES;
	return t->stats.n_deferred > 0 ? FILE_TABLES_CUT_SAMPLES : FILE_TABLES_NO_SAMPLES;
}

void file_tables_count_parts(struct file_tables *t, struct table *e, uint64_t bytes,
			     uint64_t n_rows)
{
	t->stats.n_rows += e->built.n_rows - n_rows;
	t->stats.bytes += e->built.bytes - bytes;
	t->owners.owners[e->owner].bytes += e->built.bytes - bytes;
	file_tables_note_more(t, e);
}

bool file_tables_build_next(struct file_tables *t, uint64_t now_ns)
{
	struct table *e;
	int r;

	table_owners_tick(&t->owners, now_ns);
	e = take_pending(t);
	if (!e)
		return file_tables_build_part(t, now_ns);
	e->postponed = false;
	e->state = TABLE_WAITING; /* so that on_pause() leaves it alone */
	e->retry_ns = UINT64_MAX;
	r = file_tables_build(t, e, NULL);
	if (r < 0)
		note_failure(t, e, r, e->built.bytes, now_ns);
	else
		note_built(t, e, now_ns);
	file_tables_drop_source(e);
	return true;
}

void file_tables_tick(struct file_tables *t, uint64_t now_ns)
{
	uint64_t now = used_clock(now_ns);

	file_tables_count_use(t, now_ns);
	/* by index, because others may be freed to make room for one */
	for (size_t i = UNWIND_TABLE_FIRST; i < UNWIND_TABLES; i++) {
		struct table *e = t->by_index[i];

		/* without a process there is no file, until one starts that need not wait again */
		if (!e || e->state != TABLE_WAITING || now_ns < e->retry_ns || e->n_refs == 0 ||
		    file_tables_last_used(t, e) + WANTED_S < now)
			continue;
		e->retry_ns = now_ns + FILE_TABLES_RETRY_NS;
		if (e->needed_bytes > 0 && file_tables_room(t, FILE_TABLES_ALL) < e->needed_bytes)
			(void)find_room(t, e, now_ns);
		else
			(void)queue_build(t, e, file_tables_source(t, e));
	}
	file_tables_find_wanted(t);
}

/* ---- create and destroy ---- */

int file_tables_new(struct file_tables **ret, const struct file_tables_config *cfg)
{
	CLEANUP(file_tables_freep) struct file_tables *t = calloc(1, sizeof(*t));
	struct code_files_config files = {
		.memory = cfg->memory,
		.caller = cfg->caller,
		.late_functions = cfg->open_functions,
		.knows_build = file_tables_knows_build,
	};
	int r;

	if (!t)
		return -ENOMEM;
	files.ctx = t;
	t->cfg = *cfg;
	t->end_pending = &t->first_pending;
	t->next_index = UNWIND_TABLE_FIRST;
	r = code_files_new(&t->files, &files);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(t);
	return 0;
}

void file_tables_free(struct file_tables *t)
{
	if (!t)
		return;
	while (t->tables)
		free_table(t, t->tables, 0);
	code_files_free(t->files);
	free(t);
}

void file_tables_read_stats(const struct file_tables *t, struct file_tables_stats *ret)
{
	struct code_files_stats files;

	code_files_read_stats(t->files, &files);
	*ret = t->stats;
	ret->lost_unreadable += files.unreadable;
	ret->lost_segments = files.cut;
}
