/*
 * Rows have one text per frame, pprof has one location per address, with a line for each call that
 * is inlined there. So frames marked as inlined and the frame behind them become one location
 * again: its key is the sequence of their texts' ids.
 */
#include "cluster-agent/query/export/pprof_export.h"

#include <errno.h>

#include "cluster-agent/query/read/profile_types.h"
#include "common/data/array.h"
#include "common/flame/frame_text.h"
#include "common/limits.h"
#include "common/pprof/code_file.h"
#include "common/pprof/go_pgo.h"
#include "common/pprof/pprof_encode.h"
#include "common/text/rfc3339.h"

#define MAX_TEXT_BYTES ((size_t)64 << 20)
#define MAX_LOCATION_BYTES ((size_t)32 << 20)
/* Where the files of unnamed frames are mapped, each at a multiple. */
#define FILE_SPACE ((uint64_t)1 << 40)
#define MAX_FILES (1u << 16)
#define PAGE ((uint64_t)4096)

int pprof_export_init(struct pprof_export *e, uint32_t max_samples)
{
	*e = (struct pprof_export){.max_samples = max_samples};
	arena_init(&e->arena, LIMIT_PPROF_ARENA_BYTES);
	e->samples = arena_calloc(&e->arena, max_samples + 1, sizeof(*e->samples));
	if (!e->samples)
		return -ENOMEM;
	if (intern_new(&e->texts, MAX_TEXT_BYTES) < 0)
		return -ENOMEM;
	return intern_new(&e->locations, MAX_LOCATION_BYTES);
}

void pprof_export_fini(struct pprof_export *e)
{
	intern_free(e->texts);
	intern_free(e->locations);
	intern_free(e->starts);
	free(e->lines);
	e->texts = e->locations = e->starts = NULL;
	e->lines = NULL;
	arena_fini(&e->arena);
}

static bool is_inlined(const struct flame_frame *f)
{
	struct frame_text parts;

	frame_text_split(&parts, f->text, f->len);
	return parts.inlined;
}

/*
 * Stores the locations of a stack and their number. There are no more of them than frames, so the
 * ids of the texts of a location stand in the same array after the locations before it.
 */
static int make_locations(struct pprof_export *e, const struct flame_frame *frames, size_t n_frames,
			  uint32_t *locations, uint32_t *ret_n)
{
	size_t first = 0;
	uint32_t n = 0, id = 0;

	for (size_t i = 0; i < n_frames; i++) {
		int r = intern_add(e->texts, frames[i].text, frames[i].len, &locations[i]);

		if (r == 0 && (i + 1 == n_frames || !is_inlined(&frames[i]))) {
			r = intern_add(e->locations, (const char *)&locations[first],
				       (i + 1 - first) * sizeof(*locations), &id);
			locations[n++] = id;
			first = i + 1;
		}
		if (r < 0)
			return r;
	}
	*ret_n = n;
	return 0;
}

static int add_sample(struct pprof_export *e, const uint32_t *locations, uint32_t n, int64_t value,
		      bool is_base)
{
	int64_t *v;

	if (e->n_samples == e->max_samples)
		return -EFBIG;
	v = arena_alloc(&e->arena, sizeof(*v));
	if (!v)
		return arena_error(&e->arena, sizeof(*v));
	*v = value;
	e->samples[e->n_samples++] = (struct profile_sample){
		.locations = locations, .n_locations = n, .values = v, .is_base = is_base};
	return 0;
}

int pprof_export_add(struct pprof_export *e, const struct flame_frame *frames, size_t n_frames,
		     struct stack_value value)
{
	uint32_t *locations, n = 0;
	int r;

	locations = arena_calloc(&e->arena, n_frames + 1, sizeof(*locations));
	if (!locations)
		return arena_error(&e->arena, (n_frames + 1) * sizeof(*locations));
	r = make_locations(e, frames, n_frames, locations, &n);
	if (r < 0)
		return r;
	if (n > LIMIT_PPROF_STACK_DEPTH)
		return -EFBIG;
	if (value.value != 0)
		r = add_sample(e, locations, n, value.value, false);
	if (r < 0)
		return r;
	if (value.base != 0)
		r = add_sample(e, locations, n, -value.base, true);
	return r;
}

