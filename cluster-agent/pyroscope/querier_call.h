/*
 * A call of Pyroscope's query API while it is answered, and what the methods share: ranges, and
 * messages in an arena.
 *
 * A method gets a request and makes an answer. Both are messages of protobuf-c; the answer is in
 * the call's arena. It returns 0, an error of profile_query.h, or -ENOSYS for what is not served.
 */
#ifndef CLUSTER_AGENT_PYROSCOPE_QUERIER_CALL_H
#define CLUSTER_AGENT_PYROSCOPE_QUERIER_CALL_H

#include <protobuf-c/protobuf-c.h>

#include "cluster-agent/query/read/query_filter.h"
#include "cluster-agent/query/read/series_query.h"
#include "common/base.h"
#include "common/data/arena.h"
#include "common/err.h"

struct store;

/* Limits of the answer to one call. */
#define QUERIER_ARENA_BYTES ((size_t)256 << 20)

struct querier_call {
	struct store *store;
	struct stack_cache *stacks;
	struct symbol_store *symbols; /* likewise */
	const struct store_ticket *ticket;
	int64_t now_ms;
	struct arena arena;
};

/*
 * Sets times, ticket and cache of a filter. Without an end the range ends now, and without a start
 * it begins a day before its end, as older clients send neither. Returns 0, or -EINVAL for a range
 * that is empty or longer than 366 days.
 */
int querier_range(const struct querier_call *c, int64_t start_ms, int64_t end_ms,
		  struct query_filter *ret, struct err *err) MUST_CHECK;

/* As arena_calloc(); *ret_r is -EFBIG or -ENOMEM if it returns NULL. */
void *querier_alloc(struct querier_call *c, size_t n, size_t size, int *ret_r);

/* A text of the store in a message, repaired where protobuf forbids it. Returns 0 or an error. */
int querier_text(struct querier_call *c, const char *text, size_t len, char **ret) MUST_CHECK;

/* A label in a message. */
struct Querier__V1__LabelPair;
int querier_label(struct querier_call *c, const char *name, const struct series_value *value,
		  struct Querier__V1__LabelPair **ret) MUST_CHECK;

/*
 * The labels of a group: names has n of them, and values their values, with TIMELINE_SEPARATOR in
 * between. Those without a value are left out. Returns how many there are in *ret, or an error.
 */
int querier_group_labels(struct querier_call *c, const char *const *names, size_t n,
			 const struct series_value *values,
			 struct Querier__V1__LabelPair ***ret) MUST_CHECK;

/* A type id with a selector and a range, resolved to types and services. */
struct querier_selection {
	struct series_selector selector;
	struct profile_id_types types;
	struct query_filter range;
	struct series_selection found;
};

struct querier_selection_request {
	const char *type_id;
	const char *selector;
	int64_t start_ms;
	int64_t end_ms;
};

/* Parses and asks the store. ret is zeroed, and released with querier_selection_fini() always. */
int querier_select(struct querier_call *c, const struct querier_selection_request *request,
		   struct querier_selection *ret, struct err *err) MUST_CHECK;
void querier_selection_fini(struct querier_selection *s);

#endif /* CLUSTER_AGENT_PYROSCOPE_QUERIER_CALL_H */
