#include "cluster-agent/otlp/otlp_frames.h"

#include <errno.h>

#include "common/pprof/code_file.h"

#define KERNEL "[kernel]"
#define UNKNOWN "[unknown]"

static struct profile_string copy(struct otlp_frames *f, const void *text, size_t len)
{
	char *s = arena_strndup(f->arena, text, len);

	return (struct profile_string){.data = s, .len = s ? len : 0};
}

static struct code_file code_file_of(const struct otlp_file *f)
{
	return (struct code_file){
		.path = {f->path.len > 0 ? (const char *)f->path.data : "", f->path.len},
		.build_id = {f->build_id.len > 0 ? (const char *)f->build_id.data : "",
			     f->build_id.len},
		.memory_start = f->memory_start,
		.offset = f->offset,
	};
}

static struct profile_string module(struct otlp_frames *f, const struct otlp_frame_source *s,
				    bool with_build_id)
{
	const struct code_file file = code_file_of(&f->files[s->file]);

	return s->is_kernel ? copy(f, KERNEL, strlen(KERNEL))
			    : code_file_module(&file, with_build_id, f->arena);
}

static struct profile_string unnamed(struct otlp_frames *f, const struct otlp_frame_source *s)
{
	const struct code_file file = code_file_of(&f->files[s->file]);

	return s->is_kernel ? copy(f, UNKNOWN, strlen(UNKNOWN))
			    : code_file_frame(&file, s->address, f->arena);
}

/* Returns the number of the new function, or -ENOMEM. */
static int64_t add_function(struct otlp_frames *f, struct profile_string name,
			    struct profile_string file)
{
	if (!name.data || !file.data)
		return -ENOMEM;
	if (f->n_functions == f->max_functions) {
		uint32_t max = f->max_functions ? 2 * f->max_functions : 256;
		struct profile_function *more = arena_alloc(f->arena, (size_t)max * sizeof(*more));

		if (!more)
			return -ENOMEM;
		if (f->n_functions > 0)
			memcpy(more, f->functions, f->n_functions * sizeof(*more));
		f->functions = more;
		f->max_functions = max;
	}
	f->functions[f->n_functions] = (struct profile_function){.name = name, .file = file};
	return f->n_functions++;
}

/*
 * The function for a line. One that has no source file is shown with the file that its code is in,
 * which is nearly always the same.
 */
static int64_t named_function(struct otlp_frames *f, struct otlp_name *n,
			      const struct otlp_frame_source *s)
{
	bool has_file = n->file.len > 0 && !s->is_kernel;
	int64_t made;

	if (n->made > 0 && n->made_kernel == s->is_kernel && (has_file || n->made_for == s->file))
		return n->made - 1;
	made = add_function(
		f, copy(f, n->name.data, n->name.len),
		has_file ? code_file_text(f->arena, (const char *)n->file.data, n->file.len)
			 : module(f, s, false));
	if (made < 0)
		return made;
	n->made = (uint32_t)made + 1;
	n->made_for = s->file;
	n->made_kernel = s->is_kernel;
	return made;
}

struct lines {
	struct otlp_frames *frames;
	const struct otlp_frame_source *source;
	struct profile_line *items;
	uint32_t n;
};

static int add_line(void *ctx, const struct otlp_line *line)
{
	struct lines *l = ctx;
	struct otlp_frames *f = l->frames;
	struct otlp_name *name;
	int64_t function;

	if (line->function_index == 0)
		return 0;
	if (line->function_index < 0 || (uint32_t)line->function_index >= f->n_names)
		return -ENOENT;
	name = &f->names[line->function_index];
	if (name->name.len == 0)
		return 0;
	function = named_function(f, name, l->source);
	if (function < 0)
		return (int)function;
	l->items[l->n++] = (struct profile_line){
		.function = (uint32_t)function,
		.line = line->line > 0 && !l->source->is_kernel ? line->line : 0,
	};
	return 0;
}

int otlp_frames_make(struct otlp_frames *f, const struct otlp_frame_source *source,
		     struct profile_location *ret)
{
	struct lines lines = {.frames = f, .source = source};
	int e;

	lines.items = arena_calloc(f->arena, source->n_lines + 1, sizeof(*lines.items));
	if (!lines.items)
		return -ENOMEM;
	e = otlp_each_line(source->message, add_line, &lines);
	if (e < 0)
		return e;
	if (lines.n == 0) {
		int64_t function = add_function(f, unnamed(f, source), module(f, source, true));

		if (function < 0)
			return (int)function;
		lines.items[lines.n++].function = (uint32_t)function;
	}
	*ret = (struct profile_location){
		.lines = lines.items,
		.n_lines = lines.n,
		.address = source->address,
	};
	return 0;
}
