/*
 * The name of a workload is what an operator would call it without access to any API: the runtime
 * and the short id for a container, the unit for a service. Processes outside containers and
 * units are named by what they execute (process_namer.h), and not by comm, because interpreters
 * and thread pools rename their processes at will; comm is used if nothing else can be read.
 */
#include "node-agent/workload/workload.h"

#include <errno.h>
#include <fcntl.h>

#include "common/data/buf.h"
#include "common/system/fs.h"
#include "common/text/utf8.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/workload/cgroup_hierarchy.h"
#include "node-agent/workload/process_namer.h"
#include "node-agent/workload/program_name.h"

#define CGROUP_MAX_BYTES 65536

static const char *const folders[] = {
	[CGROUP_NONE] = "process",
	[CGROUP_DOCKER] = "docker",
	[CGROUP_CONTAINERD] = "containerd",
	[CGROUP_CRIO] = "crio",
	[CGROUP_PODMAN] = "podman",
	[CGROUP_KUBEPODS] = "kubepods",
	[CGROUP_LXC] = "lxc",
	[CGROUP_TALOS] = "talos",
	[CGROUP_CONTAINER] = "container",
	[CGROUP_MACHINE] = "machine",
	[CGROUP_NOMAD] = "nomad",
};

/*
 * The runtime whose process has not yet executed the first program of a container, which it calls
 * "runc:[2:INIT]" until then; NULL for all other processes. The executable is one of the runtime,
 * or its sealed copy ("/memfd:runc_cloned:/proc/self/exe").
 */
static const char *starting_runtime(const struct workload_facts *f)
{
	static const char *const runtimes[] = {"runc", "youki"};

	if (f->kernel_thread || f->cgroup.kind == CGROUP_SYSTEMD || !f->comm)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		size_t len = strlen(runtimes[i]);

		if (strncmp(f->comm, runtimes[i], len) == 0 &&
		    strncmp(f->comm + len, ":[", 2) == 0 &&
		    (!f->exe || !f->exe[0] || strstr(f->exe, runtimes[i])))
			return runtimes[i];
	}
	return NULL;
}

static void process_name(const struct workload_facts *f, char *ret, size_t size)
{
	struct program program;

	program_parse(f->exe, f->comm && f->comm[0] ? f->comm : NULL, NULL, 0, &program);
	snprintf(ret, size, "/process/%s", program.name);
}

/* What the process runs in, however many of those are of one application. */
static void container_id(const struct workload_facts *f, char ret[static WORKLOAD_NAME_BYTES])
{
	const struct cgroup_path *c = &f->cgroup;
	int id_len =
		strlen(c->id) == CGROUP_CONTAINER_ID_LEN ? WORKLOAD_SHORT_ID_LEN : CGROUP_ID_BYTES;

	if (f->kernel_thread)
		snprintf(ret, WORKLOAD_NAME_BYTES, WORKLOAD_KERNEL);
	else if (c->kind == CGROUP_NONE && f->name)
		snprintf(ret, WORKLOAD_NAME_BYTES, "%s", f->name);
	else if (c->kind == CGROUP_NONE)
		process_name(f, ret, WORKLOAD_NAME_BYTES);
	else if (c->kind == CGROUP_SYSTEMD)
		snprintf(ret, WORKLOAD_NAME_BYTES, "%s", c->id);
	else
		snprintf(ret, WORKLOAD_NAME_BYTES, "/%s/%.*s", folders[c->kind], id_len, c->id);
	ret[utf8_make_printable(ret, strlen(ret))] = '\0';
}

/* All containers of a pod are one application, also those of a crash loop. */
static void service_name(const struct workload_facts *f, const char *container,
			 char ret[static WORKLOAD_NAME_BYTES])
{
	if (!f->kernel_thread && f->cgroup.pod_uid[0])
		snprintf(ret, WORKLOAD_NAME_BYTES, "/%s/pod%s", folders[CGROUP_KUBEPODS],
			 f->cgroup.pod_uid);
	else
		snprintf(ret, WORKLOAD_NAME_BYTES, "%s", container);
	ret[utf8_make_printable(ret, strlen(ret))] = '\0';
}

