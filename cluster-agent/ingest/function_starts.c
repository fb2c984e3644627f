#include "cluster-agent/ingest/function_starts.h"

#include <errno.h>

static bool is_cpu(const struct profile_string *type)
{
	static const char *const types[] = {"ebpf:cpu:nanoseconds", "go:profile_cpu:nanoseconds"};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (type->len == strlen(types[i]) && memcmp(type->data, types[i], type->len) == 0)
			return true;
	}
	return false;
}

static bool has_cpu(const struct profile *p)
{
	for (uint32_t i = 0; i < p->n_types; i++) {
		if (is_cpu(&p->types[i].type))
			return true;
	}
	return false;
}

/* Sets wanted[] of the functions that have a start, of one stack. Returns how many are new. */
static size_t want(const struct profile_rows *r, uint32_t stack, bool *wanted)
{
	const struct profile *p = r->profile;
	const struct profile_sample *s;
	size_t n = 0;

	if (r->stacks[stack].known || r->stacks[stack].sample == UINT32_MAX)
		return 0;
	s = &p->samples[r->stacks[stack].sample];
	for (uint32_t i = 0; i < s->n_locations; i++) {
		const struct profile_location *l = &p->locations[s->locations[i]];

		for (uint32_t k = 0; k < l->n_lines; k++) {
			uint32_t f = l->lines[k].function;

			n += !wanted[f] && p->functions[f].start_line > 0;
			wanted[f] |= p->functions[f].start_line > 0;
		}
	}
	return n;
}

static int put(struct arena *arena, const struct profile_function *f, struct row_count *ret)
{
	size_t len = f->name.len + 1 + f->file.len;
	char *text = arena_alloc(arena, len);

	if (!text)
		return arena_error(arena, len);
	memcpy(text, f->name.data, f->name.len);
	text[f->name.len] = ' ';
	memcpy(text + f->name.len + 1, f->file.data, f->file.len);
	*ret = (struct row_count){{text, len}, (uint64_t)f->start_line};
	return 0;
}

int function_starts_list(const struct profile_rows *r, struct row_count **ret, size_t *ret_n)
{
	const struct profile *p = r->profile;
	struct row_count *starts;
	size_t n = 0, n_bytes = 0;
	bool *wanted;
	int e = 0;

	*ret = NULL;
	*ret_n = 0;
	if (!has_cpu(p))
		return 0;
	wanted = arena_calloc(p->arena, p->n_functions, sizeof(*wanted));
	if (!wanted)
		return arena_error(p->arena, p->n_functions * sizeof(*wanted));
	for (uint32_t i = 0; i < r->n_stacks; i++)
		n += want(r, i, wanted);
	n = n < FUNCTION_STARTS_MAX ? n : FUNCTION_STARTS_MAX;
	starts = arena_calloc(p->arena, n, sizeof(*starts));
	if (!starts)
		return arena_error(p->arena, n * sizeof(*starts));
	for (uint32_t f = 0; e == 0 && f < p->n_functions && *ret_n < n; f++) {
		if (!wanted[f])
			continue;
		n_bytes += p->functions[f].name.len + p->functions[f].file.len;
		if (n_bytes > FUNCTION_STARTS_MAX_BYTES)
			break;
		e = put(p->arena, &p->functions[f], &starts[(*ret_n)++]);
	}
	*ret = starts;
	return e;
}
