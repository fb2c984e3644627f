/*
 * The cgroup is the only fact about a process's container that needs no API: every runtime
 * puts the container's id into the path, each in its own way ("/docker/<id>",
 * "/system.slice/docker-<id>.scope", "/kubepods/burstable/pod<uid>/<id>" …).
 *
 * With cgroup v1 a process has one path per hierarchy, and they can disagree: a container in a
 * container, or a service that moves only some controllers. They are tried in the order in
 * which they are likely to be right, and the first that names a manager wins: the cpu and
 * memory hierarchies if they are kubelet's, as its limits are there; then v2; then cpu and
 * memory of anybody; then systemd's own hierarchy.
 *
 * Within a path, the id is searched for by the prefix of a known runtime, at any depth, so
 * that nested slices and drivers need no cases of their own. An id must be 64 hex digits:
 * names that merely contain "docker-" are no containers. What no rule recognises is
 * CGROUP_NONE, never a guess.
 */
#include "node-agent/process/cgroup_path.h"

struct text {
	const char *p;
	size_t len;
};

/* The paths that matter, by hierarchy. */
struct paths {
	struct text unified;
	struct text cpu;
	struct text memory;
	struct text systemd;
};

/* What precedes a container's id in paths that name the runtime. */
static const struct {
	const char *prefix;
	enum cgroup_kind kind;
} runtimes[] = {
	{"docker-", CGROUP_DOCKER},
	{"crio-", CGROUP_CRIO},
	{"cri-containerd-", CGROUP_CONTAINERD},
	{"cri-containerd:", CGROUP_CONTAINERD},
	{"libpod-", CGROUP_PODMAN},
	{"nerdctl-", CGROUP_CONTAINERD},
	{"/docker/", CGROUP_DOCKER},
	{"/k8s.io/", CGROUP_CONTAINERD},
	{"/default/", CGROUP_CONTAINERD},
	{"/moby/", CGROUP_DOCKER},
	{"/libpod_parent/libpod-", CGROUP_PODMAN},
};

static const char *const unit_slices[] = {
	"system.slice", "runtime.slice", "reserved.slice",
	"kube.slice",   "azure.slice",   "podruntime.slice",
};

static bool equals(struct text t, const char *s)
{
	return t.len == strlen(s) && memcmp(t.p, s, t.len) == 0;
}

static bool begins(struct text t, const char *s)
{
	return t.len >= strlen(s) && memcmp(t.p, s, strlen(s)) == 0;
}

static bool ends(struct text t, const char *s)
{
	return t.len >= strlen(s) && memcmp(t.p + t.len - strlen(s), s, strlen(s)) == 0;
}

static bool contains(struct text t, const char *s)
{
	return memmem(t.p, t.len, s, strlen(s)) != NULL;
}

/* Removes the next element from the front of a path and returns it; empty if there is none. */
static struct text next_element(struct text *path)
{
	struct text e;

	while (path->len > 0 && *path->p == '/') {
		path->p++;
		path->len--;
	}
	e = (struct text){path->p, 0};
	while (e.len < path->len && e.p[e.len] != '/')
		e.len++;
	path->p += e.len;
	path->len -= e.len;
	return e;
}

/* Returns true, for the convenience of its callers. */
static bool set(struct cgroup_path *ret, enum cgroup_kind kind, struct text id)
{
	ret->kind = kind;
	snprintf(ret->id, sizeof(ret->id), "%.*s",
		 (int)(id.len < CGROUP_ID_BYTES ? id.len : CGROUP_ID_BYTES), id.p);
	return true;
}

static bool is_hex(char ch)
{
	return (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'f');
}

/* Whether p starts with a container's id. */
static bool is_container_id(const char *p, const char *end)
{
	if (end - p < CGROUP_CONTAINER_ID_LEN)
		return false;
	for (int i = 0; i < CGROUP_CONTAINER_ID_LEN; i++) {
		if (!is_hex(p[i]))
			return false;
	}
	return end - p == CGROUP_CONTAINER_ID_LEN || !is_hex(p[CGROUP_CONTAINER_ID_LEN]);
}

static bool find_named_runtime(struct text path, struct cgroup_path *ret)
{
	const char *end = path.p + path.len;

	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		size_t len = strlen(runtimes[i].prefix);
		const char *p = path.p;

		while ((p = memmem(p, (size_t)(end - p), runtimes[i].prefix, len)) != NULL) {
			p += len;
			if (!is_container_id(p, end))
				continue;
			return set(ret, runtimes[i].kind,
				   (struct text){p, CGROUP_CONTAINER_ID_LEN});
		}
	}
	return false;
}

/*
 * cgroupfs driver: /kubepods/burstable/pod<uid>/<id>. A process in the pod's own cgroup has no
 * id.
 */
