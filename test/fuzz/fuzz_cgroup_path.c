#include <stdint.h>

#include "node-agent/workload/cgroup_path.h"
#include "node-agent/workload/workload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An id exactly when there is a kind, and a printable service name in any case. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct workload_facts f = {.exe = "", .comm = "x"};
	struct workload *w;

	cgroup_path_parse((const char *)data, size, &f.cgroup);
	if (!memchr(f.cgroup.id, '\0', sizeof(f.cgroup.id)))
		__builtin_trap();
	if ((f.cgroup.kind == CGROUP_NONE) != (f.cgroup.id[0] == '\0'))
		__builtin_trap();
	if (strspn(f.cgroup.pod_uid, "0123456789abcdef-") != strlen(f.cgroup.pod_uid) ||
	    (f.cgroup.kind == CGROUP_NONE && f.cgroup.pod_uid[0]))
		__builtin_trap();
	if (workload_new(&w, &f) < 0)
		return 0;
	if (w->service[0] != '/' || strpbrk(w->service, "\n\t\x7f"))
		__builtin_trap();
	workload_unref(w);
	return 0;
}
