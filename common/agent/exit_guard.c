#include "common/agent/exit_guard.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/telemetry/log.h"

static void *watch(void *ctx)
{
	struct exit_guard *g = ctx;
	bool in_time = true;

	pthread_mutex_lock(&g->lock);
	while (!g->over && in_time)
		in_time = condition_wait_until(&g->changed, &g->lock, g->deadline_ns);
	if (!g->over) {
		log_warn("something does not end: exiting without it", "reason=stop_timeout");
		/* exit(3) would wait for it, too */
		_exit(EXIT_SUCCESS);
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

void exit_guard_start(struct exit_guard *g, uint64_t deadline_ns)
{
	pthread_mutex_init(&g->lock, NULL);
	condition_init(&g->changed);
	g->deadline_ns = deadline_ns;
	g->over = false;
	g->has_thread = pthread_create(&g->thread, NULL, watch, g) == 0;
	if (!g->has_thread) {
		condition_fini(&g->changed);
		pthread_mutex_destroy(&g->lock);
	}
}

void exit_guard_stop(struct exit_guard *g)
{
	if (!g->has_thread)
		return;
	pthread_mutex_lock(&g->lock);
	g->over = true;
	condition_signal(&g->changed);
	pthread_mutex_unlock(&g->lock);
	pthread_join(g->thread, NULL);
	condition_fini(&g->changed);
	pthread_mutex_destroy(&g->lock);
	g->has_thread = false;
}
