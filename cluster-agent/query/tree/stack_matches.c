#include "cluster-agent/query/tree/stack_matches.h"

#include <errno.h>

#include "cluster-agent/query/tree/function_search.h"
#include "common/flame/flame_nodes.h"
#include "common/flame/frame_functions.h"

#define MAX_TEXT_BYTES ((size_t)64 << 20)

enum verdict {
	UNKNOWN,
	MATCHES,
	DIFFERS,
};

struct stack_matches {
	struct function_search *search;
	struct frame_functions functions;
	uint8_t *verdicts; /* by function */
	size_t n_verdicts;
	struct stack_match_totals totals;
	struct err *err;
};

int stack_matches_new(struct stack_matches **ret, const char *search, struct err *err)
{
	CLEANUP(stack_matches_freep) struct stack_matches *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	m->err = err;
	r = function_search_new(&m->search, search, err);
	if (r == 0)
		r = frame_functions_init(&m->functions, MAX_TEXT_BYTES);
	if (r == 0)
		*ret = TAKE_PTR(m);
	return r;
}

void stack_matches_free(struct stack_matches *m)
{
	if (!m)
		return;
	function_search_free(m->search);
	frame_functions_fini(&m->functions);
	free(m->verdicts);
	free(m);
}

static int reserve(struct stack_matches *m, uint32_t function)
{
	size_t n = m->n_verdicts ? m->n_verdicts : 1024;
	uint8_t *moved;

	if (function < m->n_verdicts)
		return 0;
	while (n <= function)
		n *= 2;
	moved = realloc(m->verdicts, n);
	if (!moved)
		return -ENOMEM;
	memset(moved + m->n_verdicts, UNKNOWN, n - m->n_verdicts);
	m->verdicts = moved;
	m->n_verdicts = n;
	return 0;
}

/* Returns 1 if the function matches, 0 if not, or an error. Each is tested once. */
static int test(struct stack_matches *m, uint32_t function)
{
	const struct frame_function *f = &m->functions.items[function];
	size_t name_len, file_len;
	const char *name = intern_get(m->functions.names, f->name, &name_len);
	const char *file = intern_get(m->functions.files, f->file, &file_len);
	int r = reserve(m, function);

	if (r < 0)
		return r;
	if (m->verdicts[function] != UNKNOWN)
		return m->verdicts[function] == MATCHES;
	r = function_search_test(m->search, name, name_len, file, file_len, m->err);
	if (r < 0)
		return r;
	m->verdicts[function] = r > 0 ? MATCHES : DIFFERS;
	m->totals.n_functions += r > 0;
	return r;
}

/* All frames are tested, also after a match, so that each function that matches is counted. */
int stack_matches_add(struct stack_matches *m, const struct flame_frame *frames, size_t n_frames,
		      struct stack_value value)
{
	bool found = false;

	if (!flame_keep_positive(&value))
		return 0;
	for (size_t i = 0; i < n_frames; i++) {
		struct frame_place at;
		int r = frame_functions_find(&m->functions, &frames[i], &at);

		if (r == -EFBIG)
			continue;
		if (r == 0)
			r = test(m, at.function);
		if (r < 0)
			return r;
		found |= r > 0;
	}
	if (!found)
		return 0;
	flame_sum(&m->totals.value, value);
	m->totals.n_stacks++;
	return 0;
}

struct stack_match_totals stack_matches_get(const struct stack_matches *m)
{
	return m->totals;
}
