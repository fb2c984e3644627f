/*
 * The file STORE in a data directory: what the store had when it was last opened.
 *
 * The engine takes what it finds for all there is: without a table's definition it makes an empty
 * table, beside the old one's data. So the names of the files and directories that make a store are
 * written down, and all of them must be there before it is opened again.
 *
 *	clickhouse/metadata/coroot.sql
 *	clickhouse/store/219/219ad8f1-…/
 *	end
 */
#ifndef CLUSTER_AGENT_STORE_STORE_MARKER_H
#define CLUSTER_AGENT_STORE_STORE_MARKER_H

#include "common/base.h"
#include "common/err.h"

#define STORE_MARKER "STORE"

/*
 * Returns 0 if the directory has no such file or all that it names; -ENOENT, with the name in err,
 * if something is missing or empty; -EBADMSG if the file is damaged; or -errno.
 */
int store_marker_check(const char *data_dir, struct err *err) MUST_CHECK;

/* Writes lines, each ended by a newline. A crash leaves the old file or the new one. */
int store_marker_write(const char *data_dir, const char *lines, size_t len,
		       struct err *err) MUST_CHECK;

/* ---- pure ---- */

typedef int (*store_marker_fn)(void *ctx, const char *path);

/*
 * Calls fn for each path, relative and without "..", until it fails. Returns 0, what fn returned,
 * or -EBADMSG if the text is not whole.
 */
int store_marker_parse(const char *text, size_t len, store_marker_fn fn, void *ctx) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_STORE_MARKER_H */
