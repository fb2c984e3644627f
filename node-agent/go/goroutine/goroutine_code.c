/*
 * Two caches serve one scan. The table here has the frame of each address and lives as long
 * as the scan: thousands of goroutines usually share some dozens of addresses, and a lookup
 * in the pclntab costs microseconds. The notes of the file (program_file_cache.h) outlive it, and
 * are shared by all processes of an executable, for the one question that is asked about
 * every goroutine, also when they are only counted: who owns it. A note must not carry what
 * one process wrote into its own memory to another, so they are used only for tables that
 * were read from the file, and their hash is seeded with everything that says where in the
 * file these tables are.
 */
#include "node-agent/go/goroutine/goroutine_code.h"

#include <errno.h>

#include "common/data/arena.h"
#include "common/data/table.h"
#include "common/system/clock.h"
#include "node-agent/gopclntab/gopclntab_frame.h"

#define BYTES_MAX ((size_t)16 * 1024 * 1024)

struct cached_code {
	uint64_t pc;
	UT_hash_handle hh;
	struct stack_frame frame;
	bool found; /* false if no function has this address */
	bool is_runtime;
	enum goroutine_owner owner; /* of goroutines that start with the function */
};

struct goroutine_code {
	const struct go_module *modules; /* borrowed */
	size_t n_modules;
	uint64_t deadline_ns;
	struct file_notes *notes; /* borrowed; NULL if nothing is shared with other processes */
	uint64_t bias;
	uint64_t notes_seed; /* a hash of where in the file the tables are */
	struct arena arena;
	struct cached_code *table;
	struct gopclntab_frame frame; /* large: not on the stack */
};

int goroutine_code_new(struct goroutine_code **ret, const struct go_module *modules,
		       size_t n_modules, uint64_t deadline_ns)
{
	struct goroutine_code *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->modules = modules;
	c->n_modules = n_modules;
	c->deadline_ns = deadline_ns;
	arena_init(&c->arena, BYTES_MAX);
	*ret = c;
	return 0;
}

static void clear(struct goroutine_code *c)
{
	HASH_CLEAR(hh, c->table);
	arena_clear(&c->arena);
}

void goroutine_code_free(struct goroutine_code *c)
{
	if (!c)
		return;
	HASH_CLEAR(hh, c->table);
	arena_fini(&c->arena);
	free(c);
}

