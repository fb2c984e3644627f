/* What the symbolizer counts; registered by symbolizer_register_metrics(). */
#ifndef NODE_AGENT_SYMBOL_SYMBOL_METRICS_H
#define NODE_AGENT_SYMBOL_SYMBOL_METRICS_H

#include "common/telemetry/metrics.h"

enum symbol_metric {
	/* addresses looked up: those found in the frame cache, then the others by outcome */
	SYMBOL_METRIC_CACHED,
	SYMBOL_METRIC_RESOLVED,
	SYMBOL_METRIC_JIT,            /* by a perf map */
	SYMBOL_METRIC_NO_MAPPING,     /* no mapping, or one without a file: JIT code */
	SYMBOL_METRIC_NO_FILE,        /* the file cannot be opened or read */
	SYMBOL_METRIC_BAD_ELF,        /* not an ELF file of ours, or no segment has the address */
	SYMBOL_METRIC_NO_SYMBOL,      /* the file has no function there: stripped */
	SYMBOL_METRIC_TOO_BIG,        /* symbols denser than a table may have bytes */
	SYMBOL_METRIC_NOT_SUPPORTED,  /* .NET: a composite image, or a newer format */
	SYMBOL_METRIC_KERNEL_HIDDEN,  /* kptr_restrict, or CAP_SYSLOG is missing */
	SYMBOL_METRIC_KERNEL_UNKNOWN, /* not in kallsyms */
	SYMBOL_METRIC_FRAMES_FULL,    /* has a name, but the frames of a profile are too many */
	SYMBOL_METRIC_NO_MEMORY,      /* an allocation failed */
	SYMBOL_METRIC_TABLES_LOADED,
	SYMBOL_METRIC_TABLES_EVICTED,
	SYMBOL_METRIC_KERNEL_LOADS,
	SYMBOL_METRIC_TABLE_BYTES,
	SYMBOL_METRIC_KERNEL_BYTES,
	SYMBOL_METRIC_FRAME_BYTES,
	SYMBOL_METRIC_PERF_MAP_BYTES,
	SYMBOL_METRIC_DEBUG_DATA_BYTES,
	SYMBOL_METRIC_PERF_MAPS,
	/* polls of perf maps, by result */
	SYMBOL_METRIC_JIT_DUMP_READ,
	SYMBOL_METRIC_PERF_MAP_READ,
	SYMBOL_METRIC_PERF_MAP_NONE,
	SYMBOL_METRIC_PERF_MAP_EXITED,
	SYMBOL_METRIC_PERF_MAP_NOT_REGULAR, /* or behind a link */
	SYMBOL_METRIC_PERF_MAP_OWNER,
	SYMBOL_METRIC_PERF_MAP_HANGS,
	SYMBOL_METRIC_PERF_MAP_FAILED,
	SYMBOL_METRIC_FILES,
	/* searches for separate debug files, by result */
	SYMBOL_METRIC_DEBUG_FILE_FOUND,
	SYMBOL_METRIC_DEBUG_FILE_NONE,
	SYMBOL_METRIC_DEBUG_FILE_EXITED,
	SYMBOL_METRIC_DEBUG_FILE_HANGS,
	SYMBOL_METRIC_DEBUG_FILE_FAILED,
	/* addresses looked up in DWARF, by result */
	SYMBOL_METRIC_LINES_FOUND,
	SYMBOL_METRIC_LINES_NONE,
	SYMBOL_METRIC_LINES_LATE,    /* put off until after the profile */
	SYMBOL_METRIC_LINES_NO_ROOM, /* too much is put off */
	SYMBOL_METRIC_LINES_TOO_BIG,
	SYMBOL_METRIC_LINES_SLOW,   /* took too long even then */
	SYMBOL_METRIC_LINES_KILLED, /* the process that reads DWARF was, from outside */
	SYMBOL_METRIC_LINES_FAILED,
	SYMBOL_METRIC_LINES_WAITING,
	SYMBOL_METRIC_LINES_CPU, /* ns */
	SYMBOL_METRIC_MAX,
};

extern struct metric symbol_metrics[SYMBOL_METRIC_MAX];

/* As metrics_register(). */
int symbol_metrics_register(struct metrics *ms) MUST_CHECK;

#endif /* NODE_AGENT_SYMBOL_SYMBOL_METRICS_H */
