/* Names of functions by build id: where they are kept, uploaded to, and asked for. */
#ifndef CLUSTER_AGENT_CLUSTER_SYMBOLS_H
#define CLUSTER_AGENT_CLUSTER_SYMBOLS_H

#include "cluster-agent/cluster_options.h"
#include "common/base.h"
#include "common/err.h"

struct debuginfod;
struct metrics;
struct symbol_handler;
struct symbol_store;

/* Zeroed to begin with. */
struct cluster_symbols {
	struct symbol_store *store;
	struct symbol_handler *uploads;
	struct debuginfod *debuginfod; /* NULL without --debuginfod-urls */
};

/* Before a filter of system calls is installed. Returns 0, or -errno with err. */
int cluster_symbols_open(struct cluster_symbols *s, const struct cluster_options *o,
			 struct err *err) MUST_CHECK;
int cluster_symbols_register(struct cluster_symbols *s, struct metrics *ms) MUST_CHECK;
/* Answers the uploads that are being stored. */
void cluster_symbols_stop(struct cluster_symbols *s);
/* Once no query and no request uses it. */
void cluster_symbols_close(struct cluster_symbols *s);

#endif /* CLUSTER_AGENT_CLUSTER_SYMBOLS_H */
