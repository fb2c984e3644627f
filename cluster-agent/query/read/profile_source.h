/*
 * Values of a selection by profile, not by stack.
 *
 * profiling_quality has a row per profile, with its labels and its total, where profiling_samples
 * has one per stack: hundreds of times less. It can stand for the samples if it knows all of the
 * profiles in the range, which a Coroot server that writes samples to the same tables does not tell
 * it, and their labels, which rows of earlier releases do not have.
 *
 * Of long ranges, projections have added up most; only what touches the first and
 * the last hour is read by profile.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_PROFILE_SOURCE_H
#define CLUSTER_AGENT_QUERY_READ_PROFILE_SOURCE_H

#include "cluster-agent/query/read/bound_query.h"
#include "cluster-agent/query/read/query_filter.h"
#include "cluster-agent/store/projections.h"
#include "common/base.h"
#include "common/err.h"

struct label_sets;

/* What profiling_quality has of the profiles of services, type and range, once that is known. */
struct profile_source {
	bool is_known;
	bool has_all;
	bool has_labels;         /* of each that it has */
	uint64_t n_sets;         /* of labels, at a time: the mean over the range */
	struct label_sets *sets; /* label_sets.h; NULL: not asked for */
};

/* To be called if the source was given to a query. It is defined where the sets are made. */
void profile_source_fini(struct profile_source *s);

/*
 * Whether profiling_quality has all profiles of the range, and their labels if the filter needs
 * them or `labels` says so; and whether reading it is worth while, which it is not for a short
 * range without a filter. Errors are those of bound_query_run().
 */
int profile_source_is_whole(struct store *store, const struct query_filter *f, bool labels,
			    bool *ret, struct err *err) MUST_CHECK;

/*
 * Binds what the SQL below uses: {head} and {tail}, the borders of whole hours within the range, in
 * ns, and {head_hour}, {tail_hour}, {first_hour}, {last_hour}, {first_day} and {last_day}.
 */
void profile_source_bind(struct bound_query *q, const struct query_filter *f);

#define PROFILE_OF_TYPE "${services} AND Type = {type:String}"
#define PROFILE_KEYS "ServiceName, Type, LabelSet, Labels"

/* Those of profiles in the range, and of the days that it touches. */
#define PROFILE_SETS                                                                               \
	"(SELECT " PROFILE_KEYS " FROM ${quality} WHERE " PROFILE_OF_TYPE " AND " SCHEMA_START_DAY \
	" <= {last_day:UInt64}"                                                                    \
	" AND " SCHEMA_END_DAY " >= {first_day:UInt64} GROUP BY " PROFILE_KEYS ")"
/* What profiles of the filter have. */
#define PROFILE_OF_SETS "LabelSet ${in} (SELECT LabelSet FROM " PROFILE_SETS " WHERE ${filter})"

/*
 * PROFILE_KEYS and a sum w of the profiles in the range: inner is an aggregate of the projection
 * set_hours, for profiles that are wholly within, and edge is the same for the others. Labels are
 * looked up by set at the end, as there are few sets and many hours.
 */
#define PROFILE_INNER \
	SCHEMA_START_HOUR " >= {head_hour:UInt64} AND " SCHEMA_END_HOUR " < {tail_hour:UInt64}"
#define PROFILE_BEFORE_HEAD "Start < fromUnixTimestamp64Nano(toInt64({head:UInt64}))"
#define PROFILE_BEHIND_TAIL                                                    \
	"Start >= fromUnixTimestamp64Nano(toInt64({head:UInt64})) AND End >= " \
	"fromUnixTimestamp64Nano(toInt64({tail:UInt64}))"
#define PROFILE_SET "ServiceName, Type, LabelSet"
#define PROFILE_PART_OF(keys, sum, which)                                                       \
	"SELECT " keys ", " sum " AS part FROM ${quality} WHERE " PROFILE_OF_TYPE " AND " which \
	" GROUP BY " keys
#define PROFILE_ALL_OF(keys, inner, edge)                                                      \
	PROFILE_PART_OF(keys, inner, PROFILE_INNER)                                            \
	" UNION ALL " PROFILE_PART_OF(                                                         \
		keys, edge,                                                                    \
		"${range} AND " PROFILE_BEFORE_HEAD) " UNION ALL " PROFILE_PART_OF(keys, edge, \
										   "${range} " \
										   "AND"       \
										   " " PROFILE_BEHIND_TAIL)
#define PROFILE_SUMS(inner, edge)                                                        \
	"(SELECT " PROFILE_KEYS ", w FROM (SELECT " PROFILE_SET ", sum(part) AS w FROM " \
	"(" PROFILE_ALL_OF(PROFILE_SET, inner, edge) ") GROUP BY " PROFILE_SET           \
						     ") AS hours ${join} " PROFILE_SETS  \
						     " AS sets USING (" PROFILE_SET "))"
#define PROFILE_VALUES PROFILE_SUMS(SCHEMA_SUM, SCHEMA_SUM)
/* The part that is within the range: of sums, and of levels times their length. */
#define PROFILE_PART "sum(toFloat64(Value) * ${overlap_ns} / ${window_ns})"
#define PROFILE_INTEGRAL "sum(toFloat64(Value) * ${overlap_ns})"
#define PROFILE_INTEGRALS PROFILE_SUMS(SCHEMA_INTEGRAL, PROFILE_INTEGRAL)

#endif /* CLUSTER_AGENT_QUERY_READ_PROFILE_SOURCE_H */
