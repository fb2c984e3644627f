/*
 * Which of several servers is asked: the first that works, as long as it works. Thread-safe, takes
 * times as arguments, does no I/O.
 *
 * A server that failed is not asked for a while, unless all are in that state: then the one whose
 * time is next is asked, once per statement, so that an outage ends when the first server returns.
 */
#ifndef CLUSTER_AGENT_STORE_CLICKHOUSE_SERVERS_H
#define CLUSTER_AGENT_STORE_CLICKHOUSE_SERVERS_H

#include <pthread.h>

#include "cluster-agent/store/clickhouse_address.h"
#include "common/base.h"
#include "common/http/backoff.h"

struct clickhouse_server {
	char url[CLICKHOUSE_ADDRESS_BYTES];
	bool inflate; /* it does not know zstd: send rows inflated */
	struct backoff backoff;
	uint64_t retry_ns; /* not asked before; 0: it works, as far as we know */
};

struct clickhouse_servers {
	pthread_mutex_t lock;
	size_t n;
	size_t preferred;
	struct clickhouse_server server[CLICKHOUSE_MAX_ADDRESSES];
};

void clickhouse_servers_init(struct clickhouse_servers *s,
			     const struct clickhouse_address *addresses, size_t n);
void clickhouse_servers_fini(struct clickhouse_servers *s);

/*
 * Returns the index of the server to ask next, -1 if there is none. tried has a bit for each server
 * that this statement has asked already.
 */
int clickhouse_servers_pick(struct clickhouse_servers *s, unsigned tried, uint64_t now_ns);

void clickhouse_servers_worked(struct clickhouse_servers *s, int i);
void clickhouse_servers_failed(struct clickhouse_servers *s, int i, uint64_t now_ns);

bool clickhouse_servers_inflates(struct clickhouse_servers *s, int i);
void clickhouse_servers_set_inflates(struct clickhouse_servers *s, int i);

#endif /* CLUSTER_AGENT_STORE_CLICKHOUSE_SERVERS_H */
