/* What a user can set on the cluster agent; see cluster_options.c for names and defaults. */
#ifndef CLUSTER_AGENT_CLUSTER_OPTIONS_H
#define CLUSTER_AGENT_CLUSTER_OPTIONS_H

#include "cluster-agent/discover/scrape_target.h"
#include "common/agent/agent_options.h"
#include "common/base.h"
#include "common/err.h"
#include "common/options/ignored_flags.h"
#include "common/options/options.h"

enum cluster_storage {
	STORAGE_AUTO, /* see cluster_options_storage() */
	STORAGE_EMBEDDED,
	STORAGE_CLICKHOUSE,
};

extern const char *const cluster_storage_names[];

struct cluster_options {
	char *listen;
	char *url_base_path;
	char *tls_cert;
	char *tls_key;
	char *allowed_hosts;
	char *api_key;
	char *api_key_file;
	char *read_api_key;
	char *read_api_key_file;
	char *notes_api_key;
	char *notes_api_key_file;
	char *data_dir;
	uint64_t max_wal_bytes;
	uint64_t claim_wait_ns;
	uint64_t max_symbols_bytes;
	char *debuginfod_urls;
	uint64_t debuginfod_max_bytes;
	uint64_t profiles_ttl_ns;
	uint64_t functions_ttl_ns;
	uint64_t notes_ttl_ns;
	char *source_path;
	char *source_url_template;
	char *clickhouse_address;
	char *clickhouse_user;
	char *clickhouse_password;
	char *clickhouse_password_file;
	char *clickhouse_database;
	char *clickhouse_tls_ca_file;
	char *clickhouse_tls_cert_file;
	char *clickhouse_tls_key_file;
	char *clickhouse_cluster;
	char *clickhouse_storage_policy;
	uint64_t clickhouse_move_after_ns;
	char *clickhouse_move_volume;
	uint64_t max_disk_usage_percent;
	char *clickhouse_listen;
	char *otlp_grpc_listen;
	char *chdb_library;
	char *coroot_url;
	uint64_t max_spool_bytes;
	char *ca_file;
	char *kubeconfig;
	char *kube_context;
	char *kube_namespace;
	uint64_t scrape_interval_ns;
	uint64_t scrape_timeout_ns;
	uint64_t scrape_cpu_duration_ns;
	char *scrape_types;
	char *pod_labels;
	char *namespace_labels;
	char *node_labels;
	char *scrape_config;
	char *scrape_docker_socket;
	uint64_t scrape_concurrency;
	uint64_t scrape_max_profile_mib;
	uint64_t scrape_max_memory_mib;
	char *scrape_ca_file;
	char *scrape_tls_server_name;
	char *scrape_cert_file;
	char *scrape_key_file;
	char *scrape_token_file;
	char *scrape_username;
	char *scrape_password_file;
	char *replica_group;
	char *replica_name;
	char *replica_namespace;
	enum cluster_storage storage;
	enum syscall_filter_mode seccomp;
	enum log_level log_level;
	bool anonymous_read;
	bool clickhouse_tls;
	bool clickhouse_tls_skip_verify;
	bool insecure_skip_verify;
	bool scrape_insecure_skip_verify;
	bool scrape_auth_over_http;
};

extern const struct option_def cluster_option_defs[];
extern const struct ignored_flag cluster_ignored_flags[];

/* Never STORAGE_AUTO. */
enum cluster_storage cluster_options_storage(const struct cluster_options *o);

/* Whether profiles are sent on instead of stored. */
bool cluster_options_forward(const struct cluster_options *o);

/* --profiles-scrape-types. -EINVAL with one line in err. */
int cluster_options_scrape_kinds(const struct cluster_options *o, bool ret[PROFILE_KIND_MAX],
				 struct err *err) MUST_CHECK;

/* Contradictions between options: -EINVAL with one line in err. */
int cluster_options_check(const struct cluster_options *o, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_CLUSTER_OPTIONS_H */
