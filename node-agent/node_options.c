#include "node-agent/node_options.h"

#include <errno.h>

#include "common/kubernetes/label_keys.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "node-agent/container/runtime_sockets.h"
#include "node-agent/workload/name_rules.h"
#include "node-agent/workload/profile_filter.h"

#define JAVA_ALLOC_MIN_BYTES 1000

#define OPTIONS struct node_options

static const char *const go_heap_modes[] = {
	[GO_HEAP_DISABLED] = "disabled",
	[GO_HEAP_ENABLED] = "enabled",
	[GO_HEAP_FORCE] = "force",
	NULL,
};

static const char *const go_goroutine_modes[] = {
	[GO_GOROUTINE_DISABLED] = "disabled",
	[GO_GOROUTINE_ENABLED] = "enabled",
	[GO_GOROUTINE_REASONS] = "reasons",
	NULL,
};

static const char *const go_mutex_modes[] = {
	[GO_MUTEX_OFF] = "off",
	[GO_MUTEX_ON] = "on",
	NULL,
};

static const char *const go_block_modes[] = {
	[GO_BLOCK_OFF] = "off",
	[GO_BLOCK_BURST] = "burst",
	NULL,
};

static const char *const extra_labels_modes[] = {
	[EXTRA_LABELS_AUTO] = "auto",
	[EXTRA_LABELS_ON] = "on",
	[EXTRA_LABELS_OFF] = "off",
	NULL,
};

static const char *const kubernetes_modes[] = {
	[KUBERNETES_AUTO] = "auto",
	[KUBERNETES_OFF] = "off",
	NULL,
};

static const char *const unmanaged_modes[] = {
	[UNMANAGED_AUTO] = "auto",
	[UNMANAGED_ON] = "on",
	[UNMANAGED_OFF] = "off",
	NULL,
};

static const char *const unwinding_modes[] = {
	[UNWINDING_TABLES] = "tables",
	[UNWINDING_FRAME_POINTERS] = "frame-pointers",
	NULL,
};