static bool find_in_pod(struct text path, struct cgroup_path *ret)
{
	struct text pod = {0}, e;

	while ((e = next_element(&path)).len > 0) {
		if (is_container_id(e.p, e.p + e.len)) {
			return set(ret, CGROUP_KUBEPODS,
				   (struct text){e.p, CGROUP_CONTAINER_ID_LEN});
		}
		if (contains(e, "pod") && !ends(e, "pods") && !ends(e, "pods.slice"))
			pod = e;
	}
	if (pod.len == 0)
		return false;
	/* kubepods-burstable-pod<uid>.slice of the systemd driver */
	if (ends(pod, ".slice"))
		pod.len -= strlen(".slice");
	for (size_t i = pod.len; i-- > 0;) {
		if (begins((struct text){pod.p + i, pod.len - i}, "-pod")) {
			pod = (struct text){pod.p + i + 1, pod.len - i - 1};
			break;
		}
	}
	return set(ret, CGROUP_KUBEPODS, pod);
}

/* The first unit below the slice: skips sub-slices and ignores a service's own children. */
static bool find_unit(struct text path, struct cgroup_path *ret)
{
	struct text slice = next_element(&path), e;
	bool known = false;

	for (size_t i = 0; i < ARRAY_SIZE(unit_slices); i++)
		known |= equals(slice, unit_slices[i]);
	while (known && (e = next_element(&path)).len > 0) {
		if (ends(e, ".scope")) /* transient, such as a login session: not a service */
			return false;
		if (!ends(e, ".service") && !ends(e, ".socket") && !ends(e, ".mount"))
			continue;
		ret->kind = CGROUP_SYSTEMD;
		snprintf(ret->id, sizeof(ret->id), "/%.*s/%.*s", (int)slice.len, slice.p,
			 (int)(e.len < CGROUP_ID_BYTES ? e.len : CGROUP_ID_BYTES), e.p);
		return true;
	}
	return false;
}

static bool find_other(struct text path, struct cgroup_path *ret)
{
	struct text first = next_element(&path), second = next_element(&path);

	if (equals(first, "init"))
		return set(ret, CGROUP_TALOS, first);
	if ((equals(first, "system") || equals(first, "podruntime")) && second.len > 0)
		return set(ret, CGROUP_TALOS, second);
	if ((equals(first, "lxc") || equals(first, "lxc.payload")) && second.len > 0)
		return set(ret, CGROUP_LXC, second);
	if (begins(first, "lxc.payload.") && first.len > strlen("lxc.payload.")) {
		first.p += strlen("lxc.payload.");
		first.len -= strlen("lxc.payload.");
		return set(ret, CGROUP_LXC, first);
	}
	return false;
}

static bool classify(struct text path, struct cgroup_path *ret)
{
	/* outside our own cgroup namespace */
	while (begins(path, "/.."))
		path = (struct text){path.p + 3, path.len - 3};
	if (path.len <= 1 || equals(path, "/init.scope"))
		return false;
	/* conmon monitors a container from outside */
	if (contains(path, "conmon-"))
		return false;
	if (find_named_runtime(path, ret))
		return true;
	if (contains(path, "kubepods"))
		return find_in_pod(path, ret);
	return find_unit(path, ret) || find_other(path, ret);
}

static bool has_controller(struct text list, const char *name)
{
	while (list.len > 0) {
		const char *comma = memchr(list.p, ',', list.len);
		size_t len = comma ? (size_t)(comma - list.p) : list.len;

		if (equals((struct text){list.p, len}, name))
			return true;
		len += comma != NULL;
		list = (struct text){list.p + len, list.len - len};
	}
	return false;
}

/* "4:cpu,cpuacct:/path" */
static void take_line(struct text line, struct paths *ret)
{
	const char *end = line.p + line.len, *first, *second;
	struct text list, path;

	first = memchr(line.p, ':', line.len);
	if (!first)
		return;
	second = memchr(first + 1, ':', (size_t)(end - first - 1));
	if (!second)
		return;
	list = (struct text){first + 1, (size_t)(second - first - 1)};
	path = (struct text){second + 1, (size_t)(end - second - 1)};
	if (list.len == 0)
		ret->unified = path;
	else if (has_controller(list, "cpu"))
		ret->cpu = path;
	else if (has_controller(list, "memory"))
		ret->memory = path;
	else if (has_controller(list, "name=systemd"))
		ret->systemd = path;
}

void cgroup_path_parse(const char *text, size_t len, struct cgroup_path *ret)
{
	const char *p = text, *end = text + len;
	struct paths paths = {{"", 0}, {"", 0}, {"", 0}, {"", 0}};
	const struct text *by_pod[] = {&paths.cpu, &paths.memory};
	const struct text *in_turn[] = {&paths.unified, &paths.cpu, &paths.memory, &paths.systemd};

	*ret = (struct cgroup_path){.kind = CGROUP_NONE};
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *line_end = newline ? newline : end;

		take_line((struct text){p, (size_t)(line_end - p)}, &paths);
		p = line_end + 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(by_pod); i++) {
		if (begins(*by_pod[i], "/kubepods") && classify(*by_pod[i], ret))
			return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(in_turn); i++) {
		if (classify(*in_turn[i], ret))
			return;
	}
}
