#include "cluster-agent/otlp/otlp_frames.h"

#include <errno.h>
#include <inttypes.h>

#define KERNEL "[kernel]"
#define UNKNOWN "[unknown]"
#define BUILD_ID_MAX_BYTES 64u

static struct profile_string copy(struct otlp_frames *f, const void *text, size_t len)
{
	char *s = arena_strndup(f->arena, text, len);

	return (struct profile_string){.data = s, .len = s ? len : 0};
}

/* Of a frame, the file is what is behind the last blank, so it must not have one. */
static struct profile_string copy_file(struct otlp_frames *f, struct otlp_bytes file)
{
	char *s = arena_strndup(f->arena, file.data ? (const char *)file.data : "", file.len);
	size_t len = s ? file.len : 0;

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)s[i] <= ' ' || s[i] == 0x7f)
			s[i] = '_';
	return (struct profile_string){.data = s, .len = len};
}

static struct otlp_bytes base_name(struct otlp_bytes path)
{
	size_t begin = path.len;

	while (begin > 0 && path.data[begin - 1] != '/')
		begin--;
	return path.len > 0 ? (struct otlp_bytes){path.data + begin, path.len - begin} : path;
}

/* "[libc.so.6]" or "[libc.so.6:<build id>]"; "" without a file */
static struct profile_string module(struct otlp_frames *f, const struct otlp_frame_source *s,
				    bool with_build_id)
{
	const struct otlp_file *file = &f->files[s->file];
	struct otlp_bytes id = with_build_id ? file->build_id : (struct otlp_bytes){.len = 0};
	struct otlp_bytes name;
	struct profile_string ret = {"", 0};
	char *text;
	int len;

	if (s->is_kernel)
		return copy(f, KERNEL, strlen(KERNEL));
	name = base_name(file->path);
	if (name.len == 0 && id.len == 0)
		return ret;
	if (id.len > BUILD_ID_MAX_BYTES)
		id.len = BUILD_ID_MAX_BYTES;
	text = arena_alloc(f->arena, name.len + id.len + 4);
	if (!text)
		return (struct profile_string){.len = 0};
	/* a path that begins with '[', such as "[vdso]", is used as it is */
	if (name.len > 2 && name.data[0] == '[' && name.data[name.len - 1] == ']')
		len = snprintf(text, name.len + id.len + 4, "%.*s", (int)name.len,
			       (const char *)name.data);
	else
		len = snprintf(text, name.len + id.len + 4, "[%.*s%s%.*s]", (int)name.len,
			       (const char *)name.data, id.len > 0 ? ":" : "", (int)id.len,
			       id.data ? (const char *)id.data : "");
	return copy_file(f, (struct otlp_bytes){(const uint8_t *)text, (size_t)len});
}

/* Addresses in memory become offsets in the file, where it is known which part of it lies there. */
static uint64_t address_in_file(const struct otlp_file *file, uint64_t address)
{
	return file->memory_start > 0 && address >= file->memory_start
		       ? address - file->memory_start + file->offset
		       : address;
}

static struct profile_string unnamed(struct otlp_frames *f, const struct otlp_frame_source *s)
{
	const struct otlp_file *file = &f->files[s->file];
	struct otlp_bytes name = {.len = 0};
	size_t size;
	char *text;
	int len;

	if (!s->is_kernel)
		name = base_name(file->path);
	if (name.len == 0)
		return copy(f, UNKNOWN, strlen(UNKNOWN));
	size = name.len + sizeof("+0x0123456789abcdef");
	text = arena_alloc(f->arena, size);
	if (!text)
		return (struct profile_string){.len = 0};
	len = snprintf(text, size, "%.*s+0x%" PRIx64, (int)name.len, (const char *)name.data,
		       address_in_file(file, s->address));
	return (struct profile_string){.data = text, .len = (size_t)len};
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
	made = add_function(f, copy(f, n->name.data, n->name.len),
			    has_file ? copy_file(f, n->file) : module(f, s, false));
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
