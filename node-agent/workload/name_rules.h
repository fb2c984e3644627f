/*
 * The user's own names for bare processes: --name-rule REGEX=NAME.
 *
 * REGEX is a POSIX extended regular expression. It is matched against the path of the
 * executable, and if that is an interpreter with a script, a space and the script's name:
 * "/usr/bin/python3.11 app.py". NAME may use \1 … \9 for what groups have matched; without a
 * '/' at its beginning it goes below "/process/". The last '=' separates the two.
 */
#ifndef NODE_AGENT_WORKLOAD_NAME_RULES_H
#define NODE_AGENT_WORKLOAD_NAME_RULES_H

#include "common/base.h"
#include "common/err.h"

#define NAME_RULES_MAX 64
#define NAME_RULE_SUBJECT_BYTES 1024 /* of what is matched; the rest is ignored */

struct name_rules;

/*
 * lines has a rule per line, or is NULL. Returns 0, -ENOMEM, or -EINVAL with a sentence that
 * begins with --name-rule.
 */
int name_rules_new(struct name_rules **ret, const char *lines, struct err *err) MUST_CHECK;
/* Returns r; from any thread, as the next. */
struct name_rules *name_rules_ref(struct name_rules *r);
/* Frees r with its last reference. NULL is allowed. */
void name_rules_unref(struct name_rules *r);
DEFINE_CLEANUP(struct name_rules *, name_rules_unref);

/* Whether there is any. NULL counts as none. */
bool name_rules_any(const struct name_rules *r);

/*
 * Writes the name that the first matching rule gives, cut to size. Returns false if none
 * matches, or if the name would be empty. Any thread.
 */
bool name_rules_apply(const struct name_rules *r, const char *subject, char *ret, size_t size);

#endif /* NODE_AGENT_WORKLOAD_NAME_RULES_H */
