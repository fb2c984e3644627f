/*
 * Which system calls a program may make, as data: groups of names, each with its reason. The filter
 * that is made of them is in syscall_filter.h.
 *
 * Names are those of any architecture; one that this machine or the library does not know is left
 * out.
 */
#ifndef COMMON_PRIVILEGE_SYSCALL_LIST_H
#define COMMON_PRIVILEGE_SYSCALL_LIST_H

#include "common/base.h"

struct syscall_group {
	const char *reason; /* NULL ends a table of groups */
	const char *const *names;
};

#define SYSCALLS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A limit on one argument of an allowed call. */
enum syscall_check {
	SYSCALL_IS_ONE_OF,   /* allowed for these values; others below 128 are refused */
	SYSCALL_HAS_NONE_OF, /* allowed if none of the bits is set; kills otherwise */
	SYSCALL_IS_NOT,      /* kills if it has this value */
};

struct syscall_limit {
	const char *name; /* NULL ends a table of limits */
	unsigned argument;
	enum syscall_check check;
	uint64_t value;         /* the bits, or the value */
	const uint64_t *one_of; /* ascending */
	size_t n_one_of;
	const char *reason;
};

/* What any program with threads, files and sockets needs. */
extern const struct syscall_group syscalls_common[];
extern const struct syscall_limit syscall_limits_common[];

/*
 * What no bug of ours calls and whoever has taken over the process does: it is killed. A call that
 * a library may make of its own accord does not belong here, however harmful it is: it is refused
 * (Kerberos asks for keys, the engine for perf events). An agent's own groups take precedence.
 */
extern const struct syscall_group syscalls_fatal[];

/* Always answered with ENOSYS, so that their callers do without. */
extern const struct syscall_group syscalls_absent[];

#endif /* COMMON_PRIVILEGE_SYSCALL_LIST_H */
