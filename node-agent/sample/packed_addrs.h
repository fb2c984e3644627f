/*
 * The addresses of a stack in a third of their bytes: each as the difference to the one before it,
 * zigzag-encoded as a varint (protobuf.dev/programming-guides/encoding). Frames that follow each
 * other are mostly in the same file, some three bytes apart. Equal stacks are equal bytes. Pure.
 */
#ifndef NODE_AGENT_SAMPLE_PACKED_ADDRS_H
#define NODE_AGENT_SAMPLE_PACKED_ADDRS_H

#include "common/base.h"
#include "common/pprof/pprof_writer.h"

#define PACKED_ADDRS_MAX_BYTES(n) ((n) * (size_t)PPROF_PACKED_MAX_BYTES)

/* to has room for PACKED_ADDRS_MAX_BYTES(n). Returns how many bytes they take. */
size_t packed_addrs_pack(const uint64_t *addrs, size_t n, uint8_t *to);

/* Returns how many addresses these bytes are, or -EBADMSG if they are none, or more than max. */
ssize_t packed_addrs_unpack(const uint8_t *packed, size_t len, uint64_t *to, size_t max) MUST_CHECK;

#endif /* NODE_AGENT_SAMPLE_PACKED_ADDRS_H */
