#include "node-agent/interpreter/process/interpreter_files.h"

#include <errno.h>

#include "common/data/table.h"
#include "common/telemetry/log.h"
#include "node-agent/interpreter/dotnet/dotnet_interpreter.h"
#include "node-agent/interpreter/erlang/erlang_interpreter.h"
#include "node-agent/interpreter/hotspot/hotspot_interpreter.h"
#include "node-agent/interpreter/interpreter_symbols.h"
#include "node-agent/interpreter/lua/lua_interpreter.h"
#include "node-agent/interpreter/lua/luajit_interpreter.h"
#include "node-agent/interpreter/perl/perl_interpreter.h"
#include "node-agent/interpreter/php/php_interpreter.h"
#include "node-agent/interpreter/python/python_interpreter.h"
#include "node-agent/interpreter/python/python_tasks.h"
#include "node-agent/interpreter/ruby/ruby_interpreter.h"
#include "node-agent/interpreter/thread_variable.h"
#include "node-agent/interpreter/v8/v8_interpreter.h"

#define FILES_MAX 4096u

struct file {
	UT_hash_handle hh;
	struct file_id id;
	int recognised;                    /* 0: image is there; or why it is not */
	struct interpreter_image *image;   /* owned */
	const struct interpreter_ops *ops; /* that have recognised it */
	bool is_reported;                  /* that it is not known */
	struct libc_threads libc;          /* stride 0: it is none */
	struct python_tasks tasks;         /* running 0: it has none */
	struct thread_variable variables[CHAIN_PATHS + CHAIN_STATES]; /* of the image's roots */
	struct elf_segment segments[ELF_LAYOUT_SEGMENTS_MAX]; /* executable, with an image */
	uint32_t n_segments;
};

struct interpreter_files {
	struct deadline_caller *caller;
	struct process_memory *memory;
	bool with_tasks;
	struct file *files;       /* the oldest first */
	struct elf_layout layout; /* of the file being read */
	struct log_limit limits[INTERPRETER_MAX];
};

static const struct interpreter_ops *const all_ops[INTERPRETER_MAX] = {
	[INTERPRETER_JAVA] = &hotspot_interpreter_ops,
	[INTERPRETER_PYTHON] = &python_interpreter_ops,
	[INTERPRETER_PHP] = &php_interpreter_ops,
	[INTERPRETER_RUBY] = &ruby_interpreter_ops,
	[INTERPRETER_PERL] = &perl_interpreter_ops,
	[INTERPRETER_LUA] = &lua_interpreter_ops,
	[INTERPRETER_V8] = &v8_interpreter_ops,
	[INTERPRETER_LUAJIT] = &luajit_interpreter_ops,
	[INTERPRETER_ERLANG] = &erlang_interpreter_ops,
	[INTERPRETER_DOTNET] = &dotnet_interpreter_ops,
};

const struct interpreter_ops *interpreter_ops_of(enum interpreter_language language)
{
	return language < INTERPRETER_MAX ? all_ops[language] : NULL;
}

int interpreter_files_new(struct interpreter_files **ret, struct deadline_caller *caller,
			  struct process_memory *memory)
{
	struct interpreter_files *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->caller = caller;
	f->memory = memory;
	*ret = f;
	return 0;
}

void interpreter_files_add_tasks(struct interpreter_files *f)
{
	f->with_tasks = true;
}

static void forget(struct interpreter_files *f, struct file *e)
{
	HASH_DEL(f->files, e);
	free(e->image);
	table_free(e);
}

void interpreter_files_free(struct interpreter_files *f)
{
	if (!f)
		return;
	while (f->files)
		forget(f, f->files);
	free(f);
}

/* ---- files ---- */

static int find_variable(const struct interpreter_files *f, const struct byte_source *src,
			 const struct interpreter_root *root, struct thread_variable *ret)
{
	if (root->kind != INTERPRETER_ROOT_GETTER)
		return 0;
	return thread_variable_of_getter(&f->layout, src, root->vaddr, ret);
}

/* A root that is not understood is none; without the first of them there is no image. */
static int find_variables(const struct interpreter_files *f, const struct byte_source *src,
			  struct file *e)
{
	struct interpreter_image *image = e->image;
	bool any = e->ops->add_layout != NULL;

