#include "node-agent/go/heap/heap_variables.h"

#include <errno.h>

#include "node-agent/go/record/go_bucket_scan.h"

#define WORD_BYTES 8u
#define COMPARE_BEFORE 3 /* references at most between the byte's and the rate's */

/* Of the size that pointers and rates have. */
static bool is_word(const struct go_ref *r, enum go_ref_kind kind)
{
	return r->kind == kind && r->size_bytes == WORD_BYTES;
}

static bool is_among(const struct go_ref *r, const struct go_ref *refs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (is_word(&refs[i], r->kind) && refs[i].target == r->target)
			return true;
	}
	return false;
}

/* The one word that is referred to so, among those in others if there are any. -ENOENT: none, or several. */
static int only_word(const struct go_ref *refs, size_t n, enum go_ref_kind kind,
		     const struct go_ref *others, size_t n_others, uint64_t *ret)
{
	uint64_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_word(&refs[i], kind) || (others && !is_among(&refs[i], others, n_others)))
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

/* The one word that the function loads. */
static int find_only(struct go_runtime *rt, const char *function, uint64_t *ret)
{
	struct go_ref refs[GO_RUNTIME_REFS_MAX];
	int n = go_runtime_refs(rt, function, refs, ARRAY_SIZE(refs));

	return n < 0 ? n : only_word(refs, (size_t)n, GO_REF_LOAD, NULL, 0, ret);
}

/* The one word that both functions refer to so. */
static int find_common(struct go_runtime *rt, const char *a, const char *b, enum go_ref_kind kind,
		       uint64_t *ret)
{
	struct go_ref refs[GO_RUNTIME_REFS_MAX], others[GO_RUNTIME_REFS_MAX];
	int n = go_runtime_refs(rt, a, refs, ARRAY_SIZE(refs)), n_others;

	if (n < 0)
		return n;
	n_others = go_runtime_refs(rt, b, others, ARRAY_SIZE(others));
	if (n_others < 0)
		return n_others;
	return only_word(refs, (size_t)n, kind, others, (size_t)n_others, ret);
}

/*
 * mProf_FlushLocked walks the list and loads nothing else of this size. Where the compiler was told not to inline
 * functions it takes the address instead, as stkbucket does.
 */
static int find_buckets(struct go_runtime *rt, uint64_t *ret)
{
	static const char walks[] = "runtime.mProf_FlushLocked";
	int r = find_only(rt, walks, ret);

	return r == -ENOENT ? find_common(rt, walks, "runtime.stkbucket", GO_REF_ADDRESS, ret) : r;
}

/*
 * Both functions load it, and no other word: nextSample is a part of them. Where the compiler was told not to inline functions
 * it is a function of its own, which loads nothing else of this size.
 */
static int find_rate(struct go_runtime *rt, uint64_t *ret)
{
	int r = find_common(rt, "runtime.profilealloc", "runtime.allocmcache", GO_REF_LOAD, ret);

	return r == -ENOENT ? find_only(rt, "runtime.nextSample", ret) : r;
}

int heap_variables_rate(struct go_runtime *rt, uint64_t *ret)
{
	return go_runtime_find(rt, GO_MEMORY_RATE, "runtime.MemProfileRate", find_rate, ret);
}

/* The one byte that the function loads. */
static int find_only_byte(struct go_runtime *rt, const char *function, uint64_t *ret)
{
	struct go_ref refs[GO_RUNTIME_REFS_MAX];
	int n = go_runtime_refs(rt, function, refs, ARRAY_SIZE(refs));

	if (n != 1 || refs[0].kind != GO_REF_LOAD || refs[0].size_bytes != 1)
		return n < 0 ? n : -ENOENT;
	*ret = refs[0].target;
	return 0;
}

/* The byte is looked at just before the rate is set to 0. */
static int find_byte_before_store(struct go_runtime *rt, uint64_t *ret)
{
	const char *name = rt->image.minor >= 20 ? "runtime.schedinit" : "runtime.init";
	struct go_ref refs[GO_RUNTIME_REFS_MAX];
	uint64_t rate = 0;
	int n = heap_variables_rate(rt, &rate);

	if (n == 0)
		n = go_runtime_refs(rt, name, refs, ARRAY_SIZE(refs));
	for (int i = 1; i < n; i++) {
		if (refs[i].kind != GO_REF_STORE || refs[i].target != rate)
			continue;
		for (int back = i - 1; back >= 0 && back >= i - COMPARE_BEFORE; back--) {
			if (refs[back].kind != GO_REF_LOAD || refs[back].size_bytes != 1)
				continue;
			*ret = refs[back].target;
			return 0;
		}
	}
	return n < 0 ? n : -ENOENT;
}

/*
 * In schedinit since 1.20, before in the package's initialisation: by a function of its own, where the compiler was told not to
 * inline functions.
 */
static int find_disabled(struct go_runtime *rt, uint64_t *ret)
{
	int r = rt->image.minor < 20 ? find_only_byte(rt, "runtime.defaultMemProfileRate", ret)
				     : -ENOENT;

	return r == -ENOENT ? find_byte_before_store(rt, ret) : r;
}

int heap_variables_disabled(struct go_runtime *rt, uint64_t *ret)
{
	return go_runtime_find(rt, GO_MEMORY_DISABLED, "runtime.disableMemoryProfiling",
			       find_disabled, ret);
}

int heap_variables_buckets(struct go_runtime *rt, const struct go_bucket_format *format,
			   uint64_t *ret)
{
	int r = go_runtime_find(rt, GO_MEMORY_BUCKETS, "runtime.mbuckets", find_buckets, ret);

	if (r != -ENOENT)
		return r;
	/* until there is a first record nothing can be found; so it is sought again in each round */
	r = go_bucket_scan(rt->windows, &rt->modules[0], format, ret);
	if (r == 0)
		rt->executable->at[GO_MEMORY_BUCKETS] = *ret - rt->image.bias;
	return r;
}
