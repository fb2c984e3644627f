/*
 * Names of shards, replicas, hosts, the cluster and the storage policies are those of Coroot's
 * operator: data of an existing cluster is found under them, in ClickHouse's directories, in the
 * keeper and in the bucket.
 */
#include "cluster-agent/operator/render/clickhouse_config_xml.h"

#include <errno.h>
#include <stdarg.h>

#include "cluster-agent/operator/spec/spec_values.h"

/* A file that is being written; what is added after a failure is ignored. */
struct xml {
	struct buf *out;
	unsigned depth;
	int error;
};

static void add_raw(struct xml *x, const char *text, size_t len)
{
	if (x->error == 0)
		x->error = buf_add(x->out, text, len);
}

static void add_indent(struct xml *x)
{
	for (unsigned i = 0; i < x->depth; i++)
		add_raw(x, "    ", 4);
}

/* Text between tags. XML has no form for control characters: they are left out. */
static void add_text(struct xml *x, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			add_raw(x, "&amp;", 5);
			break;
		case '<':
			add_raw(x, "&lt;", 4);
			break;
		case '>':
			add_raw(x, "&gt;", 4);
			break;
		default:
			if ((unsigned char)*text >= ' ' && *text != 0x7f)
				add_raw(x, text, 1);
		}
	}
}

static void add_tag(struct xml *x, const char *before, const char *name, const char *after)
{
	add_raw(x, before, strlen(before));
	add_raw(x, name, strlen(name));
	add_raw(x, after, strlen(after));
}

static void open_tag(struct xml *x, const char *name)
{
	add_indent(x);
	add_tag(x, "<", name, ">\n");
	x->depth++;
}

static void close_tag(struct xml *x, const char *name)
{
	x->depth--;
	add_indent(x);
	add_tag(x, "</", name, ">\n");
}

static void add_element(struct xml *x, const char *name, const char *text)
{
	add_indent(x);
	add_tag(x, "<", name, ">");
	add_text(x, text);
	add_tag(x, "</", name, ">\n");
}

