/*
 * Tables are known by build id where there is one: the files of two containers with the same image
 * layer are two, and share a table. A table stays as long as mappings refer to its index, and
 * longer if there is room.
 *
 * Walks write when they last used a table, also while it is not built. Of all libraries that a
 * process maps, most never appear in its stacks, so a table is built when a walk has asked for it,
 * which costs that walk its callers. Only that of a process's executable is built at once.
 *
 * When the budget is spent, tables are evicted that have not been used for EVICT_IDLE_S, those
 * without processes first; a table in use makes room for another one only if its owner has
 * more than a share of the room and that of the other one would not, because else they would evict
 * each other in turns. A table that finds no room is tried again as long as walks ask for it.
 *
 * Of files with more code without descriptions than can be analysed at once, parts are analysed as
 * samples come to them (hot_code.h), while no table waits to be built.
 *
 * The memory of an evicted table can be used only after the grace period, so what needed the room
 * waits for that long, and for its turn. An index is reused after the grace period, too.
 */
#include "node-agent/unwind/file_tables.h"

#include <errno.h>

#include "common/data/table.h"
#include "common/system/clock.h"
#include "node-agent/unwind/code_files.h"
#include "node-agent/unwind/hot_code.h"
#include "node-agent/unwind/table_builder.h"
#include "node-agent/unwind/table_owners.h"

#define EVICT_IDLE_S 60u
#define RETRY_MIN_NS (60 * NS_PER_S) /* twice as long each time that it fails */
#define RETRY_MAX_NS (3600 * NS_PER_S)
#define WANTED_S 60u /* a table that walks asked for so lately is built again */

enum table_state {
	TABLE_UNWANTED, /* no walk has come to its code yet */
	TABLE_PENDING,  /* in the list */
	TABLE_BUILT,
	TABLE_WAITING,   /* for retry_ns */
	TABLE_IMPOSSIBLE /* its code is unwound by frame pointers */
};

struct table {
	UT_hash_handle hh; /* by key */
	struct table_key key;
	uint32_t index;
	enum table_state state;
	uint64_t n_refs;
	uint32_t owner; /* who it was made for first */
	bool vdso;
	bool postponed;             /* counted as such */
	struct mapped_file *source; /* a reference, while it is pending; NULL: the vDSO */
	struct table *next;         /* in the list of pending ones */
	uint64_t retry_ns;          /* of a table that is built: when parts of it may be again */
	uint64_t retry_delay_ns;    /* after the next failure */
	uint64_t born;              /* as in unwind_used */
	struct built_table built;
};

struct file_tables {
	struct file_tables_config cfg;
	struct table *tables;
	struct code_files *files;
	struct table *first_pending, **end_pending;
	struct table *by_index[UNWIND_TABLES];
	uint64_t index_free_ns[UNWIND_TABLES]; /* when the grace period of its last use ends */
	uint32_t next_index;
	struct table_owners owners;
	struct file_tables_stats stats;
};

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

/*
 * The next one whose owner may have a table built; of several owners, that of the one for whom
 * least was built lately. NULL: none.
 */
static struct table *take_pending(struct file_tables *t)
{
	const struct table_owner *owners = t->owners.owners;
	struct table *found = NULL;

	for (struct table *e = t->first_pending; e; e = e->next) {
		if (!table_owners_may_build(&t->owners, e->owner)) {
			t->stats.postponed += !e->postponed;
			e->postponed = true;
		} else if (!found || owners[e->owner].build_ns < owners[found->owner].build_ns) {
			found = e;
		}
	}
	if (found)
		unlink_pending(t, found);
	return found;
}

static void drop_source(struct table *e)
{
	mapped_file_unref(e->source);
	e->source = NULL;
}