/* ---- function names ---- */

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static bool has_prefix(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* By name, which is the same in all releases; the ids of functions are not, nor all flags. */
static enum stack_frame_kind kind_of(const struct gopclntab_frame *f)
{
	static const char *const injected[] = {"runtime.sigpanic", "runtime.asyncPreempt",
					       "runtime.debugCallV1", "runtime.debugCallV2"};

	if (f->flags & GOPCLNTAB_TOP_FRAME || strcmp(f->name, "runtime.goexit") == 0)
		return STACK_FRAME_TOP;
	if (is_one_of(f->name, injected, ARRAY_SIZE(injected)))
		return STACK_FRAME_INJECTED;
	/*
	 * cgocallback switches from the system stack to the goroutine's, and unwinds well on
	 * both
	 */
	if (f->flags & GOPCLNTAB_SP_WRITE && strcmp(f->name, "runtime.cgocallback") != 0)
		return STACK_FRAME_SP_WRITE;
	return STACK_FRAME_PLAIN;
}

static enum goroutine_owner owner_of(const char *name)
{
	static const char *const programs[] = {"runtime.main", "runtime.corostart"};
	static const char *const finalizers[] = {"runtime.runfinq", "runtime.runFinalizers",
						 "runtime.runCleanups"};

	if (!has_prefix(name, "runtime.") || is_one_of(name, programs, ARRAY_SIZE(programs)))
		return GOROUTINE_OF_PROGRAM;
	return is_one_of(name, finalizers, ARRAY_SIZE(finalizers)) ? GOROUTINE_OF_FINALIZERS
								   : GOROUTINE_OF_RUNTIME;
}

/* ---- the table ---- */

static int look_up(struct goroutine_code *c, struct cached_code *k)
{
	struct gopclntab_frame *f = &c->frame;
	int r = -ENOENT;

	/* a hostile program can have tables that are slow to search */
	if (clock_effort_ns() > c->deadline_ns)
		return -ETIME;
	for (size_t i = 0; i < c->n_modules && r == -ENOENT; i++) {
		const struct go_module *m = &c->modules[i];

		if (gopclntab_covers(&m->table, k->pc))
			r = gopclntab_find_frame(&m->table, m->source, k->pc, f);
	}
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	k->frame = (struct stack_frame){f->start, f->bytes, kind_of(f)};
	k->found = true;
	k->owner = owner_of(f->name);
	k->is_runtime = has_prefix(f->name, "runtime.") || has_prefix(f->name, "internal/runtime/");
	return 0;
}

static int get(struct goroutine_code *c, uint64_t pc, const struct cached_code **ret)
{
	struct cached_code *k;
	int r;

	HASH_FIND(hh, c->table, &pc, sizeof(pc), k);
	if (!k) {
		if (HASH_COUNT(c->table) >= GOROUTINE_CODE_MAX)
			clear(c);
		k = arena_calloc(&c->arena, 1, sizeof(*k));
		if (!k)
			return -ENOMEM;
		k->pc = pc;
		r = look_up(c, k);
		if (r < 0)
			return r;
		HASH_ADD(hh, c->table, pc, sizeof(k->pc), k);
		if (!TABLE_ADDED(hh, k))
			return -ENOMEM;
	}
	*ret = k;
	return 0;
}

int goroutine_code_find(void *ctx, uint64_t pc, struct stack_frame *ret)
{
	const struct cached_code *k = NULL;
	int r = get(ctx, pc, &k);

	if (r < 0)
		return r;
	*ret = k->frame;
	return k->found ? 0 : -ENOENT;
}

void goroutine_code_share(struct goroutine_code *c, struct file_notes *notes, uint64_t bias)
{
	const struct gopclntab *t = &c->modules[0].table;
	/*
	 * part of the key, so that a process with other tables does not share notes with the
	 * rest
	 */
	const uint64_t place[] = {
		t->offset - bias, t->size_bytes,        t->functions_offset,  t->names_offset,
		t->values_offset, t->n_functions,       t->text_start - bias, t->first - bias,
		t->end - bias,    (uint64_t)t->version, t->quantum,
	};

	if (!c->modules[0].in_file)
		return;
	c->notes = notes;
	c->bias = bias;
	c->notes_seed = XXH3_64bits_withSeed(place, sizeof(place), table_seed);
}

int goroutine_code_owner(struct goroutine_code *c, uint64_t start_pc, enum goroutine_owner *ret)
{
	bool shared = c->notes && gopclntab_covers(&c->modules[0].table, start_pc);
	uint64_t vaddr = start_pc - c->bias;
	uint64_t key = XXH3_64bits_withSeed(&vaddr, sizeof(vaddr), c->notes_seed);
	uint8_t note = shared ? file_notes_get(c->notes, key) : 0;
	const struct cached_code *k = NULL;
	int r;

	if (note != 0) {
		*ret = (enum goroutine_owner)(note - 1);
		return 0;
	}
	r = get(c, start_pc, &k);
	if (r < 0)
		return r;
	if (shared && k->found)
		file_notes_add(c->notes, key, (uint8_t)(k->owner + 1));
	*ret = k->owner;
	return 0;
}

bool goroutine_code_is_runtime(struct goroutine_code *c, const uint64_t *pcs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct cached_code *k = NULL;

		if (get(c, pcs[i], &k) == 0 && k->found && !k->is_runtime)
			return false;
	}
	return true;
}
