/*
 * Clients send settings without being asked, and the engine has 1,600 of them: some make it write
 * files, use the network or read more than a query should. So this is a list of those that change
 * how an answer looks or what a query means (passed on, with a value that is checked), and of
 * those that mean nothing here and that clients send all the same (ignored). All others are
 * refused with an exception, so that nobody gets an answer to another question than the one that
 * was asked.
 *
 * Values are checked so that a text of settings can be made of them without thinking of quotes.
 * Limits can only be lowered. The limits of memory are those of the store, whatever a client asks
 * for.
 */
#include "cluster-agent/sql/sql_settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "cluster-agent/store/store.h"

enum kind {
	IGNORED,
	BOOL,   /* "0", "1", "false", "true" */
	NUMBER, /* digits, perhaps with a point */
	LIMIT,  /* a whole number up to max; 0, which stands for "no limit", becomes max */
	WORD,   /* letters, digits, "_", "+", "-" and "/" */
	TEXT,   /* printable ASCII and tabs */
};

struct known_setting {
	const char *name;
	enum kind kind;
	uint64_t max;
};

/* In the order of strcmp(). */
static const struct known_setting known[] = {
	{"add_http_cors_header", IGNORED},
	{"aggregate_functions_null_for_empty", BOOL},
	{"allow_experimental_analyzer", IGNORED},
	{"allow_experimental_bfloat16_type", IGNORED},
	{"allow_experimental_bigint_types", IGNORED},
	{"allow_experimental_dynamic_type", IGNORED},
	{"allow_experimental_geo_types", IGNORED},
	{"allow_experimental_geo_types_in_iceberg", IGNORED},
	{"allow_experimental_json_lazy_type_hints", IGNORED},
	{"allow_experimental_json_type", IGNORED},
	{"allow_experimental_map_type", IGNORED},
	{"allow_experimental_nlp_functions", IGNORED},
	{"allow_experimental_nullable_tuple_type", IGNORED},
	{"allow_experimental_object_storage_queue_hive_partitioning", IGNORED},
	{"allow_experimental_object_type", IGNORED},
	{"allow_experimental_projection_optimization", IGNORED},
	{"allow_experimental_qbit_type", IGNORED},
	{"allow_experimental_time_time64_type", IGNORED},
	{"allow_experimental_variant_type", IGNORED},
	{"allow_experimental_window_functions", IGNORED},
	{"allow_introspection_functions", IGNORED},
	{"allow_suspicious_low_cardinality_types", BOOL},
	{"allow_suspicious_types_in_group_by", BOOL},
	{"allow_suspicious_types_in_order_by", BOOL},
	{"allow_suspicious_variant_types", BOOL},
	{"alter_sync", IGNORED},
	{"analyzer_compatibility_join_using_top_level_identifier", BOOL},
	{"any_join_distinct_right_table_keys", BOOL},
	{"asterisk_include_alias_columns", BOOL},
	{"asterisk_include_materialized_columns", BOOL},
	{"async_insert", IGNORED},
	{"bool_false_representation", TEXT},
	{"bool_true_representation", TEXT},
	{"calculate_text_stack_trace", IGNORED},
	{"cancel_http_readonly_queries_on_client_close", IGNORED},
	{"cast_ipv4_ipv6_default_on_conversion_error", BOOL},
	{"cast_keep_nullable", BOOL},
	{"cast_string_to_date_time_mode", WORD},
	{"cast_string_to_dynamic_use_inference", BOOL},
	{"compile_aggregate_expressions", BOOL},
	{"compile_expressions", BOOL},
	{"connect_timeout", IGNORED},
	{"connect_timeout_with_failover_ms", IGNORED},
	{"count_distinct_implementation", IGNORED},
	{"count_distinct_optimization", BOOL},
	{"count_matches_stop_at_empty_match", BOOL},
	{"data_type_default_nullable", BOOL},
	{"date_time_64_output_format_cut_trailing_zeros_align_to_groups_of_thousands", BOOL},
	{"date_time_input_format", WORD},
	{"date_time_output_format", WORD},
	{"date_time_overflow_behavior", WORD},
	{"decimal_check_overflow", BOOL},
	{"describe_compact_output", BOOL},
	{"describe_include_subcolumns", BOOL},
	{"distinct_overflow_mode", WORD},
	{"distributed_product_mode", IGNORED},
	{"dynamic_throw_on_type_mismatch", BOOL},
	{"empty_result_for_aggregation_by_constant_keys_on_empty_set", BOOL},
	{"empty_result_for_aggregation_by_empty_set", BOOL},
	{"enable_analyzer", IGNORED},
	{"enable_dynamic_type", IGNORED},
	{"enable_extended_results_for_datetime_functions", BOOL},
	{"enable_global_with_statement", BOOL},
	{"enable_http_compression", IGNORED},
	{"enable_json_type", IGNORED},
	{"enable_named_columns_in_function_tuple", BOOL},
	{"enable_optimize_predicate_expression", BOOL},
	{"enable_order_by_all", BOOL},
	{"enable_positional_arguments", BOOL},
	{"enable_qbit_type", IGNORED},
	{"enable_scopes_for_with_statement", BOOL},
	{"enable_time_time64_type", IGNORED},
	{"enable_unaligned_array_join", BOOL},
	{"enable_variant_type", IGNORED},
	{"exact_rows_before_limit", BOOL},
	{"extremes", BOOL},
	{"final", BOOL},
	{"format_csv_delimiter", TEXT},
	{"format_csv_null_representation", TEXT},
	{"format_custom_escaping_rule", WORD},
	{"format_custom_field_delimiter", TEXT},
	{"format_custom_result_after_delimiter", TEXT},
	{"format_custom_result_before_delimiter", TEXT},
	{"format_custom_row_after_delimiter", TEXT},
	{"format_custom_row_before_delimiter", TEXT},
	{"format_custom_row_between_delimiter", TEXT},
	{"format_json_object_each_row_column_for_object_name", TEXT},
	{"format_tsv_null_representation", TEXT},
	{"formatdatetime_e_with_space_padding", BOOL},
	{"formatdatetime_f_prints_scale_number_of_digits", BOOL},
	{"formatdatetime_f_prints_single_zero", BOOL},
	{"formatdatetime_format_without_leading_zeros", BOOL},
	{"formatdatetime_parsedatetime_m_is_month_name", BOOL},
	{"function_date_trunc_return_type_behavior", NUMBER},
	{"function_json_value_return_type_allow_complex", BOOL},
	{"function_json_value_return_type_allow_nullable", BOOL},
	{"function_locate_has_mysql_compatible_argument_order", BOOL},
	{"function_visible_width_behavior", NUMBER},
	{"geo_distance_returns_float64_on_float64_arguments", BOOL},
	{"geotoh3_argument_order", WORD},
	{"group_by_overflow_mode", WORD},
	{"group_by_two_level_threshold", NUMBER},
	{"group_by_two_level_threshold_bytes", NUMBER},
	{"group_by_use_nulls", BOOL},
	{"http_connection_timeout", IGNORED},
	{"http_headers_progress_interval_ms", IGNORED},
	{"http_max_uri_size", IGNORED},
	{"http_native_compression_disable_checksumming_on_decompress", IGNORED},
	{"http_receive_timeout", IGNORED},
	{"http_response_buffer_size", IGNORED},
	{"http_send_timeout", IGNORED},
	{"http_wait_end_of_query", IGNORED},
	{"http_write_exception_in_output_format", IGNORED},
	{"http_zlib_compression_level", IGNORED},
	{"idle_connection_timeout", IGNORED},
	{"input_format_null_as_default", IGNORED},
	{"input_format_skip_unknown_fields", IGNORED},
	{"insert_deduplicate", IGNORED},
	{"insert_distributed_sync", IGNORED},
	{"insert_null_as_default", IGNORED},
	{"insert_quorum", IGNORED},
	{"interval_output_format", WORD},
	{"join_algorithm", IGNORED},
	{"join_any_take_last_row", BOOL},
	{"join_default_strictness", WORD},
	{"join_overflow_mode", WORD},
	{"join_use_nulls", BOOL},
	{"legacy_column_name_of_tuple_literal", BOOL},
	{"limit", NUMBER},
	{"load_balancing", IGNORED},
	{"log_comment", IGNORED},
	{"log_processors_profiles", IGNORED},
	{"log_profile_events", IGNORED},
	{"log_queries", IGNORED},
	{"log_query_settings", IGNORED},
	{"log_query_threads", IGNORED},
	{"log_query_views", IGNORED},
	{"low_cardinality_allow_in_native_format", BOOL},
	{"low_cardinality_max_dictionary_size", IGNORED},
	{"max_ast_depth", IGNORED},
	{"max_ast_elements", IGNORED},
	{"max_block_size", LIMIT, 65536},
	{"max_bytes_before_external_group_by", IGNORED},
	{"max_bytes_before_external_sort", IGNORED},
	{"max_bytes_in_distinct", NUMBER},
	{"max_bytes_in_join", NUMBER},
	{"max_bytes_in_set", NUMBER},
	{"max_bytes_to_read", NUMBER},
	{"max_bytes_to_read_leaf", NUMBER},
	{"max_bytes_to_sort", NUMBER},
	{"max_columns_to_read", NUMBER},
	{"max_compress_block_size", IGNORED},
	{"max_concurrent_queries_for_user", IGNORED},
	{"max_execution_time", LIMIT, STORE_QUERY_TIMEOUT_S},
	{"max_http_get_redirects", IGNORED},
	{"max_insert_block_size", IGNORED},
	{"max_insert_threads", IGNORED},
	{"max_memory_usage", IGNORED},
	{"max_memory_usage_for_user", IGNORED},
	{"max_network_bandwidth", IGNORED},
	{"max_parallel_replicas", IGNORED},
	{"max_query_size", IGNORED},
	{"max_result_bytes", IGNORED},
	{"max_result_rows", NUMBER},
	{"max_rows_in_distinct", NUMBER},
	{"max_rows_in_join", NUMBER},
	{"max_rows_in_set", NUMBER},
	{"max_rows_to_group_by", NUMBER},
	{"max_rows_to_read", NUMBER},
	{"max_rows_to_read_leaf", NUMBER},
	{"max_rows_to_sort", NUMBER},
	{"max_threads", IGNORED},
	{"mutations_sync", IGNORED},
	{"network_compression_method", IGNORED},
	{"network_zstd_compression_level", IGNORED},
	{"offset", NUMBER},
	{"optimize_aggregation_in_order", BOOL},
	{"optimize_aggregators_of_group_by_keys", BOOL},
	{"optimize_and_compare_chain", BOOL},
	{"optimize_append_index", BOOL},
	{"optimize_arithmetic_operations_in_aggregate_functions", BOOL},
	{"optimize_count_from_files", BOOL},
	{"optimize_dictget_tuple_element", BOOL},
	{"optimize_distinct_in_order", BOOL},
	{"optimize_dry_run_check_part", BOOL},
	{"optimize_empty_string_comparisons", BOOL},
	{"optimize_extract_common_expressions", BOOL},
	{"optimize_functions_to_subcolumns", BOOL},
	{"optimize_group_by_constant_keys", BOOL},
	{"optimize_group_by_function_keys", BOOL},
	{"optimize_if_chain_to_multiif", BOOL},
	{"optimize_if_transform_strings_to_enum", BOOL},
	{"optimize_injective_functions_in_group_by", BOOL},
	{"optimize_injective_functions_inside_uniq", BOOL},
	{"optimize_inverse_dictionary_lookup", BOOL},
	{"optimize_min_equality_disjunction_chain_length", NUMBER},
	{"optimize_move_to_prewhere", BOOL},
	{"optimize_multiif_to_if", BOOL},
	{"optimize_normalize_count_variants", BOOL},
	{"optimize_or_like_chain", BOOL},
	{"optimize_qbit_distance_function_reads", BOOL},
	{"optimize_read_in_order", BOOL},
	{"optimize_read_in_window_order", BOOL},
	{"optimize_redundant_functions_in_order_by", BOOL},
	{"optimize_respect_aliases", BOOL},
	{"optimize_rewrite_aggregate_function_with_if", BOOL},
	{"optimize_rewrite_array_exists_to_has", BOOL},
	{"optimize_rewrite_like_perfect_affix", BOOL},
	{"optimize_rewrite_regexp_functions", BOOL},
	{"optimize_rewrite_sum_if_to_count_if", BOOL},
	{"optimize_sorting_by_input_stream_properties", BOOL},
	{"optimize_substitute_columns", BOOL},
	{"optimize_syntax_fuse_functions", BOOL},
	{"optimize_time_filter_with_preimage", BOOL},
	{"optimize_trivial_approximate_count_query", BOOL},
	{"optimize_trivial_count_query", BOOL},
	{"optimize_trivial_group_by_limit_query", BOOL},
	{"optimize_truncate_order_by_after_group_by_keys", BOOL},
	{"optimize_uniq_to_count", BOOL},
	{"optimize_using_constraints", BOOL},
	{"output_format_arrow_compression_method", WORD},
	{"output_format_arrow_date_as_uint16", BOOL},
	{"output_format_arrow_fixed_string_as_fixed_byte_array", BOOL},
	{"output_format_arrow_low_cardinality_as_dictionary", BOOL},
	{"output_format_arrow_parallel_encoding", BOOL},
	{"output_format_arrow_string_as_string", BOOL},
	{"output_format_arrow_unsupported_types_as_binary", BOOL},
	{"output_format_arrow_use_64_bit_indexes_for_dictionary", BOOL},
	{"output_format_arrow_use_signed_indexes_for_dictionary", BOOL},
	{"output_format_avro_codec", TEXT},
	{"output_format_avro_rows_in_file", NUMBER},
	{"output_format_avro_sync_interval", NUMBER},
	{"output_format_binary_encode_types_in_binary_format", BOOL},
	{"output_format_binary_write_json_as_string", BOOL},
	{"output_format_bson_string_as_string", BOOL},
	{"output_format_compression_level", NUMBER},
	{"output_format_csv_crlf_end_of_line", BOOL},
	{"output_format_csv_serialize_tuple_into_separate_columns", BOOL},
	{"output_format_decimal_trailing_zeros", BOOL},
	{"output_format_enable_streaming", IGNORED},
	{"output_format_json_array_of_rows", BOOL},
	{"output_format_json_escape_forward_slashes", BOOL},
	{"output_format_json_map_as_array_of_tuples", BOOL},
	{"output_format_json_named_tuples_as_objects", BOOL},
	{"output_format_json_pretty_print", BOOL},
	{"output_format_json_quote_64bit_floats", BOOL},
	{"output_format_json_quote_64bit_integers", BOOL},
	{"output_format_json_quote_decimals", BOOL},
	{"output_format_json_quote_denormals", BOOL},
	{"output_format_json_skip_null_value_in_named_tuples", BOOL},
	{"output_format_json_validate_utf8", BOOL},
	{"output_format_markdown_escape_special_characters", BOOL},
	{"output_format_msgpack_uuid_representation", WORD},
	{"output_format_native_encode_types_in_binary_format", BOOL},
	{"output_format_native_use_flattened_dynamic_and_json_serialization", BOOL},
	{"output_format_native_write_json_as_string", BOOL},
	{"output_format_orc_compression_block_size", NUMBER},
	{"output_format_orc_compression_method", WORD},
	{"output_format_orc_dictionary_key_size_threshold", NUMBER},
	{"output_format_orc_row_index_stride", NUMBER},
	{"output_format_orc_string_as_string", BOOL},
	{"output_format_parallel_formatting", IGNORED},
	{"output_format_parquet_batch_size", NUMBER},
	{"output_format_parquet_bloom_filter_bits_per_value", NUMBER},
	{"output_format_parquet_bloom_filter_flush_threshold_bytes", NUMBER},
	{"output_format_parquet_compression_method", WORD},
	{"output_format_parquet_data_page_size", NUMBER},
	{"output_format_parquet_date_as_uint16", BOOL},
	{"output_format_parquet_datetime_as_uint32", BOOL},
	{"output_format_parquet_enum_as_byte_array", BOOL},
	{"output_format_parquet_fixed_string_as_fixed_byte_array", BOOL},
	{"output_format_parquet_geometadata", BOOL},
	{"output_format_parquet_max_dictionary_size", NUMBER},
	{"output_format_parquet_parallel_encoding", BOOL},
	{"output_format_parquet_row_group_size", NUMBER},
	{"output_format_parquet_row_group_size_bytes", NUMBER},
	{"output_format_parquet_string_as_string", BOOL},
	{"output_format_parquet_write_bloom_filter", BOOL},
	{"output_format_parquet_write_checksums", BOOL},
	{"output_format_parquet_write_page_index", BOOL},
	{"output_format_pretty_color", WORD},
	{"output_format_pretty_display_footer_column_names", NUMBER},
	{"output_format_pretty_display_footer_column_names_min_rows", NUMBER},
	{"output_format_pretty_fallback_to_vertical", BOOL},
	{"output_format_pretty_fallback_to_vertical_max_rows_per_chunk", NUMBER},
	{"output_format_pretty_fallback_to_vertical_min_columns", NUMBER},
	{"output_format_pretty_fallback_to_vertical_min_table_width", NUMBER},
	{"output_format_pretty_glue_chunks", WORD},
	{"output_format_pretty_grid_charset", TEXT},
	{"output_format_pretty_highlight_digit_groups", BOOL},
	{"output_format_pretty_highlight_trailing_spaces", BOOL},
	{"output_format_pretty_max_column_name_width_cut_to", NUMBER},
	{"output_format_pretty_max_column_name_width_min_chars_to_cut", NUMBER},
	{"output_format_pretty_max_column_pad_width", NUMBER},
	{"output_format_pretty_max_rows", NUMBER},
	{"output_format_pretty_max_value_width", NUMBER},
	{"output_format_pretty_max_value_width_apply_for_single_value", NUMBER},
	{"output_format_pretty_multiline_fields", BOOL},
	{"output_format_pretty_named_tuples_as_json", BOOL},
	{"output_format_pretty_row_numbers", BOOL},
	{"output_format_pretty_single_large_number_tip_threshold", NUMBER},
	{"output_format_pretty_squash_consecutive_ms", NUMBER},
	{"output_format_pretty_squash_max_wait_ms", NUMBER},
	{"output_format_sql_insert_include_column_names", BOOL},
	{"output_format_sql_insert_max_batch_size", NUMBER},
	{"output_format_sql_insert_quote_names", BOOL},
	{"output_format_sql_insert_table_name", TEXT},
	{"output_format_sql_insert_use_replace", BOOL},
	{"output_format_trim_fixed_string", BOOL},
	{"output_format_tsv_crlf_end_of_line", BOOL},
	{"output_format_values_escape_quote_with_quote", BOOL},
	{"output_format_write_statistics", BOOL},
	{"parsedatetime_e_requires_space_padding", BOOL},
	{"parsedatetime_parse_without_leading_zeros", BOOL},
	{"poll_interval", IGNORED},
	{"prefer_column_name_to_alias", BOOL},
	{"prefer_localhost_replica", IGNORED},
	{"preferred_block_size_bytes", NUMBER},
	{"print_pretty_type_names", BOOL},
	{"priority", IGNORED},
	{"query_plan_max_limit_for_lazy_materialization", NUMBER},
	{"read_overflow_mode", WORD},
	{"readonly", IGNORED},
	{"receive_data_timeout_ms", IGNORED},
	{"receive_timeout", IGNORED},
	{"regexp_max_matches_per_row", NUMBER},
	{"result_overflow_mode", WORD},
	{"select_sequential_consistency", IGNORED},
	{"send_logs_level", IGNORED},
	{"send_profile_events", IGNORED},
	{"send_progress_in_http_headers", IGNORED},
	{"send_timeout", IGNORED},
	{"session_timezone", WORD},
	{"set_overflow_mode", WORD},
	{"short_circuit_function_evaluation", WORD},
	{"short_circuit_function_evaluation_for_nulls", BOOL},
	{"short_circuit_function_evaluation_for_nulls_threshold", NUMBER},
	{"show_create_query_identifier_quoting_rule", WORD},
	{"show_create_query_identifier_quoting_style", WORD},
	{"skip_unavailable_shards", IGNORED},
	{"sort_overflow_mode", WORD},
	{"splitby_max_substrings_includes_remaining_string", BOOL},
	{"tcp_keep_alive_timeout", IGNORED},
	{"timeout_overflow_mode", WORD},
	{"totals_auto_threshold", NUMBER},
	{"totals_mode", WORD},
	{"transform_null_in", BOOL},
	{"union_default_mode", WORD},
	{"use_client_time_zone", IGNORED},
	{"use_index_for_in_with_subqueries", BOOL},
	{"use_legacy_to_time", BOOL},
	{"use_partition_key", BOOL},
	{"use_partition_pruning", BOOL},
	{"use_primary_key", BOOL},
	{"use_query_cache", IGNORED},
	{"use_query_condition_cache", BOOL},
	{"use_skip_indexes", BOOL},
	{"use_skip_indexes_for_disjunctions", BOOL},
	{"use_skip_indexes_for_top_k", BOOL},
	{"use_skip_indexes_if_final", BOOL},
	{"use_skip_indexes_if_final_exact_mode", BOOL},
	{"use_skip_indexes_on_data_read", BOOL},
	{"use_uncompressed_cache", IGNORED},
	{"use_variant_as_common_type", BOOL},
	{"use_variant_default_implementation_for_comparisons", BOOL},
	{"use_with_fill_by_sorting_prefix", BOOL},
	{"variant_throw_on_type_mismatch", BOOL},
	{"wait_for_async_insert", IGNORED},
	{"workload", IGNORED},
};

