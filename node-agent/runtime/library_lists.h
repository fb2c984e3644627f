/*
 * Libraries of processes, as one runtime has listed them and another one is about to: each runtime
 * has a thread that looks at all processes, and to list the libraries of one costs more than the
 * rest of the look. What one thread leaves here the other one takes, if it comes soon after and the
 * process has mapped nothing meanwhile.
 *
 * All functions may be called from any thread, and never block for long.
 */
#ifndef NODE_AGENT_RUNTIME_LIBRARY_LISTS_H
#define NODE_AGENT_RUNTIME_LIBRARY_LISTS_H

#include "common/base.h"
#include "node-agent/procfs/program_id.h"

#define LIBRARY_LISTS_FILES_MAX 16384u                 /* half a megabyte */
#define LIBRARY_LISTS_MAX_AGE_NS UINT64_C(20000000000) /* more than two scans are apart */

struct library_lists;

/* With one reference. -ENOMEM is the only failure. */
int library_lists_new(struct library_lists **ret) MUST_CHECK;
struct library_lists *library_lists_ref(struct library_lists *l);
/* NULL is allowed. */
void library_lists_unref(struct library_lists *l);
DEFINE_CLEANUP(struct library_lists *, library_lists_unref);

/* Of which process the list is, and by whom. */
struct library_list {
	const struct program_id *id; /* without a library */
	uint64_t library_pages;      /* procfs_read_library_pages() before it was made; not 0 */
	const char *runtime;         /* "go"; a static text */
	uint64_t now_ns;             /* on clock_monotonic_ns() */
};

/* Leaves a list of n files. Without memory or room it is not kept. */
void library_lists_put(struct library_lists *l, const struct library_list *of,
		       const struct file_id *files, size_t n);

/*
 * Takes the list that another runtime has left, which is then gone. Returns the number of files,
 * or -ENOENT if there is none, or it is too old, of another program or of before a mapping, or has
 * more than max files.
 */
int library_lists_take(struct library_lists *l, const struct library_list *of,
		       struct file_id *files, size_t max) MUST_CHECK;

#endif /* NODE_AGENT_RUNTIME_LIBRARY_LISTS_H */
