#include "cluster-agent/cluster_options.h"

#include <errno.h>

#include "cluster-agent/discover/scrape_target.h"
#include "common/http/http_base_path.h"
#include "common/limits.h"
#include "common/system/clock.h"

#define FIELD(name) offsetof(struct cluster_options, name)
const char *const cluster_storage_names[] = {
	[STORAGE_AUTO] = "auto",
	[STORAGE_EMBEDDED] = "embedded",
	[STORAGE_CLICKHOUSE] = "clickhouse",
	NULL,
};

#define DAY_NS (UINT64_C(86400) * NS_PER_S)

const struct option_def cluster_option_defs[] = {
	{.name = "listen",
	 .type = OPTION_STRING,
	 .offset = FIELD(listen),
	 .def = "127.0.0.1:10301",
	 .value = "ADDR:PORT",
	 .help = "address on which uploads, the page, /metrics and /healthz are served"},
	{.name = "url-base-path",
	 .type = OPTION_STRING,
	 .offset = FIELD(url_base_path),
	 .value = "PATH",
	 .help = "path below which everything on --listen can be reached as well as at the root, "
		 "as /coroot; for an Ingress or a proxy that passes paths on as they are"},
	{.name = "tls-cert",
	 .type = OPTION_STRING,
	 .offset = FIELD(tls_cert),
	 .value = "FILE",
	 .help = "PEM file of the certificate, with its chain, of all listeners; read again when "
		 "it changes; needs --tls-key; unset: plain HTTP"},
	{.name = "tls-key",
	 .type = OPTION_STRING,
	 .offset = FIELD(tls_key),
	 .value = "FILE",
	 .help = "PEM file of the private key of --tls-cert, without a passphrase"},
	{.name = "api-key",
	 .type = OPTION_SECRET,
	 .offset = FIELD(api_key),
	 .value = "KEY",
	 .help = "key that uploads must have in the X-Api-Key header, and that opens the page, "
		 "API and SQL unless --read-api-key is given; with --coroot-url, the key sent "
		 "there; unset: none"},
	{.name = "api-key-file",
	 .type = OPTION_STRING,
	 .offset = FIELD(api_key_file),
	 .value = "FILE",
	 .help = "file of such keys, one per line, all valid, or a directory of such files; read "
		 "again when one changes; with --coroot-url, the next key is sent when the "
		 "receiver refuses the first"},
	{.name = "read-api-key",
	 .type = OPTION_SECRET,
	 .offset = FIELD(read_api_key),
	 .value = "KEY",
	 .help = "key of the page, API and SQL; --api-key is then for uploads only"},
	{.name = "read-api-key-file",
	 .type = OPTION_STRING,
	 .offset = FIELD(read_api_key_file),
	 .value = "FILE",
	 .help = "file of such keys, one per line, all valid, or a directory of such files; read "
		 "again when one changes"},
	{.name = "anonymous-read",
	 .type = OPTION_BOOL,
	 .offset = FIELD(anonymous_read),
	 .def = "false",
	 .help = "the page, API and SQL need no key, although uploads need one; SQL is then for "
		 "loopback addresses only"},
	{.name = "allowed-hosts",
	 .type = OPTION_LIST,
	 .offset = FIELD(allowed_hosts),
	 .value = "NAMES",
	 .help = "names, separated by commas, under which the agent may be reached without a key, "
		 "besides IP addresses, localhost, the host's name, names without a dot and "
		 "services of Kubernetes; *.example.com: all below it; *: all"},
	{.name = "storage",
	 .type = OPTION_ENUM,
	 .offset = FIELD(storage),
	 .def = "auto",
	 .choices = cluster_storage_names,
	 .help = "where profiles are stored: by an engine inside the agent, or on ClickHouse "
		 "servers; auto: on servers if --clickhouse-address is given"},
	{.name = "data-dir",
	 .type = OPTION_STRING,
	 .offset = FIELD(data_dir),
	 .def = "/var/lib/coroot-cluster-agent",
	 .value = "DIR",
	 .help = "directory of the write-ahead log and the embedded engine's data; with "
		 "--coroot-url, of profiles that wait for the receiver"},
	{.name = "max-wal-size",
	 .type = OPTION_SIZE,
	 .offset = FIELD(max_wal_bytes),
	 .def = "1GiB",
	 .min = MIB,
	 .help = "largest write-ahead log; while the store takes nothing, uploads beyond it are "
		 "refused, to be sent again"},
	{.name = "profiles-ttl",
	 .type = OPTION_DURATION,
	 .offset = FIELD(profiles_ttl_ns),
	 .def = "7d",
	 .min = 3600 * NS_PER_S,
	 .max = 3650 * DAY_NS,
	 .value = "DURATION",
	 .help = "how long profiles are kept"},
	{.name = "clickhouse-address",
	 .variable = "GLOBAL_CLICKHOUSE_ADDRESS",
	 .type = OPTION_STRING,
	 .offset = FIELD(clickhouse_address),
	 .value = "LIST",
	 .help = "ClickHouse servers by host, host:port or URL of their HTTP interface, separated "
		 "by commas; the first that works is used"},
	{.name = "clickhouse-user",
	 .variable = "GLOBAL_CLICKHOUSE_USER",
	 .type = OPTION_STRING,
	 .offset = FIELD(clickhouse_user),
	 .def = "default",
	 .value = "NAME",
	 .help = "user at the ClickHouse servers"},
	{.name = "clickhouse-password",
	 .variable = "GLOBAL_CLICKHOUSE_PASSWORD",
	 .type = OPTION_SECRET,
	 .offset = FIELD(clickhouse_password),
	 .value = "PASSWORD",
	 .help = "its password; everyone on the machine can read flags, so prefer the variable or "
		 "--clickhouse-password-file"},
	{.name = "clickhouse-password-file",
	 .type = OPTION_STRING,
	 .offset = FIELD(clickhouse_password_file),
	 .value = "FILE",
	 .help = "file with the password; read again when a server refuses it"},
	{.name = "clickhouse-database",
	 .type = OPTION_STRING,
	 .offset = FIELD(clickhouse_database),
	 .def = "coroot",
	 .value = "NAME",
	 .help = "database of the tables; created if it does not exist"},
	{.name = "clickhouse-tls",
	 .variable = "GLOBAL_CLICKHOUSE_TLS_ENABLED",
	 .type = OPTION_BOOL,
	 .offset = FIELD(clickhouse_tls),
	 .def = "false",
	 .help = "speak https to servers whose address has no scheme"},
	{.name = "clickhouse-tls-ca-file",
	 .type = OPTION_STRING,
	 .offset = FIELD(clickhouse_tls_ca_file),
	 .value = "FILE",
	 .help = "PEM file of the certificate authorities of the ClickHouse servers; unset: the "
		 "system's"},
	{.name = "clickhouse-tls-cert-file",
	 .type = OPTION_STRING,
	 .offset = FIELD(clickhouse_tls_cert_file),
	 .value = "FILE",
	 .help = "client certificate presented to the ClickHouse servers; needs "
		 "--clickhouse-tls-key-file"},
	{.name = "clickhouse-tls-key-file",
	 .type = OPTION_STRING,
	 .offset = FIELD(clickhouse_tls_key_file),
	 .value = "FILE",
	 .help = "private key of --clickhouse-tls-cert-file"},
	{.name = "clickhouse-tls-skip-verify",
	 .variable = "GLOBAL_CLICKHOUSE_TLS_SKIP_VERIFY",
	 .type = OPTION_BOOL,
	 .offset = FIELD(clickhouse_tls_skip_verify),
	 .def = "false",
	 .help = "do not verify the TLS certificates of the ClickHouse servers"},
	{.name = "clickhouse-cluster",
	 .type = OPTION_STRING,
	 .offset = FIELD(clickhouse_cluster),
	 .value = "NAME",
	 .help = "cluster on whose servers the tables are made; \"none\": only on the one that "
		 "answers; unset: the only one, else coroot, else default"},
	{.name = "clickhouse-storage-policy",
	 .type = OPTION_STRING,
	 .offset = FIELD(clickhouse_storage_policy),
	 .value = "NAME",
	 .help = "storage policy of the tables, as the servers' configuration names it; existing "
		 "tables are changed; unset: as they are"},
	{.name = "clickhouse-move-after",
	 .type = OPTION_DURATION,
	 .offset = FIELD(clickhouse_move_after_ns),
	 .max = 3650 * DAY_NS,
	 .value = "DURATION",
	 .help = "age at which profiles move to --clickhouse-move-volume; unset: they are not "
		 "moved by age"},
	{.name = "clickhouse-move-volume",
	 .type = OPTION_STRING,
	 .offset = FIELD(clickhouse_move_volume),
	 .value = "NAME",
	 .help = "volume of the storage policy for older profiles; needs --clickhouse-move-after"},
	{.name = "max-disk-usage",
	 .variable = "CLICKHOUSE_SPACE_MANAGER_USAGE_THRESHOLD",
	 .type = OPTION_UINT,
	 .offset = FIELD(max_disk_usage_percent),
	 .def = "90",
	 .max = 99,
	 .value = "PERCENT",
	 .help = "used part of a disk of the store above which the oldest days of profiles are "
		 "dropped; 0: never"},
	{.name = "clickhouse-listen",
	 .type = OPTION_STRING,
	 .offset = FIELD(clickhouse_listen),
	 .value = "ADDR:PORT",
	 .help = "address on which SQL queries to the embedded engine are answered over "
		 "ClickHouse's HTTP interface; unset: none"},
	{.name = "otlp-grpc-listen",
	 .type = OPTION_STRING,
	 .offset = FIELD(otlp_grpc_listen),
	 .value = "ADDR:PORT",
	 .help = "address on which profiles are taken as OTLP over gRPC, as 127.0.0.1:4317; OTLP "
		 "over HTTP is taken on --listen at /v1development/profiles; unset: none"},
	{.name = "chdb-library",
	 .type = OPTION_STRING,
	 .offset = FIELD(chdb_library),
	 .value = "FILE",
	 .help = "libchdb.so of the embedded engine; unset: searched for next to the agent and in "
		 "the library directories"},
	{.name = "coroot-url",
	 .type = OPTION_STRING,
	 .offset = FIELD(coroot_url),
	 .value = "URL",
	 .help = "store nothing: send the scraped profiles to the cluster-agent or Coroot server "
		 "at "
		 "this base URL"},
	{.name = "max-spool-size",
	 .type = OPTION_SIZE,
	 .offset = FIELD(max_spool_bytes),
	 .def = "500MB",
	 .help = "with --coroot-url: bytes in --data-dir in which profiles wait that the receiver "
		 "has "
		 "not accepted; beyond, the oldest are dropped; 0: they wait in memory only"},
	{.name = "ca-file",
	 .type = OPTION_STRING,
	 .offset = FIELD(ca_file),
	 .value = "FILE",
	 .help = "PEM file of the certificate authorities to trust at --coroot-url instead of the "
		 "system's"},
	{.name = "insecure-skip-verify",
	 .type = OPTION_BOOL,
	 .offset = FIELD(insecure_skip_verify),
	 .def = "false",
	 .help = "do not verify the TLS certificate of --coroot-url"},
	{.name = "kubeconfig",
	 .type = OPTION_STRING,
	 .offset = FIELD(kubeconfig),
	 .value = "FILE",
	 .help = "kubeconfig of the Kubernetes API; unset: the pod's service account; outside a "
		 "pod "
		 "no pods are scraped without it"},
	{.name = "kube-context",
	 .type = OPTION_STRING,
	 .offset = FIELD(kube_context),
	 .value = "NAME",
	 .help = "context of the kubeconfig; unset: its current context"},
	{.name = "kube-namespace",
	 .type = OPTION_STRING,
	 .offset = FIELD(kube_namespace),
	 .value = "NAME",
	 .help = "namespace whose pods are scraped; unset: all"},
	{.name = "scrape-config",
	 .type = OPTION_STRING,
	 .offset = FIELD(scrape_config),
	 .value = "FILE",
	 .help = "YAML file of addresses that are scraped besides annotated pods, without "
		 "Kubernetes too; read again when it changes"},
	{.name = "scrape-docker-socket",
	 .type = OPTION_STRING,
	 .offset = FIELD(scrape_docker_socket),
	 .value = "PATH",
	 .help = "API socket of Docker or podman, whose containers are scraped if their labels say "
		 "what annotations of pods do; unset: none are"},
	{.name = "profiles-scrape-interval",
	 .type = OPTION_DURATION,
	 .offset = FIELD(scrape_interval_ns),
	 .def = "60s",
	 .value = "DURATION",
	 .help = "time between two scrapes of a profile of an annotated pod; 0: scrape nothing"},
	{.name = "profiles-scrape-timeout",
	 .type = OPTION_DURATION,
	 .offset = FIELD(scrape_timeout_ns),
	 .def = "10s",
	 .min = NS_PER_MS * 100,
	 .max = 600 * NS_PER_S,
	 .value = "DURATION",
	 .help = "how long a pod may take to answer, beyond the time a CPU profile takes"},
	{.name = "profiles-scrape-cpu-duration",
	 .type = OPTION_DURATION,
	 .offset = FIELD(scrape_cpu_duration_ns),
	 .def = "10s",
	 .min = NS_PER_S,
	 .value = "DURATION",
	 .help = "time covered by one CPU profile, in whole seconds, at most the interval"},
	{.name = "profiles-scrape-types",
	 .type = OPTION_STRING,
	 .offset = FIELD(scrape_types),
	 .def = "cpu,heap,goroutine,mutex,block",
	 .value = "LIST",
	 .help = "profile types that are scraped from pods without an annotation about types"},
	{.name = "profiles-scrape-concurrency",
	 .type = OPTION_UINT,
	 .offset = FIELD(scrape_concurrency),
	 .def = "1000",
	 .min = 1,
	 .max = 20000,
	 .value = "N",
	 .help = "requests to pods at the same time"},
	{.name = "profiles-scrape-max-size",
	 .type = OPTION_UINT,
	 .offset = FIELD(scrape_max_profile_mib),
	 .def = "32",
	 .min = 1,
	 .max = LIMIT_UPLOAD_INFLATED_BYTES / MIB,
	 .value = "MIB",
	 .help = "largest profile that is accepted from a pod"},
	{.name = "profiles-scrape-max-memory",
	 .type = OPTION_UINT,
	 .offset = FIELD(scrape_max_memory_mib),
	 .def = "128",
	 .min = 1,
	 .max = 1024 * 1024,
	 .value = "MIB",
	 .help = "memory for all profiles being fetched together"},
	{.name = "profiles-scrape-ca-file",
	 .type = OPTION_STRING,
	 .offset = FIELD(scrape_ca_file),
	 .value = "FILE",
	 .help = "PEM file of the certificate authorities of pods scraped over https; unset: the "
		 "system's"},
	{.name = "profiles-scrape-insecure-skip-verify",
	 .type = OPTION_BOOL,
	 .offset = FIELD(scrape_insecure_skip_verify),
	 .def = "false",
	 .help = "do not verify the TLS certificates of pods"},
	{.name = "profiles-scrape-tls-server-name",
	 .type = OPTION_STRING,
	 .offset = FIELD(scrape_tls_server_name),
	 .value = "NAME",
	 .help = "name that the certificates of pods must have; unset: the pod's IP"},
	{.name = "profiles-scrape-cert-file",
	 .type = OPTION_STRING,
	 .offset = FIELD(scrape_cert_file),
	 .value = "FILE",
	 .help = "client certificate presented to pods; needs --profiles-scrape-key-file"},
	{.name = "profiles-scrape-key-file",
	 .type = OPTION_STRING,
	 .offset = FIELD(scrape_key_file),
	 .value = "FILE",
	 .help = "private key of --profiles-scrape-cert-file"},
	{.name = "profiles-scrape-token-file",
	 .type = OPTION_STRING,
	 .offset = FIELD(scrape_token_file),
	 .value = "FILE",
	 .help = "bearer token sent to pods over https; every annotated pod receives it"},
	{.name = "profiles-scrape-username",
	 .type = OPTION_STRING,
	 .offset = FIELD(scrape_username),
	 .value = "NAME",
	 .help = "user name of basic authentication at pods; needs "
		 "--profiles-scrape-password-file"},
	{.name = "profiles-scrape-password-file",
	 .type = OPTION_STRING,
	 .offset = FIELD(scrape_password_file),
	 .value = "FILE",
	 .help = "password of --profiles-scrape-username"},
	{.name = "profiles-scrape-auth-over-http",
	 .type = OPTION_BOOL,
	 .offset = FIELD(scrape_auth_over_http),
	 .def = "false",
	 .help = "send the token or password over plain http too"},
	{.name = "replica-group",
	 .type = OPTION_STRING,
	 .offset = FIELD(replica_group),
	 .value = "NAME",
	 .help = "share the pods with the other agents of this group, by means of Leases in the "
		 "Kubernetes API; unset: scrape all pods"},
	{.name = "replica-name",
	 .type = OPTION_STRING,
	 .offset = FIELD(replica_name),
	 .value = "NAME",
	 .help = "name of this agent within the group; unset: the host name, in a pod the pod's "
		 "name"},
	{.name = "replica-namespace",
	 .type = OPTION_STRING,
	 .offset = FIELD(replica_namespace),
	 .value = "NAME",
	 .help = "namespace of the Leases; unset: the agent's own"},
	{.name = "seccomp",
	 .type = OPTION_ENUM,
	 .offset = FIELD(seccomp),
	 .def = "on",
	 .choices = syscall_filter_mode_names,
	 .help = "refuse system calls that the agent does not need, and writing outside "
		 "--data-dir; "
		 "log lets them pass, and the kernel logs the calls"},
	{.name = "log-level",
	 .type = OPTION_ENUM,
	 .offset = FIELD(log_level),
	 .def = "info",
	 .choices = log_level_names,
	 .help = "least severe level that is logged"},
	{},
};

