#include "cluster-agent/query/pprof_export.h"

#include <errno.h>

#include "cluster-agent/query/frame_text.h"
#include "cluster-agent/query/profile_types.h"
#include "common/limits.h"
#include "common/pprof/pprof_encode.h"

#define MAX_TEXT_BYTES ((size_t)64 << 20)

int pprof_export_init(struct pprof_export *e, uint32_t max_samples)
{
	*e = (struct pprof_export){.max_samples = max_samples};
	arena_init(&e->arena, LIMIT_PPROF_ARENA_BYTES);
	e->samples = arena_calloc(&e->arena, max_samples + 1, sizeof(*e->samples));
	if (!e->samples)
		return -ENOMEM;
	return intern_new(&e->texts, MAX_TEXT_BYTES);
}

void pprof_export_fini(struct pprof_export *e)
{
	intern_free(e->texts);
	e->texts = NULL;
	arena_fini(&e->arena);
}

int pprof_export_add(struct pprof_export *e, const struct flame_frame *frames, size_t n_frames,
		     int64_t value)
{
	uint32_t *locations;
	int64_t *v;

	if (e->n_samples == e->max_samples || n_frames > LIMIT_PPROF_STACK_DEPTH)
		return -EFBIG;
	locations = arena_calloc(&e->arena, n_frames + 1, sizeof(*locations));
	if (!locations)
		return arena_error(&e->arena, (n_frames + 1) * sizeof(*locations));
	v = arena_alloc(&e->arena, sizeof(*v));
	if (!v)
		return arena_error(&e->arena, sizeof(*v));
	*v = value;
	for (size_t i = 0; i < n_frames; i++) {
		int r = intern_add(e->texts, frames[i].text, frames[i].len, &locations[i]);

		if (r < 0)
			return r;
	}
	e->samples[e->n_samples++] = (struct profile_sample){
		.locations = locations, .n_locations = (uint32_t)n_frames, .values = v};
	return 0;
}

static struct profile_string text_of(const char *s)
{
	return (struct profile_string){.data = s, .len = strlen(s)};
}

/* Makes one function and one location of each frame text; both have the id of the text. */
static int add_locations(struct pprof_export *e, struct profile *p)
{
	uint32_t n = intern_count(e->texts);
	struct profile_line *lines = arena_calloc(&e->arena, n, sizeof(*lines));

	if (!lines)
		return arena_error(&e->arena, n * sizeof(*lines));
	p->functions = arena_calloc(&e->arena, n, sizeof(*p->functions));
	if (!p->functions)
		return arena_error(&e->arena, n * sizeof(*p->functions));
	p->locations = arena_calloc(&e->arena, n, sizeof(*p->locations));
	if (!p->locations)
		return arena_error(&e->arena, n * sizeof(*p->locations));
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
		lines[id] = (struct profile_line){.function = id, .line = parts.line};
		p->locations[id].lines = &lines[id];
		p->locations[id].n_lines = 1;
	}
	p->n_functions = p->n_locations = n;
	return 0;
}

int pprof_export_write(struct pprof_export *e, const struct query_filter *f, struct buf *out)
{
	struct profile_value_type type = {.type = text_of(f->type),
					  .unit = text_of(profile_type_unit(f->type))};
	struct profile_string service = text_of(f->service);
	struct profile p = {
		.arena = &e->arena,
		.types = &type,
		.n_types = 1,
		.samples = e->samples,
		.n_samples = e->n_samples,
		.comments = &service,
		.n_comments = 1,
		.time_ns = f->to_ns,
		.duration_ns = f->to_ns - f->from_ns,
	};
	int r = add_locations(e, &p);

	return r == 0 ? pprof_encode(&p, out) : r;
}
