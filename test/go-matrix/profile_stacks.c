#include "test/go-matrix/profile_stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>

#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/system/fs.h"

#define INIT ".init"
#define MAX_SHOWN 6u

static int by_text(const void *a, const void *b)
{
	const struct profile_stack *x = a, *y = b;

	return strcmp(x->text, y->text);
}

/* runtime/pprof keeps one file per function name, but a package's init is in several files. */
static const char *file_of(const struct profile_function *f)
{
	size_t len = f->name.len, init = strlen(INIT);

	return len > init && strcmp(f->name.data + len - init, INIT) == 0 ? "" : f->file.data;
}

static void add_frames(struct buf *text, const struct profile *p, const struct profile_location *l,
		       size_t *left)
{
	for (uint32_t i = 0; *left > 0 && i < l->n_lines; i++, --*left) {
		const struct profile_function *f = &p->functions[l->lines[i].function];

		if (buf_addf(text, "  %s %s:%lld\n", f->name.data, file_of(f),
			     (long long)l->lines[i].line) < 0)
			abort();
	}
}

/* Sorts the stacks and merges equal ones. */
static void merge(struct profile_stacks *s)
{
	size_t n = 0;

	qsort(s->stacks, s->n, sizeof(*s->stacks), by_text);
	for (size_t i = 0; i < s->n; i++) {
		if (n > 0 && strcmp(s->stacks[n - 1].text, s->stacks[i].text) == 0) {
			for (size_t v = 0; v < s->n_values; v++)
				s->stacks[n - 1].values[v] += s->stacks[i].values[v];
			free(s->stacks[i].text);
		} else {
			s->stacks[n++] = s->stacks[i];
		}
	}
	s->n = n;
}

static void collect(struct profile_stacks *s, const struct profile *p)
{
	s->stacks = calloc(p->n_samples + 1, sizeof(*s->stacks));
	if (!s->stacks)
		abort();
	for (uint32_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *sample = &p->samples[i];
		struct profile_stack *stack = &s->stacks[s->n];
		bool any = false;
		size_t len, left = s->depth ? s->depth : SIZE_MAX;
		struct buf text;

		for (size_t v = 0; v < s->n_values; v++)
			any |= sample->values[v] != 0;
		if (!any)
			continue;
		memcpy(stack->values, sample->values, s->n_values * sizeof(*stack->values));
		buf_init(&text, LIMIT_UPLOAD_BYTES);
		for (uint32_t l = 0; l < sample->n_locations; l++)
			add_frames(&text, p, &p->locations[sample->locations[l]], &left);
		stack->text = text.data ? buf_take(&text, &len) : strdup("");
		if (s->without && strstr(stack->text, s->without))
			free(stack->text);
		else
			s->n++;
	}
	merge(s);
}

int profile_stacks_load(struct profile_stacks *s, const char *file, size_t n_values)
{
	CLEANUP(arena_fini) struct arena arena;
	CLEANUP(buf_fini) struct buf body;
	struct err err = {""};
	struct profile p;
	int r;

	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	buf_init(&body, LIMIT_UPLOAD_BYTES);
	r = fs_read_at(AT_FDCWD, file, &body);
	if (r == 0)
		r = pprof_decode(&p, &arena, body.data, body.len, &err);
	if (r == 0 && p.n_types != n_values)
		r = -EBADMSG;
	if (r < 0) {
		fprintf(stderr, "%s: %s %s\n", file, strerror(-r), err.msg);
		return r;
	}
	s->n_values = n_values;
	collect(s, &p);
	return 0;
}

void profile_stacks_fini(struct profile_stacks *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->stacks[i].text);
	free(s->stacks);
}

static void show(const char *who, const struct profile_stacks *s, size_t i)
{
	printf("%s", who);
	for (size_t v = 0; v < s->n_values; v++)
		printf(" %lld", (long long)s->stacks[i].values[v]);
	printf("\n%s", s->stacks[i].text);
}

static bool are_near(const struct profile_stacks *a, size_t i, const struct profile_stacks *b,
		     size_t j, const double *tolerance)
{
	bool near = true;

	for (size_t v = 0; v < a->n_values; v++) {
		double ours = (double)a->stacks[i].values[v],
		       theirs = (double)b->stacks[j].values[v];

		near &= fabs(ours - theirs) <= (tolerance ? tolerance[v] : 0) * theirs;
	}
	return near;
}

/* Walks both in parallel, as they are sorted. */
size_t profile_stacks_compare(const struct profile_stacks *a, const struct profile_stacks *b,
			      const double *tolerance)
{
	size_t i = 0, j = 0, n = 0;

	while (i < a->n || j < b->n) {
		int order = i == a->n   ? 1
			    : j == b->n ? -1
					: strcmp(a->stacks[i].text, b->stacks[j].text);
		bool same = order == 0 && are_near(a, i, b, j, tolerance);

		if (!same && n++ < MAX_SHOWN) {
			if (order <= 0)
				show("\nours  ", a, i);
			if (order >= 0)
				show("\ntheirs", b, j);
		}
		i += order <= 0;
		j += order >= 0;
	}
	return n;
}
