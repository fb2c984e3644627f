#include "node-agent/process/workload.h"

#include "common/text/utf8.h"

#define DELETED " (deleted)"

static const char *const folders[] = {
	[CGROUP_NONE] = "process", [CGROUP_DOCKER] = "docker", [CGROUP_CONTAINERD] = "containerd",
	[CGROUP_CRIO] = "crio",    [CGROUP_PODMAN] = "podman", [CGROUP_KUBEPODS] = "kubepods",
	[CGROUP_LXC] = "lxc",      [CGROUP_TALOS] = "talos",
};

static void process_name(const struct workload_facts *f, char *ret, size_t size)
{
	const char *slash = strrchr(f->exe, '/');
	const char *name = slash ? slash + 1 : f->exe;
	size_t len = strlen(name), deleted = strlen(DELETED);

	if (len > deleted && strcmp(name + len - deleted, DELETED) == 0)
		len -= deleted;
	if (len == 0) {
		name = f->comm[0] ? f->comm : "unknown";
		len = strlen(name);
	}
	snprintf(ret, size, "/process/%.*s", (int)len, name);
}

void workload_name(const struct workload_facts *f, char ret[static WORKLOAD_NAME_BYTES])
{
	const struct cgroup_path *c = &f->cgroup;
	int id_len =
		strlen(c->id) == CGROUP_CONTAINER_ID_LEN ? WORKLOAD_SHORT_ID_LEN : CGROUP_ID_BYTES;

	if (f->kernel_thread)
		snprintf(ret, WORKLOAD_NAME_BYTES, "/kernel");
	else if (c->kind == CGROUP_NONE)
		process_name(f, ret, WORKLOAD_NAME_BYTES);
	else if (c->kind == CGROUP_SYSTEMD)
		snprintf(ret, WORKLOAD_NAME_BYTES, "%s", c->id);
	else
		snprintf(ret, WORKLOAD_NAME_BYTES, "/%s/%.*s", folders[c->kind], id_len, c->id);
	ret[utf8_make_printable(ret, strlen(ret))] = '\0';
}
