/*
 * The worker thread: cycles in, encoded profiles out.
 *
 * Naming addresses reads the files of other people's processes and may take a while, so it has a
 * thread of its own, which owns the symbolizer. What it needs to know about processes is in the
 * cycle. All functions are called from the loop thread.
 */
#ifndef NODE_AGENT_PROFILE_PROFILE_WORKER_H
#define NODE_AGENT_PROFILE_PROFILE_WORKER_H

#include "common/base.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "node-agent/profile/cpu_profile.h"

struct cycle;
struct debuginfod_client;
struct interpreter_names;
struct profile_worker;

struct profile_worker_config {
	unsigned hz;
	bool addresses;                       /* cpu_profile_config.addresses */
	bool whole;                           /* cpu_profile_config.whole */
	bool line_numbers;                    /* of C, C++ and Rust; starts a program */
	unsigned line_patience;               /* as in symbolizer_config */
	const char *line_program;             /* as in symbolizer_config */
	struct debuginfod_client *debuginfod; /* as in symbolizer_config */
	const char *proc_root;                /* NULL: "/proc"; borrowed, outlives the thread */
	cpu_profile_fn on_profile;            /* on the loop thread */
	void (*on_cycle_done)(void *ctx);     /* likewise, after the last profile of a cycle */
	cpu_profile_comments_fn *comments;    /* on the worker thread; NULL: none */
	struct interpreter_names *names;      /* NULL: none; the thread takes a reference */
	void *ctx;
};

/* l is borrowed. Returns 0, -ENOMEM, or -EAGAIN if there is no thread. */
int profile_worker_new(struct profile_worker **ret, struct loop *l,
		       const struct profile_worker_config *cfg) MUST_CHECK;
/*
 * Waits half a second for the cycle being profiled, then abandons the thread and logs what is lost.
 * Profiles not yet passed on are dropped. NULL is allowed.
 */
void profile_worker_free(struct profile_worker *w);
DEFINE_CLEANUP(struct profile_worker *, profile_worker_free);

/*
 * Takes c on success; it covers duration_ns up to end_ns since the Unix epoch. Returns 0,
 * -EAGAIN if the thread is still busy with earlier cycles, or -ENOMEM.
 */
int profile_worker_adopt(struct profile_worker *w, struct cycle *c, int64_t end_ns,
			 int64_t duration_ns) MUST_CHECK;

/* Cycles taken and not yet reported as done. */
unsigned profile_worker_pending(const struct profile_worker *w);

/* Registers the symbolizer's metrics as well. To be called before other threads start. */
int profile_worker_register_metrics(struct profile_worker *w, struct metrics *ms) MUST_CHECK;

#endif /* NODE_AGENT_PROFILE_PROFILE_WORKER_H */
