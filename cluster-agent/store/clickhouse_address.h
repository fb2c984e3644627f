/*
 * Where ClickHouse servers are, as users write it. Pure.
 *
 * A comma-separated list of "host", "host:port", "http://host:port/path" and
 * "https://…". Without a scheme it is https if TLS is asked for, else http; without a port, 8443
 * or 8123. Addresses for Coroot name the port of ClickHouse's native protocol: 9000 and 9440
 * without a scheme therefore stand for 8123 and, with https, 8443.
 */
#ifndef CLUSTER_AGENT_STORE_CLICKHOUSE_ADDRESS_H
#define CLUSTER_AGENT_STORE_CLICKHOUSE_ADDRESS_H

#include "common/base.h"
#include "common/err.h"

#define CLICKHOUSE_MAX_ADDRESSES 16u
#define CLICKHOUSE_ADDRESS_BYTES 320u

struct clickhouse_address {
	char url[CLICKHOUSE_ADDRESS_BYTES]; /* "http://host:8123/", always with a path */
	unsigned native_port;               /* the port that was replaced; 0: none was */
};

/*
 * Fills ret (CLICKHOUSE_MAX_ADDRESSES elements). Returns how many there are, or -EINVAL with a
 * sentence in err, which names no password.
 */
int clickhouse_addresses_parse(const char *list, bool tls, struct clickhouse_address *ret,
			       struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_CLICKHOUSE_ADDRESS_H */
