/*
 * Stops a process at each of its system calls on files, so that it can be killed between any two.
 *
 * A seccomp filter reports the calls of all threads to the parent, which lets them go on one by
 * one. Unlike ptrace it needs no stop and restart of threads, and the parent counts all of them
 * together. A call is reported before it begins.
 */
#ifndef TEST_STORE_CALL_GATE_H
#define TEST_STORE_CALL_GATE_H

#include <sys/types.h>

#include "common/base.h"

struct call_gate;

/* Before fork(2). Never fails; a failure ends the test. */
struct call_gate *call_gate_new(void);
/* In the child: calls are reported from here on. */
void call_gate_enter(struct call_gate *g);
/* In the child: what was to be watched is done. */
void call_gate_leave(struct call_gate *g);

/* The next reported call: "rename(/path)" or "write(/path of the file)". */
typedef bool (*call_gate_fn)(void *ctx, const char *call);

/*
 * In the parent: calls fn for each call until it returns true; the child is then killed instead.
 * Returns true if it was killed at such a call, false if it left the gate first; it is killed then
 * as well. Waits for its end.
 */
bool call_gate_run(struct call_gate *g, pid_t pid, call_gate_fn fn, void *ctx);
void call_gate_free(struct call_gate *g);

#endif /* TEST_STORE_CALL_GATE_H */
