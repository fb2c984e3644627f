/*
 * Queries of stored profiles, with answers as JSON for the page or pprof for other tools.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_QUERY_PROFILE_QUERY_H
#define CLUSTER_AGENT_QUERY_PROFILE_QUERY_H

#include "cluster-agent/query/read/label_matchers.h"
#include "cluster-agent/query/read/query_filter.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

struct source_code;
struct store;

enum query_sort {
	QUERY_SORT_SELF,
	QUERY_SORT_TOTAL,
	QUERY_SORT_DIFF, /* by the amount of the change between base and selection */
};

enum query_format {
	QUERY_FORMAT_JSON,
	QUERY_FORMAT_COLUMNS, /* JSON with numbers as bytes after it (column_block.h) */
};

/* What a pprof is for. */
enum query_purpose {
	QUERY_FOR_READING,
	QUERY_FOR_GO_PGO, /* "go build -pgo" */
};

/* Texts are borrowed. Each query reads the fields that it needs; 0 or NULL means "not given". */
struct query_request {
	struct query_filter filter;
	struct query_filter base; /* the selection to compare with; unused unless has_base */
	bool has_base;
	uint32_t n_points;  /* of a timeline, at most; not 0 */
	uint32_t max_nodes; /* of a flame graph; the rest becomes "other" */
	uint64_t zoom;      /* path key of a node (path_key.h); 0: the whole tree */
	const char *name;   /* of a function */
	const char *file;   /* of that function */
	const char *search;
	const char *version; /* NULL: all; "": profiles that say none */
	const char *label;   /* by which to group, or whose values to list */
	const char *text;    /* of a note */
	const char *url;     /* of the view that it is about */
	int64_t at_ns;       /* the moment that it is about */
	uint64_t ttl_ns;     /* of a snapshot; 0: that of all notes */
	uint64_t id;         /* of a note */
	uint32_t side;       /* of a snapshot: 1 is what it is compared with */
	uint32_t limit;      /* number of elements of a list */
	uint32_t by_share;   /* not 0: of a profile counts the part within the range */
	enum query_sort sort;
	enum query_format format;
	enum query_purpose purpose;
	struct source_code *sources; /* NULL: there are none */
	/*
	 * Storage of filter.where and base.where, which point here; a request that has matchers
	 * must not be copied.
	 */
	struct label_matchers where;
	struct label_matchers base_where;
};

/*
 * Each appends to out. Returns 0, -EREMOTEIO or -EBADMSG if the store's answer is an error, another
 * error of store_query(), -EFBIG if the answer is too large, -EINVAL if an argument is wrong
 * that only the store can check (a regular expression), or -ENOMEM.
 */
int profile_query_types(struct store *store, const struct query_request *p, struct buf *out,
			struct err *err) MUST_CHECK;
int profile_query_applications(struct store *store, const struct query_request *p, struct buf *out,
			       struct err *err) MUST_CHECK;
int profile_query_movers(struct store *store, const struct query_request *p, struct buf *out,
			 struct err *err) MUST_CHECK;
int profile_query_levels(struct store *store, const struct query_request *p, struct buf *out,
			 struct err *err) MUST_CHECK;
/* A function over all applications, and functions of all by a part of their name. */
int profile_query_fleet(struct store *store, const struct query_request *p, struct buf *out,
			struct err *err) MUST_CHECK;
int profile_query_names(struct store *store, const struct query_request *p, struct buf *out,
			struct err *err) MUST_CHECK;
int profile_query_labels(struct store *store, const struct query_request *p, struct buf *out,
			 struct err *err) MUST_CHECK;
int profile_query_timeline(struct store *store, const struct query_request *p, struct buf *out,
			   struct err *err) MUST_CHECK;
/* A timeline whose series are many: one for each row. */
int profile_query_heatmap(struct store *store, const struct query_request *p, struct buf *out,
			  struct err *err) MUST_CHECK;
int profile_query_flamegraph(struct store *store, const struct query_request *p, struct buf *out,
			     struct err *err) MUST_CHECK;
int profile_query_pprof(struct store *store, const struct query_request *p, struct buf *out,
			struct err *err) MUST_CHECK;
int profile_query_functions(struct store *store, const struct query_request *p, struct buf *out,
			    struct err *err) MUST_CHECK;
int profile_query_function(struct store *store, const struct query_request *p, struct buf *out,
			   struct err *err) MUST_CHECK;
/* The text of a file of the selection, and where it is at a forge. */
int profile_query_source(struct store *store, const struct query_request *p, struct buf *out,
			 struct err *err) MUST_CHECK;
int profile_query_matches(struct store *store, const struct query_request *p, struct buf *out,
			  struct err *err) MUST_CHECK;
int profile_query_stacks(struct store *store, const struct query_request *p, struct buf *out,
			 struct err *err) MUST_CHECK;
int profile_query_folded(struct store *store, const struct query_request *p, struct buf *out,
			 struct err *err) MUST_CHECK;
int profile_query_speedscope(struct store *store, const struct query_request *p, struct buf *out,
			     struct err *err) MUST_CHECK;
/* What readers write down (note_store.h). -ENOENT if there is no such note. */
int profile_query_notes(struct store *store, const struct query_request *p, struct buf *out,
			struct err *err) MUST_CHECK;
int profile_query_note_add(struct store *store, const struct query_request *p, struct buf *out,
			   struct err *err) MUST_CHECK;
int profile_query_note_delete(struct store *store, const struct query_request *p, struct buf *out,
			      struct err *err) MUST_CHECK;
/* A note with the selection itself, and the side that it is compared with. */
int profile_query_snapshot_add(struct store *store, const struct query_request *p, struct buf *out,
			       struct err *err) MUST_CHECK;
int profile_query_snapshot(struct store *store, const struct query_request *p, struct buf *out,
			   struct err *err) MUST_CHECK;
/* Returns -EIO if the store does not answer. */
int profile_query_ready(struct store *store, const struct query_request *p, struct buf *out,
			struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_PROFILE_QUERY_H */
