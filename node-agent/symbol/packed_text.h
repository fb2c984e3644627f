/*
 * A long text kept compressed, read in small pieces at any offset. Pure.
 *
 * Deflated in blocks, so that a read costs one block or two: some ten microseconds. For names that
 * are looked up once and remembered elsewhere.
 */
#ifndef NODE_AGENT_SYMBOL_PACKED_TEXT_H
#define NODE_AGENT_SYMBOL_PACKED_TEXT_H

#include "common/base.h"

#define PACKED_TEXT_MAX_BYTES (UINT32_MAX / 2)

struct packed_text;

/* Packs len bytes, at most PACKED_TEXT_MAX_BYTES. -ENOMEM is the only failure. */
int packed_text_new(struct packed_text **ret, const char *text, size_t len) MUST_CHECK;
void packed_text_free(struct packed_text *t);
DEFINE_CLEANUP(struct packed_text *, packed_text_free);

/*
 * The bytes from offset on, at most cap of them and as many as there are. Number of bytes; 0 past
 * the end.
 */
size_t packed_text_read(struct packed_text *t, size_t offset, char *out, size_t cap);

/* Of memory. */
size_t packed_text_bytes(const struct packed_text *t);

#endif /* NODE_AGENT_SYMBOL_PACKED_TEXT_H */
