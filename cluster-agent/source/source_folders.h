/* --source-path → folders of source text, and which file below them a profile means. Pure. */
#ifndef CLUSTER_AGENT_SOURCE_SOURCE_FOLDERS_H
#define CLUSTER_AGENT_SOURCE_SOURCE_FOLDERS_H

#include "common/base.h"
#include "common/err.h"

#define SOURCE_FOLDERS_MAX 64u

struct source_folder {
	char *prefix; /* of names in profiles, without a slash at the end; NULL: see below */
	char *dir;    /* absolute, without a slash at the end */
};

struct source_folders {
	struct source_folder items[SOURCE_FOLDERS_MAX];
	size_t n;
};

/*
 * Items are "DIR" or "PREFIX=DIR", separated by commas or newlines. Returns 0, -EINVAL with a
 * sentence in err, or -ENOMEM.
 */
int source_folders_parse(struct source_folders *ret, const char *text, struct err *err) MUST_CHECK;
void source_folders_fini(struct source_folders *f);

/*
 * The path below dir that a file of a profile has, or NULL if it has none there. With a prefix
 * that is what follows it; without one, a relative name as it is, and an absolute one that begins
 * with dir. A path never has ".", "..", an empty component, or one that begins with a dot, as what
 * is hidden (.git, .env) is no source.
 */
const char *source_folder_path(const struct source_folder *f, const char *file);

/* What follows prefix and a slash in file, or NULL if file does not begin with both. */
const char *source_after_prefix(const char *file, const char *prefix);
/* Whether a path has only components as above. */
bool source_path_is_plain(const char *path);

#endif /* CLUSTER_AGENT_SOURCE_SOURCE_FOLDERS_H */
