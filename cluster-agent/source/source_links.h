/*
 * --source-url-template → the address of a line at a forge. Pure; names of files and values of
 * labels are foreign.
 *
 * A template is "[app=GLOB] [strip=PREFIX …] URL". It is for applications that GLOB matches, and
 * for files that begin with one of the prefixes, which are cut off; without a prefix, for relative
 * names. The first template that fits is used. In its URL
 *
 *   {path}               is what is left of the file's name,
 *   {line}               stays for the reader to fill in,
 *   {label:NAME}         is the value of a label; a template whose label is missing does not fit,
 *   {label:NAME|OTHER}   likewise, or OTHER.
 *
 * What is filled in is percent-encoded, so that it stays one part of a path: a profile cannot
 * choose the host or another repository.
 */
#ifndef CLUSTER_AGENT_SOURCE_SOURCE_LINKS_H
#define CLUSTER_AGENT_SOURCE_SOURCE_LINKS_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/buf.h"
#include "common/err.h"

#define SOURCE_LINKS_MAX 64u
#define SOURCE_LINK_STRIPS_MAX 8u
#define SOURCE_LABEL_BYTES 256u
#define SOURCE_URL_MAX_BYTES ((size_t)8192)

struct source_link {
	const char *application; /* a glob; NULL: all */
	const char *strips[SOURCE_LINK_STRIPS_MAX];
	size_t n_strips;
	const char *url;
};

struct source_links {
	struct arena arena;
	struct source_link items[SOURCE_LINKS_MAX];
	size_t n;
};

/* A template per line. Returns 0, -EINVAL with a sentence in err, or -ENOMEM. */
int source_links_parse(struct source_links *ret, const char *text, struct err *err) MUST_CHECK;
void source_links_fini(struct source_links *l);

/* Where values of labels come from. Returns 1, 0 if there is none, or -errno. */
struct source_labels {
	int (*get)(void *ctx, const char *name, char ret[static SOURCE_LABEL_BYTES],
		   struct err *err);
	void *ctx;
};

/*
 * Makes the address of a file of an application in out, which is emptied. Returns 1, 0 if no
 * template fits, or an error of labels->get or buf_add().
 */
int source_links_make(const struct source_links *l, const char *application, const char *file,
		      const struct source_labels *labels, struct buf *out,
		      struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SOURCE_SOURCE_LINKS_H */