/* A NULL becomes "". Returns the end of what was written. */
static char *put(char *at, const char **field, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 1;

	*field = at;
	memcpy(at, text ? text : "", size);
	return at + size;
}

static int make(struct workload **ret, enum cgroup_kind kind, const char *runtime_id,
		const struct workload_names *names)
{
	const char *const texts[] = {names->service,   names->container_id, runtime_id,
				     names->pod_uid,   names->namespace,    names->pod,
				     names->container, names->image,        names->labels};
	size_t size = 0;
	struct workload *w;
	char *at;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		size += texts[i] ? strlen(texts[i]) + 1 : 1;
	w = malloc(sizeof(*w) + size);
	if (!w)
		return -ENOMEM;
	atomic_init(&w->refs, 1);
	w->kind = kind;
	w->profiling_disabled = names->profiling_disabled;
	w->is_pause = names->is_pause;
	at = put(w->text, &w->service, names->service);
	at = put(at, &w->container_id, names->container_id);
	at = put(at, &w->runtime_id, runtime_id);
	at = put(at, &w->pod_uid, names->pod_uid);
	at = put(at, &w->namespace, names->namespace);
	at = put(at, &w->pod, names->pod);
	at = put(at, &w->container, names->container);
	at = put(at, &w->image, names->image);
	(void)put(at, &w->labels, names->labels);
	*ret = w;
	return 0;
}

static bool has_runtime_id(enum cgroup_kind kind)
{
	return kind != CGROUP_NONE && kind != CGROUP_SYSTEMD && kind != CGROUP_TALOS;
}

static int new_raw(struct workload **ret, const struct workload_facts *facts)
{
	char service[WORKLOAD_NAME_BYTES], container[WORKLOAD_NAME_BYTES];
	const struct workload_names names = {
		.service = service,
		.container_id = container,
		.pod_uid = facts->kernel_thread ? NULL : facts->cgroup.pod_uid,
		.is_pause = facts->comm && strcmp(facts->comm, "pause") == 0,
	};
	bool has_id = !facts->kernel_thread && has_runtime_id(facts->cgroup.kind);

	container_id(facts, container);
	service_name(facts, container, service);
	return make(ret, facts->kernel_thread ? CGROUP_NONE : facts->cgroup.kind,
		    has_id ? facts->cgroup.id : "", &names);
}

int workload_new(struct workload **ret, const struct workload_facts *facts)
{
	const char *runtime = starting_runtime(facts);
	struct workload_facts outside = *facts;
	char name[WORKLOAD_NAME_BYTES];

	if (!runtime)
		return new_raw(ret, facts);
	snprintf(name, sizeof(name), "/process/%s", runtime);
	outside.cgroup = (struct cgroup_path){.kind = CGROUP_NONE};
	outside.name = name;
	return new_raw(ret, &outside);
}

int workload_new_named(struct workload **ret, const struct workload *raw,
		       const struct workload_names *names)
{
	return make(ret, raw->kind, raw->runtime_id, names);
}

/* Whether the text has hierarchies of cgroup v1, and "/" is the path in all of them. */
static bool is_in_v1_roots(const char *text, size_t len)
{
	const char *end = text + len, *newline;
	bool any = false;

	for (; text < end; text = newline + (newline < end)) {
		newline = memchr(text, '\n', (size_t)(end - text));
		if (!newline)
			newline = end;
		if (newline - text < 2 || memcmp(text, "0:", 2) == 0)
			continue;
		if (newline[-1] != '/' || newline[-2] != ':')
			return false;
		any = true;
	}
	return any;
}

/* A process that is exiting is shown in the roots of cgroup v1, wherever it is. */
static bool hides_its_cgroup(int proc_fd, const struct buf *cgroup)
{
	struct proc_stat st;

	if (!is_in_v1_roots(cgroup->data, cgroup->len))
		return false;
	return procfs_read_stat(proc_fd, &st) < 0 || st.exiting;
}

static uint64_t read_id(const struct cgroup_hierarchy *h, const struct buf *cgroup)
{
	char path[CGROUP_HIERARCHY_PATH_BYTES];

	if (!h ||
	    cgroup_hierarchy_parse(cgroup_hierarchy_kind(h), cgroup->data, cgroup->len, path) < 0)
		return 0;
	return cgroup_hierarchy_id(h, path);
}

