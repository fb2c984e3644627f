/*
 * What the user calls the thing a process belongs to: its service name. Pure.
 */
#ifndef NODE_AGENT_PROCESS_WORKLOAD_H
#define NODE_AGENT_PROCESS_WORKLOAD_H

#include "common/base.h"
#include "node-agent/process/cgroup_path.h"

#define WORKLOAD_NAME_BYTES 320
#define WORKLOAD_SHORT_ID_LEN 12 /* as container tools show ids */

struct workload_facts {
	struct cgroup_path cgroup;
	const char *exe; /* path; "" unknown */
	const char *comm;
	bool kernel_thread;
};

/*
 * "/docker/0123456789ab", "/system.slice/cron.service", "/kernel"; processes
 * that nobody manages: "/process/<name of the executable>". What is not printable
 * UTF-8 becomes '?'. Until there is metadata of containers this is the container id too.
 */
void workload_name(const struct workload_facts *f, char ret[static WORKLOAD_NAME_BYTES]);

#endif /* NODE_AGENT_PROCESS_WORKLOAD_H */
