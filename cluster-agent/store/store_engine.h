/*
 * What an engine behind store.h implements. Only the files store.c and store_<engine>.c include it.
 *
 * An engine embeds struct store as its first member and sets engine when it opens. The contract of
 * each function is that of the function of the same name in store.h: threads, blocking and errors
 * too. store.c has checked the arguments already.
 */
#ifndef CLUSTER_AGENT_STORE_STORE_ENGINE_H
#define CLUSTER_AGENT_STORE_STORE_ENGINE_H

#include "cluster-agent/store/store.h"

struct store_engine {
	bool is_shared; /* store_is_shared() */
	/* n_frames is not 0; token is well-formed, never NULL */
	int (*insert)(struct store *s, enum store_table table, const char *token,
		      const struct store_frame *frames, size_t n_frames, struct err *err);
	int (*query)(struct store *s, const struct store_query *q, struct buf *out,
		     struct err *err);
	void (*cancel)(struct store *s); /* some ticket has been cancelled */
	int (*restore_types)(struct store *s, int64_t from_ns, int64_t to_ns, struct err *err);
	int (*maintain)(struct store *s, const char *sql, struct buf *out, struct err *err);
	/* what store_ping() asks beside a trivial query; may be NULL */
	int (*ping)(struct store *s);
	void (*stop_queries)(struct store *s);
	void (*stop_inserts)(struct store *s); /* NULL: an insert ends by itself */
	void (*close)(struct store *s);
};

struct store {
	const struct store_engine *engine;
	const char *_Atomic cluster; /* whose <table>_distributed are used; NULL: a single server */
	uint64_t note_ttl_ns;        /* how long notes are kept; 0: there are none */
};

/* A random text of [0-9a-f]. Returns 0 or -EIO with a sentence in err. */
#define STORE_RANDOM_TOKEN_SIZE 33
int store_make_token(char ret[static STORE_RANDOM_TOKEN_SIZE], struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_STORE_ENGINE_H */
