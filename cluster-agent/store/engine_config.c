/*
 * The engine's defaults are made for a server that has dozens of cores and the machine to itself.
 * Here it shares a small container with the rest of the agent, and the kernel kills both if they
 * use more than the container may. So the engine gets what is left after the agent's own share,
 * with some room for what it does not count (the allocator's free pages, stacks of threads); a
 * query that needs more fails with a sentence.
 *
 * All files that the engine makes beside its tables go to one directory, which is ours: by
 * default it writes schemas to /tmp, and looks for files of users and scripts beside its data.
 */
#include "cluster-agent/store/engine_config.h"

#include <errno.h>
#include <inttypes.h>

#include "cluster-agent/store/engine_access.h"
#include "common/limits.h"

/* What decoding, requests and libraries need: at least, and of a small container. */
#define AGENT_BYTES (256 * MIB)
#define MAX_TOTAL_BYTES (1024 * MIB)
/* below that, not even a merge succeeds */
#define MIN_TOTAL_BYTES (96 * MIB)

#define STRING_(x) #x
#define STRING(x) STRING_(x)

static uint64_t clamp(uint64_t v, uint64_t min, uint64_t max)
{
	return v < min ? min : v > max ? max : v;
}

struct engine_memory engine_memory_of(uint64_t process_bytes)
{
	uint64_t rest = process_bytes > AGENT_BYTES ? process_bytes - AGENT_BYTES : 0;
	struct engine_memory m = {
		.total_bytes = clamp(rest / 2, MIN_TOTAL_BYTES, MAX_TOTAL_BYTES),
	};

	m.query_bytes = clamp(m.total_bytes / 2, 0, STORE_QUERY_MEMORY_BYTES);
	return m;
}

static int add_escaped(struct buf *out, const char *text)
{
	int r = 0;

	for (; *text && r == 0; text++) {
		if (strchr("<>&\"'", *text))
			r = buf_addf(out, "&#%d;", (int)*text);
		else
			r = buf_add(out, text, 1);
	}
	return r;
}

/* Users, too, are in this file. */
static int add_users(struct buf *out, const char *path, const struct engine_memory *memory)
{
	int r = buf_addf(out, "<users_config>");

	if (r == 0)
		r = add_escaped(out, path);
	if (r == 0)
		r = buf_addf(out, "</users_config>\n");
	return r < 0 ? r : engine_access_config(out, memory);
}

static int add_dir(struct buf *out, const char *name, const char *dir, const char *below)
{
	int r = buf_addf(out, "<%s>", name);

	if (r == 0)
		r = add_escaped(out, dir);
	return r < 0 ? r : buf_addf(out, "/%s</%s>\n", below, name);
}

/*
 * Without this file the engine would read a config.xml from the directory in which the agent was
 * started.
 */
int engine_config_format(struct buf *out, const char *path, const char *tmp_dir,
			 const struct engine_memory *memory)
{
	static const char fixed[] =
		"<mark_cache_size>16777216</mark_cache_size>\n"
		"<index_mark_cache_size>1048576</index_mark_cache_size>\n"
		"<uncompressed_cache_size>0</uncompressed_cache_size>\n"
		"<index_uncompressed_cache_size>0</index_uncompressed_cache_size>\n"
		"<query_condition_cache_size>1048576</query_condition_cache_size>\n"
		"<background_pool_size>2</background_pool_size>\n"
		"<background_merges_mutations_concurrency_ratio>1"
		"</background_merges_mutations_concurrency_ratio>\n"
		"<background_move_pool_size>1</background_move_pool_size>\n"
		"<background_fetches_pool_size>1</background_fetches_pool_size>\n"
		"<background_common_pool_size>1</background_common_pool_size>\n"
		"<max_thread_pool_free_size>2</max_thread_pool_free_size>\n"
		/* by default 20 times a second, most of what an idle engine costs */
		"<memory_worker_period_ms>1000</memory_worker_period_ms>\n"
		"<logger><level>fatal</level></logger>\n"
		"<merge_tree>\n"
		/*
		 * A merge holds a granule of each of its parts, by default 10 MiB of stacks. The
		 * granules of other tables are smaller than this anyway.
		 */
		"<merge_max_block_size>1024</merge_max_block_size>\n"
		"<index_granularity_bytes>1048576</index_granularity_bytes>\n"
		/*
		 * A merge that copies one column after the other ("vertical") needs a quarter of
		 * the CPU time for samples, but by default is for tables of more columns than ours.
		 * Few rows are not worth its passes.
		 */
		"<vertical_merge_algorithm_min_columns_to_activate>1"
		"</vertical_merge_algorithm_min_columns_to_activate>\n"
		"<vertical_merge_algorithm_min_rows_to_activate>16384"
		"</vertical_merge_algorithm_min_rows_to_activate>\n"
		"<number_of_free_entries_in_pool_to_execute_mutation>1"
		"</number_of_free_entries_in_pool_to_execute_mutation>\n"
		"<number_of_free_entries_in_pool_to_lower_max_size_of_merge>1"
		"</number_of_free_entries_in_pool_to_lower_max_size_of_merge>\n"
		"<number_of_free_entries_in_pool_to_execute_optimize_entire_partition>1"
		"</number_of_free_entries_in_pool_to_execute_optimize_entire_partition>\n"
		"</merge_tree>\n";
	int r = buf_addf(out, "<clickhouse>\n");

	if (r == 0)
		r = add_dir(out, "tmp_path", tmp_dir, "");
	if (r == 0)
		r = add_dir(out, "format_schema_path", tmp_dir, "schemas/");
	if (r == 0)
		r = add_dir(out, "user_files_path", tmp_dir, "files/");
	if (r == 0)
		r = add_dir(out, "user_scripts_path", tmp_dir, "scripts/");
	if (r == 0)
		r = buf_addf(out,
			     "<max_temporary_data_on_disk_size>%" PRIu64
			     "</max_temporary_data_on_disk_size>\n"
			     "<max_server_memory_usage>%" PRIu64 "</max_server_memory_usage>\n",
			     2 * memory->total_bytes, memory->total_bytes);
	if (r == 0)
		r = buf_add(out, fixed, sizeof(fixed) - 1);
	if (r == 0)
		r = add_users(out, path, memory);
	return r < 0 ? r : buf_addf(out, "</clickhouse>\n");
}

