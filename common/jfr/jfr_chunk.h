/*
 * The header of a chunk. Pure. Source: OpenJDK's ChunkHeader.java.
 */
#ifndef COMMON_JFR_JFR_CHUNK_H
#define COMMON_JFR_JFR_CHUNK_H

#include "common/base.h"
#include "common/jfr/jfr_reader.h"

struct err;

#define JFR_CHUNK_HEADER_BYTES 68u

/* Positions are offsets in the recording. */
struct jfr_chunk {
	uint64_t start;
	uint64_t events;
	uint64_t end;
	uint64_t metadata;  /* its event */
	uint64_t constants; /* the last checkpoint event */
	uint64_t start_ns;  /* since the Unix epoch */
	uint64_t end_ns;
	uint64_t ticks_per_second;
	bool compressed; /* integers */
};

/*
 * Reads the header at start. Returns 0, -EBADMSG if it is none or broken, -ENODATA if the chunk is
 * not finished or longer than the recording, or an error of the source.
 */
int jfr_chunk_read(struct jfr_chunk *ret, struct jfr_reader *r, uint64_t start,
		   struct err *err) MUST_CHECK;

#endif /* COMMON_JFR_JFR_CHUNK_H */
