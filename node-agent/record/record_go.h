/*
 * What a Go process holds, or where its goroutines are, at this moment, read from its memory as the
 * agent does it. This needs no sampler, only the right to read the process.
 */
#ifndef NODE_AGENT_RECORD_RECORD_GO_H
#define NODE_AGENT_RECORD_RECORD_GO_H

#include <sys/types.h>

#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"
#include "node-agent/record/record_options.h"

/* Appends a pprof to out, nothing if it is empty. Returns 0, or -errno with a sentence in err. */
int record_go_read(pid_t pid, enum record_kind kind, struct buf *out, struct err *err) MUST_CHECK;

#endif /* NODE_AGENT_RECORD_RECORD_GO_H */
