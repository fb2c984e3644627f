/*
 * The bytes of a record file: a file header, then records, each with a checksum. Pure; the I/O is
 * in common/system/record_file.h.
 *
 * A record is found again behind damage: each begins with a magic number and has a checksum of its
 * header that depends on its offset and on the random id of the file. So bytes inside a payload,
 * which a stranger may have chosen, are never taken for a record, nor is one that was copied from
 * elsewhere.
 *
 *	file header  "CRTRECF1", type, version, id[16], checksum         twice 40 bytes
 *	record       magic, kind, length, header checksum, checksum      24 bytes, then the payload,
 *	             zeros up to the next multiple of 8
 *
 * The file header is there twice because no record can be checked without the id. Numbers are
 * little-endian. Checksums are XXH3.
 */
#ifndef COMMON_DATA_RECORD_FORMAT_H
#define COMMON_DATA_RECORD_FORMAT_H

#include "common/base.h"

#define RECORD_FILE_HEADER_BYTES 80u
#define RECORD_HEADER_BYTES 24u
/* Of one payload. */
#define RECORD_MAX_BYTES (256u << 20)

struct record_file_header {
	uint32_t type; /* what the file holds: chosen by the module that writes it */
	uint32_t version;
	uint8_t id[16]; /* random: no other file has it */
};

void record_file_header_encode(uint8_t ret[RECORD_FILE_HEADER_BYTES],
			       const struct record_file_header *h);
/* Returns 0, or -EBADMSG if both copies of the header are damaged or missing. */
int record_file_header_parse(struct record_file_header *ret, const void *data,
			     size_t len) MUST_CHECK;

/* Returns 0, -EBADMSG for another type, or -EPROTONOSUPPORT for a version beyond the given one. */
int record_file_header_check(const struct record_file_header *h, uint32_t type,
			     uint32_t version) MUST_CHECK;

/* The checksum of a payload. */
uint64_t record_sum(const void *payload, size_t len);

/* How many bytes of the file a record with a payload of len takes. */
static inline uint64_t record_size(uint64_t len)
{
	return RECORD_HEADER_BYTES + ((len + 7) & ~UINT64_C(7));
}

struct record_header {
	uint32_t kind; /* chosen by the module that writes it */
	uint32_t len;  /* of the payload */
	uint64_t sum;  /* record_sum() of the payload */
};

/* offset is that of the record in the file. */
void record_header_encode(uint8_t ret[RECORD_HEADER_BYTES], const struct record_header *h,
			  const struct record_file_header *file, uint64_t offset);
/* Returns 0, or -EBADMSG if these are not the undamaged header of a record at this offset. */
int record_header_parse(struct record_header *ret, const uint8_t data[RECORD_HEADER_BYTES],
			const struct record_file_header *file, uint64_t offset) MUST_CHECK;

struct record {
	uint32_t kind;
	uint32_t len;
	const void *payload; /* aligned to 8 bytes if the file's bytes are */
	uint64_t offset;     /* of the record in the file */
};

/* Damage at the end of a file may not respect where records may begin. */
static inline uint64_t record_boundary(uint64_t offset)
{
	return offset & ~UINT64_C(7);
}

/* Goes through the records of a whole file in memory. */
struct record_cursor {
	const uint8_t *data;
	size_t len;
	struct record_file_header file;
	uint64_t offset;    /* past the last record that was returned, or past what was skipped */
	uint64_t n_damaged; /* places that record_cursor_read() has skipped */
};

enum record_outcome {
	RECORD_READ,    /* *ret is the next record */
	RECORD_END,     /* there are no more, and nothing is left over */
	RECORD_TORN,    /* the last one is not whole, as a crash during an append leaves it: cut the
			   file off at offset, where it begins. As RECORD_END otherwise */
	RECORD_DAMAGED, /* what begins at offset cannot be read. It has been skipped: call again */
};

/* data is borrowed. Returns what record_file_header_parse() does. */
int record_cursor_init(struct record_cursor *c, const void *data, size_t len) MUST_CHECK;
/* The same, also -EBADMSG for another type, and -EPROTONOSUPPORT for a later version. */
int record_cursor_open(struct record_cursor *c, const void *data, size_t len, uint32_t type,
		       uint32_t version) MUST_CHECK;
/* The payload is borrowed from data. Unless it is RECORD_READ, only ret->offset is set. */
enum record_outcome record_cursor_next(struct record_cursor *c, struct record *ret);
/*
 * The next record that can be read; counts the damage that it skips. Returns false at the end,
 * which is at c->offset; what is torn is after it.
 */
bool record_cursor_read(struct record_cursor *c, struct record *ret);

#endif /* COMMON_DATA_RECORD_FORMAT_H */
