#include "cluster-agent/store/clickhouse_servers.h"

#include "common/system/clock.h"

#define RETRY_MIN_NS NS_PER_S
#define RETRY_MAX_NS (30 * NS_PER_S)

void clickhouse_servers_init(struct clickhouse_servers *s,
			     const struct clickhouse_address *addresses, size_t n)
{
	*s = (struct clickhouse_servers){.n = n};
	pthread_mutex_init(&s->lock, NULL);
	for (size_t i = 0; i < n; i++) {
		struct clickhouse_server *server = &s->server[i];

		snprintf(server->url, sizeof(server->url), "%s", addresses[i].url);
		server->backoff = (struct backoff){
			.min_ns = RETRY_MIN_NS, .max_ns = RETRY_MAX_NS, .random = i + 1};
	}
}

void clickhouse_servers_fini(struct clickhouse_servers *s)
{
	pthread_mutex_destroy(&s->lock);
}

int clickhouse_servers_pick(struct clickhouse_servers *s, unsigned tried, uint64_t now_ns)
{
	int found = -1, next = -1;

	pthread_mutex_lock(&s->lock);
	for (size_t n = 0; n < s->n && found < 0; n++) {
		size_t i = (s->preferred + n) % s->n;

		if (tried & (1u << i))
			continue;
		if (s->server[i].retry_ns <= now_ns)
			found = (int)i;
		else if (next < 0 || s->server[i].retry_ns < s->server[next].retry_ns)
			next = (int)i;
	}
	pthread_mutex_unlock(&s->lock);
	return found >= 0 || tried ? found : next;
}

void clickhouse_servers_worked(struct clickhouse_servers *s, int i)
{
	pthread_mutex_lock(&s->lock);
	s->preferred = (size_t)i;
	s->server[i].retry_ns = 0;
	backoff_reset(&s->server[i].backoff);
	pthread_mutex_unlock(&s->lock);
}

void clickhouse_servers_failed(struct clickhouse_servers *s, int i, uint64_t now_ns)
{
	struct clickhouse_server *server = &s->server[i];

	pthread_mutex_lock(&s->lock);
	/* statements that fail at the same time count once */
	if (server->retry_ns <= now_ns)
		server->retry_ns = now_ns + backoff_next_ns(&server->backoff);
	pthread_mutex_unlock(&s->lock);
}

bool clickhouse_servers_inflates(struct clickhouse_servers *s, int i)
{
	bool r;

	pthread_mutex_lock(&s->lock);
	r = s->server[i].inflate;
	pthread_mutex_unlock(&s->lock);
	return r;
}

void clickhouse_servers_set_inflates(struct clickhouse_servers *s, int i)
{
	pthread_mutex_lock(&s->lock);
	s->server[i].inflate = true;
	pthread_mutex_unlock(&s->lock);
}