/* What Coroot's agent of this name has beside these; its operator and charts pass some of them. */
const struct ignored_flag cluster_ignored_flags[] = {
	{"collect-kubernetes-events", true},
	{"config-update-interval", false},
	{"config-update-timeout", false},
	{"exclude-databases", false},
	{"kube-state-metrics-address", false},
	{"kube-state-metrics-listen-address", false},
	{"kube-state-metrics-min-age", false},
	{"max-tables-per-database", false},
	{"metrics-scrape-interval", false},
	{"metrics-scrape-timeout", false},
	{"metrics-wal-dir", false},
	{"track-database-bloat", true},
	{"track-database-changes", true},
	{"track-database-sizes", true},
	{0},
};

#define MIN_SCRAPE_INTERVAL_NS NS_PER_S

enum cluster_storage cluster_options_storage(const struct cluster_options *o)
{
	if (o->storage != STORAGE_AUTO)
		return o->storage;
	return o->clickhouse_address && o->clickhouse_address[0] ? STORAGE_CLICKHOUSE
								 : STORAGE_EMBEDDED;
}

bool cluster_options_forward(const struct cluster_options *o)
{
	return o->coroot_url && o->coroot_url[0];
}

int cluster_options_scrape_kinds(const struct cluster_options *o, bool ret[PROFILE_KIND_MAX],
				 struct err *err)
{
	const char *at = o->scrape_types ? o->scrape_types : "";