/* Parameters of the HTTP interface that are no settings, and which the port knows itself. */
static const char *const parameters[] = {
	"buffer_size",
	"client_protocol_version",
	"close_session",
	"compress",
	"database",
	"decompress",
	"default_format",
	"password",
	"profile",
	"query",
	"query_id",
	"quota_key",
	"role",
	"session_check",
	"session_id",
	"session_timeout",
	"stacktrace",
	"user",
	"wait_end_of_query",
};

static int compare(const void *key, const void *element)
{
	return strcmp(key, ((const struct known_setting *)element)->name);
}

static bool is_parameter(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(parameters); i++) {
		if (strcmp(parameters[i], name) == 0)
			return true;
	}
	return strncmp(name, "param_", 6) == 0;
}

static bool is_bool(const char *v)
{
	return strcmp(v, "0") == 0 || strcmp(v, "1") == 0 || strcasecmp(v, "false") == 0 ||
	       strcasecmp(v, "true") == 0;
}

static bool is_number(const char *v)
{
	size_t n = strspn(v, "0123456789");

	if (n > 0 && v[n] == '.')
		n += 1 + strspn(v + n + 1, "0123456789");
	return n > 0 && v[n] == '\0';
}

/* A name of a time zone must not be the path of a file. */
static bool is_word(const char *v)
{
	if (*v == '/')
		return false;
	while (isalnum((unsigned char)*v) || (*v && strchr("_+-/", *v)))
		v++;
	return *v == '\0';
}

