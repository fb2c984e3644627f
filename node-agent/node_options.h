/* What a user can set on the node agent; see node_options.c for names and defaults. */
#ifndef NODE_AGENT_NODE_OPTIONS_H
#define NODE_AGENT_NODE_OPTIONS_H

#include "common/agent/agent_options.h"
#include "common/base.h"
#include "common/err.h"
#include "common/options/ignored_flags.h"
#include "common/options/options.h"
#include "node-agent/named_uploads.h"

enum go_heap_mode {
	GO_HEAP_DISABLED,
	GO_HEAP_ENABLED,
	GO_HEAP_FORCE, /* the memory profiler is switched on where the linker left it out */
};

enum go_goroutine_mode {
	GO_GOROUTINE_DISABLED,
	GO_GOROUTINE_ENABLED,
	GO_GOROUTINE_REASONS, /* with what each goroutine waits for as the leaf */
};

enum go_mutex_mode {
	GO_MUTEX_OFF,
	GO_MUTEX_ON,
};

enum go_block_mode {
	GO_BLOCK_OFF,
	GO_BLOCK_BURST,
};

enum kubernetes_mode {
	KUBERNETES_AUTO,
	KUBERNETES_OFF,
};

enum unmanaged_mode {
	UNMANAGED_AUTO, /* on outside Kubernetes */
	UNMANAGED_ON,
	UNMANAGED_OFF,
};

enum unwinding_mode {
	UNWINDING_TABLES,
	UNWINDING_FRAME_POINTERS,
};

struct node_options {
	char *listen;
	char *tls_cert;
	char *tls_key;
	char *collector_endpoint;
	char *profiles_endpoint;
	char *otlp_endpoint;
	char *otlp_headers;
	char *allowed_hosts;
	char *api_key;
	char *api_key_file;
	char *ca_file;
	bool insecure_skip_verify;
	bool profile_addresses;
	bool allow_known_bad_kernel;
	bool line_numbers;
	bool python_async_callers;
	enum unwinding_mode unwinding;
	char *wal_dir; /* NULL: no spool */
	uint64_t max_spool_bytes;
	uint64_t profile_interval_ns;
	uint64_t profile_frequency_hz;
	uint64_t unwind_table_bytes;
	char *cache_dir;           /* NULL: node_options_cache_dir() */
	char *container_allowlist; /* a line for each expression; NULL: none */
	char *container_denylist;
	enum go_heap_mode go_heap_profiler;
	uint64_t go_heap_interval_ns;
	bool go_heap_raw;
	bool go_heap_restore;
	enum go_goroutine_mode go_goroutine_profiler;
	enum go_mutex_mode go_mutex_profiler;
	enum go_block_mode go_block_profiler;
	uint64_t go_block_burst_ns;
	bool java_async_profiler;
	bool java_wall;
	uint64_t java_async_profiler_delay_ns;
	char *java_async_profiler_lib; /* NULL: node_options_java_library() */
	uint64_t java_interval_ns;
	uint64_t java_cpu_interval_ns;
	uint64_t java_alloc_interval_bytes; /* 0: no allocation profiles */
	uint64_t java_lock_interval_ns;     /* 0: no lock profiles */
	char *host_root;                    /* NULL: runtime_sockets_host_root() */
	char *cri_socket;                   /* NULL: those in the usual places */
	enum extra_labels_mode extra_labels;
	char *pod_labels;
	char *namespace_labels;
	char *node_labels;
	enum kubernetes_mode kubernetes_api;
	char *kubeconfig;
	char *kube_context;
	char *node_name;
	enum unmanaged_mode profile_unmanaged;
	char *name_rules; /* a rule per line */
	enum syscall_filter_mode seccomp;
	enum log_level log_level;
};

extern const struct option_def node_option_defs[];
extern const struct ignored_flag node_ignored_flags[];

/* Whether bare processes are profiled; auto is decided by the environment of the agent. */
bool node_options_profile_unmanaged(const struct node_options *o);

/*
 * Path of libasyncProfiler.so: that of --java-async-profiler-lib, which need not exist, else the
 * one installed with the agent. Returns 0, -ENOENT if there is none, or -errno.
 */
int node_options_java_library(const struct node_options *o, char *ret, size_t size) MUST_CHECK;

/*
 * The directory of the unwinding tables on disk: --cache-dir, else one in --wal-dir. Returns 0,
 * -ENOENT if there is to be none, or -ENAMETOOLONG.
 */
int node_options_cache_dir(const struct node_options *o, char *ret, size_t size) MUST_CHECK;

/* Contradictions between options: -EINVAL with one line in err. */
int node_options_check(const struct node_options *o, struct err *err) MUST_CHECK;

#endif /* NODE_AGENT_NODE_OPTIONS_H */