static void withdraw(struct file_tables *t, struct table *e, uint64_t now_ns)
{
	t->stats.n_tables--;
	t->stats.n_rows -= e->built.n_rows;
	t->stats.bytes -= e->built.bytes;
	t->owners.owners[e->owner].bytes -= e->built.bytes;
	t->stats.n_deferred -= e->built.hot != NULL;
	built_table_withdraw(&e->built, t->cfg.slabs, &t->cfg.memory->tables[e->index], now_ns);
}

static void free_table(struct file_tables *t, struct table *e, uint64_t now_ns)
{
	if (e->state == TABLE_PENDING)
		unlink_pending(t, e);
	if (e->state == TABLE_BUILT)
		withdraw(t, e, now_ns);
	drop_source(e);
	code_files_hide(t->files, e->index);
	t->by_index[e->index] = NULL;
	t->owners.owners[e->owner].n_tables--;
	t->index_free_ns[e->index] = now_ns + t->cfg.grace_ns;
	HASH_DEL(t->tables, e);
	table_free(e);
}

/* When walks last used the table, or asked for it. */
static uint64_t last_used(const struct file_tables *t, const struct table *e)
{
	uint64_t used = __atomic_load_n(&t->cfg.memory->used[e->index], __ATOMIC_RELAXED);

	return used > e->born ? used : e->born;
}

/*
 * The table to evict first: without processes before others, then by last use. NULL if all are in
 * use. unreferenced: it must be one without processes.
 */
static struct table *find_idle(const struct file_tables *t, uint64_t now_ns, bool unreferenced)
{
	uint64_t now = used_clock(now_ns), longest = 0;
	struct table *found = NULL;

	for (struct table *e = t->tables; e; e = e->hh.next) {
		uint64_t used = last_used(t, e), idle = now > used ? now - used : 0;

		if (unreferenced ? e->n_refs > 0 : e->state != TABLE_BUILT)
			continue;
		if (e->n_refs > 0 && idle < EVICT_IDLE_S)
			continue;
		if (found && (!found->n_refs != !e->n_refs ? e->n_refs > 0 : idle <= longest))
			continue;
		found = e;
		longest = idle;
	}
	return found;
}

/* The table of this owner that was used longest ago; NULL: none is built. */
static struct table *find_oldest(const struct file_tables *t, uint32_t owner)
{
	struct table *found = NULL;

	for (struct table *e = t->tables; e; e = e->hh.next) {
		if (e->state == TABLE_BUILT && e->owner == owner &&
		    (!found || last_used(t, e) < last_used(t, found)))
			found = e;
	}
	return found;
}

/* If no table is idle, one of an owner who has more than a share, for one who has less. */
static struct table *find_victim(const struct file_tables *t, uint32_t owner, uint64_t bytes,
				 uint64_t now_ns)
{
	struct table *e = find_idle(t, now_ns, false);
	int debtor;

	if (e)
		return e;
	debtor = table_owners_find_debtor(&t->owners, owner, bytes, 2 * t->cfg.max_table_bytes);
	return debtor < 0 ? NULL : find_oldest(t, (uint32_t)debtor);
}

/* Evicts tables until that many bytes are freed for an owner. Returns how many bytes were. */
static uint64_t evict(struct file_tables *t, uint32_t owner, uint64_t bytes, uint64_t now_ns)
{
	uint64_t freed = 0;

	while (freed < bytes && t->tables) {
		struct table *e = find_victim(t, owner, bytes, now_ns);

		if (!e)
			break;
		freed += e->built.bytes;
		t->stats.evicted++;
		if (e->n_refs == 0) {
			free_table(t, e, now_ns);
			continue;
		}
		withdraw(t, e, now_ns);
		e->state = TABLE_WAITING;
		e->retry_ns = now_ns + RETRY_MIN_NS;
	}
	return freed;
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
	idle = find_idle(t, now_ns, true);
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
		.retry_delay_ns = RETRY_MIN_NS,
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
}

static bool is_wanted(const struct file_tables *t, const struct table *e)
{
	return __atomic_load_n(&t->cfg.memory->used[e->index], __ATOMIC_RELAXED) != 0;
}