	for (size_t i = 0; i < CHAIN_PATHS + CHAIN_STATES; i++) {
		struct interpreter_root *root =
			i < CHAIN_PATHS ? &image->roots[i] : &image->states[i - CHAIN_PATHS];

		if (find_variable(f, src, root, &e->variables[i]) < 0)
			root->kind = INTERPRETER_ROOT_NONE;
		any |= i < CHAIN_PATHS && root->kind != INTERPRETER_ROOT_NONE;
	}
	return any ? 0 : -ENOTSUP;
}

static void keep_segments(const struct interpreter_files *f, struct file *e)
{
	for (uint32_t i = 0; i < f->layout.n_segments; i++) {
		if (f->layout.segments[i].executable)
			e->segments[e->n_segments++] = f->layout.segments[i];
	}
}

/* Most files have no interpreter, and are read once to know that. */
static int find_marks(const struct interpreter_files *f, const struct byte_source *src,
		      uint64_t vaddrs[INTERPRETER_MAX])
{
	const char *marks[INTERPRETER_MAX] = {""};

	for (size_t i = INTERPRETER_NONE + 1; i < INTERPRETER_MAX; i++)
		marks[i] = all_ops[i]->mark;
	vaddrs[INTERPRETER_NONE] = 0;
	return interpreter_symbols_find(&f->layout, src, marks + 1, vaddrs + 1,
					INTERPRETER_MAX - 1);
}

static int recognise(struct interpreter_files *f, const struct byte_source *src, struct file *e)
{
	struct interpreter_image image;
	uint64_t marks[INTERPRETER_MAX];
	int r = find_marks(f, src, marks);

	r = r < 0 ? r : -ENOENT;
	for (size_t i = INTERPRETER_NONE + 1; r == -ENOENT && i < INTERPRETER_MAX; i++) {
		if (marks[i] == 0)
			continue;
		memset(&image, 0, sizeof(image));
		e->ops = all_ops[i];
		r = e->ops->recognise(&f->layout, src, &image);
	}
	if (r < 0)
		return r;
	e->image = malloc(sizeof(*e->image));
	if (!e->image)
		return -ENOMEM;
	*e->image = image;
	keep_segments(f, e);
	return find_variables(f, src, e);
}

static void read_file(struct interpreter_files *f, const struct mapped_file *m, struct file *e)
{
	struct byte_source src;
	int r;

	if (m->may_hang)
		byte_source_from_slow_fd(&src, m->fd, m->id.size_bytes, f->caller, m->id.dev);
	else
		byte_source_from_fd(&src, m->fd, m->id.size_bytes);
	r = elf_layout_parse(&f->layout, &src);
	if (r < 0) {
		e->recognised = r == -ENOEXEC || r == -EBADMSG ? -ENOENT : r;
		return;
	}
	e->recognised = recognise(f, &src, e);
	(void)!libc_threads_find(&f->layout, &src, &e->libc);
	(void)!python_tasks_read(&f->layout, &src, &e->tasks);
}

static struct file *get(struct interpreter_files *f, const struct mapped_file *m)
{
	struct file *e;

	HASH_FIND(hh, f->files, &m->id, sizeof(m->id), e);
	if (e)
		return e;
	if (m->fd < 0)
		return NULL;
	if (HASH_COUNT(f->files) >= FILES_MAX)
		forget(f, f->files);
	e = table_malloc(sizeof(*e));
	if (!e)
		return NULL;
	memset(e, 0, sizeof(*e));
	e->id = m->id;
	read_file(f, m, e);
	/* it may be possible to read it later */
	if (e->recognised < 0 && e->recognised != -ENOENT && e->recognised != -ENOTSUP) {
		free(e->image);
		table_free(e);
		return NULL;
	}
	HASH_ADD(hh, f->files, id, sizeof(e->id), e);
	if (TABLE_ADDED(hh, e))
		return e;
	free(e->image);
	table_free(e);
	return NULL;
}

/* ---- processes ---- */

