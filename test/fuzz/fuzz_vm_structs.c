/*
 * Any bytes as the memory of a HotSpot JVM, from FAKE_VM_BASE on: its exported variables come
 * first. The corpus is made of images by test/lib/fake_vm.c.
 */
#include <assert.h>
#include <errno.h>

#include "node-agent/java/vm/jvm_flags.h"
#include "node-agent/java/vm/perf_memory.h"

#define BASE UINT64_C(0x10000)
#define READS_MAX 2000000u /* a JVM's tables take some 10,000 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct image {
	const uint8_t *data;
	size_t size;
	unsigned n_reads;
};

static int read_image(void *ctx, uint64_t offset, void *to, size_t len)
{
	struct image *m = ctx;

	assert(++m->n_reads < READS_MAX);
	if (offset < BASE || offset - BASE > m->size || len > m->size - (offset - BASE))
		return -ENODATA;
	memcpy(to, m->data + (offset - BASE), len);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image m = {data, size, 0};
	struct vm_variables variables;
	struct byte_source memory;
	struct hsperfdata perf;
	struct jvm_flags f;

	for (size_t i = 0; i < VM_VARIABLES; i++)
		variables.at[i] = BASE + i * sizeof(uint64_t);
	byte_source_from_reader(&memory, read_image, &m, UINT64_C(1) << 48);
	if (jvm_flags_read(&memory, &variables, &f) == 0) {
		assert(jvm_flags_known(&f, JVM_FLAG_DISABLE_ATTACH_MECHANISM));
		assert((f.on & ~f.known) == 0);
		assert(strnlen(f.release, sizeof(f.release)) < sizeof(f.release));
	}
	if (perf_memory_read(&memory, &variables, &perf) == 0)
		assert(perf.ticks_per_second > 0);
	return 0;
}