/* The file of a table that some process has mapped, or NULL. */
static struct mapped_file *source_of(const struct file_tables *t, const struct table *e)
{
	return e->vdso || e->n_refs == 0 ? NULL : t->cfg.find_file(t->cfg.ctx, e->index);
}

void file_tables_find_wanted(struct file_tables *t)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (struct table *e = t->tables; e; e = e->hh.next) {
		if (e->state != TABLE_UNWANTED || !is_wanted(t, e) || now_ns < e->retry_ns)
			continue;
		/* the search for an open file takes too long to repeat it each time */
		if (!queue_build(t, e, source_of(t, e)) && e->n_refs > 0)
			e->retry_ns = now_ns + RETRY_MIN_NS;
	}
}

void file_tables_ref(struct file_tables *t, uint32_t table)
{
	if (table < UNWIND_TABLES && t->by_index[table])
		t->by_index[table]->n_refs++;
}

void file_tables_unref(struct file_tables *t, uint32_t table)
{
	if (table < UNWIND_TABLES && t->by_index[table])
		t->by_index[table]->n_refs--;
}

/* ---- get ---- */

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
	if (index != UNWIND_TABLE_NONE)
		code_files_show(t->files, f, m, index);
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

/* What could be built of it says how much room all of it needs, roughly. */
static void wait_for_room(struct file_tables *t, struct table *e, uint64_t needed, uint64_t now_ns)
{
	bool evicted = evict(t, e->owner, needed, now_ns) > 0;

	t->stats.lost_budget += !evicted;
	wait_long(e, now_ns);
	if (evicted)
		e->retry_ns = now_ns + 2 * t->cfg.grace_ns;
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

	return code_files_is_current(b->tables->files, b->table->source, &b->table->key);
}

/* Builds the table, or if there is an extent, that part of its deferred code. */
static int build(struct file_tables *t, struct table *e, const struct cfi_extent *part)
{
	const struct debug_cfi_query debug = debug_query(t, e);
	struct build build = {t, e};
	const struct table_builder builder = {
		.slabs = t->cfg.slabs,
		.cache = t->cfg.cache,
		.max_table_bytes = t->cfg.max_table_bytes,
		.debug = t->cfg.proc_root && e->source ? &debug : NULL,
		.on_pause = t->cfg.on_pause,
		.ctx = t->cfg.ctx,
		.is_current = is_current,
		.check_ctx = &build,
	};
	struct table_file_key key;
	struct byte_source src;

	_Static_assert(sizeof(key) == sizeof(e->key), "the same words");
	memcpy(&key, &e->key, sizeof(key));
	code_files_open(t->files, e->source, &src);
	if (part)
		return table_builder_build_part(&builder, &src, &e->built, part,
						&t->cfg.memory->tables[e->index],
						clock_monotonic_ns());
	return table_builder_build(&builder, &src, table_key_is_of_build(&e->key) ? &key : NULL,
				   &e->built);
}

static void note_built(struct file_tables *t, struct table *e, uint64_t now_ns)
{
	e->state = TABLE_BUILT;
	e->retry_ns = 0;
	e->retry_delay_ns = RETRY_MIN_NS;
	e->born = used_clock(now_ns);
	t->stats.built++;
	t->stats.n_tables++;
	t->stats.n_rows += e->built.n_rows;
	t->stats.bytes += e->built.bytes;
	t->owners.owners[e->owner].bytes += e->built.bytes;
	t->stats.n_deferred += e->built.hot != NULL;
	built_table_publish(&e->built, &t->cfg.memory->tables[e->index]);
}

/* The source is the table's, and is dropped. */
static int build_and_charge(struct file_tables *t, struct table *e, const struct cfi_extent *part)
{
	uint64_t begin_ns = clock_thread_cpu_ns(), cpu_ns;
	int r;

	e->n_refs++;
	r = build(t, e, part);
	cpu_ns = clock_thread_cpu_ns() - begin_ns;
	t->stats.build_ns += cpu_ns;
	table_owners_charge(&t->owners, e->owner, cpu_ns);
	e->n_refs--;
	drop_source(e);
	return r;
}

