#include "node-agent/sample/packed_addrs.h"

#include <errno.h>

#include "common/pprof/pprof_wire.h"

/* 0, -1, 1, -2 … of two's complement → 0, 1, 2, 3 … */
static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (0 - (difference >> 63));
}

static uint64_t unzigzag(uint64_t value)
{
	return value >> 1 ^ (0 - (value & 1));
}

size_t packed_addrs_pack(const uint64_t *addrs, size_t n, uint8_t *to)
{
	uint64_t before = 0;
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		len += pprof_pack(to + len, zigzag(addrs[i] - before));
		before = addrs[i];
	}
	return len;
}

ssize_t packed_addrs_unpack(const uint8_t *packed, size_t len, uint64_t *to, size_t max)
{
	struct wire_reader r = {packed, packed + len};
	uint64_t value, addr = 0;
	size_t n = 0;
	int more;

	while ((more = wire_reader_read_varint(&r, &value)) > 0) {
		if (n == max)
			return -EBADMSG;
		addr += unzigzag(value);
		to[n++] = addr;
	}
	return more < 0 ? more : (ssize_t)n;
}
