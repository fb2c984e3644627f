/*
 * Writing one byte of a variable of a Go process: all that this agent ever writes to another process, and only when it was told to.
 *
 * Values that are switched have a single byte that is not 0, so there is no moment at which the
 * program could see another number. Before, everything is checked through the very descriptor that
 * is written to: it stays with the memory that it was opened for.
 */
#ifndef NODE_AGENT_GO_IMAGE_GO_WRITE_H
#define NODE_AGENT_GO_IMAGE_GO_WRITE_H

#include "common/base.h"
#include "node-agent/go/image/go_runtime.h"

#define GO_WRITE_MINOR_MAX 27u /* newer releases are read only */

struct go_write {
	uint64_t address; /* of an aligned word */
	uint64_t
		from; /* what it must have now; one of both is 0, the other has one byte that is not */
	uint64_t to;
	uint64_t guard_address; /* 0: none; a byte that must have guard_value */
	uint8_t guard_value;
};

/*
 * id: of rt's process. 1: written; 0: nothing to do, as it has that value already; -ENOTSUP: not a release that is
 * known, or not a variable; -EINVAL: values that cannot be written so; -EALREADY: another value, or the guard's;
 * -ESRCH: not that process any more; -errno of open(2), pread(2) and pwrite(2).
 */
int go_write_word(const struct go_runtime *rt, const struct program_id *id,
		  const struct go_write *w) MUST_CHECK;

#endif /* NODE_AGENT_GO_IMAGE_GO_WRITE_H */
