/*
 * Settings that users of the SQL port may send, in the URL or in a clause SETTINGS. Pure.
 */
#ifndef CLUSTER_AGENT_SQL_SQL_SETTINGS_H
#define CLUSTER_AGENT_SQL_SQL_SETTINGS_H

#include "common/base.h"
#include "common/err.h"

/* Settings of one query, in the URL and in the SQL together. */
#define SQL_SETTINGS_MAX 64u

struct sql_setting {
	const char *name; /* static */
	char value[64];   /* without control characters other than tabs */
};

/*
 * Judges what a client sends: a setting, or a parameter of the URL. Returns 1 and fills ret if it
 * is to be passed on to the engine (store_query.settings), with a value that may be lower than the
 * one that was given; 0 if it is accepted and changes nothing here, as are all parameters of the
 * HTTP interface itself (query, user, session_id, param_*, …); -EPERM if it is refused, or
 * -EINVAL for a bad value, with a sentence in err.
 */
int sql_setting_check(const char *name, const char *value, struct sql_setting *ret,
		      struct err *err) MUST_CHECK;

/* The name of the i-th setting that is not refused; NULL past the last. */
const char *sql_setting_at(size_t i);

#endif /* CLUSTER_AGENT_SQL_SQL_SETTINGS_H */
