/*
 * Which state the programs of a workload are in, as their runtimes see it: how many JVMs have
 * Java profiles, and why the others have none.
 *
 * A runtime sets the state of each of its programs (runtime_turn_set_state() in runtime_ops.h).
 * Whoever makes a CPU profile counts the states of its workload and sends them with it, so that
 * the page can tell its user why a profile is missing. All functions may be called by any thread.
 */
#ifndef NODE_AGENT_RUNTIME_RUNTIME_STATES_H
#define NODE_AGENT_RUNTIME_RUNTIME_STATES_H

#include "common/base.h"
#include "node-agent/workload/workload.h"

#define RUNTIME_STATE_COUNTS_MAX 32u /* kinds of states of one workload; more are left out */

struct runtime_states;

/* Of one program. */
struct runtime_state;

struct runtime_state_count {
	const char *runtime; /* "java" */
	const char *state;   /* "profiled" */
	unsigned n;          /* programs; not 0 */
};

/* With one reference. -ENOMEM is the only failure. */
int runtime_states_new(struct runtime_states **ret) MUST_CHECK;
struct runtime_states *runtime_states_ref(struct runtime_states *ss);
/* NULL is allowed. */
void runtime_states_unref(struct runtime_states *ss);
DEFINE_CLEANUP(struct runtime_states *, runtime_states_unref);

/*
 * Counts the programs of that raw workload by runtime and state, in no particular order. Returns
 * how many elements of ret were set.
 */
size_t runtime_states_count(struct runtime_states *ss, const struct workload *w,
			    struct runtime_state_count ret[RUNTIME_STATE_COUNTS_MAX]) MUST_CHECK;

/* Leaves out all programs of that runtime, because the thread that owns them is abandoned. */
void runtime_states_disown(struct runtime_states *ss, const char *runtime);

/*
 * Adds a program of that raw workload. runtime and state are static texts of lower case letters
 * and underscores. -ENOMEM is the only failure.
 */
int runtime_state_new(struct runtime_state **ret, struct runtime_states *ss, const char *runtime,
		      struct workload *w, const char *state) MUST_CHECK;
void runtime_state_set(struct runtime_state *s, const char *state);
/* The program has exited. NULL is allowed. */
void runtime_state_free(struct runtime_state *s);
DEFINE_CLEANUP(struct runtime_state *, runtime_state_free);

#endif /* NODE_AGENT_RUNTIME_RUNTIME_STATES_H */