const struct option_def node_option_defs[] = {
	{STRING_OPTION("listen", listen), .def = "127.0.0.1:10300", .value = "ADDR:PORT",
	 .help = "address on which /metrics, /healthz and /readyz are served"},
	TLS_OPTIONS("--listen"),
	{LIST_OPTION("allowed-hosts", allowed_hosts), .value = "NAMES",
	 .help = "names, separated by commas, under which /metrics may be asked for, besides IP "
		 "addresses, localhost, the host's name, names without a dot and services of "
		 "Kubernetes; *.example.com: all below it; *: all"},
	{STRING_OPTION("collector-endpoint", collector_endpoint), .value = "URL",
	 .help = "base URL of the receiver; profiles are sent to <URL>/v1/profiles"},
	{STRING_OPTION("profiles-endpoint", profiles_endpoint), .value = "URL",
	 .help = "full URL to which profiles are sent; overrides --collector-endpoint"},
	{STRING_OPTION("otlp-endpoint", otlp_endpoint), .value = "URL",
	 .help = "base URL of an OTLP receiver, as http://collector:4318: profiles are sent to "
		 "<URL>/v1development/profiles as OTLP, instead of to --collector-endpoint"},
	{SECRET_OPTION("otlp-headers", otlp_headers), .value = "LIST",
	 .help = "headers sent to --otlp-endpoint, as authorization=Bearer%20abc,x-tenant=1"},
	{SECRET_OPTION("api-key", api_key), .value = "KEY",
	 .help = "key sent with each profile in the X-Api-Key header"},
	{STRING_OPTION("api-key-file", api_key_file), .value = "FILE",
	 .help = "file of such keys, one per line, or a directory of such files; read again when "
		 "one changes; the next key is sent when the receiver refuses the first"},
	{STRING_OPTION("ca-file", ca_file), .value = "FILE",
	 .help = "PEM file of the certificate authorities to trust instead of the system's"},
	{BOOL_OPTION("insecure-skip-verify", insecure_skip_verify), .def = "false",
	 .help = "do not verify the receiver's TLS certificate"},
	{STRING_OPTION("wal-dir", wal_dir), .def = "/var/lib/coroot-node-agent", .value = "DIR",
	 .help = "directory in which profiles wait that the receiver has not accepted; empty: they "
		 "wait in memory only, as they do if it cannot be written"},
	{SIZE_OPTION("max-spool-size", max_spool_bytes), .def = "500MB",
	 .help = "bytes in --wal-dir above which the oldest profiles are dropped"},
	{DURATION_OPTION("profile-interval", profile_interval_ns), .def = "60s",
	 .min = 1 * NS_PER_S, .max = 600 * NS_PER_S, .value = "DURATION",
	 .help = "time covered by one profile"},
	{BOOL_OPTION("profile-addresses", profile_addresses), .def = "true",
	 .help = "send CPU profiles with addresses and build ids, for tools that look up symbols "
		 "themselves; without, they are a quarter smaller"},
	{UINT_OPTION("profile-frequency", profile_frequency_hz), .def = "99", .min = 1, .max = 999,
	 .value = "HZ", .help = "samples per second on each CPU"},
	{ENUM_OPTION("unwinding", unwinding), .def = "tables", .choices = unwinding_modes,
	 .help = "how callers are found in the stacks of CPU profiles: by tables made from the "
		 "unwinding information of executables and libraries, or by frame pointers only, "
		 "which most programs do not have, and without the functions of Python"},
	{SIZE_OPTION("unwind-table-budget", unwind_table_bytes), .def = "64MiB", .min = MIB,
	 .max = 64 * MIB,
	 .help = "bytes of kernel memory for these tables, which are made as they are needed; "
		 "parts of large ones that no sample needs make room first, then those that are "
		 "used least"},
	{BOOL_OPTION("allow-known-bad-kernel", allow_known_bad_kernel), .def = "false",
	 .help = "sample on a kernel that sampling can freeze: 5.19, 6.0, 6.1 before 6.1.36, 6.2, "
		 "and 6.3 before 6.3.10; without this option the agent does not start there"},
	{STRING_OPTION("cache-dir", cache_dir), .value = "DIR",
	 .help = "directory in which these tables are kept, so that they need not be made again "
		 "after a restart; 256 MiB at most; unset: unwind-tables in --wal-dir; empty: "
		 "nowhere"},
	{LIST_OPTION("container-allowlist", container_allowlist), .value = "REGEX",
	 .help = "profile only containers whose id matches, such as \"^/k8s/shop/\"; may be given "
		 "several times, and in the environment as one line for each expression"},
	{LIST_OPTION("container-denylist", container_denylist), .value = "REGEX",
	 .help = "do not profile containers whose id matches, even if the allowlist does; may be "
		 "given several times"},
	{BOOL_OPTION("line-numbers", line_numbers), .def = "true",
	 .help = "show source lines and inlined calls of C, C++ and Rust where the file or its "
		 "separate debug file has DWARF, those of the hottest code first, for less than "
		 "0.05 % of a core; a program of its own without any right reads it"},
	{BOOL_OPTION("python-async-callers", python_async_callers), .def = "false",
	 .help = "in CPU profiles of Python 3.14 and later, show the coroutines that wait for the "
		 "task of asyncio that runs above its own, with names that programs have given to "
		 "tasks"},
	{ENUM_OPTION("go-heap-profiler", go_heap_profiler), .def = "enabled",
	 .choices = go_heap_modes,
	 .help = "read heap profiles of Go processes from their memory; force also switches the "
		 "memory profiler on where the linker left it out, by writing one byte to the "
		 "process"},
	{DURATION_OPTION("go-heap-interval", go_heap_interval_ns), .def = "60s",
	 .min = 1 * NS_PER_S, .max = 3600 * NS_PER_S, .value = "DURATION",
	 .help = "time between two readings of a Go process, whichever profilers are on"},
	{BOOL_OPTION("go-heap-raw", go_heap_raw), .def = "false",
	 .help = "report the allocations that Go sampled, not the estimated totals"},
	{BOOL_OPTION("go-heap-restore", go_heap_restore), .def = "false",
	 .help = "on exit, switch off what --go-heap-profiler=force switched on"},
	{ENUM_OPTION("go-goroutine-profiler", go_goroutine_profiler), .def = "disabled",
	 .choices = go_goroutine_modes,
	 .help = "read goroutine profiles of Go processes from their memory, once per "
		 "--go-heap-interval; reasons adds what each goroutine waits for as the leaf"},
	{ENUM_OPTION("go-mutex-profiler", go_mutex_profiler), .def = "off",
	 .choices = go_mutex_modes,
	 .help = "mutex profiles of Go processes; on switches the profiler of each process on "
		 "while the agent runs, by writing one byte to its memory"},
	{ENUM_OPTION("go-block-profiler", go_block_profiler), .def = "off",
	 .choices = go_block_modes,
	 .help = "block profiles of Go processes; burst switches the profiler of each process on "
		 "for --go-block-burst in each --go-heap-interval, by writing one byte to its "
		 "memory"},
	{DURATION_OPTION("go-block-burst", go_block_burst_ns), .def = "10s", .min = NS_PER_S / 10,
	 .max = 600 * NS_PER_S, .value = "DURATION",
	 .help = "how long the block profiler is on in each --go-heap-interval, which must be "
		 "longer"},
	{BOOL_OPTION("enable-java-async-profiler", java_async_profiler), .def = "false",
	 .help = "CPU, allocation and lock profiles of Java processes: load async-profiler into "
		 "each HotSpot JVM while the agent runs"},
	{DURATION_OPTION("java-async-profiler-delay", java_async_profiler_delay_ns), .def = "30s",
	 .max = 24 * 3600 * NS_PER_S, .value = "DURATION",
	 .help = "age of a JVM below which it is left alone"},
	{STRING_OPTION("java-async-profiler-lib", java_async_profiler_lib), .value = "FILE",
	 .help = "libasyncProfiler.so that is loaded; unset: searched for next to the agent and in "
		 "../lib/coroot-node-agent"},
	{DURATION_OPTION("java-interval", java_interval_ns), .def = "60s", .min = 1 * NS_PER_S,
	 .max = 3600 * NS_PER_S, .value = "DURATION",
	 .help = "time covered by one profile of a JVM"},
	{DURATION_OPTION("java-cpu-interval", java_cpu_interval_ns), .def = "10ms",
	 .min = 1 * NS_PER_MS, .max = 1 * NS_PER_S, .value = "DURATION",
	 .help = "CPU time of a Java thread between two samples"},
	{SIZE_OPTION("java-alloc-interval", java_alloc_interval_bytes), .def = "512KiB",
	 .max = 1024 * MIB,
	 .help = "bytes that a JVM allocates between two samples, on average; 0: no allocation "
		 "profiles"},
	{DURATION_OPTION("java-lock-interval", java_lock_interval_ns), .def = "10ms",
	 .max = 60 * NS_PER_S, .value = "DURATION",
	 .help = "time that threads wait for Java locks between two samples, on average; longer "
		 "waits are all recorded; 0: no lock profiles"},
	{BOOL_OPTION("java-wall", java_wall), .def = "false",
	 .help = "also sample the threads of JVMs by wall clock, whether they run or wait"},
	{STRING_OPTION("host-root", host_root), .value = "DIR",
	 .help = "root of the host's file system, below which sockets of container runtimes are "
		 "looked for; without it /, or /proc/1/root if the agent is in a container that "
		 "shares the host's PIDs"},
	{STRING_OPTION("cri-socket", cri_socket), .value = "PATH",
	 .help = "socket of the CRI runtime, below --host-root or as the agent sees it; without it "
		 "those in the usual places are used"},
	{ENUM_OPTION("extra-labels", extra_labels), .def = "auto", .choices = extra_labels_modes,
	 .help = "send k8s.namespace.name, k8s.pod.name, k8s.container.name, container.image.name, "
		 "namespace and pod with profiles of containers; auto: if the receiver is a "
		 "coroot-cluster-agent that stores profiles itself; any other gets namespace and "
		 "pod with goroutine, mutex and block profiles"},
	{STRING_OPTION("pod-labels", pod_labels), .def = POD_LABEL_KEYS_DEFAULT, .value = "LIST",
	 .help = "keys of labels of pods, separated by commas, that become labels of their "
		 "profiles "
		 "if the Kubernetes API is used and --extra-labels are sent; empty: none"},
	{STRING_OPTION("namespace-labels", namespace_labels), .value = "LIST",
	 .help = "the same of labels of the pods' namespaces, which the service account must be "
		 "allowed to list and watch; unset: none"},
	{STRING_OPTION("node-labels", node_labels), .value = "LIST",
	 .help = "the same of labels of this node, as topology.kubernetes.io/zone; unset: none"},
	{ENUM_OPTION("kubernetes-api", kubernetes_api), .def = "auto", .choices = kubernetes_modes,
	 .help = "auto: learn from the Kubernetes API who controls the pods of this node, and "
		 "follow their annotations, if --kubeconfig is given or the agent runs in a pod "
		 "with a service account"},
	{STRING_OPTION("kubeconfig", kubeconfig), .value = "FILE",
	 .help = "kubeconfig of the Kubernetes API; unset: the pod's service account"},
	{STRING_OPTION("kube-context", kube_context), .value = "NAME",
	 .help = "context of the kubeconfig; unset: its current context"},
	{STRING_OPTION("node-name", node_name), .value = "NAME",
	 .help = "name of this node in Kubernetes, and the label host.name of its profiles; unset: "
		 "the host's name"},
	{ENUM_OPTION("profile-unmanaged", profile_unmanaged), .def = "auto",
	 .choices = unmanaged_modes,
	 .help = "profile processes outside containers, units and machines, such as those of login "
		 "sessions; auto: unless the agent runs in Kubernetes"},
	{LIST_OPTION("name-rule", name_rules), .value = "REGEX=NAME",
	 .help = "name of such processes whose executable's path, followed by a space and the "
		 "script's name if there is one, matches the regular expression; NAME may have \\1 "
		 "to \\9; repeatable, the first match wins"},
	SECCOMP_OPTION("agent does not need; log lets them pass, and the "
		       "kernel logs them"),
	LOG_LEVEL_OPTION,
	{},
};

