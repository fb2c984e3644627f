/*
 * An insert must become one block, because its token covers blocks: a server that cut it in two
 * could store the first half, fail, and take the repetition of it for done. So the sizes at which
 * the server cuts are far above those of store_insert(), and rows are read and written by one
 * thread.
 *
 * deduplicate_blocks_in_dependent_materialized_views: without it, a server that stored samples and
 * failed before the view of them would skip both in the repetition, and the view would lack them.
 */
#include "cluster-agent/store/clickhouse_settings.h"

#include <ctype.h>

#include "common/telemetry/log.h"

#define STRING_(x) #x
#define STRING(x) STRING_(x)

struct setting {
	unsigned purposes; /* bits of enum clickhouse_purpose */
	bool required;
	const char *name;
	const char *value; /* NULL: the token */
};

#define SQL (1u << CLICKHOUSE_FOR_SQL)
#define OURS (1u << CLICKHOUSE_FOR_QUERY)
#define QUERY (OURS | SQL)
#define INSERT (1u << CLICKHOUSE_FOR_INSERT)
#define SCHEMA (1u << CLICKHOUSE_FOR_SCHEMA)

static const struct setting settings[] = {
	{QUERY, true, "readonly", "1"},
	/* a parameter of the interface: hold the answer back until it is whole */
	{QUERY | INSERT | SCHEMA, true, "wait_end_of_query", "1"},
	/* a header every tenth of a second would exceed what the client takes */
	{QUERY | INSERT | SCHEMA, false, "send_progress_in_http_headers", "0"},
	/*
	 * ON CLUSTER: how long to wait for a server that is down, with each statement. It executes
	 * the statement when it returns.
	 */
	{SCHEMA, false, "distributed_ddl_task_timeout", "10"},
	{QUERY, false, "max_execution_time", STRING(STORE_QUERY_TIMEOUT_S)},
	{QUERY, false, "timeout_overflow_mode", "throw"},
	{QUERY, false, "max_memory_usage", "536870912"},
	{QUERY, false, "max_result_bytes", "268435456"},
	{QUERY, false, "result_overflow_mode", "throw"},
	{QUERY, false, "enable_http_compression", "1"},
	/* a query waits while one with a lower number runs; others' queries have no number */
	{OURS, false, "priority", "1"},
	{SQL, false, "priority", "2"},
	{SQL, false, "max_threads", "2"},
	{QUERY, false, "cancel_http_readonly_queries_on_client_close", "1"},
	{INSERT, false, "insert_deduplication_token", NULL},
	{INSERT, false, "insert_deduplicate", "1"},
	{INSERT, false, "deduplicate_blocks_in_dependent_materialized_views", "1"},
	{INSERT, false, "async_insert", "0"},
	{INSERT, false, "wait_for_async_insert", "1"},
	{INSERT, false, "max_insert_block_size", "1048576"},
	{INSERT, false, "min_insert_block_size_rows", "1048576"},
	{INSERT, false, "min_insert_block_size_bytes", "0"},
	{INSERT, false, "max_insert_threads", "1"},
	{INSERT, false, "input_format_parallel_parsing", "0"},
	/* with "distributed" tables: only answer when the shards have the rows */
	{INSERT, false, "insert_distributed_sync", "1"},
};

_Static_assert(STORE_QUERY_MEMORY_BYTES == 536870912, "settings spells this number");
_Static_assert(ARRAY_SIZE(settings) <= 64, "bits of refused");

size_t clickhouse_settings_get(struct clickhouse_settings *s, enum clickhouse_purpose purpose,
			       const char *token, struct clickhouse_setting *ret)
{
	uint64_t refused = atomic_load(&s->refused);
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(settings) && n < CLICKHOUSE_MAX_SETTINGS; i++) {
		const struct setting *from = &settings[i];
		const char *value = from->value ? from->value : token;

		if (!(from->purposes & (1u << purpose)) || (refused & (UINT64_C(1) << i)))
			continue;
		if (strcmp(from->name, "insert_deduplicate") == 0)
			value = token ? "1" : "0";
		if (value)
			ret[n++] = (struct clickhouse_setting){from->name, value};
	}
	return n;
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Whether text has the name as a whole word. */
static bool names(const char *text, const char *name)
{
	for (const char *at = text; (at = strstr(at, name)); at++) {
		if ((at == text || !is_name_char(at[-1])) && !is_name_char(at[strlen(name)]))
			return true;
	}
	return false;
}

bool clickhouse_settings_refuse(struct clickhouse_settings *s, const char *text)
{
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		uint64_t bit = UINT64_C(1) << i;

		if (settings[i].required || !names(text, settings[i].name))
			continue;
		found = true;
		if (!(atomic_fetch_or(&s->refused, bit) & bit))
			log_warn("ClickHouse refuses a setting; continuing without it",
				 "setting=%s error=%s", settings[i].name, LOG_QUOTED(text));
	}
	return found;
}