static struct profile_string text_of(const char *s)
{
	return (struct profile_string){.data = s, .len = strlen(s)};
}

int pprof_export_begin_starts(struct pprof_export *e)
{
	return e->starts ? 0 : intern_new(&e->starts, MAX_TEXT_BYTES);
}

int pprof_export_add_start(struct pprof_export *e, const char *key, size_t len, uint64_t line)
{
	uint32_t id = 0;
	int r = pprof_export_begin_starts(e);

	if (r == 0)
		r = intern_add(e->starts, key, len, &id);
	if (r < 0)
		return r;
	if (ARRAY_RESERVE(e->lines, e->max_lines, (size_t)id + 1) < 0)
		return -ENOMEM;
	e->lines[id] = line;
	e->n_lines = intern_count(e->starts);
	return 0;
}

/* The line at which the function of these texts starts; 0: unknown. */
static int64_t find_start(struct pprof_export *e, const struct frame_text *parts)
{
	uint32_t id = 0;

	/* name and file stand side by side in the text of a frame */
	if (!e->starts || parts->file_len == 0 ||
	    intern_add(e->starts, parts->name, parts->name_len + 1 + parts->file_len, &id) < 0)
		return 0;
	return id < e->n_lines ? (int64_t)e->lines[id] : 0;
}

/* Makes one function of each frame text, with the text's id; stores the texts' lines. */
static int add_functions(struct pprof_export *e, struct profile *p, int64_t *lines)
{
	uint32_t n = p->n_functions;

	p->functions = arena_calloc(&e->arena, n, sizeof(*p->functions));
	if (!p->functions)
		return arena_error(&e->arena, n * sizeof(*p->functions));
	for (uint32_t id = 0; id < n; id++) {
		struct frame_text parts;
		size_t len;
		const char *text = intern_get(e->texts, id, &len);
		char *name, *file;

		frame_text_split(&parts, text, len);
		name = arena_strndup(&e->arena, parts.name, parts.name_len);
		if (!name)
			return arena_error(&e->arena, parts.name_len + 1);
		file = arena_strndup(&e->arena, parts.file, parts.file_len);
		if (!file)
			return arena_error(&e->arena, parts.file_len + 1);
		p->functions[id].name = (struct profile_string){name, parts.name_len};
		p->functions[id].file = (struct profile_string){file, parts.file_len};
		p->functions[id].start_line = find_start(e, &parts);
		lines[id] = parts.line;
	}
	return 0;
}

static int add_location(struct pprof_export *e, struct profile *p, const int64_t *lines,
			uint32_t location)
{
	size_t len;
	const char *key = intern_get(e->locations, location, &len);
	uint32_t n = (uint32_t)(len / sizeof(location));
	struct profile_line *to = arena_calloc(&e->arena, n, sizeof(*to));

	if (!to)
		return arena_error(&e->arena, n * sizeof(*to));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t id;

		memcpy(&id, key + i * sizeof(id), sizeof(id));
		to[i] = (struct profile_line){.function = id, .line = lines[id]};
	}
	p->locations[location] = (struct profile_location){.lines = to, .n_lines = n};
	return 0;
}

static int add_locations(struct pprof_export *e, struct profile *p)
{
	uint32_t n = intern_count(e->locations);
	int64_t *lines;
	int r;

	p->n_functions = intern_count(e->texts);
	lines = arena_calloc(&e->arena, p->n_functions, sizeof(*lines));
	if (!lines)
		return arena_error(&e->arena, p->n_functions * sizeof(*lines));
	p->locations = arena_calloc(&e->arena, n, sizeof(*p->locations));
	if (!p->locations)
		return arena_error(&e->arena, n * sizeof(*p->locations));
	p->n_locations = n;
	r = add_functions(e, p, lines);
	for (uint32_t i = 0; i < n && r == 0; i++)
		r = add_location(e, p, lines, i);
	return r;
}

