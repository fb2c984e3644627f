#include "node-agent/symbol/symbol_metrics.h"

#define LOOKUP(result)                                                        \
	{                                                                     \
		.name = "coroot_node_agent_symbol_lookups_total",             \
		.labels = "result=\"" result "\"",                            \
		.help = "Addresses looked up for a function name, by result", \
		.kind = METRIC_COUNTER                                        \
	}
#define PERF_MAP(result)                                                                         \
	{                                                                                        \
		.name = "coroot_node_agent_perf_map_polls_total",                                \
		.labels = "result=\"" result "\"",                                               \
		.help = "Polls of perf maps and jitdumps of processes with JIT code, by result", \
		.kind = METRIC_COUNTER                                                           \
	}
#define DEBUG_FILE(result)                                                               \
	{                                                                                \
		.name = "coroot_node_agent_debug_file_searches_total",                   \
		.labels = "result=\"" result "\"",                                       \
		.help = "Searches for separate debug files of stripped executables and " \
			"libraries, by result",                                          \
		.kind = METRIC_COUNTER                                                   \
	}
#define LINES(result)                                                                              \
	{                                                                                          \
		.name = "coroot_node_agent_line_lookups_total", .labels = "result=\"" result "\"", \
		.help = "Addresses looked up in DWARF for a source line, by result",               \
		.kind = METRIC_COUNTER                                                             \
	}
#define MEMORY(of)                                                                          \
	{                                                                                   \
		.name = "coroot_node_agent_symbol_memory_bytes", .labels = "of=\"" of "\"", \
		.help = "Memory held by the symbolizer, by use", .kind = METRIC_GAUGE       \
	}

static const struct metric_def metric_defs[SYMBOL_METRIC_MAX] = {
	[SYMBOL_METRIC_CACHED] = LOOKUP("cached"),
	[SYMBOL_METRIC_RESOLVED] = LOOKUP("resolved"),
	[SYMBOL_METRIC_JIT] = LOOKUP("perf_map"),
	[SYMBOL_METRIC_NO_MAPPING] = LOOKUP("no_mapping"),
	[SYMBOL_METRIC_NO_FILE] = LOOKUP("no_file"),
	[SYMBOL_METRIC_BAD_ELF] = LOOKUP("bad_elf"),
	[SYMBOL_METRIC_NO_SYMBOL] = LOOKUP("no_symbol"),
	[SYMBOL_METRIC_TOO_BIG] = LOOKUP("too_big"),
	[SYMBOL_METRIC_NOT_SUPPORTED] = LOOKUP("not_supported"),
	[SYMBOL_METRIC_KERNEL_HIDDEN] = LOOKUP("kernel_hidden"),
	[SYMBOL_METRIC_KERNEL_UNKNOWN] = LOOKUP("kernel_unknown"),
	[SYMBOL_METRIC_FRAMES_FULL] = LOOKUP("frames_full"),
	[SYMBOL_METRIC_NO_MEMORY] = LOOKUP("no_memory"),
	[SYMBOL_METRIC_TABLES_LOADED] = {.name = "coroot_node_agent_symbol_tables_loaded_total",
					 .help = "Symbol tables of ELF files read",
					 .kind = METRIC_COUNTER},
	[SYMBOL_METRIC_TABLES_EVICTED] =
		{.name = "coroot_node_agent_symbol_tables_evicted_total",
		 .help = "Symbol tables evicted to stay within the memory budget",
		 .kind = METRIC_COUNTER},
	[SYMBOL_METRIC_KERNEL_LOADS] = {.name = "coroot_node_agent_symbol_kernel_loads_total",
					.help = "Times /proc/kallsyms was read",
					.kind = METRIC_COUNTER},
	[SYMBOL_METRIC_TABLE_BYTES] = MEMORY("tables"),
	[SYMBOL_METRIC_KERNEL_BYTES] = MEMORY("kernel"),
	[SYMBOL_METRIC_FRAME_BYTES] = MEMORY("frames"),
	[SYMBOL_METRIC_PERF_MAP_BYTES] = MEMORY("perf_maps"),
	[SYMBOL_METRIC_PERF_MAPS] = {.name = "coroot_node_agent_perf_maps",
				     .help = "Processes whose perf map is in memory",
				     .kind = METRIC_GAUGE},
	[SYMBOL_METRIC_JIT_DUMP_READ] = PERF_MAP("jitdump"),
	[SYMBOL_METRIC_PERF_MAP_READ] = PERF_MAP("read"),
	[SYMBOL_METRIC_PERF_MAP_NONE] = PERF_MAP("no_file"),
	[SYMBOL_METRIC_PERF_MAP_EXITED] = PERF_MAP("exited"),
	[SYMBOL_METRIC_PERF_MAP_NOT_REGULAR] = PERF_MAP("not_regular"),
	[SYMBOL_METRIC_PERF_MAP_OWNER] = PERF_MAP("owner"),
	[SYMBOL_METRIC_PERF_MAP_HANGS] = PERF_MAP("hangs"),
	[SYMBOL_METRIC_PERF_MAP_FAILED] = PERF_MAP("failed"),
	[SYMBOL_METRIC_FILES] = {.name = "coroot_node_agent_symbol_files",
				 .help = "ELF files whose layout is cached",
				 .kind = METRIC_GAUGE},
	[SYMBOL_METRIC_DEBUG_DATA_BYTES] = MEMORY("debug_data"),
	[SYMBOL_METRIC_DEBUG_FILE_FOUND] = DEBUG_FILE("found"),
	[SYMBOL_METRIC_DEBUG_FILE_NONE] = DEBUG_FILE("none"),
	[SYMBOL_METRIC_DEBUG_FILE_EXITED] = DEBUG_FILE("exited"),
	[SYMBOL_METRIC_DEBUG_FILE_HANGS] = DEBUG_FILE("hangs"),
	[SYMBOL_METRIC_DEBUG_FILE_FAILED] = DEBUG_FILE("failed"),
	[SYMBOL_METRIC_LINES_FOUND] = LINES("found"),
	[SYMBOL_METRIC_LINES_NONE] = LINES("none"),
	[SYMBOL_METRIC_LINES_LATE] = LINES("late"),
	[SYMBOL_METRIC_LINES_NO_ROOM] = LINES("no_room"),
	[SYMBOL_METRIC_LINES_TOO_BIG] = LINES("too_big"),
	[SYMBOL_METRIC_LINES_SLOW] = LINES("slow"),
	[SYMBOL_METRIC_LINES_KILLED] = LINES("killed"),
	[SYMBOL_METRIC_LINES_FAILED] = LINES("failed"),
	[SYMBOL_METRIC_LINES_WAITING] =
		{.name = "coroot_node_agent_line_lookups_waiting",
		 .help = "Addresses that wait for a lookup in DWARF between two profiles",
		 .kind = METRIC_GAUGE},
	[SYMBOL_METRIC_LINES_CPU] = {.name = "coroot_node_agent_line_cpu_seconds_total",
				     .help = "CPU time spent on looking up addresses in DWARF",
				     .scale = 1e-9},
};
METRIC_TABLE(metric_table, metric_defs);

struct metric symbol_metrics[SYMBOL_METRIC_MAX];

int symbol_metrics_register(struct metrics *ms)
{
	return metrics_register(ms, &metric_table, symbol_metrics, NULL);
}
