#include "node-agent/heap/go_frames.h"

#include <errno.h>

#include "common/arena.h"
#include "common/intern.h"
#include "common/table.h"
#include "node-agent/symbol/gopclntab_line.h"

#define UNKNOWN "[unknown]"

/* One frame as ids of texts: those outlive the table's growth. */
struct cached_frame {
	uint32_t function;
	uint32_t file;
	uint32_t line;
};

struct cached {
	uint64_t key[2]; /* address in the file; 1: with what is around its inlined calls */
	uint32_t n;
	UT_hash_handle hh;
	struct cached_frame frames[];
};

struct go_frames {
	size_t max_bytes;
	struct arena arena;
	struct intern *texts;
	size_t texts_bytes; /* about */
	struct cached *table;
	struct go_frames_process process;
	struct gopclntab_line line; /* large: not on the stack */
	struct cached_frame found[HEAP_FRAMES_MAX];
	size_t n_found;
};

static int clear(struct go_frames *f)
{
	HASH_CLEAR(hh, f->table);
	arena_clear(&f->arena);
	intern_free(f->texts);
	f->texts = NULL;
	f->texts_bytes = 0;
	return intern_new(&f->texts, f->max_bytes);
}

int go_frames_new(struct go_frames **ret, size_t max_bytes)
{
	CLEANUP(go_frames_freep) struct go_frames *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->max_bytes = max_bytes;
	arena_init(&f->arena, max_bytes);
	r = clear(f);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(f);
	return 0;
}

void go_frames_free(struct go_frames *f)
{
	if (!f)
		return;
	HASH_CLEAR(hh, f->table);
	arena_fini(&f->arena);
	intern_free(f->texts);
	free(f);
}

int go_frames_begin(struct go_frames *f, const struct go_frames_process *p)
{
	f->process = *p;
	if (!f->texts || f->arena.used_bytes > f->max_bytes / 2 ||
	    f->texts_bytes > f->max_bytes / 2)
		return clear(f);
	return 0;
}

size_t go_frames_bytes(const struct go_frames *f)
{
	return f->arena.used_bytes + f->texts_bytes;
}

static const struct go_module *find_module(const struct go_frames *f, uint64_t address)
{
	for (size_t i = 0; i < f->process.n_modules; i++) {
		if (gopclntab_covers(&f->process.modules[i].table, address))
			return &f->process.modules[i];
	}
	return NULL;
}

/* Of the instruction at this address, into f->line. */
static int find_line(struct go_frames *f, uint64_t address)
{
	const struct go_module *m = find_module(f, address);
	struct gopclntab_trees trees = {.memory = f->process.memory};

	if (!m)
		return -ENOENT;
	trees.gofunc = m->gofunc;
	return gopclntab_find_line(&m->table, f->process.memory, &trees, address, &f->line);
}

static int add_text(struct go_frames *f, const char *text, uint32_t *ret)
{
	size_t len = strlen(text);
	uint32_t n = intern_count(f->texts);
	int r = intern_add(f->texts, text, len, ret);

	if (intern_count(f->texts) > n)
		f->texts_bytes += len + 1;
	return r == -EFBIG ? -ENOBUFS : r;
}

static int add_found(struct go_frames *f, const char *function, const char *file, uint32_t line)
{
	struct cached_frame *frame = &f->found[f->n_found];
	int r;

	frame->line = line;
	r = add_text(f, function, &frame->function);
	if (r == 0)
		r = add_text(f, file, &frame->file);
	if (r == 0)
		f->n_found++;
	return r;
}

/* A return address is behind its call, in the next instruction or even function. */
static int look_up(struct go_frames *f, uint64_t return_address, bool all)
{
	uint64_t address = return_address - 1;
	int r;

	f->n_found = 0;
	do {
		r = find_line(f, address);
		/* an unknown caller of a known function is left out */
		if (r == -ENOENT)
			break;
		if (r < 0)
			return r; /* what cannot be read now is not unknown for ever */
		r = add_found(f, f->line.name, f->line.file, f->line.line);
		if (r < 0)
			return r;
		address = f->line.caller;
	} while (all && address != 0 && f->n_found < HEAP_FRAMES_MAX);
	return f->n_found > 0 ? 0 : add_found(f, UNKNOWN, "", 0);
}

static int keep(struct go_frames *f, const uint64_t *key)
{
	size_t size = sizeof(struct cached) + f->n_found * sizeof(*f->found);
	struct cached *e = arena_calloc(&f->arena, 1, size);

	if (!e)
		return arena_error(&f->arena, size) == -EFBIG ? -ENOBUFS : -ENOMEM;
	memcpy(e->key, key, sizeof(e->key));
	e->n = (uint32_t)f->n_found;
	memcpy(e->frames, f->found, f->n_found * sizeof(*f->found));
	HASH_ADD(hh, f->table, key, sizeof(e->key), e);
	return TABLE_ADDED(hh, e) ? 0 : -ENOMEM;
}

static void give(const struct go_frames *f, const struct cached_frame *frames, size_t n,
		 struct heap_frames *ret)
{
	size_t len;

	for (size_t i = 0; i < n; i++) {
		ret->frames[i] = (struct heap_frame){
			.function = intern_get(f->texts, frames[i].function, &len),
			.file = intern_get(f->texts, frames[i].file, &len),
			.line = frames[i].line,
		};
	}
	ret->n = n;
}

static int resolve(void *ctx, uint64_t return_address, bool all, struct heap_frames *ret)
{
	struct go_frames *f = ctx;
	const struct go_module *m = find_module(f, return_address - 1);
	uint64_t key[2] = {return_address - f->process.bias, all};
	struct cached *e = NULL;
	int r;

	/* plugins lie elsewhere in each process */
	if (m == f->process.modules)
		HASH_FIND(hh, f->table, key, sizeof(key), e);
	if (e) {
		give(f, e->frames, e->n, ret);
		return 0;
	}
	r = look_up(f, return_address, all);
	if (r == 0 && m && m == f->process.modules)
		r = keep(f, key);
	if (r == 0)
		give(f, f->found, f->n_found, ret);
	return r;
}

/* By the name at the address itself, not at the call before: so does runtime/pprof. */
static bool is_runtime(void *ctx, uint64_t address)
{
	struct go_frames *f = ctx;

	return find_line(f, address) == 0 && (strncmp(f->line.name, "runtime.", 8) == 0 ||
					      strncmp(f->line.name, "internal/runtime/", 17) == 0);
}

struct heap_symbols go_frames_symbols(struct go_frames *f)
{
	return (struct heap_symbols){.resolve = resolve, .is_runtime = is_runtime, .ctx = f};
}
