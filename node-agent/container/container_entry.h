/*
 * One container of the directory: what each source knows about it, and how far asking has got.
 * Pure, and not thread-safe: the directory has the lock.
 */
#ifndef NODE_AGENT_CONTAINER_CONTAINER_ENTRY_H
#define NODE_AGENT_CONTAINER_CONTAINER_ENTRY_H

#include "common/base.h"
#include "common/data/table.h"
#include "node-agent/container/container_facts.h"
#include "node-agent/container/container_name.h"

struct kept_facts;

struct container_entry {
	UT_hash_handle hh;        /* by id */
	struct kept_facts *facts; /* at most one per source, in the order of sources */
	struct workload *raw;     /* NULL: a source knows it, but nobody has asked for it */
	struct workload *named;   /* made when asked for; NULL if the facts have changed */
	struct container_entry *next_changed; /* while listeners are being called */

	/* The round under way: bits of sources. */
	uint64_t queued; /* shall be asked */
	uint64_t asked;  /* have not answered yet */
	bool is_asking;  /* anybody was to be asked in this round */
	bool is_served;  /* there are sources that may know it, if not in this round */
	bool failed;     /* a source that may know it did not answer in this round */

	bool settled;           /* lookups have a final answer */
	unsigned n_unknown;     /* rounds without finding a name */
	uint64_t next_round_ns; /* UINT64_MAX: never */
	uint64_t used_ns;       /* last lookup */
	char id[];
};

/* Returns NULL if there is no memory. */
struct container_entry *container_entry_new(const char *id);
void container_entry_free(struct container_entry *e);

/* Who says so. */
struct facts_origin {
	unsigned source; /* number of its bit */
	unsigned rank;   /* where facts differ, the lowest wins; then the lowest source */
	bool is_trusted;
};

/* Replaces what this source said. Returns 1, 0 if it had said the same, or -ENOMEM. */
int container_entry_put(struct container_entry *e, const struct facts_origin *from,
			const struct container_facts *f) MUST_CHECK;

/* The bits of the sources that have said something. */
uint64_t container_entry_known_to(const struct container_entry *e);

/* All facts together; strings are borrowed until the next container_entry_put(). */
void container_entry_facts(const struct container_entry *e, struct container_facts *ret);

bool container_entry_has_name(const struct container_entry *e);
/* Whether nobody who is asked can make the name better. */
bool container_entry_is_complete(const struct container_entry *e);

/* Bits of the sources that may know a container. */
struct round_sources {
	uint64_t available;
	uint64_t failing; /* cannot be asked at the moment; nobody waits for a name meanwhile */
	uint64_t absent;  /* cannot be asked, and names are looked for without them */
};

/*
 * Begins a round: which of the available sources shall be asked. Sources that are being asked
 * belong to it as well. If nothing is queued or asked afterwards, the round is to be ended.
 */
void container_entry_begin_round(struct container_entry *e, const struct round_sources *s);

/*
 * All sources that were asked have answered or failed. Decides when to ask again, and returns
 * whether lookups have a final answer from now on.
 */
bool container_entry_end_round(struct container_entry *e, uint64_t now_ns);

/* The named workload, borrowed; raw if there is no memory for it. raw must be set. */
struct workload *container_entry_name(struct container_entry *e,
				      const struct container_name_rules *rules);
void container_entry_forget_name(struct container_entry *e);

#endif /* NODE_AGENT_CONTAINER_CONTAINER_ENTRY_H */