struct found {
	struct file *interpreter; /* NULL: none */
	struct mapped_file *mapped;
	uint64_t bias;
	const struct file *libc;    /* likewise */
	const struct file *asyncio; /* has tasks; likewise */
	struct file *unknown;       /* has an interpreter that is not known; likewise */
	struct mapped_file *unknown_mapped;
};

/* Whether the mapping has code of the file, and what is to be added to addresses in the file. */
static bool bias_of(const struct file *e, const struct process_mapping *m, uint64_t *ret)
{
	const uint64_t page_mask = ~UINT64_C(4095);

	for (uint32_t i = 0; i < e->n_segments; i++) {
		const struct elf_segment *s = &e->segments[i];

		if (m->file_offset < (s->offset & page_mask) ||
		    m->file_offset >= s->offset + s->file_bytes)
			continue;
		*ret = m->start - (s->vaddr + (m->file_offset - s->offset));
		return true;
	}
	return false;
}

static enum interpreter_language language_of(const struct interpreter_ops *ops)
{
	enum interpreter_language i = INTERPRETER_NONE + 1;

	while (i < INTERPRETER_MAX - 1 && all_ops[i] != ops)
		i++;
	return i;
}

static void look(struct interpreter_files *f, const struct process_snapshot *s, struct found *ret)
{
	*ret = (struct found){0};
	for (size_t i = 0; i < s->n_mappings; i++) {
		const struct process_mapping *m = &s->mappings[i];
		struct file *e = m->file ? get(f, m->file) : NULL;

		if (!e)
			continue;
		if (!ret->interpreter && e->recognised == 0 && bias_of(e, m, &ret->bias)) {
			ret->interpreter = e;
			ret->mapped = m->file;
			atomic_store(&m->file->has_interpreter, true);
		} else if (e->recognised == -ENOTSUP && !ret->unknown) {
			ret->unknown = e;
			ret->unknown_mapped = m->file;
			atomic_store(&m->file->unknown_interpreter,
				     (unsigned char)language_of(e->ops));
		}
		if (!ret->libc && e->libc.keys.stride != 0)
			ret->libc = e;
		if (!ret->asyncio && e->tasks.running != 0)
			ret->asyncio = e;
	}
}

/* Says what is not known, sets the language, and returns -ENOTSUP. */
static int report_unknown(struct interpreter_files *f, struct file *e, struct mapped_file *m,
			  struct chain_layout *ret)
{
	enum interpreter_language language = language_of(e->ops);

	*ret = (struct chain_layout){.language = (uint8_t)language};
	atomic_store(&m->unknown_interpreter, (unsigned char)language);
	if (!e->is_reported)
		log_line_limited(&f->limits[language], LOG_LEVEL_WARN,
				 "an interpreter is of a release that is not known; its functions "
				 "are not shown",
				 "language=%s file=%s", e->ops->name, LOG_QUOTED(m->path));
	e->is_reported = true;
	return -ENOTSUP;
}

const struct mapped_file *interpreter_files_unknown(const struct process_snapshot *s)
{
	const struct mapped_file *ret = NULL;

	for (size_t i = 0; i < s->n_mappings; i++) {
		struct mapped_file *m = s->mappings[i].file;

		if (m && atomic_load(&m->unknown_interpreter) != INTERPRETER_NONE)
			ret = ret ? ret : m;
		else if (m && atomic_load(&m->has_interpreter))
			return NULL;
	}
	return ret;
}

/* Reads what is not in the file. */
static int complete(const struct interpreter_files *f, const struct process_snapshot *s,
		    const struct found *p)
{
	struct interpreter_image *image = p->interpreter->image;
	const struct interpreter_ops *ops = p->interpreter->ops;
	struct interpreter_memory memory;
	int r;

	if (!ops->complete)
		return 0;
	if (!f->memory)
		return -ENOTSUP;
	r = process_memory_get(f->memory, s, &memory);
	return r == 0 ? ops->complete(image, p->bias, &memory) : r;
}

int interpreter_files_find(struct interpreter_files *f, const struct process_snapshot *s,
			   struct interpreter_process *ret)
{
	struct found found;
	int r;

