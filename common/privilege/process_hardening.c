/*
 * A process that is not dumpable writes no core, and only a process with CAP_SYS_PTRACE can read
 * its memory or its environment: a debugger of root, and the node-agent. RLIMIT_CORE is for what
 * the process starts: a credential plugin of a kubeconfig has keys, too.
 *
 * A process that is not dumpable owns nothing in its own /proc/<pid> unless it is root's. The
 * kernel makes an exception for what a process reads of itself (descriptors, mappings); only
 * environ, auxv, mem and io are lost, which neither agent reads of itself.
 */
#include "common/privilege/process_hardening.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "common/base.h"
#include "common/telemetry/log.h"

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
