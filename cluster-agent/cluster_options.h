/* What a user can set on the cluster agent; see cluster_options.c for names and defaults. */
#ifndef CLUSTER_AGENT_CLUSTER_OPTIONS_H
#define CLUSTER_AGENT_CLUSTER_OPTIONS_H

#include "common/base.h"
#include "common/err.h"
#include "common/options.h"

struct cluster_options {
	char *listen;
	char *api_key;
	char *storage;
	char *data_dir;
	uint64_t profiles_ttl_ns;
	char *clickhouse_listen;
	char *chdb_library;
	char *log_level;
};

extern const struct option_def cluster_option_defs[];

/* Contradictions between options: -EINVAL with one line in err. */
int cluster_options_check(const struct cluster_options *o, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_CLUSTER_OPTIONS_H */
