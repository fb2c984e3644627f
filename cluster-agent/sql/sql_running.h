/*
 * The queries of the port that wait or run, by the ids that clients gave them, so that KILL QUERY
 * ends one. Any thread.
 */
#ifndef CLUSTER_AGENT_SQL_SQL_RUNNING_H
#define CLUSTER_AGENT_SQL_SQL_RUNNING_H

#include <pthread.h>

#include "cluster-agent/sql/sql_command.h"
#include "common/base.h"

/* Part of whoever runs the query. */
struct sql_running_query {
	char id[SQL_QUERY_ID_BYTES];
	void (*cancel)(void *ctx); /* must not block */
	void *ctx;
	struct sql_running_query *next; /* of sql_running.c, as the next two */
	struct sql_running_query *prev;
	bool listed;
};

struct sql_running {
	pthread_mutex_t lock;
	struct sql_running_query *first; /* few: as many as may wait */
};

void sql_running_init(struct sql_running *r);
void sql_running_fini(struct sql_running *r);

/* q must not move until it is removed. */
void sql_running_add(struct sql_running *r, struct sql_running_query *q);
/* Waits for a call of q->cancel that is under way; none begins later. q need not be in r. */
void sql_running_remove(struct sql_running *r, struct sql_running_query *q);
/* Cancels all queries with this id; several clients may have chosen the same. */
void sql_running_cancel(struct sql_running *r, const char *id);

#endif /* CLUSTER_AGENT_SQL_SQL_RUNNING_H */
