#include "cluster-agent/cluster_options.h"

#include <errno.h>

#include "common/clock.h"

#define FIELD(name) offsetof(struct cluster_options, name)
#define DAY_NS (UINT64_C(86400) * NS_PER_S)

const struct option_def cluster_option_defs[] = {
	{.name = "listen",
	 .type = OPTION_STRING,
	 .offset = FIELD(listen),
	 .def = "127.0.0.1:10301",
	 .value = "ADDR:PORT",
	 .help = "where uploads, the page, /metrics and /healthz are served"},
	{.name = "api-key",
	 .type = OPTION_SECRET,
	 .offset = FIELD(api_key),
	 .value = "KEY",
	 .help = "what uploads and SQL must have in the X-Api-Key header; unset: nothing"},
	{.name = "storage",
	 .type = OPTION_ENUM,
	 .offset = FIELD(storage),
	 .def = "embedded",
	 .choices = "embedded",
	 .help = "engine that keeps the profiles"},
	{.name = "data-dir",
	 .type = OPTION_STRING,
	 .offset = FIELD(data_dir),
	 .def = "/var/lib/coroot-cluster-agent",
	 .value = "DIR",
	 .help = "where the embedded engine keeps them"},
	{.name = "profiles-ttl",
	 .type = OPTION_DURATION,
	 .offset = FIELD(profiles_ttl_ns),
	 .def = "7d",
	 .min = 3600 * NS_PER_S,
	 .max = 3650 * DAY_NS,
	 .value = "DURATION",
	 .help = "how long profiles are kept"},
	{.name = "clickhouse-listen",
	 .type = OPTION_STRING,
	 .offset = FIELD(clickhouse_listen),
	 .value = "ADDR:PORT",
	 .help = "where SQL on the profiles is answered as ClickHouse does by HTTP; unset: "
		 "nowhere"},
	{.name = "chdb-library",
	 .type = OPTION_STRING,
	 .offset = FIELD(chdb_library),
	 .value = "FILE",
	 .help = "libchdb.so of the embedded engine; unset: looked for in the usual places"},
	{.name = "log-level",
	 .type = OPTION_ENUM,
	 .offset = FIELD(log_level),
	 .def = "info",
	 .choices = "error|warn|info|debug",
	 .help = "least important lines that are logged"},
	{},
};

int cluster_options_check(const struct cluster_options *o, struct err *err)
{
	if (!o->data_dir || !o->data_dir[0])
		return err_set(err, -EINVAL, "--data-dir is empty");
	return 0;
}
