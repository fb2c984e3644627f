/*
 * Expressions of the projections of profiling_quality and profiling_samples (schema_text.c). A
 * query is answered from one if it has the same expressions, beside ServiceName and Type. Times are
 * in ns.
 *
 * Profiles of one set of labels that begin in one hour and end in one are added up, and the parts
 * of them that are within the hour in which they begin (SCHEMA_HEAD). Whether they follow each
 * other without gaps and without overlaps is in two further sums: their lengths are together as
 * long as what they span (SCHEMA_LENGTH), and each but the last ends where another one begins, both
 * rounded to 5 s: the hashes of these places cancel out (SCHEMA_JOINTS).
 */
#ifndef CLUSTER_AGENT_STORE_PROJECTIONS_H
#define CLUSTER_AGENT_STORE_PROJECTIONS_H

#include "common/base.h"

#define SCHEMA_START "toUnixTimestamp64Nano(Start)"
#define SCHEMA_END "toUnixTimestamp64Nano(End)"
#define SCHEMA_START_HOUR "intDiv(" SCHEMA_START ", 3600000000000)"
#define SCHEMA_END_HOUR "intDiv(" SCHEMA_END ", 3600000000000)"
#define SCHEMA_START_DAY "intDiv(" SCHEMA_START ", 86400000000000)"
#define SCHEMA_END_DAY "intDiv(" SCHEMA_END ", 86400000000000)"
#define SCHEMA_START_BLOCK "intDiv(" SCHEMA_START ", 14400000000000)"
#define SCHEMA_END_BLOCK "intDiv(" SCHEMA_END " - 1, 14400000000000)"
#define SCHEMA_BLOCK_NS (INT64_C(14400) * 1000000000)
#define SCHEMA_HOUR_NS (INT64_C(3600) * 1000000000)
#define SCHEMA_DAY_NS (INT64_C(86400) * 1000000000)
#define SCHEMA_JOINT_NS (INT64_C(5) * 1000000000)
#define SCHEMA_SUM "sum(toFloat64(Value))"
#define SCHEMA_LENGTH "sum(toFloat64(greatest(" SCHEMA_END " - " SCHEMA_START ", 1)))"
#define SCHEMA_INTEGRAL "sum(toFloat64(Value) * greatest(" SCHEMA_END " - " SCHEMA_START ", 1))"
#define SCHEMA_HEAD \
	"(least(" SCHEMA_END ", (" SCHEMA_START_HOUR " + 1) * 3600000000000) - " SCHEMA_START ")"
#define SCHEMA_HEAD_SUM \
	"sum(toFloat64(Value) * " SCHEMA_HEAD " / greatest(" SCHEMA_END " - " SCHEMA_START ", 1))"
#define SCHEMA_HEAD_INTEGRAL "sum(toFloat64(Value) * " SCHEMA_HEAD ")"
#define SCHEMA_JOINT(from, to) \
	"(cityHash64(intDiv(" to ", 5000000000)) - cityHash64(intDiv(" from ", 5000000000)))"
#define SCHEMA_JOINTS "sum" SCHEMA_JOINT(SCHEMA_START, SCHEMA_END)

#endif /* CLUSTER_AGENT_STORE_PROJECTIONS_H */