/* What Coroot's agent of this name has beside these; its operator and charts pass some of them. */
const struct ignored_flag node_ignored_flags[] = {
	{"availability-zone", false},
	{"cgroupfs-root", false},
	{"disable-gpu-monitoring", true},
	{"disable-json-log-parsing", true},
	{"disable-l7-tracing", true},
	{"disable-log-parsing", true},
	{"disable-pinger", true},
	{"enable-java-tls", true},
	{"ephemeral-port-range", false},
	{"exclude-http-requests-by-path", false},
	{"instance-life-cycle", false},
	{"instance-type", false},
	{"instrumentation-delay", false},
	{"log-burst", false},
	{"log-patterns-per-container", false},
	{"log-per-second", false},
	{"logs-endpoint", false},
	{"max-fqdns-per-container", false},
	{"max-label-length", false},
	{"metrics-endpoint", false},
	{"min-container-age", false},
	{"profiles-prune-fraction", false},
	{"provider", false},
	{"region", false},
	{"scrape-interval", false},
	{"skip-systemd-system-services", true},
	{"traces-endpoint", false},
	{"traces-sampling", false},
	{"track-public-network", false},
	{0},
};

static bool is_http_url(const char *s)
{
	return strncmp(s, "http://", 7) == 0 || strncmp(s, "https://", 8) == 0;
}

