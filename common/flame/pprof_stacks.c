#include "common/flame/pprof_stacks.h"

#include <inttypes.h>
#include <stdio.h>

struct location_frames {
	struct flame_frame *frames;
	uint32_t n;
};

struct walk {
	const struct profile *p;
	struct location_frames *locations;
	struct flame_frame *stack;
};

/* Blanks in a file would be taken for the end of the name. */
static void copy_file(char *to, const struct profile_string *file)
{
	memcpy(to, file->data, file->len);
	for (size_t i = 0; i < file->len; i++) {
		if (to[i] == ' ')
			to[i] = '_';
	}
}

static int format_frame(const struct profile *p, const struct profile_line *line, bool inlined,
			struct flame_frame *ret)
{
	const struct profile_function *f = &p->functions[line->function];
	size_t max = f->name.len + f->file.len + sizeof(" :-9223372036854775808:inlined");
	char *text = arena_alloc(p->arena, max), *at = text;

	if (!text)
		return arena_error(p->arena, max);
	memcpy(at, f->name.data, f->name.len);
	at += f->name.len;
	*at++ = ' ';
	copy_file(at, &f->file);
	at += f->file.len;
	at += snprintf(at, max - (size_t)(at - text), ":%" PRId64 "%s", line->line,
		       inlined ? ":inlined" : "");
	*ret = (struct flame_frame){.text = text, .len = (size_t)(at - text)};
	return 0;
}

static int format_location(const struct profile *p, const struct profile_location *l,
			   struct location_frames *ret)
{
	int r = 0;

	ret->n = l->n_lines;
	ret->frames = arena_calloc(p->arena, l->n_lines + 1, sizeof(*ret->frames));
	if (!ret->frames)
		return arena_error(p->arena, (l->n_lines + 1) * sizeof(*ret->frames));
	for (uint32_t i = 0; r == 0 && i < l->n_lines; i++)
		r = format_frame(p, &l->lines[i], i + 1 < l->n_lines, &ret->frames[i]);
	return r;
}

static size_t count_frames(const struct walk *w, const struct profile_sample *s)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->n_locations; i++)
		n += w->locations[s->locations[i]].n;
	return n;
}

static int make_walk(struct walk *w)
{
	const struct profile *p = w->p;
	size_t max = 0;
	int r = 0;

	w->locations = arena_calloc(p->arena, p->n_locations + 1, sizeof(*w->locations));
	if (!w->locations)
		return arena_error(p->arena, (p->n_locations + 1) * sizeof(*w->locations));
	for (uint32_t i = 0; r == 0 && i < p->n_locations; i++)
		r = format_location(p, &p->locations[i], &w->locations[i]);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < p->n_samples; i++) {
		size_t n = count_frames(w, &p->samples[i]);

		max = n > max ? n : max;
	}
	w->stack = arena_calloc(p->arena, max + 1, sizeof(*w->stack));
	return w->stack ? 0 : arena_error(p->arena, (max + 1) * sizeof(*w->stack));
}

int pprof_stacks_each(const struct profile *p, uint32_t type, pprof_stacks_fn *fn, void *ctx)
{
	struct walk w = {.p = p};
	int r = make_walk(&w);

	for (uint32_t i = 0; r == 0 && i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		size_t n = 0;

		if (s->values[type] == 0)
			continue;
		for (uint32_t k = 0; k < s->n_locations; k++) {
			const struct location_frames *l = &w.locations[s->locations[k]];

			memcpy(w.stack + n, l->frames, l->n * sizeof(*l->frames));
			n += l->n;
		}
		r = fn(ctx, w.stack, n, (struct stack_value){.value = s->values[type]});
	}
	return r;
}
