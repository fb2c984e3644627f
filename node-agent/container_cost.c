#include "node-agent/container_cost.h"

#include <errno.h>

#include "node-agent/runtime/runtime_containers.h"

#define PREFIX "coroot_node_agent_sampled_containers"

enum { SAMPLES, SECONDS, VALUES };

static const struct metric_def value_defs[VALUES] = {
	[SAMPLES] = {"container_ebpf_profiling_samples_total", "container_id, app_id",
		     "CPU samples of the container"},
	[SECONDS] = {"container_ebpf_profiling_seconds_total", "container_id, app_id",
		     "CPU time that the kernel spent on taking the samples of the container",
		     .scale = 1e-9},
};
METRIC_TABLE(value_table, value_defs);

enum { CONTAINERS, OVERFLOW, BACKWARDS, METRICS };

static const struct metric_def metric_defs[METRICS] = {
	[CONTAINERS] = {PREFIX, NULL, "Containers with metrics of what sampling costs",
			METRIC_GAUGE},
	[OVERFLOW] = {PREFIX "_overflow_total", NULL,
		      "Profiles without metrics of what sampling cost: too many containers"},
	[BACKWARDS] = {PREFIX "_backwards_total", NULL,
		       "Counters of what sampling costs that decreased: counted as unchanged"},
};
METRIC_TABLE(metric_table, metric_defs);

struct container_cost {
	struct runtime_containers *containers;
	struct metric metrics[METRICS];
};

int container_cost_new(struct container_cost **ret, struct metrics *ms)
{
	CLEANUP(container_cost_freep) struct container_cost *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	r = metrics_register(ms, &metric_table, c->metrics, NULL);
	if (r == 0) {
		const struct runtime_containers_config cfg = {
			.values = &value_table,
			.n_containers = &c->metrics[CONTAINERS],
			.overflow = &c->metrics[OVERFLOW],
			.backwards = &c->metrics[BACKWARDS],
		};

		r = runtime_containers_new(&c->containers, ms, &cfg);
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

void container_cost_free(struct container_cost *c)
{
	if (!c)
		return;
	runtime_containers_free(c->containers);
	free(c);
}

void container_cost_add(struct container_cost *c, const struct workload *w, uint64_t n_samples,
			uint64_t cost_ns)
{
	const struct container_labels labels = {
		w->container_id, strcmp(w->service, w->container_id) == 0 ? "" : w->service};
	const struct container_values increments = {
		.known = UINT32_C(1) << SAMPLES | UINT32_C(1) << SECONDS,
		.v = {[SAMPLES] = n_samples, [SECONDS] = cost_ns},
	};
	struct container_share *share;

	if (container_share_new(&share, c->containers, &labels, false) < 0)
		return;
	container_share_add(share, &increments);
	container_share_free(share);
}

void container_cost_expire(struct container_cost *c, uint64_t now_ns)
{
	runtime_containers_expire(c->containers, now_ns);
}
