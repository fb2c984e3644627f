/*
 * The settings that go with each statement, and those that a server does not want. Thread-safe.
 *
 * A user may have limits on what it may set, and an old server does not know all names. A setting
 * that was refused is left out of all later statements, so the store works with what the
 * administrator of the server has chosen. Only what keeps a query from writing is never left out.
 */
#ifndef CLUSTER_AGENT_STORE_CLICKHOUSE_SETTINGS_H
#define CLUSTER_AGENT_STORE_CLICKHOUSE_SETTINGS_H

#include <stdatomic.h>

#include "cluster-agent/store/clickhouse_request.h"
#include "common/base.h"

#define CLICKHOUSE_MAX_SETTINGS 16u

struct clickhouse_settings {
	_Atomic uint64_t refused; /* bits of the table in clickhouse_settings.c */
};

enum clickhouse_purpose {
	CLICKHOUSE_FOR_QUERY,
	CLICKHOUSE_FOR_SQL, /* of strangers */
	CLICKHOUSE_FOR_INSERT,
	CLICKHOUSE_FOR_SCHEMA,
};

/*
 * Fills ret (CLICKHOUSE_MAX_SETTINGS elements) and returns how many there are. token is borrowed;
 * NULL switches deduplication off.
 */
size_t clickhouse_settings_get(struct clickhouse_settings *s, enum clickhouse_purpose purpose,
			       const char *token, struct clickhouse_setting *ret);

/*
 * text is an exception with the advice CLICKHOUSE_SETTING. Leaves the settings that it names out
 * from now on, and logs that. Returns whether there was one, so that the statement is worth another
 * attempt.
 */
bool clickhouse_settings_refuse(struct clickhouse_settings *s, const char *text);

#endif /* CLUSTER_AGENT_STORE_CLICKHOUSE_SETTINGS_H */
