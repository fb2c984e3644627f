/*
 * Linux capabilities of this process, as bits of a mask: what it holds, and giving up the rest.
 *
 * The kernel keeps capabilities per thread, and new threads inherit them. So they are given up
 * before the first thread is started; giving them up later would leave them with the others.
 */
#ifndef COMMON_PRIVILEGE_CAPABILITIES_H
#define COMMON_PRIVILEGE_CAPABILITIES_H

#include <linux/capability.h>

#include "common/base.h"

#define CAPABILITY(number) (UINT64_C(1) << (number))

/* The effective capabilities of the calling thread; 0 if the kernel does not say. */
uint64_t capabilities_held(void);

/*
 * Gives up everything outside `keep`, for good: in the effective, permitted, inheritable and
 * ambient sets, and in the bounding set, so that no program that is started gets it back. Calling
 * thread only. Returns 0 or -errno. That the bounding set cannot be changed (no CAP_SETPCAP) is no
 * error: with no_new_privs, nothing is gained from it.
 */
int capabilities_keep(uint64_t keep) MUST_CHECK;

/*
 * Makes just these of the permitted capabilities effective. Calling thread only. Returns 0, -EPERM
 * if one of them is not permitted, or another -errno.
 */
int capabilities_set_effective(uint64_t set) MUST_CHECK;

/*
 * What `fn` returns while this process does not use the capabilities in `without`, which it has
 * again afterwards. Calling thread only.
 */
bool capabilities_try_without(uint64_t without, bool (*fn)(const void *arg), const void *arg);

/* "CAP_SYS_PTRACE", or "CAP_?" if it has no name here. */
const char *capability_name(unsigned number);

/* The names of `set`, separated by spaces, in ret; "none" if it is empty. Returns ret. */
const char *capabilities_text(uint64_t set, char *ret, size_t size);

/* The capability that listening on "host:port" needs: that for ports below 1024, or 0. */
uint64_t capabilities_to_listen(const char *address);

/*
 * What both agents refuse themselves at the start, whoever runs them: new privileges by starting
 * programs, core dumps (keys and other people's memory are in ours), being read by other processes
 * of the same user, and files that others may read.
 */

/*
 * For the whole process; before any thread is started, as no_new_privs is a thread's. A kernel that
 * refuses a part of it is named in the log, and the rest holds.
 */
void process_harden(void);

#endif /* COMMON_PRIVILEGE_CAPABILITIES_H */
