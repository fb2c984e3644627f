/*
 * The files behind an option that names a file of keys, or a directory of such files as Kubernetes
 * mounts Secrets: every regular file in it and in its directories, one level deep, is one. Names
 * that begin with '.' are left out, as they are Kubernetes' own ("..data") or a backup's.
 */
#ifndef COMMON_ACCESS_KEY_SOURCES_H
#define COMMON_ACCESS_KEY_SOURCES_H

#include "common/base.h"
#include "common/err.h"

#define KEY_SOURCES_MAX 256u

struct key_sources {
	size_t n;
	char *paths[KEY_SOURCES_MAX]; /* in the order of their bytes; owned */
};

/*
 * Lists the files; path itself if it is one. Returns 0, -ENOMEM, -E2BIG if there are more than
 * KEY_SOURCES_MAX, -EINVAL if one is neither a regular file nor a directory, or -errno, with a
 * sentence that names what is wrong. A missing file is -ENOENT; one that disappears from a
 * directory while it is listed is left out. *ret is initialised in every case.
 */
int key_sources_list(struct key_sources *ret, const char *path, struct err *err) MUST_CHECK;
void key_sources_fini(struct key_sources *s);

/*
 * Sets *ret to a number that changes when one of the files does, is added or goes, and when listing
 * them begins or ceases to fail. Returns 0 or -ENOMEM.
 */
int key_sources_stamp(const char *path, uint64_t *ret) MUST_CHECK;

#endif /* COMMON_ACCESS_KEY_SOURCES_H */