/* ---- parts ---- */

void file_tables_note_sample(struct file_tables *t, uint32_t table, uint64_t vaddr)
{
	struct table *e = table < UNWIND_TABLES ? t->by_index[table] : NULL;

	if (e && e->state == TABLE_BUILT && e->built.hot)
		hot_code_note(e->built.hot, vaddr);
}

/* The table with the part that most samples came to, NULL if there is none. */
static struct table *find_hot(const struct file_tables *t, uint64_t now_ns)
{
	struct table *found = NULL;
	unsigned most = 0;

	for (struct table *e = t->stats.n_deferred > 0 ? t->tables : NULL; e; e = e->hh.next) {
		unsigned n;

		if (e->state != TABLE_BUILT || !e->built.hot || now_ns < e->retry_ns ||
		    !table_owners_may_build(&t->owners, e->owner))
			continue;
		n = hot_code_samples(e->built.hot);
		if (n > most) {
			found = e;
			most = n;
		}
	}
	return found;
}

/* Returns false if there is none that may be built. */
static bool build_next_part(struct file_tables *t, uint64_t now_ns)
{
	struct table *e = find_hot(t, now_ns);
	struct mapped_file *source = e ? source_of(t, e) : NULL;
	uint64_t bytes, n_rows;
	struct cfi_extent part;
	int r;

	if (!e)
		return false;
	if (!source || source->fd < 0 || hot_code_take(e->built.hot, &part) < 0) {
		e->retry_ns = now_ns + RETRY_MIN_NS;
		return true;
	}
	e->source = mapped_file_ref(source);
	bytes = e->built.bytes;
	n_rows = e->built.n_rows;
	r = build_and_charge(t, e, &part);
	if (r < 0) /* its code stays as it is: there is no room, or it cannot be read */
		e->retry_ns = now_ns + RETRY_MIN_NS;
	t->stats.lost_budget += r == -ENOSPC || r == -EFBIG;
	t->stats.lost_unreadable += r < 0 && r != -ENOSPC && r != -EFBIG && r != -ECANCELED;
	t->stats.built_parts += r == 0;
	t->stats.n_rows += e->built.n_rows - n_rows;
	t->stats.bytes += e->built.bytes - bytes;
	t->owners.owners[e->owner].bytes += e->built.bytes - bytes;
	return true;
}

bool file_tables_build_next(struct file_tables *t, uint64_t now_ns)
{
	struct table *e;
	int r;

	table_owners_tick(&t->owners, now_ns);
	e = take_pending(t);
	if (!e)
		return build_next_part(t, now_ns);
	e->postponed = false;
	e->state = TABLE_WAITING; /* so that on_pause() leaves it alone */
	e->retry_ns = UINT64_MAX;
	r = build_and_charge(t, e, NULL);
	if (r < 0)
		note_failure(t, e, r, e->built.bytes, now_ns);
	else
		note_built(t, e, now_ns);
	return true;
}

void file_tables_tick(struct file_tables *t, uint64_t now_ns)
{
	uint64_t now = used_clock(now_ns);

	for (struct table *e = t->tables; e; e = e->hh.next) {
		if (e->state != TABLE_WAITING || now_ns < e->retry_ns)
			continue;
		e->retry_ns = now_ns + RETRY_MIN_NS;
		if (last_used(t, e) + WANTED_S >= now)
			(void)queue_build(t, e, source_of(t, e));
	}
	file_tables_find_wanted(t);
}

/* ---- create and destroy ---- */

int file_tables_new(struct file_tables **ret, const struct file_tables_config *cfg)
{
	CLEANUP(file_tables_freep) struct file_tables *t = calloc(1, sizeof(*t));
	const struct code_files_config files = {.memory = cfg->memory, .caller = cfg->caller};
	int r;

	if (!t)
		return -ENOMEM;
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
