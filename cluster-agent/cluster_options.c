#include "cluster-agent/cluster_options.h"

#include <errno.h>

#include "cluster-agent/discover/scrape_target.h"
#include "cluster-agent/source/source_code.h"
#include "common/debuginfod/debuginfod_urls.h"
#include "common/http/http_base_path.h"
#include "common/kubernetes/label_keys.h"
#include "common/limits.h"
#include "common/system/clock.h"

#define OPTIONS struct cluster_options
const char *const cluster_storage_names[] = {
	[STORAGE_AUTO] = "auto",
	[STORAGE_EMBEDDED] = "embedded",
	[STORAGE_CLICKHOUSE] = "clickhouse",
	NULL,
};

#define DAY_NS (UINT64_C(86400) * NS_PER_S)

const struct option_def cluster_option_defs[] = {
	{STRING_OPTION("listen", listen), .def = "127.0.0.1:10301", .value = "ADDR:PORT",
	 .help = "address on which uploads, the page, /metrics and /healthz are served"},
	{STRING_OPTION("url-base-path", url_base_path), .value = "PATH",
	 .help = "path below which everything on --listen can be reached as well as at the root, "
		 "as /coroot; for an Ingress or a proxy that passes paths on as they are"},
	TLS_OPTIONS("all listeners"),
	{SECRET_OPTION("api-key", api_key), .value = "KEY",
	 .help = "key that uploads must have in the X-Api-Key header, and that opens the page, API "
		 "and SQL unless --read-api-key is given; with --coroot-url, the key sent there; "
		 "unset: none"},
	{STRING_OPTION("api-key-file", api_key_file), .value = "FILE",
	 .help = "file of such keys, one per line, all valid, or a directory of such files; read "
		 "again when one changes; with --coroot-url, the next key is sent when the "
		 "receiver refuses the first"},
	{SECRET_OPTION("read-api-key", read_api_key), .value = "KEY",
	 .help = "key of the page, API and SQL; --api-key is then for uploads only"},
	{STRING_OPTION("read-api-key-file", read_api_key_file), .value = "FILE",
	 .help = "file of such keys, one per line, all valid, or a directory of such files; read "
		 "again when one changes"},
	{SECRET_OPTION("notes-api-key", notes_api_key), .value = "KEY",
	 .help = "key that writing and deleting notes and snapshots on the page needs; unset: that "
		 "of --api-key, or else that of reading"},
	{STRING_OPTION("notes-api-key-file", notes_api_key_file), .value = "FILE",
	 .help = "file of such keys, one per line, all valid, or a directory of such files; read "
		 "again when one changes"},
	{BOOL_OPTION("anonymous-read", anonymous_read), .def = "false",
	 .help = "the page, API and SQL need no key, although uploads need one; SQL is then for "
		 "loopback addresses only"},
	{LIST_OPTION("allowed-hosts", allowed_hosts), .value = "NAMES",
	 .help = "names, separated by commas, under which the agent may be reached without a key, "
		 "besides IP addresses, localhost, the host's name, names without a dot and "
		 "services of Kubernetes; *.example.com: all below it; *: all"},
	{ENUM_OPTION("storage", storage), .def = "auto", .choices = cluster_storage_names,
	 .help = "where profiles are stored: by an engine inside the agent, or on ClickHouse "
		 "servers; auto: on servers if --clickhouse-address is given"},
	{STRING_OPTION("data-dir", data_dir), .def = "/var/lib/coroot-cluster-agent",
	 .value = "DIR",
	 .help = "directory of the write-ahead log and the embedded engine's data; with "
		 "--coroot-url, of profiles that wait for the receiver"},
	{SIZE_OPTION("max-wal-size", max_wal_bytes), .def = "1GiB", .min = MIB,
	 .help = "largest write-ahead log; while the store takes nothing, uploads beyond it are "
		 "refused, to be sent again"},
	{DURATION_OPTION("claim-wait", claim_wait_ns), .def = "150s", .min = NS_PER_S,
	 .max = 3600 * NS_PER_S, .value = "DURATION",
	 .help = "how long an upload that is sent again is held back if another agent on the same "
		 "ClickHouse may have it, too; must be longer than an insert takes"},
	{SIZE_OPTION("max-symbols-size", max_symbols_bytes), .def = "1GiB", .min = MIB,
	 .help = "largest size of the names of functions that \"symbols upload\" sends and "
		 "debuginfod servers have, below the data directory; those that were not used for "
		 "longest go first"},
	{STRING_OPTION("debuginfod-urls", debuginfod_urls), .value = "LIST",
	 .help = "debuginfod servers, separated by blanks or commas, that are asked for symbols of "
		 "code that has none when somebody looks at it; unset: nothing is asked"},
	{SIZE_OPTION("debuginfod-max-size", debuginfod_max_bytes), .def = "512MiB", .min = MIB,
	 .help = "largest debug file, or program, that is taken from them; two are on disk at a "
		 "time, below the data directory"},
	{DURATION_OPTION("profiles-ttl", profiles_ttl_ns), .def = "7d", .min = 3600 * NS_PER_S,
	 .max = 3650 * DAY_NS, .value = "DURATION", .help = "how long profiles are kept"},
	{DURATION_OPTION("functions-ttl", functions_ttl_ns), .def = "365d", .max = 3650 * DAY_NS,
	 .value = "DURATION",
	 .help = "how long the sums of each day by function are kept, by which a function is "
		 "searched in all applications; 0 makes none"},
	{DURATION_OPTION("notes-ttl", notes_ttl_ns), .def = "365d", .max = 3650 * DAY_NS,
	 .value = "DURATION",
	 .help = "how long notes, saved views and snapshots of flame graphs are kept; 0: there are "
		 "none"},
	{LIST_OPTION("source-path", source_path), .value = "[PREFIX=]DIR",
	 .help = "folders, separated by commas, of which the page shows the text of source files; "
		 "PREFIX=DIR: DIR has the files whose names in profiles begin with PREFIX; who may "
		 "read profiles may read them; unset: none"},
	{LIST_OPTION("source-url-template", source_url_template), .value = "TEMPLATE",
	 .help = "address of a line of source at GitHub, GitLab, Gitea or another forge, as "
		 "\"app=/k8s/shop/* strip=/build https://github.com/a/b/blob/{label:version}/"
		 "{path}#L{line}\"; may be repeated; unset: none"},
	{STRING_OPTION("clickhouse-address", clickhouse_address),
	 .variable = "GLOBAL_CLICKHOUSE_ADDRESS", .value = "LIST",
	 .help = "ClickHouse servers by host, host:port or URL of their HTTP interface, separated "
		 "by commas; the first that works is used"},
	{STRING_OPTION("clickhouse-user", clickhouse_user), .variable = "GLOBAL_CLICKHOUSE_USER",
	 .def = "default", .value = "NAME", .help = "user at the ClickHouse servers"},
	{SECRET_OPTION("clickhouse-password", clickhouse_password),
	 .variable = "GLOBAL_CLICKHOUSE_PASSWORD", .value = "PASSWORD",
	 .help = "its password; everyone on the machine can read flags, so prefer the variable or "
		 "--clickhouse-password-file"},
	{STRING_OPTION("clickhouse-password-file", clickhouse_password_file), .value = "FILE",
	 .help = "file with the password; read again when a server refuses it"},
	{STRING_OPTION("clickhouse-database", clickhouse_database), .def = "coroot",
	 .value = "NAME", .help = "database of the tables; created if it does not exist"},
	{BOOL_OPTION("clickhouse-tls", clickhouse_tls), .variable = "GLOBAL_CLICKHOUSE_TLS_ENABLED",
	 .def = "false", .help = "speak https to servers whose address has no scheme"},
	{STRING_OPTION("clickhouse-tls-ca-file", clickhouse_tls_ca_file), .value = "FILE",
	 .help = "PEM file of the certificate authorities of the ClickHouse servers; unset: the "
		 "system's"},
	{STRING_OPTION("clickhouse-tls-cert-file", clickhouse_tls_cert_file), .value = "FILE",
	 .help = "client certificate presented to the ClickHouse servers; needs "
		 "--clickhouse-tls-key-file"},
	{STRING_OPTION("clickhouse-tls-key-file", clickhouse_tls_key_file), .value = "FILE",
	 .help = "private key of --clickhouse-tls-cert-file"},
	{BOOL_OPTION("clickhouse-tls-skip-verify", clickhouse_tls_skip_verify),
	 .variable = "GLOBAL_CLICKHOUSE_TLS_SKIP_VERIFY", .def = "false",
	 .help = "do not verify the TLS certificates of the ClickHouse servers"},
	{STRING_OPTION("clickhouse-cluster", clickhouse_cluster), .value = "NAME",
	 .help = "cluster on whose servers the tables are made; \"none\": only on the one that "
		 "answers; unset: the only one, else coroot, else default"},
	{STRING_OPTION("clickhouse-storage-policy", clickhouse_storage_policy), .value = "NAME",
	 .help = "storage policy of the tables, as the servers' configuration names it; existing "
		 "tables are changed; unset: as they are"},
	{DURATION_OPTION("clickhouse-move-after", clickhouse_move_after_ns), .max = 3650 * DAY_NS,
	 .value = "DURATION",
	 .help = "age at which profiles move to --clickhouse-move-volume; unset: they are not "
		 "moved by age"},
	{STRING_OPTION("clickhouse-move-volume", clickhouse_move_volume), .value = "NAME",
	 .help = "volume of the storage policy for older profiles; needs --clickhouse-move-after"},
	{UINT_OPTION("max-disk-usage", max_disk_usage_percent),
	 .variable = "CLICKHOUSE_SPACE_MANAGER_USAGE_THRESHOLD", .def = "90", .max = 99,
	 .value = "PERCENT",
	 .help = "used part of a disk of the store above which the oldest days of profiles are "
		 "dropped; 0: never"},
	{STRING_OPTION("clickhouse-listen", clickhouse_listen), .value = "ADDR:PORT",
	 .help = "address on which SQL queries to the embedded engine are answered over "
		 "ClickHouse's HTTP interface; unset: none"},
	{STRING_OPTION("otlp-grpc-listen", otlp_grpc_listen), .value = "ADDR:PORT",
	 .help = "address on which profiles are taken as OTLP over gRPC, as 127.0.0.1:4317; OTLP "
		 "over HTTP is taken on --listen at /v1development/profiles; unset: none"},
	{STRING_OPTION("chdb-library", chdb_library), .value = "FILE",
	 .help = "libchdb.so of the embedded engine; unset: searched for next to the agent and in "
		 "the library directories"},
	{STRING_OPTION("coroot-url", coroot_url), .value = "URL",
	 .help = "store nothing: send the scraped profiles to the cluster-agent or Coroot server "
		 "at this base URL"},
	{SIZE_OPTION("max-spool-size", max_spool_bytes), .def = "500MB",
	 .help = "with --coroot-url: bytes in --data-dir in which profiles wait that the receiver "
		 "has not accepted; beyond, the oldest are dropped; 0: they wait in memory only"},
	{STRING_OPTION("ca-file", ca_file), .value = "FILE",
	 .help = "PEM file of the certificate authorities to trust at --coroot-url and "
		 "--debuginfod-urls instead of the system's"},
	{BOOL_OPTION("insecure-skip-verify", insecure_skip_verify), .def = "false",
	 .help = "do not verify the TLS certificates of --coroot-url and --debuginfod-urls"},
	{STRING_OPTION("kubeconfig", kubeconfig), .value = "FILE",
	 .help = "kubeconfig of the Kubernetes API; unset: the pod's service account; outside a "
		 "pod no pods are scraped without it"},
	{STRING_OPTION("kube-context", kube_context), .value = "NAME",
	 .help = "context of the kubeconfig; unset: its current context"},
	{STRING_OPTION("kube-namespace", kube_namespace), .value = "NAME",
	 .help = "namespace whose pods are scraped; unset: all"},
	{STRING_OPTION("scrape-config", scrape_config), .value = "FILE",
	 .help = "YAML file of addresses that are scraped besides annotated pods, without "
		 "Kubernetes too; read again when it changes"},
	{STRING_OPTION("scrape-docker-socket", scrape_docker_socket), .value = "PATH",
	 .help = "API socket of Docker or podman, whose containers are scraped if their labels say "
		 "what annotations of pods do; unset: none are"},
	{DURATION_OPTION("profiles-scrape-interval", scrape_interval_ns), .def = "60s",
	 .value = "DURATION",
	 .help = "time between two scrapes of a profile of an annotated pod; 0: scrape nothing"},
	{DURATION_OPTION("profiles-scrape-timeout", scrape_timeout_ns), .def = "10s",
	 .min = NS_PER_MS * 100, .max = 600 * NS_PER_S, .value = "DURATION",
	 .help = "how long a pod may take to answer, beyond the time a CPU profile takes"},
	{DURATION_OPTION("profiles-scrape-cpu-duration", scrape_cpu_duration_ns), .def = "10s",
	 .min = NS_PER_S, .value = "DURATION",
	 .help = "time covered by one CPU profile, in whole seconds, at most the interval"},
	{STRING_OPTION("profiles-scrape-types", scrape_types),
	 .def = "cpu,heap,goroutine,mutex,block", .value = "LIST",
	 .help = "profile types that are scraped from pods without an annotation about types"},
	{STRING_OPTION("pod-labels", pod_labels), .def = POD_LABEL_KEYS_DEFAULT, .value = "LIST",
	 .help = "keys of labels of pods, separated by commas, that become labels of the profiles "
		 "scraped from them, if they are stored by a coroot-cluster-agent; empty: none"},
	{STRING_OPTION("namespace-labels", namespace_labels), .value = "LIST",
	 .help = "the same of labels of the pods' namespaces, which the account must be allowed to "
		 "list and watch; unset: none"},
	{STRING_OPTION("node-labels", node_labels), .value = "LIST",
	 .help = "the same of labels of the pods' nodes, as topology.kubernetes.io/zone; unset: "
		 "none"},
	{UINT_OPTION("profiles-scrape-concurrency", scrape_concurrency), .def = "1000", .min = 1,
	 .max = 20000, .value = "N", .help = "requests to pods at the same time"},
	{UINT_OPTION("profiles-scrape-max-size", scrape_max_profile_mib), .def = "32", .min = 1,
	 .max = LIMIT_UPLOAD_INFLATED_BYTES / MIB, .value = "MIB",
	 .help = "largest profile that is accepted from a pod"},
	{UINT_OPTION("profiles-scrape-max-memory", scrape_max_memory_mib), .def = "128", .min = 1,
	 .max = 1024 * 1024, .value = "MIB",
	 .help = "memory for all profiles being fetched together"},
	{STRING_OPTION("profiles-scrape-ca-file", scrape_ca_file), .value = "FILE",
	 .help = "PEM file of the certificate authorities of pods scraped over https; unset: the "
		 "system's"},
	{BOOL_OPTION("profiles-scrape-insecure-skip-verify", scrape_insecure_skip_verify),
	 .def = "false", .help = "do not verify the TLS certificates of pods"},
	{STRING_OPTION("profiles-scrape-tls-server-name", scrape_tls_server_name), .value = "NAME",
	 .help = "name that the certificates of pods must have; unset: the pod's IP"},
	{STRING_OPTION("profiles-scrape-cert-file", scrape_cert_file), .value = "FILE",
	 .help = "client certificate presented to pods; needs --profiles-scrape-key-file"},
	{STRING_OPTION("profiles-scrape-key-file", scrape_key_file), .value = "FILE",
	 .help = "private key of --profiles-scrape-cert-file"},
	{STRING_OPTION("profiles-scrape-token-file", scrape_token_file), .value = "FILE",
	 .help = "bearer token sent to pods over https; every annotated pod receives it"},
	{STRING_OPTION("profiles-scrape-username", scrape_username), .value = "NAME",
	 .help = "user name of basic authentication at pods; needs "
		 "--profiles-scrape-password-file"},
	{STRING_OPTION("profiles-scrape-password-file", scrape_password_file), .value = "FILE",
	 .help = "password of --profiles-scrape-username"},
	{BOOL_OPTION("profiles-scrape-auth-over-http", scrape_auth_over_http), .def = "false",
	 .help = "send the token or password over plain http too"},
	{STRING_OPTION("replica-group", replica_group), .value = "NAME",
	 .help = "share the pods with the other agents of this group, by means of Leases in the "
		 "Kubernetes API; unset: scrape all pods"},
	{STRING_OPTION("replica-name", replica_name), .value = "NAME",
	 .help = "name of this agent within the group; unset: the host name, in a pod the pod's "
		 "name"},
	{STRING_OPTION("replica-namespace", replica_namespace), .value = "NAME",
	 .help = "namespace of the Leases; unset: the agent's own"},
	SECCOMP_OPTION("agent does not need, and writing outside "
		       "--data-dir; log lets them pass, and the kernel logs the calls"),
	LOG_LEVEL_OPTION,
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
	if (o->notes_api_key && o->notes_api_key_file)
		return err_set(err, -EINVAL,
			       "--notes-api-key and --notes-api-key-file contradict each other");
	if (o->anonymous_read && (o->read_api_key || o->read_api_key_file))
		return err_set(err, -EINVAL,
			       "--anonymous-read and --read-api-key contradict each other");
	return 0;
}

