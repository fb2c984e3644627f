#include "cluster-agent/store_upkeep.h"

#include "cluster-agent/store/space_guard.h"
#include "cluster-agent/sums/function_sums.h"

static int start_space_guard(struct store_upkeep *u, struct store *store,
			     const struct cluster_options *o, struct metrics *ms)
{
	const struct space_guard_config cfg = {
		.store = store,
		.max_usage_percent = (unsigned)o->max_disk_usage_percent,
	};
	int r;

	if (cfg.max_usage_percent == 0)
		return 0;
	r = space_guard_new(&u->space, &cfg);
	if (r == 0)
		r = space_guard_register(u->space, ms);
	return r == 0 ? space_guard_start(u->space) : r;
}

static int start_sums(struct store_upkeep *u, struct store *store, const struct cluster_options *o,
		      struct metrics *ms)
{
	const struct function_sums_config cfg = {
		.store = store,
		.ttl_ns = o->profiles_ttl_ns < o->functions_ttl_ns ? o->profiles_ttl_ns
								   : o->functions_ttl_ns,
	};
	int r;

	if (o->functions_ttl_ns == 0)
		return 0;
	r = function_sums_new(&u->sums, &cfg);
	if (r == 0)
		r = function_sums_register(u->sums, ms);
	return r == 0 ? function_sums_start(u->sums) : r;
}

int store_upkeep_start(struct store_upkeep *u, struct store *store, const struct cluster_options *o,
		       struct metrics *ms)
{
	int r = start_space_guard(u, store, o, ms);

	return r == 0 ? start_sums(u, store, o, ms) : r;
}

void store_upkeep_stop(struct store_upkeep *u)
{
	function_sums_free(u->sums);
	space_guard_free(u->space);
	*u = (struct store_upkeep){0};
}
