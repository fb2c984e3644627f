/*
 * A seccomp filter over all threads of the process, made of lists of system calls by name.
 *
 * With SYSCALL_FILTER_ON, a call is
 *   allowed   if it is in an allowed group, within its limits
 *   fatal     if it is in a fatal group: the kernel kills the process with SIGSYS, and its log
 *             (audit type 1326) has the number. Nothing that runs in the process can prevent that
 *   absent    (ENOSYS) if it is in syscalls_absent, or newer than the library: callers of new
 *             calls know how to do without
 *   refused   (EPERM) otherwise, and reported: <prefix>_syscalls_refused_total, and one line with
 *             its name in the log
 *
 * With SYSCALL_FILTER_LOG nothing is refused, and the kernel logs every call that would be.
 *
 * An agent that starts programs of its user (credential plugins) cannot know what these call, and
 * they inherit the filter. Then everything is allowed but the fatal groups, which answer EPERM, as
 * a foreign program may probe for what it can do; starting programs is allowed.
 */
#ifndef COMMON_PRIVILEGE_SYSCALL_FILTER_H
#define COMMON_PRIVILEGE_SYSCALL_FILTER_H

#include "common/base.h"
#include "common/err.h"
#include "common/privilege/syscall_list.h"

enum syscall_filter_mode {
	SYSCALL_FILTER_ON,
	SYSCALL_FILTER_LOG,
	SYSCALL_FILTER_OFF,
};

/* "on", "log", "off", in the order of the enum; NULL at the end. */
extern const char *const syscall_filter_mode_names[];

struct syscall_filter_config {
	enum syscall_filter_mode mode;
	const struct syscall_group *own;        /* allowed besides the common ones; may be NULL */
	const struct syscall_limit *own_limits; /* may be NULL */
	bool starts_programs;
};

enum syscall_verdict {
	SYSCALL_ABSENT,
	SYSCALL_ALLOWED,
	SYSCALL_REFUSED,
	SYSCALL_FATAL,
};

/* What the filter would do with a call of this machine, whatever its arguments. */
enum syscall_verdict syscall_filter_verdict(const struct syscall_filter_config *cfg, long number);

/*
 * Installs it for good, for all threads. Sets no_new_privs. What is not the usual case (another
 * mode, programs may start) is a line in the log, and so is a kernel or container without seccomp,
 * which is no error. Returns 0, -ENOMEM, or -errno with a sentence in err if the filter could not
 * be made or a thread could not take it over.
 */
int syscall_filter_install(const struct syscall_filter_config *cfg, struct err *err) MUST_CHECK;

#endif /* COMMON_PRIVILEGE_SYSCALL_FILTER_H */