static int check_debuginfod(const struct cluster_options *o, struct err *err)
{
	struct debuginfod_urls urls;
	struct err why = {.msg = ""};
	int r = debuginfod_urls_parse(&urls, o->debuginfod_urls, &why);

	debuginfod_urls_fini(&urls);
	return r == -EINVAL ? err_set(err, r, "--debuginfod-urls: %s", why.msg) : r;
}

static int check_sources(const struct cluster_options *o, struct err *err)
{
	CLEANUP(source_code_freep) struct source_code *s = NULL;

	return source_code_new(&s, o->source_path, o->source_url_template, err);
}

static int check_labels(const char *option, const char *list, struct err *err)
{
	struct label_keys keys;
	int r = label_keys_parse(&keys, list, err);

	label_keys_fini(&keys);
	return r < 0 ? err_wrap(err, r, "%s", option) : 0;
}

int cluster_options_check(const struct cluster_options *o, struct err *err)
{
	char base_path[HTTP_BASE_PATH_BYTES];
	int r = check_scraping(o, err);

	if (r == 0)
		r = check_labels("--pod-labels", o->pod_labels, err);
	if (r == 0)
		r = check_labels("--namespace-labels", o->namespace_labels, err);
	if (r == 0)
		r = check_labels("--node-labels", o->node_labels, err);
	if (r == 0)
		r = check_debuginfod(o, err);
	if (r == 0)
		r = check_sources(o, err);
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