	look(f, s, &found);
	if (!found.interpreter)
		return found.unknown ? -ENOTSUP : -ENOENT;
	r = complete(f, s, &found);
	if (r < 0)
		return r;
	*ret = (struct interpreter_process){found.interpreter->image, found.bias, found.mapped};
	return 0;
}

/* What a table of the C library has for a number in the process. */
static int begin_with_table(const struct found *p, uint64_t vaddr, bool is_key, uint8_t shift,
			    struct chain_path *ret)
{
	const struct libc_threads *libc = p->libc ? &p->libc->libc : NULL;

	if (!libc)
		return -EAGAIN;
	ret->origin = CHAIN_KEY;
	ret->word = p->bias + vaddr;
	ret->table = is_key ? libc->keys : libc->modules;
	if (is_key)
		ret->table.key_shift = shift;
	return 0;
}

/* Returns 0, or -EAGAIN if the C library is needed and not known. */
static int begin_path(const struct found *p, const struct interpreter_root *root,
		      const struct thread_variable *v, struct chain_path *ret)
{
	int r;

	switch (root->kind) {
	case INTERPRETER_ROOT_NONE:
	case INTERPRETER_ROOT_TLS:
		return 0;
	case INTERPRETER_ROOT_CALL:
		ret->origin = CHAIN_CALL;
		return 0;
	case INTERPRETER_ROOT_GLOBAL:
		ret->origin = CHAIN_FIXED;
		ret->steps[ret->n_steps++] = (int64_t)(p->bias + root->vaddr);
		ret->own = root->of_this_thread ? ret->n_steps : 0;
		return 0;
	case INTERPRETER_ROOT_KEY_MADE:
	case INTERPRETER_ROOT_KEY:
		return begin_with_table(p, root->vaddr, true,
					root->kind == INTERPRETER_ROOT_KEY_MADE ? 32 : 0, ret);
	case INTERPRETER_ROOT_GETTER:
		break;
	}
	switch (v->kind) {
	case THREAD_VARIABLE_OFFSET:
		ret->origin = CHAIN_THREAD;
		break;
	case THREAD_VARIABLE_LINKED:
		ret->origin = CHAIN_THREAD_AT;
		ret->word = p->bias + v->vaddr;
		break;
	case THREAD_VARIABLE_MODULE:
		r = begin_with_table(p, v->vaddr, false, 0, ret);
		if (r < 0)
			return r;
		break;
	case THREAD_VARIABLE_KEY:
		return begin_with_table(p, v->vaddr, true, 0, ret);
	}
	ret->steps[ret->n_steps++] = v->offset;
	return 0;
}

/* On failure there is no path. */
static int make_path(const struct found *p, const struct interpreter_root *root,
		     const struct thread_variable *v, struct chain_path *ret)
{
	int r;

	*ret = (struct chain_path){.origin = CHAIN_NONE};
	r = begin_path(p, root, v, ret);
	if (r < 0 || ret->origin == CHAIN_NONE)
		return r;
	if (root->anchor > 0)
		ret->anchor = (uint8_t)(ret->n_steps + root->anchor);
	for (size_t i = 0; i < root->n_steps && i < CHAIN_STEPS; i++) {
		if (ret->n_steps == CHAIN_STEPS) {
			ret->origin = CHAIN_NONE;
			return -ENOTSUP;
		}
		ret->steps[ret->n_steps++] = root->steps[i];
	}
	return 0;
}

static void set_loops(const struct found *p, struct chain_layout *ret)
{
	const struct interpreter_image *image = p->interpreter->image;
	uint64_t first = image->n_loops > 0 ? image->loops[0].start : 0;

	ret->loop = p->bias + first;
	for (uint32_t i = 0; i < image->n_loops && i < CHAIN_RANGES; i++) {
		const struct interpreter_range *range = &image->loops[i];

		if (range->start < first || range->end - first > UINT32_MAX)
			break;
		ret->starts[i] = (uint32_t)(range->start - first);
		ret->ends[i] = (uint32_t)(range->end - first);
		ret->loop_bytes = ret->ends[i];
		ret->n_ranges = (uint8_t)(i + 1);
	}
}