/* Expressions are compiled again when they are needed. */
static int check_lists(const struct node_options *o, struct err *err)
{
	const struct profile_filter_config cfg = {
		.allowlist = o->container_allowlist,
		.denylist = o->container_denylist,
	};
	struct profile_filter *f = NULL;
	int r = profile_filter_new(&f, &cfg, err);

	profile_filter_free(f);
	return r;
}

static int check_labels(const char *option, const char *list, struct err *err)
{
	struct label_keys keys;
	int r = label_keys_parse(&keys, list, err);

	label_keys_fini(&keys);
	return r < 0 ? err_wrap(err, r, "%s", option) : 0;
}

static int check_name_rules(const struct node_options *o, struct err *err)
{
	struct name_rules *rules = NULL;
	int r = name_rules_new(&rules, o->name_rules, err);

	name_rules_unref(rules);
	return r;
}

bool node_options_profile_unmanaged(const struct node_options *o)
{
	if (o->profile_unmanaged == UNMANAGED_AUTO)
		return !getenv("KUBERNETES_SERVICE_HOST");
	return o->profile_unmanaged == UNMANAGED_ON;
}

int node_options_java_library(const struct node_options *o, char *ret, size_t size)
{
	if (!o->java_async_profiler_lib)
		return program_dir_find("coroot-node-agent", "libasyncProfiler.so", ret, size);
	if ((size_t)snprintf(ret, size, "%s", o->java_async_profiler_lib) >= size)
		return -ENAMETOOLONG;
	return 0;
}

