/*
 * To name an address takes a dozen small reads of the pclntab, and each frame inlined there a
 * few more. Profiles of one process share most addresses from round to round, and all
 * processes of an executable share them too. So results are cached per executable: texts are
 * interned, and an entry refers to them by id, as pointers would not survive the growth of
 * the string table.
 *
 * The key of an entry is the address in the file together with an origin: everything else
 * that the name depends on. If the tables were read from the file, that is their place and
 * size; otherwise it is the process as well, so that no other process gets its names. Origins are
 * few, and compared one by one. Plugins are not cached, as each process has them at other
 * addresses.
 *
 * There is no eviction: between two processes, a cache that is more than half full is emptied.
 */
#include "node-agent/go/pclntab/go_frames.h"

#include <errno.h>

#include "common/data/arena.h"
#include "common/data/intern.h"
#include "common/data/table.h"
#include "common/system/clock.h"
#include "node-agent/gopclntab/gopclntab_line.h"

#define UNKNOWN "[unknown]"
#define GOEXIT "runtime.goexit"
#define FUNCTION_ALIGN_BYTES 16u /* on amd64 and arm64 */

/* A frame, with the ids of its texts. */
struct cached_frame {
	uint32_t function;
	uint32_t file;
	uint32_t line;
	enum frame_role role;
	int32_t distance; /* of frame.address from the address that was asked for */
};

struct cached {
	uint64_t key[2]; /* address in the file; see key_of() */
	uint32_t n;
	int8_t is_runtime; /* -1 if not determined yet */
	UT_hash_handle hh;
	struct cached_frame frames[];
};

/*
 * What names depend on besides the address. The process is 0 if its tables are those of the
 * file.
 */
struct origin {
	uint64_t pid;
	uint64_t start_time;
	uint64_t minor;
	struct go_module_shape module;
};

struct go_frames {
	size_t max_bytes;
	struct arena arena;
	struct intern *texts;
	size_t texts_bytes; /* approximately */
	struct cached *table;
	struct origin origins[GO_FRAMES_ORIGINS_MAX];
	size_t n_origins;
	size_t origin; /* index of the current process's origin */
	struct go_frames_process process;
	struct gopclntab_line line; /* large: not on the stack */
	struct cached_frame found[FRAMES_PER_ADDRESS_MAX];
	size_t n_found;
};