	memset(ret, 0, sizeof(bool) * PROFILE_KIND_MAX);
	while (*at) {
		size_t len = strcspn(at, ",");
		enum profile_kind k = profile_kind_find(at, len);

		if (k == PROFILE_KIND_MAX)
			return err_set(err, -EINVAL,
				       "--profiles-scrape-types: \"%.*s\" is none of cpu, heap, "
				       "goroutine, mutex, block, wall, fgprof, "
				       "godeltaprof_memory, godeltaprof_mutex, "
				       "godeltaprof_block",
				       (int)(len < 40 ? len : 40), at);
		ret[k] = true;
		at += len + (at[len] == ',');
	}
	return 0;
}

static int check_scraping(const struct cluster_options *o, struct err *err)
{
	bool kinds[PROFILE_KIND_MAX];

	if (o->scrape_interval_ns > 0 && o->scrape_interval_ns < MIN_SCRAPE_INTERVAL_NS)
		return err_set(err, -EINVAL,
			       "--profiles-scrape-interval is below 1s (0 switches scraping off)");
	if (o->scrape_cpu_duration_ns % NS_PER_S != 0)
		return err_set(err, -EINVAL, "--profiles-scrape-cpu-duration: not whole seconds");
	if (o->scrape_interval_ns > 0 && o->scrape_cpu_duration_ns > o->scrape_interval_ns)
		return err_set(err, -EINVAL,
			       "--profiles-scrape-cpu-duration is longer than "
			       "--profiles-scrape-interval");
	if (!o->scrape_cert_file != !o->scrape_key_file)
		return err_set(err, -EINVAL,
			       "--profiles-scrape-cert-file and --profiles-scrape-key-file go "
			       "together");
	if (!o->scrape_username != !o->scrape_password_file)
		return err_set(err, -EINVAL,
			       "--profiles-scrape-username and --profiles-scrape-password-file go "
			       "together");
	if (o->scrape_token_file && o->scrape_username)
		return err_set(err, -EINVAL,
			       "--profiles-scrape-token-file and --profiles-scrape-username "
			       "contradict each other");
	return cluster_options_scrape_kinds(o, kinds, err);
}

