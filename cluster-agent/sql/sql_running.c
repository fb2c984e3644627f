#include "cluster-agent/sql/sql_running.h"

void sql_running_init(struct sql_running *r)
{
	*r = (struct sql_running){0};
	pthread_mutex_init(&r->lock, NULL);
}

void sql_running_fini(struct sql_running *r)
{
	pthread_mutex_destroy(&r->lock);
}

void sql_running_add(struct sql_running *r, struct sql_running_query *q)
{
	pthread_mutex_lock(&r->lock);
	q->prev = NULL;
	q->next = r->first;
	if (r->first)
		r->first->prev = q;
	r->first = q;
	q->listed = true;
	pthread_mutex_unlock(&r->lock);
}

void sql_running_remove(struct sql_running *r, struct sql_running_query *q)
{
	pthread_mutex_lock(&r->lock);
	if (q->listed) {
		if (q->prev)
			q->prev->next = q->next;
		else
			r->first = q->next;
		if (q->next)
			q->next->prev = q->prev;
		q->listed = false;
	}
	pthread_mutex_unlock(&r->lock);
}

void sql_running_cancel(struct sql_running *r, const char *id)
{
	pthread_mutex_lock(&r->lock);
	for (struct sql_running_query *q = r->first; q; q = q->next) {
		if (strcmp(q->id, id) == 0)
			q->cancel(q->ctx);
	}
	pthread_mutex_unlock(&r->lock);
}
