/*
 * A long text, kept compressed and read in small pieces at any offset. Pure.
 *
 * A read inflates one block or two, which takes about ten microseconds: meant for texts that
 * are read rarely and then cached elsewhere.
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

/* Stores up to cap bytes from offset on. Returns their number; 0 past the end. */
size_t packed_text_read(struct packed_text *t, size_t offset, char *out, size_t cap);

/* Memory in use. */
size_t packed_text_bytes(const struct packed_text *t);

#endif /* NODE_AGENT_SYMBOL_PACKED_TEXT_H */
