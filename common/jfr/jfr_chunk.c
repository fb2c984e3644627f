#include "common/jfr/jfr_chunk.h"

#include <errno.h>

#include "common/err.h"

#define MAGIC UINT64_C(0x464c5200) /* "FLR\0" */
#define COMPRESSED_INTEGERS 1u

static int check(const struct jfr_chunk *c, uint64_t size, uint64_t limit, struct err *err)
{
	if (c->metadata == 0 || c->constants == 0)
		return err_set(err, -ENODATA, "it is not finished");
	if (size > limit - c->start)
		return err_set(err, -ENODATA, "it is truncated");
	if (size < JFR_CHUNK_HEADER_BYTES || c->metadata < JFR_CHUNK_HEADER_BYTES ||
	    c->metadata >= size || c->constants < JFR_CHUNK_HEADER_BYTES || c->constants >= size ||
	    c->ticks_per_second == 0 || c->ticks_per_second > INT64_MAX)
		return err_set(err, -EBADMSG, "its header is broken");
	return 0;
}

int jfr_chunk_read(struct jfr_chunk *ret, struct jfr_reader *r, uint64_t start, struct err *err)
{
	uint64_t limit = r->source->size_bytes, magic, size, duration_ns;
	unsigned major;
	int e;

	jfr_reader_seek(r, start, limit);
	if (r->error == 0 && limit - start < JFR_CHUNK_HEADER_BYTES)
		return err_set(err, -ENODATA, "it is truncated");
	magic = jfr_reader_raw(r, 4);
	major = (unsigned)jfr_reader_raw(r, 2);
	(void)jfr_reader_raw(r, 2); /* minor version */
	*ret = (struct jfr_chunk){.start = start};
	size = jfr_reader_raw(r, 8);
	ret->constants = jfr_reader_raw(r, 8);
	ret->metadata = jfr_reader_raw(r, 8);
	ret->start_ns = jfr_reader_raw(r, 8);
	duration_ns = jfr_reader_raw(r, 8);
	(void)jfr_reader_raw(r, 8); /* start in ticks */
	ret->ticks_per_second = jfr_reader_raw(r, 8);
	ret->compressed = (jfr_reader_raw(r, 4) & COMPRESSED_INTEGERS) != 0;
	if (r->error != 0)
		return err_set(err, r->error, "its header cannot be read");
	if (magic != MAGIC)
		return err_set(err, -EBADMSG, "it is no recording");
	if (major < 1 || major > 2)
		return err_set(err, -EBADMSG, "version %u of the format is not known", major);
	e = check(ret, size, limit, err);
	if (e < 0)
		return e;
	ret->events = start + JFR_CHUNK_HEADER_BYTES;
	ret->end = start + size;
	ret->metadata += start;
	ret->constants += start;
	ret->end_ns = ret->start_ns + duration_ns;
	return 0;
}
