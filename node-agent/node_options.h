/* What a user can set on the node agent; see node_options.c for names and defaults. */
#ifndef NODE_AGENT_NODE_OPTIONS_H
#define NODE_AGENT_NODE_OPTIONS_H

#include "common/base.h"
#include "common/err.h"
#include "common/options/options.h"

struct node_options {
	char *listen;
	char *collector_endpoint;
	char *profiles_endpoint;
	char *api_key;
	char *ca_file;
	bool insecure_skip_verify;
	uint64_t profile_interval_ns;
	uint64_t profile_frequency_hz;
	char *go_heap_profiler;
	uint64_t go_heap_interval_ns;
	bool go_heap_raw;
	bool go_heap_restore;
	char *go_goroutine_profiler;
	char *go_mutex_profiler;
	char *go_block_profiler;
	uint64_t go_block_burst_ns;
	char *log_level;
};

extern const struct option_def node_option_defs[];

/* Contradictions between options: -EINVAL with one line in err. */
int node_options_check(const struct node_options *o, struct err *err) MUST_CHECK;

#endif /* NODE_AGENT_NODE_OPTIONS_H */
