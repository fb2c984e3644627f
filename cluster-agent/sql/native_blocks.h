/*
 * ClickHouse's format Native for clients that name the revision of the protocol they speak
 * (client_protocol_version). Pure.
 *
 * The embedded engine always writes the format of revision 0. A client of revision 1 or more
 * expects block information before each block, and from NATIVE_REVISION_SERIALIZATION on a byte
 * per column that says whether its serialization is unusual. Neither can be found without knowing
 * where blocks and columns end.
 */
#ifndef CLUSTER_AGENT_SQL_NATIVE_BLOCKS_H
#define CLUSTER_AGENT_SQL_NATIVE_BLOCKS_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

#define NATIVE_REVISION_SERIALIZATION 54454u

/*
 * Appends the blocks in data, written for revision 0, to out as of revision, which is not 0.
 * Returns 0, -EOPNOTSUPP for a column whose end cannot be found (see native_type.h), with a
 * sentence in err; -EBADMSG if these are not blocks, -EFBIG if out's limit would be exceeded, or
 * -ENOMEM. On failure out holds some of the blocks.
 */
int native_blocks_encode(const void *data, size_t len, uint64_t revision, struct buf *out,
			 struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SQL_NATIVE_BLOCKS_H */
