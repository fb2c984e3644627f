/*
 * The event loop: file descriptors, timers, signals and wake-ups from other threads, on epoll. One
 * thread runs it, and only that thread calls the functions below, except loop_wake(). Each source
 * other than a descriptor of the caller uses a descriptor of its own.
 */
#ifndef COMMON_SYSTEM_LOOP_H
#define COMMON_SYSTEM_LOOP_H

#include "common/base.h"

struct loop;
struct loop_source; /* owned by the loop; freed by loop_remove() or loop_free() */

/* events: EPOLLIN, EPOLLOUT … as epoll reports them */
typedef void (*loop_fd_fn)(void *ctx, uint32_t events);
typedef void (*loop_fn)(void *ctx);

int loop_new(struct loop **ret) MUST_CHECK;
void loop_free(struct loop *l);
DEFINE_CLEANUP(struct loop *, loop_free);

/* fd is borrowed: remove the source before closing it. */
int loop_add_fd(struct loop *l, int fd, uint32_t events, loop_fd_fn fn, void *ctx,
		struct loop_source **ret) MUST_CHECK;
int loop_modify_fd(struct loop_source *s, uint32_t events) MUST_CHECK;

/* A timer that is not set until loop_set_timer(). */
int loop_add_timer(struct loop *l, loop_fn fn, void *ctx, struct loop_source **ret) MUST_CHECK;
/* Fires once after delay_ns (0: at the next turn), instead of what was set. UINT64_MAX: never. */
void loop_set_timer(struct loop_source *s, uint64_t delay_ns);

/*
 * Blocks signo in this thread and receives it by signalfd. Call it before other threads start, so
 * that they inherit the mask. The signal stays blocked after loop_free().
 */
int loop_add_signal(struct loop *l, int signo, loop_fn fn, void *ctx) MUST_CHECK;

/* fn runs on the loop thread after loop_wake(); one call may stand for several wakes. */
int loop_add_wake(struct loop *l, loop_fn fn, void *ctx, struct loop_source **ret) MUST_CHECK;
void loop_wake(struct loop_source *s); /* from any thread; async-signal-safe */

/* Allowed in callbacks, for the source of the callback too. NULL is allowed. */
void loop_remove(struct loop_source *s);

/* Runs until loop_stop(), which may be called before. Returns 0 or -errno of epoll. */
int loop_run(struct loop *l) MUST_CHECK;
void loop_stop(struct loop *l);

#endif /* COMMON_SYSTEM_LOOP_H */
