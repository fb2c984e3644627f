/*
 * Without symbols, the variables are found by the code that uses them (1.13 to 1.27):
 *
 * - A rate: the functions that record an event load their rate first, and semacquire1()
 *   checks both rates. The one word that a recorder and semacquire1() both load is the
 *   recorder's rate.
 * - A list: stkbucket() puts a new record at the head of the memory, mutex or block list,
 *   nearly always in this order in the code. The memory list is known (heap_variables.h); the
 *   next two variables referred to are the others. Some compilers swap them; the type of the
 *   newest record then shows which list is which.
 */
#include "node-agent/go/lock/lock_variables.h"

#include <errno.h>

#include "node-agent/go/heap/heap_variables.h"
#include "node-agent/go/image/go_refs.h"
#include "node-agent/go/image/go_write.h"

#define MEMORY_WORDS_MIN 8u         /* in any release; more do not matter here */
#define RECORD_TYPE_AT 16u          /* struct bucket: its third word */
#define MINOR_WITH_ATOMIC_LISTS 19u /* code takes their addresses; before, it loads them */

static const struct {
	enum go_variable list, rate;
	const char *list_symbol, *rate_symbol;
	const char *recorders[2]; /* functions that load the rate; a release has at least one */
	unsigned position;        /* of the list, counted from the memory list */
} variables[LOCK_KINDS] = {
	[LOCK_MUTEX] = {GO_MUTEX_BUCKETS,
			GO_MUTEX_RATE,
			"runtime.xbuckets",
			"runtime.mutexprofilerate",
			{"sync.event", "runtime.mutexevent"},
			1},
	[LOCK_BLOCK] = {GO_BLOCK_BUCKETS,
			GO_BLOCK_RATE,
			"runtime.bbuckets",
			"runtime.blockprofilerate",
			{"runtime.blockevent", "runtime.blocksampled"},
			2},
};

/* ---- rates ---- */

static int find_rate(struct go_runtime *rt, enum lock_kind kind, uint64_t *ret)
{
	int r = -ENOENT;

	for (size_t i = 0; r == -ENOENT && i < ARRAY_SIZE(variables[kind].recorders); i++)
		r = go_runtime_common_word(rt, variables[kind].recorders[i], "runtime.semacquire1",
					   GO_REF_LOAD, ret);
	return r;
}

static int find_mutex_rate(struct go_runtime *rt, uint64_t *ret)
{
	return find_rate(rt, LOCK_MUTEX, ret);
}

static int find_block_rate(struct go_runtime *rt, uint64_t *ret)
{
	return find_rate(rt, LOCK_BLOCK, ret);
}

int lock_variables_rate(struct go_runtime *rt, enum lock_kind kind, uint64_t *ret)
{
	return go_runtime_find(rt, variables[kind].rate, variables[kind].rate_symbol,
			       kind == LOCK_MUTEX ? find_mutex_rate : find_block_rate, ret);
}

/* ---- lists ---- */

static int memory_list(struct go_runtime *rt, uint64_t *ret)
{
	const struct go_bucket_format memory = {GO_BUCKET_MEMORY, MEMORY_WORDS_MIN, rt->text,
						rt->n_modules};

	return heap_variables_buckets(rt, &memory, ret);
}

/* The position-th variable that stkbucket() refers to after the memory list. */
static int find_list(struct go_runtime *rt, unsigned position, uint64_t *ret)
{
	static const char *const functions[] = {"runtime.stkbucket", "runtime.saveBlockEventStack",
						"runtime.saveblockevent", NULL};
	bool addresses = rt->image.minor >= MINOR_WITH_ATOMIC_LISTS;
	struct go_ref refs[GO_RUNTIME_REFS_MAX];
	unsigned n_seen = 0;
	uint64_t last = 0;
	int n, r = memory_list(rt, &last);

	if (r < 0)
		return r;
	n = go_runtime_refs_any(rt, functions, refs, ARRAY_SIZE(refs));
	for (int i = 0; i < n; i++) {
		bool is_list = addresses ? refs[i].kind == GO_REF_ADDRESS
					 : go_ref_is_word(&refs[i], GO_REF_LOAD);

		if (!is_list || (refs[i].target == last) != (n_seen == 0))
			continue;
		last = refs[i].target;
		if (n_seen++ == position) {
			*ret = last;
			return 0;
		}
	}
	return n < 0 ? n : -ENOENT;
}

static int find_mutex_list(struct go_runtime *rt, uint64_t *ret)
{
	return find_list(rt, variables[LOCK_MUTEX].position, ret);
}

static int find_block_list(struct go_runtime *rt, uint64_t *ret)
{
	return find_list(rt, variables[LOCK_BLOCK].position, ret);
}

static int find_by_position(struct go_runtime *rt, enum lock_kind kind, uint64_t *ret)
{
	return go_runtime_find(rt, variables[kind].list, variables[kind].list_symbol,
			       kind == LOCK_MUTEX ? find_mutex_list : find_block_list, ret);
}

/* Whether the newest record of the list is of this kind. */
static bool leads_to(struct go_runtime *rt, uint64_t list, enum lock_kind kind)
{
	uint64_t wanted = kind == LOCK_MUTEX ? GO_BUCKET_MUTEX : GO_BUCKET_BLOCK;
	uint64_t record = 0, type = 0;

	return byte_source_read(rt->image.memory, list, &record, sizeof(record)) == 0 &&
	       record != 0 &&
	       byte_source_read(rt->image.memory, record + RECORD_TYPE_AT, &type, sizeof(type)) ==
		       0 &&
	       type == wanted;
}

/* While neither list has a record, the order in the code decides. */
int lock_variables_buckets(struct go_runtime *rt, enum lock_kind kind, uint64_t *ret)
{
	enum lock_kind other = kind == LOCK_MUTEX ? LOCK_BLOCK : LOCK_MUTEX;
	uint64_t list = 0, others = 0;
	int r = find_by_position(rt, kind, &list);

	if (r < 0)
		return r;
	*ret = list;
	if (leads_to(rt, list, kind))
		return 0;
	r = find_by_position(rt, other, &others);
	if (r == 0 && (leads_to(rt, list, other) || leads_to(rt, others, kind)))
		*ret = others;
	return r == -ENOENT ? 0 : r;
}

/* ---- rates ---- */

uint64_t lock_rate_value(enum lock_kind kind)
{
	return kind == LOCK_MUTEX ? LOCK_RATE_MUTEX : LOCK_RATE_BLOCK;
}

int lock_rate_read(struct go_runtime *rt, enum lock_kind kind, uint64_t *ret)
{
	uint64_t address = 0;
	int r = lock_variables_rate(rt, kind, &address);

	return r == 0 ? byte_source_read(rt->image.memory, address, ret, sizeof(*ret)) : r;
}

/*
 * The cached address may come from another process of the same executable. Before writing, the
 * variable is searched for in this very process; that is slow, so only when a write is due.
 */
int lock_rate_switch(struct go_runtime *rt, const struct program_id *id, enum lock_kind kind,
		     enum lock_rate_wish wish)
{
	uint64_t ours = lock_rate_value(kind), now = 0;
	struct go_write w = {
		.from = wish == LOCK_RATE_ON ? 0 : ours,
		.to = wish == LOCK_RATE_ON ? ours : 0,
	};
	int r = lock_rate_read(rt, kind, &now);

	if (r == 0 && now == w.to)
		return 0;
	rt->uncached = true;
	if (r == 0)
		r = lock_variables_rate(rt, kind, &w.address);
	rt->uncached = false;
	return r == 0 ? go_write_word(rt, id, &w) : r;
}
