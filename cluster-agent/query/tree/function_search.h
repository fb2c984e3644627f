/*
 * A search for functions, in the syntax of the page (web/src/model/search.ts): text in any case
 * in a name or a file, "an exact name", or /a regular expression/ in any case. Foreign data: what a
 * regular expression may cost is bounded.
 *
 * Not thread-safe.
 */
#ifndef CLUSTER_AGENT_QUERY_TREE_FUNCTION_SEARCH_H
#define CLUSTER_AGENT_QUERY_TREE_FUNCTION_SEARCH_H

#include "common/base.h"
#include "common/err.h"

struct function_search;

#define FUNCTION_SEARCH_MAX_BYTES 1000u
#define FUNCTION_SEARCH_MAX_NAME_BYTES 16384u /* of an exact name, without its quotes */

/*
 * Returns 0, -ENOMEM, or -EINVAL with a sentence in err: there is nothing to search for, it is too
 * long, or the expression is invalid.
 */
int function_search_new(struct function_search **ret, const char *text, struct err *err) MUST_CHECK;
void function_search_free(struct function_search *s);
DEFINE_CLEANUP(struct function_search *, function_search_free);

/*
 * Returns 1 or 0, -ENOMEM, or -EINVAL with a sentence in err: the expression takes too many steps
 * for this name, or has taken too many for all names so far.
 */
int function_search_test(struct function_search *s, const char *name, size_t name_len,
			 const char *file, size_t file_len, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_TREE_FUNCTION_SEARCH_H */
