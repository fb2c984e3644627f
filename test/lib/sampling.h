/*
 * A sampler on the running kernel, with the unwinder and the processes that it needs, for tests
 * that look at samples.
 */
#ifndef TEST_LIB_SAMPLING_H
#define TEST_LIB_SAMPLING_H

#include "node-agent/process/process_table.h"
#include "node-agent/sample/sampler.h"
#include "node-agent/unwind/unwinder.h"
#include "test/lib/unit.h"

static inline void sampling_ignore_fork(void *ctx, const struct fork_event *e)
{
	(void)ctx;
	(void)e;
}

static inline void sampling_ignore_exec(void *ctx, const struct exec_event *e)
{
	(void)ctx;
	(void)e;
}

static inline void sampling_ignore_exit(void *ctx, const struct event_header *e)
{
	(void)ctx;
	(void)e;
}

static inline void sampling_ignore_map(void *ctx, const struct map_event *e)
{
	(void)ctx;
	(void)e;
}

/* What is pending besides samples is left out. */
static inline struct sampler_handlers
sampling_handlers(void (*on_sample)(void *ctx, const struct sample_event *e), void *ctx)
{
	return (struct sampler_handlers){on_sample,
					 sampling_ignore_fork,
					 sampling_ignore_exec,
					 sampling_ignore_exit,
					 sampling_ignore_map,
					 NULL,
					 ctx};
}

static inline void sampling_ignore_sample(void *ctx, const struct sample_event *e)
{
	(void)ctx;
	(void)e;
}

/* Discards the records of a sampler that earlier tests had, too: they are about other processes. */
static inline void sampling_discard(struct sampler *s)
{
	const struct sampler_handlers h = sampling_handlers(sampling_ignore_sample, NULL);

	assert_true(sampler_drain(s, &h) >= 0);
}

struct sampling {
	struct process_table *processes;
	struct sampler *sampler;
	struct unwind_maps *maps;
	struct unwinder *unwinder;
};

static inline void sampling_begin(struct sampling *s, unsigned hz)
{
	const struct process_table_config processes = {0};
	const struct sampler_config sampler = {.hz = hz};
	struct unwinder_config cfg = {.max_bytes = 64 << 20, .hz = hz};
	struct err err = {""};

	assert_int_equal(process_table_new(&s->processes, &processes, &err), 0);
	if (sampler_new(&s->sampler, &sampler, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(
		unwind_maps_new(&s->maps, &(struct unwind_map_fds)SAMPLER_UNWIND_MAPS(s->sampler)),
		0);
	cfg.memory = unwind_maps_memory(s->maps);
	assert_int_equal(unwinder_new(&s->unwinder, &cfg), 0);
	process_table_subscribe(s->processes, unwinder_listener(s->unwinder));
}

static inline void sampling_end(struct sampling *s)
{
	process_table_free(s->processes);
	unwinder_free(s->unwinder);
	unwind_maps_free(s->maps);
	sampler_free(s->sampler);
}

#endif /* TEST_LIB_SAMPLING_H */
