/*
 * The kernel answers EACCES or EPERM and no more, and "grant CAP_SYS_PTRACE" is no help to an
 * agent that has it. So check what the kernel checks (ptrace_may_access()): the capability
 * must be held in the user namespace of the process, and no security module may object. Files in
 * /proc/<pid> belong to the user of the process besides, and its memory can be opened by that
 * user only, or with CAP_DAC_READ_SEARCH (for reading) or CAP_DAC_OVERRIDE.
 *
 * Which user namespace a process is in cannot be asked directly, as /proc/<pid>/ns needs the
 * very right that is missing. But everybody may read /proc/<pid>/uid_map, which shows ids as
 * seen from our namespace: where it equals our own, the namespace is almost certainly ours.
 */
#include "node-agent/runtime/access_denial.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>

#include "common/data/buf.h"
#include "common/system/fs.h"
#include "node-agent/procfs/procfs.h"

#define UID_MAP_MAX_BYTES ((size_t)64 * 1024) /* the kernel has at most 340 lines */

static const char *reason_for_write(const struct access_facts *f)
{
	return f->has_override ? "the kernel refuses it although the agent has CAP_DAC_OVERRIDE; a "
				 "security module (SELinux, AppArmor, Landlock) or a read-only "
				 "/proc is likely"
			       : "the agent lacks CAP_DAC_OVERRIDE";
}

const char *access_denial_reason(const struct access_facts *f)
{
	if (f->wish == ACCESS_WRITE)
		return reason_for_write(f);
	if (f->wish == ACCESS_READ && !f->has_read_search && !f->has_override)
		return "the agent lacks CAP_DAC_READ_SEARCH";
	if (!f->has_ptrace && f->is_hidden)
		return "/proc is mounted with hidepid and the agent lacks CAP_SYS_PTRACE";
	if (!f->has_ptrace)
		return "the agent lacks CAP_SYS_PTRACE";
	if (f->other_user_ns)
		return "the process is in a user namespace where the agent's CAP_SYS_PTRACE does "
		       "not count";
	if (f->is_hidden)
		return "/proc is mounted with hidepid";
	return "the kernel refuses it although the agent has CAP_SYS_PTRACE; a security module "
	       "(SELinux, AppArmor, Landlock) is likely";
}

/* By capget(2) itself: nothing else here needs libcap. */
static bool has_capability(unsigned capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data) < 0)
		return true; /* blame nothing that is not known */
	return data[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability);
}

static bool have_same_uid_map(int root_fd, int proc_fd)
{
	CLEANUP(buf_fini) struct buf ours, theirs;

	buf_init(&ours, UID_MAP_MAX_BYTES);
	buf_init(&theirs, UID_MAP_MAX_BYTES);
	if (fs_read_at(root_fd, "self/uid_map", &ours) < 0 ||
	    fs_read_at(proc_fd, "uid_map", &theirs) < 0)
		return true;
	return ours.len == theirs.len &&
	       (ours.len == 0 || memcmp(ours.data, theirs.data, ours.len) == 0);
}

void access_denial_explain(struct access_denial *ret, int root_fd, pid_t pid, enum access_wish wish)
{
	AUTO_CLOSE int fd = procfs_open_process(root_fd, pid);
	struct access_facts facts = {
		.wish = wish,
		.has_ptrace = has_capability(CAP_SYS_PTRACE),
		.has_read_search = has_capability(CAP_DAC_READ_SEARCH),
		.has_override = has_capability(CAP_DAC_OVERRIDE),
	};
	struct proc_stat st = {0};

	if (fd == -EACCES || fd == -EPERM)
		facts.is_hidden = true;
	else if (fd >= 0)
		facts.other_user_ns = !have_same_uid_map(root_fd, fd);
	if (fd >= 0 && procfs_read_stat(fd, &st) < 0)
		st.comm[0] = '\0';
	*ret = (struct access_denial){.pid = pid, .reason = access_denial_reason(&facts)};
	memcpy(ret->name, st.comm, sizeof(ret->name));
}
