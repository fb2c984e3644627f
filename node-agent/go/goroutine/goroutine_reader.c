#include "node-agent/go/goroutine/goroutine_reader.h"

#include <elf.h>
#include <errno.h>

#include "common/system/clock.h"
#include "node-agent/go/goroutine/goroutine_scan.h"
#include "node-agent/go/goroutine/goroutine_text.h"
#include "node-agent/go/goroutine/goroutine_variables.h"
#include "node-agent/profile/stack_profile.h"

/* The reading in progress. */
struct reading {
	struct goroutine_scan_config scan;
	uint64_t *addresses;
	struct goroutine_code *code;
	struct goroutine_groups *groups;
	const struct goroutine_group **sorted;
	size_t n_sorted;
};

static void reading_fini(struct reading *d)
{
	free(d->sorted);
	goroutine_groups_free(d->groups);
	goroutine_code_free(d->code);
	free(d->addresses);
}

/* Expects d to be zeroed. */
static int prepare(struct go_runtime *rt, struct reading *d)
{
	int r = goroutine_layout_find(rt->image.minor, &d->scan.layout);

	d->scan.memory = rt->image.memory;
	d->scan.has_lr = rt->image.layout->machine == EM_AARCH64;
	d->scan.deadline_ns = clock_effort_ns() + GOROUTINE_READER_MAX_NS;
	d->scan.max_stack_bytes = GOROUTINE_READER_STACKS_BYTES;
	if (r == 0)
		r = goroutine_variables_list(rt, &d->addresses, &d->scan.n_addresses);
	d->scan.addresses = d->addresses;
	if (r < 0)
		return r;
	r = goroutine_code_new(&d->code, rt->modules, rt->n_modules, d->scan.deadline_ns);
	if (r < 0)
		return r;
	if (rt->target->facts)
		goroutine_code_share(d->code, &rt->target->facts->notes, rt->image.bias);
	return 0;
}

/*
 * If the process exited during the scan, its goroutines were counted as unreadable or bad.
 * Better to report nothing than that.
 */
static int check_alive(struct go_runtime *rt)
{
	uint64_t word;

	return byte_source_read(rt->image.memory, rt->modules[0].address, &word, sizeof(word));
}

static int read_groups(struct go_runtime *rt, struct reading *d, struct goroutine_reading *ret)
{
	struct goroutine_tally t = {0};
	int r = prepare(rt, d);

	if (r == 0)
		r = goroutine_groups_new(&d->groups, GOROUTINE_READER_GROUPS_BYTES);
	if (r == 0)
		r = goroutine_scan(&d->scan, d->code, d->groups, &t);
	if (r == 0)
		r = check_alive(rt);
	if (r == 0)
		r = goroutine_groups_sorted(d->groups, &d->sorted, &d->n_sorted);
	if (r < 0)
		return r;
	*ret = (struct goroutine_reading){
		.n_goroutines = t.n,
		.n_running = t.n_running,
		.n_moved = t.n_moved,
		.n_limited = t.n_limited,
		.n_unreadable = t.n_unreadable,
		.n_broken = t.n_broken,
		.n_cut = t.n_cut,
		.n_bad = t.n_bad,
	};
	return 0;
}

/* ---- the profile ---- */

static int add_group(struct stack_profile *p, struct goroutine_names *names,
		     const struct goroutine_reader_config *cfg, const struct goroutine_group *g)
{
	struct stack_profile_stack stack = {
		.addresses = g->place.pcs,
		.n = g->place.n_pcs,
		.inlined = STACK_PROFILE_UNWOUND,
		.root = g->place.truncated ? GOROUTINE_TRUNCATED : NULL,
	};
	const struct stack_values values = {{(int64_t)g->n}};
	int r = 0;

	if (cfg->wait_reasons || g->place.no_stack)
		r = goroutine_names_reason(names, &g->place, &stack.reason);
	return r == 0 ? stack_profile_add(p, &stack, &values) : r;
}

static int make_profile(struct go_runtime *rt, const struct goroutine_reader_config *cfg,
			const struct reading *d, struct buf *out, size_t *ret_samples)
{
	struct stack_profile_config profile = {
		.types = {"go:goroutine_goroutine:count"},
		.units = {"count"},
		.n_types = 1,
		.period_type = "goroutine",
		.period_unit = "count",
		.max_bytes = GOROUTINE_READER_PROFILE_BYTES,
		.out = out,
		.more = cfg->more,
	};
	const struct stack_profile_times times = {(int64_t)clock_realtime_ns(), cfg->duration_ns,
						  1};
	CLEANUP(stack_profile_freep) struct stack_profile *p = NULL;
	struct goroutine_names names;
	int r = go_runtime_resolver(rt, &profile.resolver);

	if (r == 0)
		r = stack_profile_new(&p, &profile);
	goroutine_names_init(&names, rt);
	for (size_t i = 0; r == 0 && i < d->n_sorted; i++)
		r = add_group(p, &names, cfg, d->sorted[i]);
	return r == 0 ? stack_profile_finish(p, &times, ret_samples) : r;
}

int goroutine_reader_read(struct go_runtime *rt, const struct goroutine_reader_config *cfg,
			  struct buf *out, struct goroutine_reading *ret)
{
	CLEANUP(reading_fini) struct reading d = {0};
	int r;

	*ret = (struct goroutine_reading){0};
	r = read_groups(rt, &d, ret);
	return r == 0 ? make_profile(rt, cfg, &d, out, &ret->n_samples) : r;
}

int goroutine_reader_text(struct go_runtime *rt, uint64_t now_ns, struct buf *out,
			  struct goroutine_reading *ret)
{
	CLEANUP(reading_fini) struct reading d = {0};
	struct goroutine_names names;
	struct frame_resolver resolver;
	int r;

	*ret = (struct goroutine_reading){0};
	goroutine_names_init(&names, rt);
	r = read_groups(rt, &d, ret);
	if (r < 0)
		return r;
	r = go_runtime_resolver(rt, &resolver);
	if (r < 0)
		return r;
	return goroutine_text_append(out, &names, &resolver, d.sorted, d.n_sorted, now_ns);
}

int goroutine_reader_count(struct go_runtime *rt, uint64_t *ret)
{
	CLEANUP(reading_fini) struct reading d = {0};
	uint64_t n = 0;
	int r = prepare(rt, &d);

	if (r < 0)
		return r;
	r = goroutine_scan_count(&d.scan, d.code, &n);
	if (r < 0)
		return r;
	r = check_alive(rt);
	if (r < 0)
		return r;
	*ret = n;
	return 0;
}
