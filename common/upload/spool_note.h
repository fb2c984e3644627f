/*
 * A small text in the spool's directory for each endpoint: what must be known about the receiver
 * before it answers. Blocks for the disk.
 */
#ifndef COMMON_UPLOAD_SPOOL_NOTE_H
#define COMMON_UPLOAD_SPOOL_NOTE_H

#include "common/base.h"

#define SPOOL_NOTE_MAX_BYTES 1024u

/* Names are as long as "receiver-0123456789abcdef.json". */
#define SPOOL_NOTE_NAME_BYTES 32u
/* The name has a hash of the endpoint, which may hold a password. */
void spool_note_name(const char *endpoint, char ret[static SPOOL_NOTE_NAME_BYTES]);

/* Returns 0, -ENOENT if there is none, -EFBIG, -ENOMEM, or another -errno. */
int spool_note_read(int dir_fd, const char *name, char ret[static SPOOL_NOTE_MAX_BYTES]) MUST_CHECK;
/* A crash leaves the old text or the new one. Returns 0, -EFBIG, or another -errno. */
int spool_note_write(int dir_fd, const char *name, const char *text) MUST_CHECK;

#endif /* COMMON_UPLOAD_SPOOL_NOTE_H */