static int check_forwarding(const struct cluster_options *o, struct err *err)
{
	const char *url = o->coroot_url;

	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return err_set(err, -EINVAL,
			       "--coroot-url: \"%.80s\" is not an http:// or https:// URL", url);
	if (o->scrape_interval_ns == 0)
		return err_set(
			err, -EINVAL,
			"--coroot-url with --profiles-scrape-interval=0 leaves nothing to do");
	if (o->clickhouse_listen)
		return err_set(
			err, -EINVAL,
			"--clickhouse-listen needs a store, which --coroot-url does without");
	if (o->otlp_grpc_listen)
		return err_set(err, -EINVAL,
			       "--otlp-grpc-listen needs a store, which --coroot-url does without");
	return 0;
}

static int check_keys(const struct cluster_options *o, struct err *err)
{
	if (o->api_key && o->api_key_file)
		return err_set(err, -EINVAL, "--api-key and --api-key-file contradict each other");
	if (o->read_api_key && o->read_api_key_file)
		return err_set(err, -EINVAL,
			       "--read-api-key and --read-api-key-file contradict each other");
	if (o->anonymous_read && (o->read_api_key || o->read_api_key_file))
		return err_set(err, -EINVAL,
			       "--anonymous-read and --read-api-key contradict each other");
	return 0;
}

int cluster_options_check(const struct cluster_options *o, struct err *err)
{
	char base_path[HTTP_BASE_PATH_BYTES];
	int r = check_scraping(o, err);

	if (r == 0)
		r = check_keys(o, err);
	if (r == 0 && http_base_path_parse(base_path, o->url_base_path, err) < 0)
		r = err_wrap(err, -EINVAL, "--url-base-path");
	if (r == 0 && cluster_options_forward(o))
		r = check_forwarding(o, err);
	if (r < 0)
		return r;
	if (!o->data_dir || !o->data_dir[0])
		return err_set(err, -EINVAL, "--data-dir is empty");
	return 0;
}