static int clear(struct go_frames *f)
{
	HASH_CLEAR(hh, f->table);
	arena_clear(&f->arena);
	intern_free(f->texts);
	f->texts = NULL;
	f->texts_bytes = 0;
	f->n_origins = 0;
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

static struct origin origin_of(const struct go_frames_process *p)
{
	const struct go_module *m = &p->modules[0];

	return (struct origin){
		.pid = m->in_file ? 0 : (uint64_t)p->pid,
		.start_time = m->in_file ? 0 : p->start_time,
		.minor = p->minor,
		.module = go_module_shape(m, p->bias),
	};
}

/* Returns its index, or n_origins if it is new. */
static size_t find_origin(const struct go_frames *f, const struct origin *o)
{
	size_t i = 0;

	while (i < f->n_origins && memcmp(&f->origins[i], o, sizeof(*o)) != 0)
		i++;
	return i;
}

static bool is_half_full(const struct go_frames *f)
{
	return f->arena.used_bytes > f->max_bytes / 2 || f->texts_bytes > f->max_bytes / 2;
}

int go_frames_begin(struct go_frames *f, const struct go_frames_process *p)
{
	const struct origin o = origin_of(p);
	size_t i = find_origin(f, &o);
	int r;

	f->process = *p;
	if (!f->texts || is_half_full(f) || i == GO_FRAMES_ORIGINS_MAX) {
		r = clear(f);
		if (r < 0)
			return r;
		i = 0;
	}
	if (i == f->n_origins)
		f->origins[f->n_origins++] = o;
	f->origin = i;
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

/* A hostile program can have tables in which a single address takes half a second. */
static bool is_late(const struct go_frames *f)
{
	return f->process.deadline_ns != UINT64_MAX && clock_effort_ns() > f->process.deadline_ns;
}

/* Finds the function and line of the instruction at this address; the result is in f->line. */
static int find_line(struct go_frames *f, uint64_t address)
{
	const struct go_module *m = find_module(f, address);
	struct gopclntab_trees trees;
	int r;

	if (!m)
		return -ENOENT;
	trees = (struct gopclntab_trees){.memory = m->source, .gofunc = m->gofunc};
	r = gopclntab_find_line(&m->table, m->source, &trees, address, &f->line);
	if (r < 0)
		return r;
	gopclntab_line_clean(&f->line);
	return 0;
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

static int add_found(struct go_frames *f, const struct frame *found, uint64_t return_address)
{
	struct cached_frame *frame = &f->found[f->n_found];
	int r;

	frame->line = found->line;
	frame->role = found->role;
	/* within one function */
	frame->distance = (int32_t)(int64_t)(found->address - return_address);
	r = add_text(f, found->function, &frame->function);
	if (r < 0)
		return r;
	r = add_text(f, found->file, &frame->file);
	if (r < 0)
		return r;
	f->n_found++;
	return 0;
}

/* abi.FuncIDWrapper in internal/abi/symtab.go, before 1.21 in runtime/symtab.go. */
static uint8_t wrapper_id(unsigned minor)
{
	return minor <= 13 ? 20 : minor <= 17 ? 22 : minor <= 21 ? 21 : minor <= 24 ? 22 : 23;
}

static enum frame_role role_of(const struct go_frames *f)
{
	static const char *const panics[] = {"runtime.gopanic", "runtime.sigpanic",
					     "runtime.panicwrap"};

	if (f->line.id == wrapper_id(f->process.minor))
		return FRAME_WRAPPER;
	for (size_t i = 0; i < ARRAY_SIZE(panics); i++) {
		if (strcmp(f->line.name, panics[i]) == 0)
			return FRAME_PANIC;
	}
	return FRAME_PLAIN;
}

/*
 * A return address lies after its call, in the next line or even function, so the address of
 * the call is one less. The start of a function is an exception, as no call is in front of
 * it: before 1.17 stacks of the scheduler end like that, as if runtime.mstart had called
 * them. Returns 0 or an error.
 */
static int address_of_call(const struct go_frames *f, uint64_t return_address, uint64_t *ret)
{
	const struct go_module *m = find_module(f, return_address);
	struct gopclntab_function function;
	int r = -ENOENT;

	if (m && return_address % FUNCTION_ALIGN_BYTES == 0)
		r = gopclntab_find_function(&m->table, m->source, return_address, &function);
	if (r < 0 && r != -ENOENT)
		return r;
	*ret = r == 0 && function.start == return_address ? return_address : return_address - 1;
	return 0;
}

static int look_up(struct go_frames *f, uint64_t return_address, bool all)
{
	const struct frame unknown = {.function = UNKNOWN, .file = "", .address = return_address};
	uint64_t address = 0;
	size_t n = 0;
	int r = address_of_call(f, return_address, &address);

	f->n_found = 0;
	if (r < 0)
		return r;
	do {
		r = is_late(f) ? -ETIME : find_line(f, address);
		/* if only the function around an inlined one is unknown, it is left out */
		if (r == -ENOENT)
			break;
		/* where every goroutine begins: it says nothing */
		if (r == 0 && strcmp(f->line.name, GOEXIT) != 0) {
			const struct frame frame = {f->line.name, f->line.file, f->line.line,
						    address + 1, role_of(f)};

			r = add_found(f, &frame, return_address);
		}
		if (r < 0)
			return r; /* not cached as unknown: it may be readable the next time */
		address = f->line.caller;
		n++;
	} while (all && address != 0 && n < FRAMES_PER_ADDRESS_MAX);
	return n > 0 ? 0 : add_found(f, &unknown, return_address);
}

static int add_to_cache(struct go_frames *f, const uint64_t *key)
{
	size_t size = sizeof(struct cached) + f->n_found * sizeof(*f->found);
	struct cached *e = arena_calloc(&f->arena, 1, size);

	if (!e)
		return arena_error(&f->arena, size) == -EFBIG ? -ENOBUFS : -ENOMEM;
	memcpy(e->key, key, sizeof(e->key));
	e->n = (uint32_t)f->n_found;
	e->is_runtime = -1;
	memcpy(e->frames, f->found, f->n_found * sizeof(*f->found));
	HASH_ADD(hh, f->table, key, sizeof(e->key), e);
	return TABLE_ADDED(hh, e) ? 0 : -ENOMEM;
}

static void give(const struct go_frames *f, const struct cached_frame *frames, size_t n,
		 uint64_t return_address, struct frame_list *ret)
{
	size_t len;

	for (size_t i = 0; i < n; i++) {
		ret->frames[i] = (struct frame){
			.function = intern_get(f->texts, frames[i].function, &len),
			.file = intern_get(f->texts, frames[i].file, &len),
			.line = frames[i].line,
			.role = frames[i].role,
			.address = return_address + (uint64_t)(int64_t)frames[i].distance,
		};
	}
	ret->n = n;
}

/* `all` distinguishes the innermost frame alone from all frames of the address. */
static void key_of(const struct go_frames *f, uint64_t address, bool all, uint64_t ret[2])
{
	ret[0] = address - f->process.bias;
	ret[1] = f->origin * 2 + all;
}

/* Only the first module's addresses are cached: plugins are mapped elsewhere in each process. */
static struct cached *find_cached(const struct go_frames *f, const struct go_module *m,
				  const uint64_t key[2])
{
	struct cached *e = NULL;

	if (m && m == f->process.modules)
		HASH_FIND(hh, f->table, key, 2 * sizeof(*key), e);
	return e;
}

static int resolve(void *ctx, uint64_t return_address, bool all, struct frame_list *ret)
{
	struct go_frames *f = ctx;
	const struct go_module *m = find_module(f, return_address - 1);
	struct cached *e;
	uint64_t key[2];
	int r;

	key_of(f, return_address, all, key);
	e = find_cached(f, m, key);
	if (e) {
		give(f, e->frames, e->n, return_address, ret);
		return 0;
	}
	r = look_up(f, return_address, all);
	if (r < 0)
		return r;
	if (m && m == f->process.modules)
		r = add_to_cache(f, key);
	if (r < 0)
		return r;
	give(f, f->found, f->n_found, return_address, ret);
	return 0;
}

/*
 * Decides by the name at the address itself, not at the call before it, as runtime/pprof
 * does. Returns 1 or 0, or -errno if that cannot be determined at the moment.
 */
static int determine_runtime(struct go_frames *f, uint64_t address)
{
	int r = is_late(f) ? -ETIME : find_line(f, address);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return strncmp(f->line.name, "runtime.", 8) == 0 ||
	       strncmp(f->line.name, "internal/runtime/", 17) == 0;
}

static bool is_runtime(void *ctx, uint64_t address)
{
	struct go_frames *f = ctx;
	const struct go_module *m = find_module(f, address - 1);
	struct cached *e;
	uint64_t key[2];
	int r;

	key_of(f, address, false, key);
	e = find_cached(f, m, key);
	if (!e) {
		key_of(f, address, true, key);
		e = find_cached(f, m, key);
	}
	if (e && e->is_runtime >= 0)
		return e->is_runtime;
	r = determine_runtime(f, address);
	if (e && r >= 0)
		e->is_runtime = (int8_t)r;
	return r > 0;
}

struct frame_resolver go_frames_resolver(struct go_frames *f)
{
	return (struct frame_resolver){.resolve = resolve, .is_runtime = is_runtime, .ctx = f};
}
