/*
 * Keeps the targets of a file in the scraper: reads it, and reads it again when it changes. A file
 * that cannot be read or understood leaves the targets as they were. Loop thread only.
 */
#ifndef CLUSTER_AGENT_SCRAPE_TARGET_FILE_H
#define CLUSTER_AGENT_SCRAPE_TARGET_FILE_H

#include "cluster-agent/discover/scrape_target.h"
#include "common/base.h"
#include "common/err.h"

struct scraper;
struct target_file;

/*
 * s and path are borrowed; default_kinds are as in static_targets.h. Returns 0, or -errno with one
 * line in err that names the file, and the line if that is what is wrong.
 */
int target_file_new(struct target_file **ret, struct scraper *s, const char *path,
		    const bool default_kinds[static PROFILE_KIND_MAX], struct err *err) MUST_CHECK;
/* The targets stay in the scraper. f may be NULL. */
void target_file_free(struct target_file *f);
DEFINE_CLEANUP(struct target_file *, target_file_free);

/* To be called every second: reads the file if it has changed. */
void target_file_beat(struct target_file *f);
/* Why the last change did not take effect; "" if it did. */
const char *target_file_problem(const struct target_file *f);
size_t target_file_count(const struct target_file *f);

#endif /* CLUSTER_AGENT_SCRAPE_TARGET_FILE_H */
