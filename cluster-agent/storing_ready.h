/*
 * /readyz of an agent with a store: it is ready while it can take uploads, without the Kubernetes
 * API, and without the store for as long as the log has room. And /api/backlog: what waits for the
 * store, as {"uploads","bytes","oldestSeconds","failingSeconds"}. Any thread.
 */
#ifndef CLUSTER_AGENT_STORING_READY_H
#define CLUSTER_AGENT_STORING_READY_H

#include "cluster-agent/wal/log_drain.h"
#include "cluster-agent/wal/upload_log.h"
#include "common/base.h"
#include "common/http/http_exchange.h"

void storing_ready_serve(struct upload_log *log, struct log_drain *drain, struct http_exchange *x);
void storing_backlog_serve(struct upload_log *log, struct log_drain *drain,
			   struct http_exchange *x);

#endif /* CLUSTER_AGENT_STORING_READY_H */
