/*
 * Expressions of the projections of profiling_quality (schema_text.c). A query is answered from one
 * if it has the same expressions, beside ServiceName and Type. Times are in ns.
 *
 * A cell is a number of 5 s: those of a minute count as its first one, unless the profile begins
 * and ends in the same minute. So windows of the same two cells overlap, and cover all the time
 * between the earliest start and the latest end, or lie within the same 5 s.
 */
#ifndef CLUSTER_AGENT_STORE_PROJECTIONS_H
#define CLUSTER_AGENT_STORE_PROJECTIONS_H

#include "common/base.h"

#define SCHEMA_START "toUnixTimestamp64Nano(Start)"
#define SCHEMA_END "toUnixTimestamp64Nano(End)"
#define SCHEMA_START_HOUR "intDiv(" SCHEMA_START ", 3600000000000)"
#define SCHEMA_END_HOUR "intDiv(" SCHEMA_END ", 3600000000000)"
#define SCHEMA_START_MINUTE "intDiv(" SCHEMA_START ", 60000000000)"
#define SCHEMA_END_MINUTE "intDiv(" SCHEMA_END ", 60000000000)"
#define SCHEMA_START_CELL                                                               \
	"if(" SCHEMA_START_MINUTE " = " SCHEMA_END_MINUTE ", intDiv(" SCHEMA_START ", " \
	"5000000000), 12 * " SCHEMA_START_MINUTE ")"
#define SCHEMA_END_CELL                                                               \
	"if(" SCHEMA_START_MINUTE " = " SCHEMA_END_MINUTE ", intDiv(" SCHEMA_END ", " \
	"5000000000), 12 * " SCHEMA_END_MINUTE ")"
#define SCHEMA_START_BLOCK "intDiv(" SCHEMA_START ", 14400000000000)"
#define SCHEMA_END_BLOCK "intDiv(" SCHEMA_END " - 1, 14400000000000)"
#define SCHEMA_BLOCK_NS (INT64_C(14400) * 1000000000)
#define SCHEMA_HOUR_NS (INT64_C(3600) * 1000000000)
#define SCHEMA_MINUTE_NS (INT64_C(60) * 1000000000)
#define SCHEMA_CELL_NS (INT64_C(5) * 1000000000)
#define SCHEMA_SUM "sum(toFloat64(Value))"
#define SCHEMA_LENGTH "sum(toFloat64(greatest(" SCHEMA_END " - " SCHEMA_START ", 1)))"
#define SCHEMA_INTEGRAL "sum(toFloat64(Value) * greatest(" SCHEMA_END " - " SCHEMA_START ", 1))"

#endif /* CLUSTER_AGENT_STORE_PROJECTIONS_H */
