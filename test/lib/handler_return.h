/*
 * The address that a signal handler returns to. Sanitizers put a function of their own between the
 * kernel and a handler, so where the kernel is told the address, it is asked for it.
 */
#ifndef TEST_LIB_HANDLER_RETURN_H
#define TEST_LIB_HANDLER_RETURN_H

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t handler_return_seen;

static inline void handler_return_note(int number)
{
	(void)number;
	handler_return_seen = (uintptr_t)__builtin_return_address(0);
}

/* 0 on failure. */
static inline uint64_t handler_return_address(void)
{
#ifdef __x86_64__
	struct {
		uint64_t handler, flags, restorer, mask; /* struct sigaction of the kernel */
	} action = {0};
#endif

	(void)signal(SIGUSR1, handler_return_note);
#ifdef __x86_64__
	if (syscall(SYS_rt_sigaction, SIGUSR1, NULL, &action, sizeof(action.mask)) < 0)
		return 0;
	return action.restorer;
#else
	raise(SIGUSR1);
	return handler_return_seen;
#endif
}

#endif /* TEST_LIB_HANDLER_RETURN_H */