static void add_elementf(struct xml *x, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void add_elementf(struct xml *x, const char *name, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;
	va_list args;
	int r;

	va_start(args, fmt);
	r = vasprintf(&text, fmt, args);
	va_end(args);
	if (r < 0) {
		text = NULL;
		x->error = x->error ? x->error : -ENOMEM;
		return;
	}
	add_element(x, name, text);
}

static void add_number(struct xml *x, const char *name, int64_t value)
{
	add_elementf(x, name, "%lld", (long long)value);
}

/* An element whose content is a variable of the pod. */
static void add_from_env(struct xml *x, const char *name, const char *variable)
{
	add_indent(x);
	add_tag(x, "<", name, " from_env=\"");
	add_tag(x, "", variable, "\"/>\n");
}

static void add_logger(struct xml *x, const char *level)
{
	open_tag(x, "logger");
	add_number(x, "console", 1);
	add_element(x, "level", level);
	close_tag(x, "logger");
}

/* On both families, as far as the node has them. */
static void add_listen(struct xml *x)
{
	add_element(x, "listen_host", "::");
	add_element(x, "listen_host", "0.0.0.0");
	add_number(x, "listen_try", 1);
}

static void add_keeper_host(struct xml *x, const char *name, const struct coroot_spec *s,
			    int64_t ordinal)
{
	add_elementf(x, name, "%s-clickhouse-keeper-%lld.%s-clickhouse-keeper-headless.%s", s->name,
		     (long long)ordinal, s->name, s->namespace);
}

/* ---- ClickHouse ---------------------------------------------------------------------------- */

static void add_users(struct xml *x)
{
	open_tag(x, "profiles");
	add_element(x, "default", "");
	close_tag(x, "profiles");
	open_tag(x, "quotas");
	add_element(x, "default", "");
	close_tag(x, "quotas");
	open_tag(x, "users");
	open_tag(x, "default");
	add_from_env(x, "password", CLICKHOUSE_ENV_PASSWORD);
	open_tag(x, "networks");
	add_element(x, "ip", "::/0");
	close_tag(x, "networks");
	add_element(x, "profile", "default");
	add_element(x, "quota", "default");
	close_tag(x, "default");
	close_tag(x, "users");
}

static void add_server(struct xml *x, const struct coroot_spec *s)
{
	add_from_env(x, "display_name", CLICKHOUSE_ENV_REPLICA);
	add_logger(x, s->clickhouse.log_level);
	add_listen(x);
	add_number(x, "http_port", CLICKHOUSE_HTTP_PORT);
	add_number(x, "tcp_port", CLICKHOUSE_TCP_PORT);
	add_number(x, "interserver_http_port", CLICKHOUSE_INTERSERVER_PORT);
	add_element(x, "path", "/var/lib/clickhouse/");
	add_number(x, "max_concurrent_queries", 1000);
	add_number(x, "concurrent_threads_soft_limit_ratio_to_cores", 2);
	add_element(x, "async_load_databases", "true");
}

static void add_cluster(struct xml *x, const struct coroot_spec *s)
{
	open_tag(x, "remote_servers");
	open_tag(x, "default");
	for (int64_t shard = 0; shard < s->clickhouse.shards; shard++) {
		open_tag(x, "shard");
		add_element(x, "internal_replication", "true");
		for (int64_t replica = 0; replica < s->clickhouse.replicas; replica++) {
			open_tag(x, "replica");
			add_elementf(x, "host",
				     "%s-clickhouse-shard-%lld-%lld.%s-clickhouse-headless.%s",
				     s->name, (long long)shard, (long long)replica, s->name,
				     s->namespace);
			add_number(x, "port", CLICKHOUSE_TCP_PORT);
			add_element(x, "user", "default");
			add_from_env(x, "password", CLICKHOUSE_ENV_PASSWORD);
			close_tag(x, "replica");
		}
		close_tag(x, "shard");
	}
	close_tag(x, "default");
	close_tag(x, "remote_servers");
}

static void add_coordination(struct xml *x, const struct coroot_spec *s)
{
	open_tag(x, "macros");
	add_from_env(x, "shard", CLICKHOUSE_ENV_SHARD);
	add_from_env(x, "replica", CLICKHOUSE_ENV_REPLICA);
	close_tag(x, "macros");
	open_tag(x, "zookeeper");
	for (int64_t i = 0; i < s->clickhouse.keeper.replicas; i++) {
		open_tag(x, "node");
		add_keeper_host(x, "host", s, i);
		add_number(x, "port", KEEPER_CLIENT_PORT);
		close_tag(x, "node");
	}
	close_tag(x, "zookeeper");
	open_tag(x, "distributed_ddl");
	add_element(x, "path", "/clickhouse/task_queue/ddl");
	close_tag(x, "distributed_ddl");
}

static void add_volume(struct xml *x, const char *name, const char *disk)
{
	open_tag(x, name);
	add_element(x, "disk", disk);
	close_tag(x, name);
}

static void add_s3_disks(struct xml *x, const struct coroot_spec *s)
{
	double cache_bytes;

	/* ClickHouse has suffixes of its own */
	if (spec_quantity(s->clickhouse.s3.cache_size, &cache_bytes) < 0)
		cache_bytes = 0;
	open_tag(x, "disks");
	open_tag(x, "s3_disk");
	add_element(x, "type", "s3");
	/* the macros are ClickHouse's */
	add_elementf(x, "endpoint", "%s{shard}/{replica}/", s->clickhouse.s3.endpoint);
	if (s->clickhouse.s3.region)
		add_element(x, "region", s->clickhouse.s3.region);
	add_element(x, "use_environment_credentials", "true");
	close_tag(x, "s3_disk");
	open_tag(x, "s3_cache");
	add_element(x, "type", "cache");
	add_element(x, "disk", "s3_disk");
	add_element(x, "path", "/var/lib/clickhouse/s3_cache/");
	add_elementf(x, "max_size", "%.0f", cache_bytes);
	add_number(x, "cache_on_write_operations", 1);
	close_tag(x, "s3_cache");
	close_tag(x, "disks");
}

static void add_s3_policy(struct xml *x, const struct coroot_spec *s)
{
	open_tag(x, "policies");
	if (s->clickhouse.s3.only) {
		open_tag(x, "s3_s3only");
		open_tag(x, "volumes");
		add_volume(x, "main", "s3_cache");
		close_tag(x, "volumes");
		close_tag(x, "s3_s3only");
	} else {
		open_tag(x, "s3_tiered");
		open_tag(x, "volumes");
		add_volume(x, "hot", "default");
		open_tag(x, "cold");
		add_element(x, "disk", "s3_cache");
		add_element(x, "perform_ttl_move_on_insert", "false");
		close_tag(x, "cold");
		close_tag(x, "volumes");
		add_element(x, "move_factor", s->clickhouse.s3.move_factor);
		close_tag(x, "s3_tiered");
	}
	close_tag(x, "policies");
}

static void add_s3(struct xml *x, const struct coroot_spec *s)
{
	if (!s->clickhouse.s3.endpoint)
		return;
	/* releases of ClickHouse differ in where a cache may be unless it is said */
	add_element(x, "filesystem_caches_path", "/var/lib/clickhouse/");
	open_tag(x, "merge_tree");
	add_element(x, "allow_remote_fs_zero_copy_replication", "false");
	add_element(x, "storage_policy", s->clickhouse.s3.only ? "s3_s3only" : "s3_tiered");
	close_tag(x, "merge_tree");
	open_tag(x, "storage_configuration");
	add_s3_disks(x, s);
	add_s3_policy(x, s);
	close_tag(x, "storage_configuration");
}

int clickhouse_config_xml(struct buf *out, const struct coroot_spec *s)
{
	struct xml x = {.out = out};

	open_tag(&x, "clickhouse");
	add_server(&x, s);
	add_users(&x);
	add_cluster(&x, s);
	add_coordination(&x, s);
	add_s3(&x, s);
	close_tag(&x, "clickhouse");
	return x.error;
}

/* ---- keeper -------------------------------------------------------------------------------- */

static void add_keeper_server(struct xml *x)
{
	add_number(x, "tcp_port", KEEPER_CLIENT_PORT);
	add_from_env(x, "server_id", CLICKHOUSE_ENV_KEEPER);
	add_element(x, "log_storage_path", "/var/lib/clickhouse-keeper/coordination/log");
	add_element(x, "snapshot_storage_path",
		    "/var/lib/clickhouse-keeper/coordination/snapshots");
	open_tag(x, "coordination_settings");
	add_number(x, "operation_timeout_ms", 10000);
	add_number(x, "session_timeout_ms", 30000);
	close_tag(x, "coordination_settings");
	/* off in clusters of Coroot's operator; servers may rely on what was on before */
	open_tag(x, "feature_flags");
	add_number(x, "check_not_exists", 0);
	add_number(x, "create_if_not_exists", 0);
	close_tag(x, "feature_flags");
	open_tag(x, "http_control");
	add_number(x, "port", KEEPER_CONTROL_PORT);
	open_tag(x, "readiness");
	add_element(x, "endpoint", "/ready");
	close_tag(x, "readiness");
	close_tag(x, "http_control");
}

int keeper_config_xml(struct buf *out, const struct coroot_spec *s)
{
	struct xml x = {.out = out};

	open_tag(&x, "clickhouse");
	add_logger(&x, s->clickhouse.keeper.log_level);
	add_listen(&x);
	open_tag(&x, "keeper_server");
	add_keeper_server(&x);
	open_tag(&x, "raft_configuration");
	for (int64_t i = 0; i < s->clickhouse.keeper.replicas; i++) {
		open_tag(&x, "server");
		add_number(&x, "id", i);
		add_keeper_host(&x, "hostname", s, i);
		add_number(&x, "port", KEEPER_RAFT_PORT);
		close_tag(&x, "server");
	}
	close_tag(&x, "raft_configuration");
	close_tag(&x, "keeper_server");
	close_tag(&x, "clickhouse");
	return x.error;
}
