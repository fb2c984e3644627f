#include "common/privilege/capabilities.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/telemetry/log.h"
#include "common/text/parse.h"

#define N_CAPABILITIES 64u

/* By number; those that the agents use or that a container is usually given. */
static const char *const names[N_CAPABILITIES] = {
	[CAP_CHOWN] = "CAP_CHOWN",
	[CAP_DAC_OVERRIDE] = "CAP_DAC_OVERRIDE",
	[CAP_DAC_READ_SEARCH] = "CAP_DAC_READ_SEARCH",
	[CAP_FOWNER] = "CAP_FOWNER",
	[CAP_FSETID] = "CAP_FSETID",
	[CAP_KILL] = "CAP_KILL",
	[CAP_SETGID] = "CAP_SETGID",
	[CAP_SETUID] = "CAP_SETUID",
	[CAP_SETPCAP] = "CAP_SETPCAP",
	[CAP_NET_BIND_SERVICE] = "CAP_NET_BIND_SERVICE",
	[CAP_NET_ADMIN] = "CAP_NET_ADMIN",
	[CAP_SYS_PTRACE] = "CAP_SYS_PTRACE",
	[CAP_SYS_ADMIN] = "CAP_SYS_ADMIN",
	[CAP_SYS_RESOURCE] = "CAP_SYS_RESOURCE",
	[CAP_SYSLOG] = "CAP_SYSLOG",
	[CAP_PERFMON] = "CAP_PERFMON",
	[CAP_BPF] = "CAP_BPF",
	[CAP_CHECKPOINT_RESTORE] = "CAP_CHECKPOINT_RESTORE",
};

struct sets {
	uint64_t effective, permitted, inheritable;
};

static int read_sets(struct sets *ret)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, d) < 0)
		return -errno;
	*ret = (struct sets){
		.effective = d[0].effective | (uint64_t)d[1].effective << 32,
		.permitted = d[0].permitted | (uint64_t)d[1].permitted << 32,
		.inheritable = d[0].inheritable | (uint64_t)d[1].inheritable << 32,
	};
	return 0;
}

static int write_sets(const struct sets *s)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3] = {
		{(uint32_t)s->effective, (uint32_t)s->permitted, (uint32_t)s->inheritable},
		{(uint32_t)(s->effective >> 32), (uint32_t)(s->permitted >> 32),
		 (uint32_t)(s->inheritable >> 32)},
	};

	return syscall(SYS_capset, &header, d) < 0 ? -errno : 0;
}

uint64_t capabilities_held(void)
{
	struct sets s;

	return read_sets(&s) == 0 ? s.effective : 0;
}

static void shrink_bounding_set(uint64_t keep)
{
	for (unsigned c = 0; c < N_CAPABILITIES; c++) {
		/* fails for a number that this kernel does not know, and without CAP_SETPCAP */
		if (!(keep & CAPABILITY(c)) && prctl(PR_CAPBSET_READ, c, 0, 0, 0) == 1)
			(void)prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
	}
}

int capabilities_keep(uint64_t keep)
{
	struct sets s;
	int r = read_sets(&s);

	if (r < 0)
		return r;
	shrink_bounding_set(keep); /* first, as it needs a capability itself */
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* a service manager may have done it, and refuse capset(2) as well */
	if (((s.effective | s.permitted) & ~keep) == 0 && s.inheritable == 0)
		return 0;
	s.effective &= keep;
	s.permitted &= keep;
	s.inheritable = 0;
	return write_sets(&s);
}

int capabilities_set_effective(uint64_t set)
{
	struct sets s;
	int r = read_sets(&s);

	if (r < 0)
		return r;
	s.effective = set;
	return write_sets(&s);
}

bool capabilities_try_without(uint64_t without, bool (*fn)(const void *arg), const void *arg)
{
	struct sets all, fewer;
	bool result;

	if (read_sets(&all) < 0)
		return fn(arg);
	fewer = all;
	fewer.effective &= ~without;
	if (write_sets(&fewer) < 0)
		return fn(arg);
	result = fn(arg);
	(void)write_sets(&all); /* what is permitted can always be made effective again */
	return result;
}

const char *capability_name(unsigned number)
{
	return number < N_CAPABILITIES && names[number] ? names[number] : "CAP_?";
}

const char *capabilities_text(uint64_t set, char *ret, size_t size)
{
	size_t len = 0;

	snprintf(ret, size, "none");
	for (unsigned c = 0; c < N_CAPABILITIES && len < size; c++) {
		if (!(set & CAPABILITY(c)))
			continue;
		len += (size_t)snprintf(ret + len, size - len, "%s%s", len > 0 ? " " : "",
					capability_name(c));
	}
	return ret;
}

uint64_t capabilities_to_listen(const char *address)
{
	const char *colon = address ? strrchr(address, ':') : NULL;
	uint64_t port;

	if (!colon || parse_u64(colon + 1, strlen(colon + 1), 1, UINT16_MAX, &port) < 0)
		return 0;
	return port < 1024 ? CAPABILITY(CAP_NET_BIND_SERVICE) : 0;
}

/* ---- core dumps ---- */

/*
 * A process that is not dumpable writes no core, and only a process with CAP_SYS_PTRACE can read
 * its memory or its environment: a debugger of root, and the node-agent. RLIMIT_CORE is for what
 * the process starts: a credential plugin of a kubeconfig has keys, too.
 *
 * A process that is not dumpable owns nothing in its own /proc/<pid> unless it is root's. The
 * kernel makes an exception for what a process reads of itself (descriptors, mappings); only
 * environ, auxv, mem and io are lost, which neither agent reads of itself.
 */
void process_harden(void)
{
	const struct rlimit none = {0, 0};

	umask(077);
	if (setrlimit(RLIMIT_CORE, &none) < 0)
		log_warn("cannot switch off core dumps", "error=\"%m\"");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		log_warn("cannot keep other processes of this user from reading this one",
			 "error=\"%m\"");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		log_warn("cannot rule out new privileges", "error=\"%m\"");
}
