/*
 * Reads the file of targets that no API server knows: docs/scraping.md describes it. Pure; the
 * input is an operator's.
 *
 * It is strict: a key that is unknown, given twice or has a value of another kind is an error that
 * names the line, so that a misspelt setting is never a setting without effect.
 */
#ifndef CLUSTER_AGENT_SCRAPE_STATIC_TARGETS_H
#define CLUSTER_AGENT_SCRAPE_STATIC_TARGETS_H

#include "cluster-agent/discover/scrape_target.h"
#include "common/base.h"
#include "common/data/arena.h"
#include "common/err.h"

#define STATIC_TARGETS_FILE_BYTES ((size_t)1024 * 1024)
#define STATIC_TARGETS_MAX 10000u
#define STATIC_TARGETS_ARENA_BYTES ((size_t)64 * 1024 * 1024)

struct static_targets {
	struct scrape_target *targets; /* all with settings; uids are "static/<job>/<address>" */
	size_t n;
};

/*
 * Everything in *ret lives in arena. default_kinds are those of a job without types. Returns 0,
 * -EBADMSG with "LINE: what is wrong" in err, -EFBIG if there are too many targets, or -ENOMEM.
 */
int static_targets_parse(struct static_targets *ret, struct arena *arena, const char *text,
			 size_t len, const bool default_kinds[static PROFILE_KIND_MAX],
			 struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SCRAPE_STATIC_TARGETS_H */
