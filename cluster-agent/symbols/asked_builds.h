/*
 * Builds whose symbols are asked for: which is next, and which need not be asked for again for a
 * while. Pure: the caller says what time it is, in ns since the epoch.
 *
 * A build that was settled without symbols is remembered until its time is up, also as text in a
 * file, so that a restart does not ask for thousands again. One that has symbols is forgotten: the
 * symbol store has them.
 *
 * Not thread-safe.
 */
#ifndef CLUSTER_AGENT_SYMBOLS_ASKED_BUILDS_H
#define CLUSTER_AGENT_SYMBOLS_ASKED_BUILDS_H

#include "cluster-agent/symbols/build_key.h"
#include "common/base.h"
#include "common/data/buf.h"

#define ASKED_BUILDS_WAITING_MAX 1000u
#define ASKED_BUILDS_SETTLED_MAX 50000u
/* A file of that many, and more than it takes. */
#define ASKED_BUILDS_TEXT_MAX_BYTES ((size_t)8 << 20)

/* Why there are no symbols. Names are in the file and in metrics. */
enum asked_reason {
	ASKED_ABSENT,     /* no server has them */
	ASKED_TOO_LARGE,  /* the file, or its table */
	ASKED_NOT_VALID,  /* no ELF file, a damaged one, or that of another build */
	ASKED_NO_SYMBOLS, /* the file has none */
	ASKED_NO_OFFSETS, /* and frames are offsets: no server has the program itself */
	ASKED_READER,     /* reading the file crashed, or took too much memory or time */
	ASKED_SERVER,     /* the servers failed for this build again and again */
	ASKED_DISK,       /* no room for the download */
	ASKED_REASONS,
};

extern const char *const asked_reason_names[ASKED_REASONS];
/* For people: "no server has its symbols". */
extern const char *const asked_reason_texts[ASKED_REASONS];

enum asked_state {
	ASKED_NEVER,
	ASKED_WAITING,
	ASKED_NOW,
	ASKED_SETTLED, /* without symbols, until until_ns */
};

struct asked_build {
	struct build_key key;
	enum asked_state state;
	enum asked_reason reason; /* if it is settled */
	uint64_t weight;          /* of its frames without a name, as the last query had them */
	uint64_t until_ns;        /* when it may be asked for (again) */
	uint32_t absent_at;       /* servers, as bits, that do not have it */
	unsigned tries;           /* that failed */
	bool needs_offsets;
};

struct asked_builds;

int asked_builds_new(struct asked_builds **ret) MUST_CHECK;
void asked_builds_free(struct asked_builds *a);
DEFINE_CLEANUP(struct asked_builds *, asked_builds_free);

struct asked_want {
	struct build_key key;
	uint64_t weight;
	bool needs_offsets;
};

/*
 * Symbols of a build are wanted. If too many wait, the one with the least weight is forgotten.
 * Returns what is known about the build, valid until the next call that changes the table; NULL if
 * it was the one to be forgotten, or there is no memory.
 */
const struct asked_build *asked_builds_want(struct asked_builds *a, const struct asked_want *w,
					    uint64_t now_ns);

const struct asked_build *asked_builds_find(const struct asked_builds *a,
					    const struct build_key *k);

/* The waiting build with the largest weight whose time has come, which is ASKED_NOW then; or NULL.
 * It is valid until one of the functions below is called with it. */
struct asked_build *asked_builds_next(struct asked_builds *a, uint64_t now_ns);
/* When the next one may be asked for; UINT64_MAX: none waits. */
uint64_t asked_builds_due_ns(const struct asked_builds *a);

/* What became of it. */
void asked_builds_found(struct asked_builds *a, struct asked_build *b);
void asked_builds_settle(struct asked_builds *a, struct asked_build *b, enum asked_reason reason,
			 uint64_t until_ns);
void asked_builds_retry(struct asked_builds *a, struct asked_build *b, uint64_t until_ns);

struct asked_counts {
	uint64_t n_waiting, n_asking, n_settled;
	uint64_t n_forgotten; /* so far */
};
struct asked_counts asked_builds_counts(const struct asked_builds *a);

/*
 * The settled ones as text: a line about the servers, whose answers these are, and a line for each
 * build. Returns as buf_add().
 */
int asked_builds_write(const struct asked_builds *a, const char *servers,
		       struct buf *out) MUST_CHECK;
/*
 * Adds those of the text whose time is not up; none if they are of other servers. What is no line
 * of it is passed over. -ENOMEM is the only failure.
 */
int asked_builds_read(struct asked_builds *a, const char *servers, const char *text, size_t len,
		      uint64_t now_ns) MUST_CHECK;

#endif /* CLUSTER_AGENT_SYMBOLS_ASKED_BUILDS_H */
