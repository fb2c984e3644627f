#include "node-agent/node_options.h"

#include <errno.h>

#include "common/system/clock.h"

#define FIELD(name) offsetof(struct node_options, name)

const struct option_def node_option_defs[] = {
	{.name = "listen",
	 .type = OPTION_STRING,
	 .offset = FIELD(listen),
	 .def = "127.0.0.1:10300",
	 .value = "ADDR:PORT",
	 .help = "where /metrics and /healthz are served"},
	{.name = "collector-endpoint",
	 .type = OPTION_STRING,
	 .offset = FIELD(collector_endpoint),
	 .value = "URL",
	 .help = "base URL of the receiver; profiles go to <URL>/v1/profiles"},
	{.name = "profiles-endpoint",
	 .type = OPTION_STRING,
	 .offset = FIELD(profiles_endpoint),
	 .value = "URL",
	 .help = "full URL for profiles; overrides --collector-endpoint"},
	{.name = "api-key",
	 .type = OPTION_SECRET,
	 .offset = FIELD(api_key),
	 .value = "KEY",
	 .help = "sent with each profile in the X-Api-Key header"},
	{.name = "ca-file",
	 .type = OPTION_STRING,
	 .offset = FIELD(ca_file),
	 .value = "FILE",
	 .help = "certificate authorities to trust instead of the system's"},
	{.name = "insecure-skip-verify",
	 .type = OPTION_BOOL,
	 .offset = FIELD(insecure_skip_verify),
	 .def = "false",
	 .help = "do not verify the receiver's certificate"},
	{.name = "profile-interval",
	 .type = OPTION_DURATION,
	 .offset = FIELD(profile_interval_ns),
	 .def = "60s",
	 .min = 1 * NS_PER_S,
	 .max = 600 * NS_PER_S,
	 .value = "DURATION",
	 .help = "time covered by one profile"},
	{.name = "profile-frequency",
	 .type = OPTION_UINT,
	 .offset = FIELD(profile_frequency_hz),
	 .def = "99",
	 .min = 1,
	 .max = 999,
	 .value = "HZ",
	 .help = "CPU samples per second and CPU"},
	{.name = "go-heap-profiler",
	 .type = OPTION_ENUM,
	 .offset = FIELD(go_heap_profiler),
	 .def = "enabled",
	 .choices = "disabled|enabled|force",
	 .help = "read heap profiles of Go processes from their memory; force switches "
		 "profilers on that the linker has switched off, by writing one byte"},
	{.name = "go-heap-interval",
	 .type = OPTION_DURATION,
	 .offset = FIELD(go_heap_interval_ns),
	 .def = "60s",
	 .min = 1 * NS_PER_S,
	 .max = 3600 * NS_PER_S,
	 .value = "DURATION",
	 .help = "time between two readings of a Go process, of whatever kind"},
	{.name = "go-heap-raw",
	 .type = OPTION_BOOL,
	 .offset = FIELD(go_heap_raw),
	 .def = "false",
	 .help = "Go heap profiles show what was sampled, not what that stands for"},
	{.name = "go-heap-restore",
	 .type = OPTION_BOOL,
	 .offset = FIELD(go_heap_restore),
	 .def = "false",
	 .help = "at the end, switch off again what --go-heap-profiler=force has switched on"},
	{.name = "go-goroutine-profiler",
	 .type = OPTION_ENUM,
	 .offset = FIELD(go_goroutine_profiler),
	 .def = "disabled",
	 .choices = "disabled|enabled|reasons",
	 .help = "read goroutine profiles of Go processes from their memory, once per "
		 "--go-heap-interval; reasons shows under each stack what it waits for"},
	{.name = "go-mutex-profiler",
	 .type = OPTION_ENUM,
	 .offset = FIELD(go_mutex_profiler),
	 .def = "off",
	 .choices = "off|on",
	 .help = "mutex profiles of Go processes; on switches the profiler of each on while the "
		 "agent runs, by writing one byte to its memory"},
	{.name = "go-block-profiler",
	 .type = OPTION_ENUM,
	 .offset = FIELD(go_block_profiler),
	 .def = "off",
	 .choices = "off|burst",
	 .help = "block profiles of Go processes; burst switches the profiler of each on for a "
		 "while in each --go-heap-interval, by writing one byte to its memory"},
	{.name = "go-block-burst",
	 .type = OPTION_DURATION,
	 .offset = FIELD(go_block_burst_ns),
	 .def = "10s",
	 .min = NS_PER_S / 10,
	 .max = 600 * NS_PER_S,
	 .value = "DURATION",
	 .help = "how long that is; shorter than --go-heap-interval"},
	{.name = "log-level",
	 .type = OPTION_ENUM,
	 .offset = FIELD(log_level),
	 .def = "info",
	 .choices = "error|warn|info|debug",
	 .help = "least important lines that are logged"},
	{},
};

static bool is_http_url(const char *s)
{
	return strncmp(s, "http://", 7) == 0 || strncmp(s, "https://", 8) == 0;
}

int node_options_check(const struct node_options *o, struct err *err)
{
	if (!o->collector_endpoint && !o->profiles_endpoint)
		return err_set(err, -EINVAL,
			       "--collector-endpoint is missing: nowhere to send profiles to");
	if (o->profiles_endpoint && !is_http_url(o->profiles_endpoint))
		return err_set(err, -EINVAL,
			       "--profiles-endpoint: \"%s\" is not an http:// or https:// URL",
			       o->profiles_endpoint);
	if (strcmp(o->go_block_profiler, "burst") == 0 &&
	    o->go_block_burst_ns >= o->go_heap_interval_ns)
		return err_set(err, -EINVAL,
			       "--go-block-burst is not shorter than --go-heap-interval");
	if (o->collector_endpoint && !is_http_url(o->collector_endpoint))
		return err_set(err, -EINVAL,
			       "--collector-endpoint: \"%s\" is not an http:// or https:// URL",
			       o->collector_endpoint);
	return 0;
}
