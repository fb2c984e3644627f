/* A list of debuginfod servers → their base URLs. Pure. */
#ifndef COMMON_DEBUGINFOD_DEBUGINFOD_URLS_H
#define COMMON_DEBUGINFOD_DEBUGINFOD_URLS_H

#include "common/base.h"
#include "common/err.h"

#define DEBUGINFOD_URLS_MAX 8u

struct debuginfod_urls {
	char *urls[DEBUGINFOD_URLS_MAX]; /* without a slash at the end */
	size_t n;
};

/*
 * URLs are separated by blanks, as elfutils has it, or commas. Its "ima:…" words, which are about
 * signatures, are passed over. Returns 0, -EINVAL with a sentence in err, or -ENOMEM.
 */
int debuginfod_urls_parse(struct debuginfod_urls *ret, const char *text,
			  struct err *err) MUST_CHECK;
void debuginfod_urls_fini(struct debuginfod_urls *u);

enum debuginfod_file { DEBUGINFOD_DEBUGINFO, DEBUGINFOD_EXECUTABLE };

/* "<url>/buildid/<id>/debuginfo". Returns 0 or -ENOMEM. */
int debuginfod_url_of(char **ret, const char *server, const char *build_id,
		      enum debuginfod_file file) MUST_CHECK;

/*
 * Where a redirect from url leads, by its Location: an absolute URL, or a path on the same server;
 * never from https to http. Returns 0, -EINVAL if it leads nowhere that is asked, or -ENOMEM.
 */
int debuginfod_redirect(char **ret, const char *url, const char *location) MUST_CHECK;

#endif /* COMMON_DEBUGINFOD_DEBUGINFOD_URLS_H */
