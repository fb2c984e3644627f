/*
 * Any bytes as a file of a table, whose checksums are made right first: pages are whole and in
 * order, and their rules are in the dictionary.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "node-agent/unwind/cfi/table_file.h"
#include "test/lib/seen_pages.h"

/* Of the header: see struct header in table_file.c. */
#define KEY_AT 16u
#define BODY_BYTES_AT 64u
#define BODY_SUM_AT 72u
#define HEADER_SUM_AT 144u
#define HEADER_BYTES 152u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_sums(uint8_t *file, size_t size)
{
	uint64_t body_bytes = size - HEADER_BYTES, sum;

	memcpy(file + BODY_BYTES_AT, &body_bytes, sizeof(body_bytes));
	sum = XXH3_64bits(file + HEADER_BYTES, body_bytes);
	memcpy(file + BODY_SUM_AT, &sum, sizeof(sum));
	sum = XXH3_64bits(file, HEADER_SUM_AT);
	memcpy(file + HEADER_SUM_AT, &sum, sizeof(sum));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE uint8_t *file = malloc(size + 1);
	struct seen_pages seen = {.n_pages = 0};
	struct table_file_key key = {{0}};
	struct cfi_table table;
	struct byte_source src;

	assert(file);
	memcpy(file, data, size);
	if (size >= HEADER_BYTES) {
		put_sums(file, size);
		memcpy(&key, file + KEY_AT, sizeof(key));
	}
	byte_source_from_memory(&src, file, size);
	if (table_file_read(&table, &src, &key, see_page, &seen) < 0)
		return 0;
	assert(seen.n_pages == table.extent.n_pages);
	assert(seen.n_rows == table.n_rows);
	assert(seen.last_rule < table.n_rules);
	cfi_table_fini(&table);
	return 0;
}
