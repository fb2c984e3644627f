#include "cluster-agent/cluster_store.h"

#include <errno.h>

#include "cluster-agent/store/clickhouse_address.h"
#include "cluster-agent/store/store_chdb.h"
#include "cluster-agent/store/store_clickhouse.h"
#include "common/telemetry/log.h"

#define ADDRESS "--clickhouse-address"

static bool is_given(const char *option)
{
	return option && option[0];
}

static const char *given_or_null(const char *option)
{
	return is_given(option) ? option : NULL;
}

static int check_server(const struct cluster_options *o, struct err *err)
{
	struct clickhouse_address addresses[CLICKHOUSE_MAX_ADDRESSES];
	int r = clickhouse_addresses_parse(o->clickhouse_address, o->clickhouse_tls, addresses,
					   err);

	if (r < 0)
		return r;
	if (is_given(o->clickhouse_password) && is_given(o->clickhouse_password_file))
		return err_set(err, -EINVAL,
			       "--clickhouse-password and --clickhouse-password-file contradict "
			       "each other");
	if (is_given(o->clickhouse_tls_cert_file) != is_given(o->clickhouse_tls_key_file))
		return err_set(err, -EINVAL,
			       "--clickhouse-tls-cert-file and --clickhouse-tls-key-file go "
			       "together");
	if (is_given(o->clickhouse_tls_ca_file) && o->clickhouse_tls_skip_verify)
		return err_set(err, -EINVAL,
			       "--clickhouse-tls-ca-file and --clickhouse-tls-skip-verify "
			       "contradict each other");
	if (is_given(o->clickhouse_move_volume) != (o->clickhouse_move_after_ns > 0))
		return err_set(err, -EINVAL,
			       "--clickhouse-move-after and --clickhouse-move-volume go together");
	if (is_given(o->clickhouse_move_volume) &&
	    o->clickhouse_move_after_ns >= o->profiles_ttl_ns)
		return err_set(err, -EINVAL, "--clickhouse-move-after is not below --profiles-ttl");
	/* its promise to read nothing but our tables holds for an engine of ours alone */
	if (is_given(o->clickhouse_listen))
		return err_set(err, -EINVAL,
			       "--clickhouse-listen is for the embedded engine: send SQL to the "
			       "server of " ADDRESS " itself");
	return 0;
}

int cluster_store_check(const struct cluster_options *o, struct err *err)
{
	enum cluster_storage storage = cluster_options_storage(o);

	if (storage == STORAGE_CLICKHOUSE && !is_given(o->clickhouse_address))
		return err_set(err, -EINVAL, "--storage=clickhouse needs " ADDRESS);
	if (storage == STORAGE_EMBEDDED && is_given(o->clickhouse_address))
		return err_set(err, -EINVAL,
			       "--storage=embedded and " ADDRESS " contradict each other");
	if (storage == STORAGE_EMBEDDED &&
	    (is_given(o->clickhouse_cluster) || is_given(o->clickhouse_storage_policy) ||
	     is_given(o->clickhouse_move_volume)))
		return err_set(err, -EINVAL,
			       "--clickhouse-cluster, --clickhouse-storage-policy and "
			       "--clickhouse-move-volume need " ADDRESS);
	return storage == STORAGE_CLICKHOUSE ? check_server(o, err) : 0;
}

static int open_embedded(struct store **ret, const struct cluster_options *o, struct err *err)
{
	const struct store_chdb_config cfg = {
		.data_dir = o->data_dir,
		.lock_wait_ns = CLUSTER_STORE_LOCK_WAIT_NS,
		.profiles_ttl_ns = o->profiles_ttl_ns,
		.function_ttl_ns = o->functions_ttl_ns,
		.note_ttl_ns = o->notes_ttl_ns,
		.chdb_library = o->chdb_library,
	};

	return store_chdb_open(ret, &cfg, err);
}

static int open_server(struct store **ret, const struct cluster_options *o, struct err *err)
{
	struct clickhouse_address addresses[CLICKHOUSE_MAX_ADDRESSES];
	struct store_clickhouse_config cfg = {
		.client.addresses = addresses,
		.client.user = o->clickhouse_user,
		.client.password = o->clickhouse_password,
		.client.password_file =
			is_given(o->clickhouse_password_file) ? o->clickhouse_password_file : NULL,
		.client.ca_file = o->clickhouse_tls_ca_file,
		.client.cert_file = o->clickhouse_tls_cert_file,
		.client.key_file = o->clickhouse_tls_key_file,
		.client.skip_verify = o->clickhouse_tls_skip_verify,
		.database = o->clickhouse_database,
		.cluster = given_or_null(o->clickhouse_cluster),
		.schema.ttl_ns = o->profiles_ttl_ns,
		.schema.function_ttl_ns = o->functions_ttl_ns,
		.schema.note_ttl_ns = o->notes_ttl_ns,
		.schema.storage_policy = given_or_null(o->clickhouse_storage_policy),
		.schema.move_after_ns = o->clickhouse_move_after_ns,
		.schema.move_volume = given_or_null(o->clickhouse_move_volume),
	};
	int n = clickhouse_addresses_parse(o->clickhouse_address, o->clickhouse_tls, addresses,
					   err);

	if (n < 0)
		return n;
	cfg.client.n_addresses = (size_t)n;
	for (int i = 0; i < n; i++) {
		if (addresses[i].native_port)
			log_warn(ADDRESS " names the port of the native protocol; using HTTP",
				 "port=%u url=%s", addresses[i].native_port,
				 LOG_QUOTED(addresses[i].url));
	}
	return store_clickhouse_open(ret, &cfg, err);
}

int cluster_store_open(struct store **ret, const struct cluster_options *o, struct err *err)
{
	return cluster_options_storage(o) == STORAGE_CLICKHOUSE ? open_server(ret, o, err)
								: open_embedded(ret, o, err);
}
