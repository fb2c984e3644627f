/*
 * Builds of which an answer has frames without a name: they are asked for at debuginfod servers, if
 * some are configured, and the answer says what became of that.
 */
#ifndef CLUSTER_AGENT_QUERY_READ_MISSING_NAMES_H
#define CLUSTER_AGENT_QUERY_READ_MISSING_NAMES_H

#include "cluster-agent/query/read/stack_dictionary.h"
#include "cluster-agent/symbols/build_key.h"
#include "common/base.h"

struct mover_list;
struct symbol_store;

/* What an answer tells of; more are asked for. */
#define MISSING_NAMES_SHOWN 32u

struct missing_build {
	char build_id[BUILD_KEY_TEXT_BYTES];
	bool is_coming; /* its names may be there the next time */
	char why[256];  /* why there are none, or none yet; "": no reason */
};

struct missing_names {
	struct missing_build builds[MISSING_NAMES_SHOWN]; /* those with the largest values first */
	size_t n;
};

/* Whether anything would be asked. symbols may be NULL. */
bool missing_names_matter(struct symbol_store *symbols);

/*
 * weights: of each text of d, which has been passed through late_names.h. Asks for the builds of
 * those without a name, and waits for answers up to wait_ns. -ENOMEM is the only failure.
 */
int missing_names_ask(struct symbol_store *symbols, const struct stack_dictionary *d,
		      const uint64_t *weights, uint64_t wait_ns) MUST_CHECK;

/* Says of the same what became of it. */
int missing_names_explain(struct symbol_store *symbols, const struct stack_dictionary *d,
			  const uint64_t *weights, struct missing_names *ret) MUST_CHECK;

/* Asks for those of movers, and does not wait. */
int missing_names_ask_movers(struct symbol_store *symbols, const struct mover_list *l) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_READ_MISSING_NAMES_H */
