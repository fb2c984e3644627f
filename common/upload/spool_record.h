/*
 * What a record of the spool holds: a profile that waits, or the mark that one is finished. Pure;
 * the files are in spool_files.h, the frame around each record in record_format.h.
 *
 *	profile  created_ns u64, key[32], query length u16, query, body: of version 1
 *	clocked  own_ns i64, boot u64, correction_ns i64, is_measured u64 (struct upload_clock),
 *	         then as profile
 *	done     offset u64 of the profile's record in the same file
 */
#ifndef COMMON_UPLOAD_SPOOL_RECORD_H
#define COMMON_UPLOAD_SPOOL_RECORD_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/upload/upload_item.h"

#define SPOOL_FILE_TYPE UINT32_C(0x4c4f5053) /* "SPOL" */
#define SPOOL_FILE_VERSION 2u

enum spool_record_kind {
	SPOOL_RECORD_PROFILE = 1,
	SPOOL_RECORD_DONE = 2,
	SPOOL_RECORD_CLOCKED = 3,
};

#define SPOOL_DONE_BYTES 8u
#define SPOOL_PROFILE_HEAD_BYTES (8u + UPLOAD_KEY_DIGITS + 2u)

#define SPOOL_CLOCK_BYTES 32u

/* Whether the record holds a profile. */
static inline bool spool_record_is_profile(uint32_t kind)
{
	return kind == SPOOL_RECORD_PROFILE || kind == SPOOL_RECORD_CLOCKED;
}

/* Appends the payload of a SPOOL_RECORD_CLOCKED. Returns what buf_add() does. */
int spool_profile_encode(struct buf *out, const struct upload_item *i) MUST_CHECK;
/* kind is one of a profile. Returns 0, -EBADMSG, or -ENOMEM. */
int spool_profile_parse(struct upload_item **ret, uint32_t kind, const void *payload,
			size_t len) MUST_CHECK;
/* When the profile was made, of a valid payload. Returns 0 or -EBADMSG. */
int spool_profile_parse_created(uint64_t *ret_ns, uint32_t kind, const void *payload,
				size_t len) MUST_CHECK;

void spool_done_encode(uint8_t ret[SPOOL_DONE_BYTES], uint64_t offset);
/* Returns 0 or -EBADMSG. */
int spool_done_parse(uint64_t *ret_offset, const void *payload, size_t len) MUST_CHECK;

#endif /* COMMON_UPLOAD_SPOOL_RECORD_H */
