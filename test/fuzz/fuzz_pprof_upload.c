/*
 * Any pprof with types of other tools: samples and their stacks stay as they were, and types become
 * ours. Corpus: profiles of Go, Node.js and Python programs as their profilers wrote them.
 */
#include "cluster-agent/push/foreign_types.h"
#include "cluster-agent/push/pprof_upload.h"
#include "common/pprof/pprof_decode.h"
#include "test/lib/upload_parts_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct pprof_upload upload = {.service = {"s", 1},
					    .now_ns = INT64_C(1800000000000000000)};
	CLEANUP(arena_fini) struct arena arena;
	struct upload_parts parts;
	struct profile before;
	struct err err = {""};

	arena_init(&arena, (size_t)64 << 20);
	if (pprof_decode(&before, &arena, data, size, &err) < 0 ||
	    pprof_upload_decode(&parts, &arena, &upload, data, size, &err) < 0)
		return 0;
	check_upload_parts(&parts);
	assert(parts.n == 1 && !foreign_types_present(&parts.items[0].profile));
	assert(parts.items[0].profile.n_samples == before.n_samples);
	assert(parts.items[0].profile.n_types <= before.n_types);
	return 0;
}