/*
 * Gives an unnamed location its address, and widens the mapping of its file to it. The first file
 * has the id 1.
 */
static int place_location(struct profile *p, struct profile_location *l, struct intern *files,
			  struct profile_mapping *mappings)
{
	const struct profile_function *f;
	struct profile_mapping m = {.offset = 0}, *to;
	struct code_place_text place;
	uint64_t page;
	uint32_t id;
	int r;

	if (l->n_lines != 1)
		return 0;
	f = &p->functions[l->lines[0].function];
	/* of an address it is not known which offset it has, and mappings are of those */
	if (!code_file_parse(f->name, f->file, &place) || place.kind != CODE_FILE_OFFSET ||
	    place.number >= FILE_SPACE - PAGE)
		return 0;
	m.file = place.file;
	m.build_id = place.build_id;
	r = intern_add(files, f->file.data, f->file.len, &id);
	if (r < 0 || id > MAX_FILES)
		return r;
	to = &mappings[id - 1];
	page = place.number & ~(PAGE - 1);
	if (id > p->n_mappings) {
		m.offset = m.end = page;
		*to = m;
		p->n_mappings = id;
	}
	if (page < to->offset)
		to->offset = page;
	if (page + PAGE > to->end)
		to->end = page + PAGE;
	l->address = id * FILE_SPACE + place.number;
	l->mapping = id;
	return 0;
}

/*
 * Frames without a name get the address and the mapping by which other tools find one. Where a
 * file was mapped is not known any more, but they only ask for offsets in it. A mapping spans no
 * more than the code that was seen, because pprof takes the segment of the file in which it begins.
 */
static int add_mappings(struct pprof_export *e, struct profile *p)
{
	CLEANUP(intern_freep) struct intern *files = NULL;
	uint32_t max = p->n_locations < MAX_FILES ? p->n_locations : MAX_FILES;
	struct profile_mapping *mappings = arena_calloc(&e->arena, max + 1, sizeof(*mappings));
	int r = intern_new(&files, MAX_TEXT_BYTES);

	if (!mappings)
		return arena_error(&e->arena, (max + 1) * sizeof(*mappings));
	for (uint32_t i = 0; i < p->n_locations && r == 0; i++)
		r = place_location(p, &p->locations[i], files, mappings);
	for (uint32_t i = 0; i < p->n_mappings; i++) {
		mappings[i].start = (i + 1) * FILE_SPACE + mappings[i].offset;
		mappings[i].end += (i + 1) * FILE_SPACE;
	}
	p->mappings = mappings;
	return r;
}

static char *range_text(const struct query_filter *f, char ret[static 80])
{
	char from[32], to[32];

	rfc3339_format_us(f->from_ns, from);
	rfc3339_format_us(f->to_ns, to);
	snprintf(ret, 80, "range %s/%s", from, to);
	return ret;
}

int pprof_export_write(struct pprof_export *e, const struct query_filter *f, struct buf *out,
		       struct err *err)
{
	char range[80];
	struct profile_value_type type = {.type = text_of(e->type_name ? e->type_name : f->type),
					  .unit = text_of(profile_type_unit(f->type))};
	struct profile_string comments[] = {text_of(f->service), text_of(range_text(f, range))};
	struct profile p = {
		.arena = &e->arena,
		.types = &type,
		.n_types = 1,
		.samples = e->samples,
		.n_samples = e->n_samples,
		.comments = comments,
		.n_comments = ARRAY_SIZE(comments),
		.time_ns = f->to_ns,
		.duration_ns = e->duration_ns,
	};
	int r = add_locations(e, &p);

	if (r < 0)
		return r;
	if (!e->starts)
		r = add_mappings(e, &p);
	if (r < 0)
		return r;
	if (e->starts)
		r = go_pgo_make(&p, 0, err);

	if (r < 0)
		return r;
	return pprof_encode(&p, out);
}
