#include "node-agent/go/image/go_refs.h"

#include <errno.h>

#define FUNCTION_MAX_BYTES 65536u
#define WORD_BYTES 8u

bool go_ref_is_word(const struct go_ref *r, enum go_ref_kind kind)
{
	return r->kind == kind && r->size_bytes == WORD_BYTES;
}

int go_module_refs(const struct go_module *m, uint16_t machine, const char *function,
		   struct go_ref *refs, size_t max)
{
	struct gopclntab_function f;
	AUTO_FREE uint8_t *code = NULL;
	size_t len, n, kept = 0;
	int r;

	r = gopclntab_find_named(&m->table, m->source, function, &f);
	if (r < 0)
		return r;
	if (f.end <= f.start || f.end - f.start > FUNCTION_MAX_BYTES)
		return -ENOENT;
	len = (size_t)(f.end - f.start);
	code = malloc(len);
	if (!code)
		return -ENOMEM;
	r = byte_source_read(m->source, f.start, code, len);
	if (r < 0)
		return r;
	n = go_code_refs(machine, code, len, f.start, refs, max);
	for (size_t i = 0; i < n; i++) {
		if (go_module_has_data(m, refs[i].target, 1))
			refs[kept++] = refs[i];
	}
	return (int)kept;
}

int go_runtime_refs(struct go_runtime *rt, const char *function, struct go_ref *refs, size_t max)
{
	return go_module_refs(&rt->modules[0], rt->image.layout->machine, function, refs, max);
}

int go_runtime_refs_any(struct go_runtime *rt, const char *const *functions, struct go_ref *refs,
			size_t max)
{
	int n = -ENOENT;

	for (size_t i = 0; n == -ENOENT && functions[i]; i++)
		n = go_runtime_refs(rt, functions[i], refs, max);
	return n;
}

static bool is_among(const struct go_ref *r, const struct go_ref *refs, int n)
{
	for (int i = 0; i < n; i++) {
		if (go_ref_is_word(&refs[i], r->kind) && refs[i].target == r->target)
			return true;
	}
	return false;
}

/* Among all words referred to, or among those in `others` too unless that is NULL. */
static int only_word(const struct go_ref *refs, int n, enum go_ref_kind kind,
		     const struct go_ref *others, int n_others, uint64_t *ret)
{
	uint64_t found = 0;

	for (int i = 0; i < n; i++) {
		if (!go_ref_is_word(&refs[i], kind) ||
		    (others && !is_among(&refs[i], others, n_others)))
			continue;
		if (found != 0 && found != refs[i].target)
			return -ENOENT;
		found = refs[i].target;
	}
	if (found == 0)
		return -ENOENT;
	*ret = found;
	return 0;
}

int go_runtime_only_word(struct go_runtime *rt, const char *function, enum go_ref_kind kind,
			 uint64_t *ret)
{
	struct go_ref refs[GO_RUNTIME_REFS_MAX];
	int n = go_runtime_refs(rt, function, refs, ARRAY_SIZE(refs));

	return n < 0 ? n : only_word(refs, n, kind, NULL, 0, ret);
}

int go_runtime_common_word(struct go_runtime *rt, const char *a, const char *b,
			   enum go_ref_kind kind, uint64_t *ret)
{
	struct go_ref refs[GO_RUNTIME_REFS_MAX], others[GO_RUNTIME_REFS_MAX];
	int n = go_runtime_refs(rt, a, refs, ARRAY_SIZE(refs)), n_others;

	if (n < 0)
		return n;
	n_others = go_runtime_refs(rt, b, others, ARRAY_SIZE(others));
	if (n_others < 0)
		return n_others;
	return only_word(refs, n, kind, others, n_others, ret);
}
