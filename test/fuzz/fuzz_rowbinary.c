/* Reads values as the first byte of each step says; what is read stays inside the input. */
#include <assert.h>

#include "cluster-agent/store/rowbinary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rowbinary_reader r;
	uint64_t sum = 0;

	rowbinary_reader_init(&r, data, size);
	while (rowbinary_has_more(&r)) {
		const uint8_t *before = r.pos;
		const char *s;
		size_t len;

		switch (rowbinary_get_u8(&r) % 5) {
		case 0:
			sum += rowbinary_get_u64(&r);
			break;
		case 1:
			sum += rowbinary_get_u32(&r);
			break;
		case 2:
			sum += rowbinary_get_count(&r);
			break;
		case 3:
			sum += rowbinary_get_f64(&r) > 0;
			break;
		default:
			s = rowbinary_get_string(&r, &len);
			for (size_t i = 0; i < len; i++)
				sum += (uint8_t)s[i];
		}
		assert(r.pos > before && r.pos <= r.end);
	}
	assert(rowbinary_reader_finish(&r) < 0 || r.pos == r.end);
	return (int)(sum & 0);
}