/*
 * priority: a query pauses while one with a lower number runs. What strangers ask waits for the
 * page and for inserts; these two do not wait for each other.
 *
 * memory_overcommit_ratio_denominator: if all together need more than the engine may have, the
 * query that uses most in relation to this number is ended.
 */
int engine_config_writer(struct buf *out, const struct engine_memory *memory)
{
	return buf_addf(
		out,
		"SET async_insert = 0, max_insert_threads = 1, max_threads = 2, "
		"materialized_views_ignore_errors = 0, input_format_parallel_parsing = 0, "
		"priority = 1, memory_overcommit_ratio_denominator = 0, max_memory_usage = %" PRIu64
		", "
		/* an insert within the limits of store_insert() is one block, and so atomic */
		"max_insert_block_size = 1048576, min_insert_block_size_rows = 1048576, "
		"min_insert_block_size_bytes = 0",
		memory->query_bytes);
}

int engine_config_reader(struct buf *out, const struct engine_memory *memory, enum store_lane lane)
{
	bool strange = lane == STORE_FOR_SQL;
	uint64_t bytes = strange ? memory->total_bytes / 4 : memory->query_bytes;
	int r = buf_addf(out,
			 "SET max_threads = %d, priority = %d, "
			 "low_priority_query_wait_time_ms = 100, "
			 "memory_overcommit_ratio_denominator = %" PRIu64
			 ", max_memory_usage = %" PRIu64 ", max_result_bytes = %" PRIu64 ", ",
			 strange ? 1 : 2, strange ? 2 : 1, strange ? MIB : memory->query_bytes,
			 bytes, bytes / 2);

	return r < 0 ? r
		     : buf_addf(out,
				"allow_introspection_functions = 0, implicit_select = 0, "
				"result_overflow_mode = 'throw', max_execution_time = " STRING(
					STORE_QUERY_TIMEOUT_S) ", timeout_overflow_mode = "
							       "'throw', max_block_size = 8192, "
							       "log_queries = 0");
}

static int add_setting(struct buf *sql, const struct store_setting *setting)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	int r;

	if (!*setting->name || strspn(setting->name, plain) != strlen(setting->name))
		return -EINVAL;
	r = buf_addf(sql, "%s = '", setting->name);
	for (const char *v = setting->value; *v && r == 0; v++) {
		if (strchr("\\'", *v))
			r = buf_add(sql, "\\", 1);
		if (r == 0)
			r = buf_add(sql, v, 1);
	}
	return r < 0 ? r : buf_addf(sql, "'");
}

int engine_config_clause(struct buf *sql, const struct store_setting *settings, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		/* a line of its own, as the SQL may end with a comment */
		r = buf_addf(sql, i == 0 ? "\nSETTINGS " : ", ");
		if (r == 0)
			r = add_setting(sql, &settings[i]);
	}
	return r;
}
