#include "node-agent/profile/unwind_report.h"

#include <errno.h>
#include <inttypes.h>

#include "common/data/intern.h"
#include "common/text/utf8.h"

struct binary {
	uint64_t last_stack; /* the last one that it was seen in */
	uint64_t n_seen;     /* samples */
	uint64_t n_ended;    /* samples whose walk ended in it too early */
	uint64_t n[UNWIND_OUTCOME_MAX];
};

struct unwind_report {
	struct intern *names; /* by number; 0 is "" */
	struct binary binaries[UNWIND_REPORT_BINARIES];
	uint32_t seen[UNWIND_REPORT_BINARIES]; /* in the stack being added */
	size_t n_seen;
	uint64_t stack; /* counts them */
	uint64_t n[UNWIND_OUTCOME_MAX];
};

const char *unwind_outcome_name(enum unwind_outcome o)
{
	static const char *const names[UNWIND_OUTCOME_MAX] = {
		[UNWIND_COMPLETE] = "complete",
		[UNWIND_GUESSED] = "guessed",
		[UNWIND_DEPTH_LIMIT] = "depth_limit",
		[UNWIND_UNREADABLE] = "unreadable",
		[UNWIND_NOT_ASCENDING] = "not_ascending",
		[UNWIND_BAD_ADDRESS] = "bad_address",
		[UNWIND_COMPAT] = "compat",
		[UNWIND_GONE] = "gone",
		[UNWIND_NO_UNWIND_INFO] = "no_unwind_info",
		[UNWIND_NO_TABLE] = "no_table",
		[UNWIND_NO_MAPPING] = "no_mapping",
		[UNWIND_JIT] = "jit",
		[UNWIND_IMPLAUSIBLE] = "implausible",
		[UNWIND_UNPROVEN] = "unproven",
		[UNWIND_KERNEL] = "kernel",
	};

	return names[o];
}

enum unwind_outcome unwind_outcome_of_end(enum walk_end end)
{
	switch (end) {
	case WALK_END_DEPTH_LIMIT:
		return UNWIND_DEPTH_LIMIT;
	case WALK_END_UNREADABLE:
		return UNWIND_UNREADABLE;
	case WALK_END_NOT_ASCENDING:
		return UNWIND_NOT_ASCENDING;
	case WALK_END_BAD_ADDRESS:
		return UNWIND_BAD_ADDRESS;
	case WALK_END_COMPAT:
		return UNWIND_COMPAT;
	case WALK_END_GONE:
		return UNWIND_GONE;
	case WALK_END_NO_UNWIND_INFO:
		return UNWIND_NO_UNWIND_INFO;
	case WALK_END_NO_TABLE:
		return UNWIND_NO_TABLE;
	case WALK_END_NO_MAPPING:
		return UNWIND_NO_MAPPING;
	case WALK_END_JIT:
		return UNWIND_JIT;
	case WALK_END_BOTTOM:
	case WALK_END_NO_USER_STACK:
	case WALK_END_MAX:
		break;
	}
	return UNWIND_UNPROVEN;
}

int unwind_report_new(struct unwind_report **ret)
{
	CLEANUP(unwind_report_freep) struct unwind_report *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return -ENOMEM;
	e = intern_new(&r->names, UNWIND_REPORT_BINARIES * (UNWIND_REPORT_NAME_BYTES + 1));
	if (e < 0)
		return e;
	r->stack = 1;
	*ret = TAKE_PTR(r);
	return 0;
}

void unwind_report_free(struct unwind_report *r)
{
	if (!r)
		return;
	intern_free(r->names);
	free(r);
}

uint32_t unwind_report_binary(struct unwind_report *r, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash && slash[1] ? slash + 1 : path;
	size_t len = strnlen(base, UNWIND_REPORT_NAME_BYTES);
	char name[UNWIND_REPORT_NAME_BYTES + 1];
	uint32_t number;

	memcpy(name, base, len);
	len = utf8_make_printable(name, len);
	/* blanks and '=' have a meaning where the name goes */
	for (size_t i = 0; i < len; i++) {
		if (name[i] == ' ' || name[i] == '=')
			name[i] = '_';
	}
	if (intern_add(r->names, name, len, &number) < 0 || number >= UNWIND_REPORT_BINARIES)
		return 0;
	return number;
}

void unwind_report_see(struct unwind_report *r, uint32_t binary)
{
	struct binary *b = &r->binaries[binary];

	if (binary == 0 || b->last_stack == r->stack)
		return;
	b->last_stack = r->stack;
	r->seen[r->n_seen++] = binary;
}

void unwind_report_add(struct unwind_report *r, enum unwind_outcome o, uint32_t last,
		       uint64_t n_samples)
{
	struct binary *b = &r->binaries[last];

	for (size_t i = 0; i < r->n_seen; i++)
		r->binaries[r->seen[i]].n_seen += n_samples;
	r->n_seen = 0;
	r->stack++;
	r->n[o] += n_samples;
	if (unwind_reached_bottom(o) || last == 0)
		return;
	b->n[o] += n_samples;
	b->n_ended += n_samples;
}

uint64_t unwind_report_count(const struct unwind_report *r, enum unwind_outcome o)
{
	return r->n[o];
}

/* ---- texts ---- */

/* Whether a is to be shown rather than b. */
static bool is_before(const struct binary *a, const struct binary *b)
{
	return a->n_ended != b->n_ended ? a->n_ended > b->n_ended : a->n_seen > b->n_seen;
}

/* Numbers of the binaries to show, the most important one first. */
static size_t choose(const struct unwind_report *r, uint32_t ret[UNWIND_REPORT_SHOWN])
{
	size_t n = 0;

	for (uint32_t i = 1; i < intern_count(r->names) && i < UNWIND_REPORT_BINARIES; i++) {
		size_t at = n;

		if (r->binaries[i].n_seen == 0)
			continue;
		while (at > 0 && is_before(&r->binaries[i], &r->binaries[ret[at - 1]]))
			at--;
		if (at == UNWIND_REPORT_SHOWN)
			continue;
		n += n < UNWIND_REPORT_SHOWN;
		memmove(ret + at + 1, ret + at, (n - at - 1) * sizeof(*ret));
		ret[at] = i;
	}
	return n;
}

size_t unwind_report_write(const struct unwind_report *r,
			   char texts[UNWIND_REPORT_TEXTS][UNWIND_REPORT_TEXT_BYTES])
{
	uint32_t shown[UNWIND_REPORT_SHOWN];
	size_t n = 0, n_shown = choose(r, shown), len;

	for (enum unwind_outcome o = 0; o < UNWIND_OUTCOME_MAX; o++) {
		if (r->n[o] > 0)
			snprintf(texts[n++], UNWIND_REPORT_TEXT_BYTES, "unwind:%s=%" PRIu64,
				 unwind_outcome_name(o), r->n[o]);
	}
	for (size_t i = 0; i < n_shown && n < UNWIND_REPORT_TEXTS; i++) {
		const struct binary *b = &r->binaries[shown[i]];
		const char *name = intern_get(r->names, shown[i], &len);

		snprintf(texts[n++], UNWIND_REPORT_TEXT_BYTES, "unwind:seen:%s=%" PRIu64, name,
			 b->n_seen);
		for (enum unwind_outcome o = 0; o < UNWIND_OUTCOME_MAX && n < UNWIND_REPORT_TEXTS;
		     o++) {
			if (b->n[o] > 0)
				snprintf(texts[n++], UNWIND_REPORT_TEXT_BYTES,
					 "unwind:%s:%s=%" PRIu64, unwind_outcome_name(o), name,
					 b->n[o]);
		}
	}
	return n;
}
