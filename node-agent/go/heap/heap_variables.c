/*
 * Without symbols, the variables are found by the code that uses them (1.13 to 1.27):
 *
 * - mbuckets: mProf_FlushLocked() walks the list and loads no other word. In a program built
 *   without inlining it takes the variable's address instead, as stkbucket() does.
 * - MemProfileRate: profilealloc() and allocmcache() both load it, through the inlined
 *   nextSample(), and have no other word in common. Without inlining, nextSample() loads no
 *   other word.
 * - disableMemoryProfiling: schedinit(), or before 1.20 the package's init, tests this byte
 *   just before it stores 0 to the rate. Before 1.20 and without inlining,
 *   defaultMemProfileRate() does the test and refers to nothing else.
 *
 * If no function names the list, it can still be found by what it points to (go_bucket_scan.h).
 */
#include "node-agent/go/heap/heap_variables.h"

#include <errno.h>

#include "node-agent/go/image/go_refs.h"
#include "node-agent/go/record/go_bucket_scan.h"

#define COMPARE_BEFORE 3 /* how many references the byte's is in front of the rate's, at most */

static int find_buckets(struct go_runtime *rt, uint64_t *ret)
{
	static const char walks[] = "runtime.mProf_FlushLocked";
	int r = go_runtime_only_word(rt, walks, GO_REF_LOAD, ret);

	if (r == -ENOENT)
		r = go_runtime_common_word(rt, walks, "runtime.stkbucket", GO_REF_ADDRESS, ret);
	return r;
}

static int find_rate(struct go_runtime *rt, uint64_t *ret)
{
	int r = go_runtime_common_word(rt, "runtime.profilealloc", "runtime.allocmcache",
				       GO_REF_LOAD, ret);

	if (r == -ENOENT)
		r = go_runtime_only_word(rt, "runtime.nextSample", GO_REF_LOAD, ret);
	return r;
}

int heap_variables_rate(struct go_runtime *rt, uint64_t *ret)
{
	return go_runtime_find(rt, GO_MEMORY_RATE, "runtime.MemProfileRate", find_rate, ret);
}

/* The byte that the function loads, if it refers to nothing else. */
static int find_only_byte(struct go_runtime *rt, const char *function, uint64_t *ret)
{
	struct go_ref refs[GO_RUNTIME_REFS_MAX];
	int n = go_runtime_refs(rt, function, refs, ARRAY_SIZE(refs));

	if (n != 1 || refs[0].kind != GO_REF_LOAD || refs[0].size_bytes != 1)
		return n < 0 ? n : -ENOENT;
	*ret = refs[0].target;
	return 0;
}

/* The byte that is tested just before the rate is set to 0. */
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
	/*
	 * fails until the first record exists, so -ENOENT is not cached and each round tries
	 * again
	 */
	r = go_bucket_scan(rt->windows, &rt->modules[0], format, ret);
	if (r == 0)
		rt->executable->at[GO_MEMORY_BUCKETS] = *ret - rt->image.bias;
	return r;
}