/*
 * Memory that processes share holds the code that opcache makes for all of them; other compilers
 * in them, as PCRE's, use their own. Until there is any, no code is the loop's guest.
 */
static void set_guest(const struct found *p, const struct process_snapshot *s,
		      struct chain_layout *ret)
{
	struct chain_guest *g = &ret->guest;

	*g = p->interpreter->image->guest;
	for (size_t i = 0; i < CHAIN_RETURNS; i++)
		g->returns[i] += p->bias;
	for (size_t i = 0; i < s->n_mappings; i++) {
		const struct process_mapping *m = &s->mappings[i];

		if (m->kind != PROCESS_MAPPING_ANONYMOUS || m->map_ino == 0)
			continue;
		if (g->code_bytes == 0)
			g->code = m->start;
		else if (g->code + g->code_bytes != m->start)
			break;
		g->code_bytes = m->end - g->code;
	}
}

/* What layouts of this kind have beside paths and frames. */
static void set_rest(const struct found *p, const struct process_snapshot *s,
		     struct chain_layout *ret)
{
	const struct interpreter_image *image = p->interpreter->image;

	switch (image->frames.next_is) {
	case CHAIN_NEXT_CALL:
		ret->calls = image->calls;
		break;
	case CHAIN_NEXT_SLOT:
		ret->slots = image->slots;
		break;
	case CHAIN_NEXT_SCAN:
		ret->scan = image->scan;
		ret->scan.back += p->bias;
		break;
	default:
		if (image->flags & CHAIN_IN_LOOPS_FRAME)
			set_guest(p, s, ret);
		else
			ret->stacks = image->stacks;
		break;
	}
}

/* Without a path to the task that runs, there are none. */
static void add_tasks(const struct found *p, struct chain_layout *ret)
{
	struct interpreter_root running;

	if (python_tasks_add(p->interpreter->image, p->bias, &p->asyncio->tasks, ret, &running))
		(void)make_path(p, &running, &p->interpreter->variables[0], &ret->first_at);
}

int interpreter_files_layout(struct interpreter_files *f, const struct process_snapshot *s,
			     struct chain_layout *ret)
{
	const struct interpreter_image *image;
	const struct interpreter_ops *ops;
	bool any = false;
	struct found p;
	int r;

	look(f, s, &p);
	if (!p.interpreter)
		return p.unknown ? report_unknown(f, p.unknown, p.unknown_mapped, ret) : -ENOENT;
	image = p.interpreter->image;
	ops = p.interpreter->ops;
	r = complete(f, s, &p);
	if (r < 0)
		return r == -ENOTSUP ? report_unknown(f, p.interpreter, p.mapped, ret) : r;
	*ret = (struct chain_layout){
		.frames = image->frames,
		.language = (uint8_t)image->language,
		.flags = image->flags,
	};
	set_loops(&p, ret);
	if (ops->add_layout) {
		ops->add_layout(image, p.bias, ret);
		return 0;
	}
	set_rest(&p, s, ret);
	memcpy(ret->texts, image->texts, sizeof(ret->texts));
	for (size_t i = 0; i < CHAIN_PATHS; i++) {
		int error = make_path(&p, &image->roots[i], &p.interpreter->variables[i],
				      &ret->paths[i]);

		if (error < 0)
			r = error;
		any |= ret->paths[i].origin != CHAIN_NONE;
	}
	for (size_t i = 0; i < CHAIN_STATES; i++) {
		(void)make_path(&p, &image->states[i], &p.interpreter->variables[CHAIN_PATHS + i],
				&ret->states[i]);
		ret->states[i].shift = image->state_shifts[i] & 63;
	}
	(void)make_path(&p, &image->thread, &(struct thread_variable){0}, &ret->thread);
	if (image->frames.next_is == CHAIN_NEXT_ELEMENT)
		(void)make_path(&p, &image->first_at, &p.interpreter->variables[0], &ret->first_at);
	if (f->with_tasks && p.asyncio)
		add_tasks(&p, ret);
	if (any) /* one path is enough: a program that is linked statically has no C library */
		return 0;
	return r < 0 && r != -ENOTSUP ? r : report_unknown(f, p.interpreter, p.mapped, ret);
}
