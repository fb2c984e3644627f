/*
 * Makes the program that includes this look like a Go 1.24 program to readers of its file and
 * memory: build info, module data, pclntab, variables of the memory profiler and a list of
 * its records. The rate is 1, so values are not scaled. Forked children inherit all of that,
 * and may change their copy.
 */
#ifndef TEST_LIB_GO_LOOKALIKE_H
#define TEST_LIB_GO_LOOKALIKE_H

#include <sys/mman.h>

#include "node-agent/go/record/go_bucket.h"
#include "test/lib/go_image_builder.h"

#define GO_LOOKALIKE_RECORDS_BYTES 0x100000u
#define GO_LOOKALIKE_SIZE 16u /* of objects */
#define GO_LOOKALIKE_LEAVES 4u

/* Within the image: the second range is data, the third bss. */
#define GO_LOOKALIKE_RATE 0x6008u
#define GO_LOOKALIKE_DISABLED 0x6010u
#define GO_LOOKALIKE_SPARE 0x6018u /* an unused word of data */
#define GO_LOOKALIKE_BUCKETS 0x7010u

__attribute__((section(".go.buildinfo"), used,
	       aligned(16))) static const uint8_t go_lookalike_buildinfo[48] =
	"\xff Go buildinf:\x08\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
	"\x08go1.24.3";

static struct go_image_builder go_lookalike __attribute__((used, aligned(4096)));

/* clang-format off */
__asm__(".set \"runtime.firstmoduledata\", go_lookalike + 0x4000\n"
	".set \"runtime.MemProfileRate\", go_lookalike + 0x6008\n"
	".set \"runtime.disableMemoryProfiling\", go_lookalike + 0x6010\n"
	".set \"runtime.mbuckets\", go_lookalike + 0x7010\n");
/* clang-format on */

/* Its records are at this address, in a mapping of their own. */
static uint8_t *go_lookalike_records;

static inline uint64_t go_lookalike_word(size_t offset)
{
	uint64_t v;

	memcpy(&v, go_lookalike.data + offset, sizeof(v));
	return v;
}

static inline void go_lookalike_put(size_t offset, uint64_t v)
{
	memcpy(go_lookalike.data + offset, &v, sizeof(v));
}

static inline uint64_t go_lookalike_address(size_t offset)
{
	return (uint64_t)(uintptr_t)(go_lookalike.data + offset);
}

/* Writes record i, with a stack that no other has. Returns the end of the record. */
static inline uint8_t *go_lookalike_put_record(uint8_t *to, size_t i, uint64_t next, uint64_t count)
{
	static const uint32_t leaves[GO_LOOKALIKE_LEAVES] = {0x09, 0x19, 0x29, 0x51};
	uint64_t *words = (uint64_t *)(void *)to, n_stack = 1 + i / GO_LOOKALIKE_LEAVES;
	uint64_t text = go_lookalike_address(GO_IMAGE_TEXT);

	words[0] = 0;
	words[1] = next;
	words[2] = GO_BUCKET_MEMORY;
	words[4] = GO_LOOKALIKE_SIZE;
	words[5] = n_stack;
	for (uint64_t k = 0; k < n_stack; k++)
		words[6 + k] = text + (k == 0 ? leaves[i % GO_LOOKALIKE_LEAVES] : 0x101);
	words[3] = go_bucket_hash(words + 6, n_stack, GO_LOOKALIKE_SIZE);
	words += 6 + n_stack;
	memset(words, 0, 16 * sizeof(*words));
	words[0] = count; /* active: allocated, and nothing freed */
	words[2] = count * GO_LOOKALIKE_SIZE;
	return (uint8_t *)(words + 16);
}

/*
 * Builds n records with equal counts. The module data comes last and makes this a Go program.
 * False without memory.
 */
static inline bool go_lookalike_build(size_t n, uint64_t count)
{
	static const char *const names[] = {"main.a", "main.b", "main.c"};
	uint64_t next = 0;
	uint8_t *at;

	if (!go_lookalike_records)
		go_lookalike_records =
			mmap(NULL, GO_LOOKALIKE_RECORDS_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (go_lookalike_records == MAP_FAILED)
		return false;
	go_image_build_tables(&go_lookalike, 24, go_lookalike_address(0), names);
	at = go_lookalike_records;
	for (size_t i = 0; i < n; i++) {
		uint64_t address = (uint64_t)(uintptr_t)at;

		at = go_lookalike_put_record(at, i, next, count);
		assert(at <= go_lookalike_records + GO_LOOKALIKE_RECORDS_BYTES);
		next = address;
	}
	go_lookalike_put(GO_LOOKALIKE_BUCKETS, next);
	go_lookalike_put(GO_LOOKALIKE_RATE, 1);
	__asm__ volatile("" ::: "memory");
	go_image_put_module(&go_lookalike, 24, GO_IMAGE_MODULE, 0);
	return true;
}

#endif /* TEST_LIB_GO_LOOKALIKE_H */
