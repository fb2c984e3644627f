#include "node-agent/runtime/runtime_shared.h"

#include <errno.h>

static int register_metrics(struct runtime_shared *s, struct metrics *ms)
{
	int r = metrics_register(ms, s->ops->metrics, s->metrics, NULL);

	return r == 0 ? metrics_register(ms, s->ops->profiles, s->profiles, NULL) : r;
}

int runtime_shared_new(struct runtime_shared **ret, const struct runtime_ops *ops,
		       const void *config, struct container_directory *directory,
		       struct metrics *ms)
{
	CLEANUP(runtime_shared_unrefp) struct runtime_shared *s = NULL;
	int r;

	if (ops->metrics->n != RUNTIME_METRICS || ops->profiles->n > RUNTIME_PROFILES_MAX)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	atomic_init(&s->n_refs, 1);
	s->ops = ops;
	r = register_metrics(s, ms);
	if (r < 0)
		return r;

	const struct runtime_containers_config containers = {
		.values = ops->values,
		.series = ops->series,
		.n_containers = &s->metrics[RUNTIME_METRIC_CONTAINERS],
		.overflow = &s->metrics[RUNTIME_METRIC_CONTAINERS_OVERFLOW],
		.backwards = &s->metrics[RUNTIME_METRIC_COUNTERS_BACKWARDS],
		.directory = directory,
	};
	r = runtime_containers_new(&s->containers, ms, &containers);
	if (r == 0)
		r = ops->shared_new(&s->runtime, config, ms);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

struct runtime_shared *runtime_shared_ref(struct runtime_shared *s)
{
	atomic_fetch_add(&s->n_refs, 1);
	return s;
}

void runtime_shared_unref(struct runtime_shared *s)
{
	if (!s || atomic_fetch_sub(&s->n_refs, 1) > 1)
		return;
	if (s->runtime)
		s->ops->shared_free(s->runtime);
	runtime_containers_free(s->containers);
	free(s);
}

void runtime_shared_count_failure(struct runtime_shared *s, int error)
{
	if (error != -ECANCELED)
		metric_add(&s->metrics[runtime_metrics_reason(error)], 1);
}
