/* Blocks of the format Native: what is encoded has the input's bytes, and what is inserted. */
#include <assert.h>
#include <errno.h>

#include "cluster-agent/sql/native_blocks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t revisions[] = {1, NATIVE_REVISION_SERIALIZATION};
	size_t lens[ARRAY_SIZE(revisions)] = {0};

	for (size_t i = 0; i < ARRAY_SIZE(revisions); i++) {
		struct err err = {0};
		struct buf out;
		int r;

		buf_init(&out, 16 * size + 1000);
		r = native_blocks_encode(data, size, revisions[i], &out, &err);
		assert(r == 0 || r == -EBADMSG || r == -EOPNOTSUPP);
		assert(r == 0 || err.msg[0]);
		if (r == 0)
			assert(out.len >= size && (size == 0 || out.len > size));
		lens[i] = r == 0 ? out.len : 0;
		buf_fini(&out);
	}
	/* a byte per column more, and the same verdict */
	assert((lens[0] > 0) == (lens[1] > 0) && lens[1] >= lens[0]);
	return 0;
}
