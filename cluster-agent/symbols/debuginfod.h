/*
 * Symbols from debuginfod servers, by build id, for frames that have no name when they are read.
 *
 * Queries say which builds they miss, and with what weight; a thread of its own asks the servers
 * for them, hottest first, a few at once, and puts tables into the symbol store. What a server
 * sends is a stranger's file: it goes to disk, within a limit, and is read by a process without
 * rights (symbol_reader.h). A server that fails is left alone for a while, twice as long each time;
 * that no server has a build is remembered for hours, on disk, too.
 *
 * The protocol is elfutils': GET <url>/buildid/<id>/debuginfo, and …/executable for frames that are
 * offsets in the file, which the debug file does not know. Source: debuginfod(8), "WEBAPI".
 *
 * Any thread.
 */
#ifndef CLUSTER_AGENT_SYMBOLS_DEBUGINFOD_H
#define CLUSTER_AGENT_SYMBOLS_DEBUGINFOD_H

#include "cluster-agent/symbols/asked_builds.h"
#include "cluster-agent/symbols/symbol_store.h"
#include "common/base.h"
#include "common/err.h"
#include "common/telemetry/metrics.h"

struct debuginfod;

/* Strings are copied. */
struct debuginfod_config {
	const char *urls;    /* --debuginfod-urls; NULL or "": none */
	const char *ca_file; /* NULL: the system's */
	bool insecure_skip_verify;
	uint64_t max_file_bytes;    /* of a file that a server sends */
	struct symbol_store *store; /* borrowed; outlives it */
	const char *reader_program; /* NULL: this one */
	uint64_t retry_min_ns;      /* first pause after a failure; 0: 15 s */
};

/*
 * Starts the thread and the reader, and gives itself to the store. Before a filter of system calls
 * is installed. *ret is NULL if there are no URLs. Returns 0, -EINVAL with a sentence in err, or
 * -errno.
 */
int debuginfod_new(struct debuginfod **ret, const struct debuginfod_config *cfg,
		   struct err *err) MUST_CHECK;
/* No query may use the store's debuginfod any more. NULL is allowed. */
void debuginfod_free(struct debuginfod *d);
DEFINE_CLEANUP(struct debuginfod *, debuginfod_free);

int debuginfod_register(struct debuginfod *d, struct metrics *ms) MUST_CHECK;

/*
 * Asks for these builds, and waits up to wait_ns until there is an answer about each that can be
 * asked for now.
 */
void debuginfod_want(struct debuginfod *d, const struct asked_want *wants, size_t n,
		     uint64_t wait_ns);

struct debuginfod_status {
	bool is_coming; /* it waits, or is being asked for */
	char why[256];  /* why there are no names, or none yet; "": no reason */
};

void debuginfod_status(struct debuginfod *d, const struct build_key *k,
		       struct debuginfod_status *ret);

#endif /* CLUSTER_AGENT_SYMBOLS_DEBUGINFOD_H */
