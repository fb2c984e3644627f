/* A pprof of a recording → the file that was asked for. Pure. */
#ifndef NODE_AGENT_RECORD_RECORD_WRITER_H
#define NODE_AGENT_RECORD_RECORD_WRITER_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"
#include "common/flame/flame_tree.h"
#include "common/pprof/profile.h"
#include "node-agent/record/record_options.h"
#include "node-agent/record/record_report.h"

struct record_document {
	const struct buf *pprof; /* as it was recorded; empty: no sample */
	struct profile *profile; /* the same, decoded */
	struct record_type type;
	const char *title;    /* "python3 (pid 812)" */
	const char *subtitle; /* "990 samples in 10.0 s" */
	int64_t start_ns;     /* since the Unix epoch */
	int64_t end_ns;
	const struct flame_view *view; /* of all stacks */
};

/* Appends the file. Returns 0, -ENOMEM, -EFBIG, or an error of go_pgo_make() with err. */
int record_writer_write(struct buf *out, const struct record_document *d,
			enum recording_format format, bool for_go_pgo, struct err *err) MUST_CHECK;

#endif /* NODE_AGENT_RECORD_RECORD_WRITER_H */