int node_options_cache_dir(const struct node_options *o, char *ret, size_t size)
{
	int len;

	if (o->cache_dir)
		len = snprintf(ret, size, "%s", o->cache_dir);
	else if (o->wal_dir && o->wal_dir[0])
		len = snprintf(ret, size, "%s/unwind-tables", o->wal_dir);
	else
		len = 0;
	if ((size_t)len >= size)
		return -ENAMETOOLONG;
	return len > 0 ? 0 : -ENOENT;
}

static int check_java(const struct node_options *o, struct err *err)
{
	if (o->java_alloc_interval_bytes > 0 && o->java_alloc_interval_bytes < JAVA_ALLOC_MIN_BYTES)
		return err_set(err, -EINVAL,
			       "--java-alloc-interval: the least is 1KB, or 0 for no profiles");
	if (o->java_async_profiler_lib && o->java_async_profiler_lib[0] != '/')
		return err_set(err, -EINVAL,
			       "--java-async-profiler-lib: \"%s\" is not an absolute path",
			       o->java_async_profiler_lib);
	return 0;
}

static int check_otlp(const struct node_options *o, struct err *err)
{
	if (o->otlp_endpoint && !is_http_url(o->otlp_endpoint))
		return err_set(err, -EINVAL,
			       "--otlp-endpoint: \"%s\" is not an http:// or https:// URL",
			       o->otlp_endpoint);
	if (o->otlp_endpoint && (o->collector_endpoint || o->profiles_endpoint))
		return err_set(err, -EINVAL,
			       "--otlp-endpoint and --collector-endpoint contradict each other");
	return o->otlp_headers && !o->otlp_endpoint
		       ? err_set(err, -EINVAL, "--otlp-headers needs --otlp-endpoint")
		       : 0;
}

int node_options_check(const struct node_options *o, struct err *err)
{
	if (o->api_key && o->api_key_file)
		return err_set(err, -EINVAL, "--api-key and --api-key-file contradict each other");
	if (!o->collector_endpoint && !o->profiles_endpoint && !o->otlp_endpoint)
		return err_set(err, -EINVAL,
			       "--collector-endpoint is missing: nowhere to send profiles to");
	if (check_otlp(o, err) < 0)
		return -EINVAL;
	if (o->profiles_endpoint && !is_http_url(o->profiles_endpoint))
		return err_set(err, -EINVAL,
			       "--profiles-endpoint: \"%s\" is not an http:// or https:// URL",
			       o->profiles_endpoint);
	if (o->go_block_profiler == GO_BLOCK_BURST &&
	    o->go_block_burst_ns >= o->go_heap_interval_ns)
		return err_set(err, -EINVAL,
			       "--go-block-burst is not shorter than --go-heap-interval");
	if (o->host_root && o->host_root[0] != '/')
		return err_set(err, -EINVAL, "--host-root: \"%s\" is not an absolute path",
			       o->host_root);
	if (o->cri_socket && runtime_sockets_check(o->cri_socket, o->host_root, err) < 0)
		return -EINVAL;
	if (o->collector_endpoint && !is_http_url(o->collector_endpoint))
		return err_set(err, -EINVAL,
			       "--collector-endpoint: \"%s\" is not an http:// or https:// URL",
			       o->collector_endpoint);
	return check_java(o, err) ?: check_lists(o, err) ?: check_name_rules(o, err)
		?: check_labels("--pod-labels", o->pod_labels, err)
		?: check_labels("--namespace-labels", o->namespace_labels, err)
		?: check_labels("--node-labels", o->node_labels, err);
}
