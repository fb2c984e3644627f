/*
 * Counts the system calls that the filter refuses, and logs the name of each once: a refused call
 * is a mistake in our list or an attack, and either must be found.
 *
 * The kernel turns a refused call into a SIGSYS for the thread that made it. The handler counts and
 * makes the call return EPERM. A thread that has SIGSYS blocked is killed by the kernel instead.
 */
#ifndef COMMON_PRIVILEGE_SYSCALL_REFUSALS_H
#define COMMON_PRIVILEGE_SYSCALL_REFUSALS_H

#include "common/base.h"

struct metrics;

/* Installs the handler. Returns 0 or -errno. */
int syscall_refusals_catch(void) MUST_CHECK;

/* Logs the calls that were refused for the first time since the last report. Loop thread. */
void syscall_refusals_report(void);

/* Of all calls since the start. */
uint64_t syscall_refusals_count(void);

/* <prefix>_syscalls_refused_total. prefix must outlive ms. As metrics_register(). */
int syscall_refusals_register(struct metrics *ms, const char *prefix) MUST_CHECK;

#endif /* COMMON_PRIVILEGE_SYSCALL_REFUSALS_H */
