/* A build id as a key of tables: zeroed beyond n_bytes. */
#ifndef CLUSTER_AGENT_SYMBOLS_BUILD_KEY_H
#define CLUSTER_AGENT_SYMBOLS_BUILD_KEY_H

#include "common/base.h"
#include "common/symbols/symbol_file.h"

struct build_key {
	uint8_t id[SYMBOL_BUILD_ID_MAX_BYTES];
	uint8_t n_bytes;
};

#define BUILD_KEY_TEXT_BYTES (2 * SYMBOL_BUILD_ID_MAX_BYTES + 1)

/* Whether the text is a build id. */
static inline bool build_key_parse(struct build_key *ret, const char *text, size_t len)
{
	*ret = (struct build_key){.n_bytes = 0};
	ret->n_bytes = (uint8_t)symbol_build_id_parse(text, len, ret->id);
	return ret->n_bytes > 0;
}

static inline void build_key_text(const struct build_key *k, char ret[static BUILD_KEY_TEXT_BYTES])
{
	symbol_build_id_text(k->id, k->n_bytes, ret);
}

static inline bool build_key_equal(const struct build_key *a, const struct build_key *b)
{
	return a->n_bytes == b->n_bytes && memcmp(a->id, b->id, sizeof(a->id)) == 0;
}

#endif /* CLUSTER_AGENT_SYMBOLS_BUILD_KEY_H */
