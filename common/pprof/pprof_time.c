/*
 * A pprof is one message of protobuf, in which a field may come at any place. time_nanos is removed
 * and appended anew: a second one would overrule the first by the rules of protobuf, but Go's
 * reader takes that for two pprofs in one file, and refuses it.
 */
#include "common/pprof/pprof_time.h"

#include <errno.h>

#include "common/data/gzip.h"
#include "common/limits.h"
#include "common/pprof/pprof_wire.h"

#define LEVEL 1
#define TIME_FIELD_BYTES 16u

/* Appends all fields but the time, which is the last one of its kind, or 0. */
static int copy_rest(const void *pprof, size_t len, struct buf *out, int64_t *ret_time)
{
	struct wire_reader r = {.p = pprof, .end = (const uint8_t *)pprof + len};
	const uint8_t *begin = r.p;
	struct wire_field f;
	int n, e = 0;

	*ret_time = 0;
	while (e == 0 && (n = wire_reader_read_field(&r, &f)) > 0) {
		if (f.number == PPROF_TIME_NANOS && f.type == WIRE_VARINT)
			*ret_time = (int64_t)f.value;
		else
			e = buf_add(out, begin, (size_t)(r.p - begin));
		begin = r.p;
	}
	return e < 0 ? e : n;
}

static int shift(const void *pprof, size_t len, int64_t shift_ns, int64_t max_ns, struct buf *out)
{
	struct wire_writer w = {.out = out};
	int64_t time_ns;
	int r = copy_rest(pprof, len, out, &time_ns);

	if (r < 0)
		return r;
	if (time_ns <= 0 || __builtin_add_overflow(time_ns, shift_ns, &time_ns) || time_ns <= 0)
		return -ENODATA;
	wire_writer_put_number(&w, PPROF_TIME_NANOS,
			       (uint64_t)(time_ns < max_ns ? time_ns : max_ns));
	return w.error;
}

int pprof_time_shift(const void *body, size_t len, int64_t shift_ns, int64_t max_ns,
		     struct buf *out)
{
	CLEANUP(buf_fini) struct buf inflated;
	CLEANUP(buf_fini) struct buf shifted;
	int r = 0;

	buf_init(&inflated, LIMIT_UPLOAD_INFLATED_BYTES);
	buf_init(&shifted, LIMIT_UPLOAD_INFLATED_BYTES + TIME_FIELD_BYTES);
	if (max_ns <= 0)
		return -ENODATA;
	if (gzip_detect(body, len)) {
		r = gzip_inflate(body, len, &inflated);
		body = inflated.data;
		len = inflated.len;
	}
	if (r == 0 && len > 0)
		r = shift(body, len, shift_ns, max_ns, &shifted);
	else if (r == 0)
		r = -ENODATA;
	return r == 0 ? gzip_deflate(shifted.data, shifted.len, LEVEL, out) : r;
}
