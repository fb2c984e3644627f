/*
 * Stacks of a query → pprof, for a download that other tools read. Pure.
 *
 * Memory is bounded by LIMIT_PPROF_ARENA_BYTES: stacks that do not fit are -EFBIG, so that the
 * reader asks for a shorter range; -ENOMEM is left for a machine that has no memory.
 */
#ifndef CLUSTER_AGENT_QUERY_EXPORT_PPROF_EXPORT_H
#define CLUSTER_AGENT_QUERY_EXPORT_PPROF_EXPORT_H

#include "cluster-agent/query/read/query_filter.h"
#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/buf.h"
#include "common/data/intern.h"
#include "common/err.h"
#include "common/flame/flame_tree.h"
#include "common/pprof/profile.h"

struct pprof_export {
	struct arena arena;
	struct intern *texts;     /* frames; ids are function indexes */
	struct intern *locations; /* ids of texts, innermost first; ids are location indexes */
	struct profile_sample *samples;
	uint32_t n_samples;
	uint32_t max_samples;
	const char *type_name; /* of values; borrowed; NULL: the filter's type */
	int64_t duration_ns;   /* the time that the values stand for */
	/* lines at which functions start, for "go build -pgo"; NULL: a pprof for other tools */
	struct intern *starts; /* "<name> <file>" */
	uint64_t *lines;       /* by id of these */
	uint32_t n_lines, max_lines;
};

/* For max_samples at most. Returns 0 or -ENOMEM; released with fini in both cases. */
int pprof_export_init(struct pprof_export *e, uint32_t max_samples) MUST_CHECK;
void pprof_export_fini(struct pprof_export *e);

/*
 * Adds a sample of what is not 0. The base, which is subtracted, is a sample with a negative value
 * and a label, as "go tool pprof -diff_base" makes them. Returns 0, -EFBIG if there are more than
 * max_samples or they do not fit, or -ENOMEM.
 */
int pprof_export_add(struct pprof_export *e, const struct flame_frame *frames, size_t n_frames,
		     struct stack_value value) MUST_CHECK;

/*
 * The pprof is one for "go build -pgo" (go_pgo.h); begin_starts says so, and add_start says at
 * which line a function starts, whose key is "<name> <file>". Returns 0, -EFBIG or -ENOMEM.
 */
int pprof_export_begin_starts(struct pprof_export *e) MUST_CHECK;
int pprof_export_add_start(struct pprof_export *e, const char *key, size_t len,
			   uint64_t line) MUST_CHECK;

/*
 * Appends a gzipped pprof of the stacks. A comment "range <RFC 3339>/<RFC 3339>" says which range
 * was asked for, as profiles may cover a part of it only. Returns 0, -EFBIG if it does not fit,
 * -ENOMEM, or an error of go_pgo_make() with err.
 */
int pprof_export_write(struct pprof_export *e, const struct query_filter *f, struct buf *out,
		       struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_EXPORT_PPROF_EXPORT_H */
