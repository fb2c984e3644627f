/*
 * Any bytes as packed addresses: refused, or addresses that pack into no more bytes. Any words as
 * addresses: the same after packing and unpacking.
 */
#include <assert.h>
#include <stdlib.h>

#include "node-agent/sample/cycle.h"

#define MAX_ADDRS 1024u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_packing(const uint64_t *addrs, size_t n, size_t max_bytes)
{
	static uint8_t packed[PACKED_ADDRS_MAX_BYTES(MAX_ADDRS)];
	static uint64_t again[MAX_ADDRS];
	size_t len = packed_addrs_pack(addrs, n, packed);

	assert(len <= max_bytes);
	assert(packed_addrs_unpack(packed, len, again, n) == (ssize_t)n);
	assert(n == 0 || memcmp(again, addrs, n * sizeof(*addrs)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint64_t addrs[MAX_ADDRS];
	size_t max = size / sizeof(*addrs) < MAX_ADDRS ? size / sizeof(*addrs) : MAX_ADDRS;
	ssize_t n = packed_addrs_unpack(data, size, addrs, MAX_ADDRS);

	if (n >= 0)
		check_packing(addrs, (size_t)n, size);
	if (max > 0)
		memcpy(addrs, data, max * sizeof(*addrs));
	check_packing(addrs, max, PACKED_ADDRS_MAX_BYTES(max));
	return 0;
}