int workload_read_cgroup(struct workload_cgroup *ret, int proc_fd, const struct cgroup_hierarchy *h)
{
	CLEANUP(buf_fini) struct buf cgroup;
	int r;

	buf_init(&cgroup, CGROUP_MAX_BYTES);
	r = fs_read_at(proc_fd, "cgroup", &cgroup);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	*ret = (struct workload_cgroup){.id = 0};
	if (cgroup.len == 0)
		return 0;
	if (hides_its_cgroup(proc_fd, &cgroup))
		return -ESRCH;
	cgroup_path_parse(cgroup.data, cgroup.len, &ret->path);
	ret->id = read_id(h, &cgroup);
	return 0;
}

/* Completes facts whose cgroup and executable are known. Returns 0 or -ENOMEM. */
static int ask_namer(struct workload_facts *f, int proc_fd, char name[static WORKLOAD_NAME_BYTES])
{
	const struct process_to_name p = {proc_fd, f->exe, f->comm};
	struct cgroup_path *c = &f->cgroup;

	if (!f->namer || f->kernel_thread)
		return 0;
	if (c->kind == CGROUP_KUBEPODS && strncmp(c->id, "pod", 3) == 0)
		return process_namer_gvisor_id(f->namer, proc_fd, c->id);
	if (c->kind != CGROUP_NONE)
		return 0;
	f->name = name;
	return process_namer_name(f->namer, &p, name, WORKLOAD_NAME_BYTES);
}

/*
 * A runtime that starts a container is of the unit of the process that started it. Leaves the
 * facts alone if that is unknown.
 */
static void use_unit_of_parent(struct workload_facts *f, int proc_fd)
{
	struct proc_stat before, after;
	struct workload_cgroup cgroup;
	AUTO_CLOSE int fd = -1;
	char path[32];

	if (procfs_read_stat(proc_fd, &before) < 0 || before.parent == 0)
		return;
	snprintf(path, sizeof(path), "../%d", (int)before.parent);
	fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || workload_read_cgroup(&cgroup, fd, NULL) < 0 ||
	    cgroup.path.kind != CGROUP_SYSTEMD)
		return;
	/* else its number may have been that of another process */
	if (procfs_read_stat(proc_fd, &after) == 0 && after.parent == before.parent)
		f->cgroup = cgroup.path;
}

int workload_read_name(struct workload **ret, int proc_fd, const struct workload_facts *facts)
{
	struct workload_facts complete = *facts;
	char name[WORKLOAD_NAME_BYTES];
	int r;

	if (starting_runtime(facts)) {
		use_unit_of_parent(&complete, proc_fd);
		return workload_new(ret, &complete);
	}
	r = ask_namer(&complete, proc_fd, name);
	return r == 0 ? workload_new(ret, &complete) : r;
}

int workload_read(struct workload **ret, int proc_fd, const struct workload_facts *facts)
{
	struct workload_facts complete = *facts;
	struct workload_cgroup cgroup;
	AUTO_FREE char *exe = NULL;
	int r;

	r = workload_read_cgroup(&cgroup, proc_fd, NULL);
	if (r == 0 && !facts->exe && cgroup.path.kind == CGROUP_NONE)
		r = procfs_read_link(proc_fd, "exe", &exe);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	complete.cgroup = cgroup.path;
	if (!complete.exe)
		complete.exe = exe ? exe : "";
	return workload_read_name(ret, proc_fd, &complete);
}

struct workload *workload_ref(struct workload *w)
{
	atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
	return w;
}

void workload_unref(struct workload *w)
{
	/* acquire: other owners' reads of w must come before it is freed */
	if (w && atomic_fetch_sub_explicit(&w->refs, 1, memory_order_acq_rel) == 1)
		free(w);
}

int workload_compare(const struct workload *a, const struct workload *b)
{
	int r = strcmp(a->service, b->service);

	if (r == 0)
		r = strcmp(a->container_id, b->container_id);
	/* raw names have only the beginning of the id */
	return r != 0 ? r : strcmp(a->runtime_id, b->runtime_id);
}
