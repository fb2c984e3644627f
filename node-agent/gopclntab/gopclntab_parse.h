/*
 * Parsing a .gopclntab at a known place: for the files of gopclntab.h only.
 */
#ifndef NODE_AGENT_GOPCLNTAB_GOPCLNTAB_PARSE_H
#define NODE_AGENT_GOPCLNTAB_GOPCLNTAB_PARSE_H

#include "common/base.h"
#include "node-agent/gopclntab/gopclntab.h"

#define GOPCLNTAB_HEADER_BYTES 8u     /* magic, two zero bytes, instruction quantum, pointer size */
#define GOPCLNTAB_HEADER_WORD_TEXT 2u /* since 1.18; counted after these eight bytes */

/* Whether these GOPCLNTAB_HEADER_BYTES may begin a table. */
bool gopclntab_is_header(const uint8_t *bytes);

/*
 * Parses the table at t->offset, t->size_bytes long at most. The start of the text is taken from
 * its header; if that is 0, first and end are relative to it. Results as of gopclntab_open().
 */
int gopclntab_parse(struct gopclntab *t, const struct byte_source *src) MUST_CHECK;

#endif /* NODE_AGENT_GOPCLNTAB_GOPCLNTAB_PARSE_H */