static bool is_text(const char *v)
{
	while (isprint((unsigned char)*v) || *v == '\t')
		v++;
	return *v == '\0';
}

/* Returns whether v is a whole number, and writes it or max into ret. */
static bool limit(const char *v, uint64_t max, struct sql_setting *ret)
{
	uint64_t n;

	if (strspn(v, "0123456789") != strlen(v) || !*v)
		return false;
	n = strtoull(v, NULL, 10); /* ULLONG_MAX beyond the range */
	snprintf(ret->value, sizeof(ret->value), "%llu",
		 (unsigned long long)(n == 0 || n > max ? max : n));
	return true;
}

static bool has_kind(const struct known_setting *k, const char *value, struct sql_setting *ret)
{
	switch (k->kind) {
	case IGNORED:
		return true;
	case BOOL:
		return is_bool(value);
	case NUMBER:
		return is_number(value);
	case LIMIT:
		return limit(value, k->max, ret);
	case WORD:
		return is_word(value);
	case TEXT:
		return is_text(value);
	}
	return false;
}

int sql_setting_check(const char *name, const char *value, struct sql_setting *ret, struct err *err)
{
	const struct known_setting *k =
		bsearch(name, known, ARRAY_SIZE(known), sizeof(known[0]), compare);

	*ret = (struct sql_setting){0};
	if (!k && is_parameter(name))
		return 0;
	if (!k)
		return err_set(err, -EPERM, "the setting %.64s cannot be changed here", name);
	if (k->kind == IGNORED)
		return 0;
	if (strlen(value) >= sizeof(ret->value))
		return err_set(err, -EINVAL, "the value of the setting %s is too long", name);
	snprintf(ret->value, sizeof(ret->value), "%s", value);
	if (!has_kind(k, value, ret))
		return err_set(err, -EINVAL, "bad value of the setting %s", name);
	ret->name = k->name;
	return 1;
}

const char *sql_setting_at(size_t i)
{
	return i < ARRAY_SIZE(known) ? known[i].name : NULL;
}
