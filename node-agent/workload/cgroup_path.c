/*
 * The cgroup is the only fact about a process's container that needs no API: every runtime
 * puts the container's id into the path, each in its own way ("/docker/<id>",
 * "/system.slice/docker-<id>.scope", "/kubepods/burstable/pod<uid>/<id>" …).
 *
 * A path is read from its end, element by element, and the first element that is a container
 * wins. So a container in a container (kind, Docker in Docker, Docker in LXC) is the inner
 * one, cgroups that a container makes for itself do not matter, and neither does the slice
 * that somebody has configured around it all. An id must be 64 hex digits, except where the
 * element leaves no doubt otherwise: names that merely contain "docker-" are no containers.
 * What no rule recognises is CGROUP_NONE, never a guess.
 *
 * With cgroup v1 a process has one path per hierarchy, and they can disagree: Docker may
 * leave its containers in its own service in the unified hierarchy, a service may move only some
 * controllers. So a container in any hierarchy is preferred to a unit in any. Within either,
 * hierarchies are tried in the order in which they are likely to be right: the cpu and memory
 * hierarchies if they are kubelet's, as its limits are there; then v2; then cpu and memory of
 * anybody; then the others.
 */
#include "node-agent/workload/cgroup_path.h"

#define UUID_LEN 36
#define ECS_TASK_LEN 32 /* hex digits */

struct text {
	const char *p;
	size_t len;
};

/* The hierarchies that are read, in the order in which they are believed. */
enum hierarchy {
	UNIFIED,
	CPU,
	MEMORY,
	SYSTEMD,
	PIDS,
	FREEZER,
	HIERARCHY_MAX,
};

static const char *const controllers[HIERARCHY_MAX] = {
	[CPU] = "cpu",   [MEMORY] = "memory",   [SYSTEMD] = "name=systemd",
	[PIDS] = "pids", [FREEZER] = "freezer",
};

/* What precedes a container's id within its element. */
static const struct {
	const char *prefix;
	enum cgroup_kind kind;
} id_prefixes[] = {
	{"docker-", CGROUP_DOCKER},
	{"crio-", CGROUP_CRIO},
	{"cri-containerd-", CGROUP_CONTAINERD},
	{"libpod-", CGROUP_PODMAN},
	{"libpod-payload-", CGROUP_PODMAN},
	{"nerdctl-", CGROUP_CONTAINERD},
};

/* The element around one that is nothing but an id. */
static const struct {
	const char *parent;
	enum cgroup_kind kind;
} id_parents[] = {
	{"docker", CGROUP_DOCKER},        {"moby", CGROUP_DOCKER},
	{"k8s.io", CGROUP_CONTAINERD},    {"default", CGROUP_CONTAINERD},
	{"libpod_parent", CGROUP_PODMAN},
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

static struct text without_start(struct text t, size_t len)
{
	return (struct text){t.p + len, t.len - len};
}

static struct text without_end(struct text t, const char *s)
{
	return ends(t, s) ? (struct text){t.p, t.len - strlen(s)} : t;
}

/* Removes the next element from the front of a path and returns it; empty if there is none. */
static struct text next_element(struct text *path)
{
	struct text e;

	while (path->len > 0 && *path->p == '/')
		*path = without_start(*path, 1);
	e = (struct text){path->p, 0};
	while (e.len < path->len && e.p[e.len] != '/')
		e.len++;
	*path = without_start(*path, e.len);
	return e;
}

/* Removes the last element of a path and returns it; empty if there is none. */
static struct text last_element(struct text *path)
{
	size_t len, start;

	while (path->len > 0 && path->p[path->len - 1] == '/')
		path->len--;
	len = path->len;
	start = len;
	while (start > 0 && path->p[start - 1] != '/')
		start--;
	path->len = start > 0 ? start - 1 : 0;
	return (struct text){path->p + start, len - start};
}

static struct text parent_of(struct text path)
{
	return last_element(&path);
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

static bool is_digit(char ch)
{
	return ch >= '0' && ch <= '9';
}

static size_t span(struct text t, bool (*is)(char ch))
{
	size_t n = 0;

	while (n < t.len && is(t.p[n]))
		n++;
	return n;
}

static bool is_container_id(struct text t)
{
	return t.len == CGROUP_CONTAINER_ID_LEN && span(t, is_hex) == t.len;
}

static bool begins_with_uuid(struct text t)
{
	if (t.len < UUID_LEN)
		return false;
	for (size_t i = 0; i < UUID_LEN; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? t.p[i] != '-' : !is_hex(t.p[i]))
			return false;
	}
	return true;
}

static bool is_uid_char(char ch)
{
	return is_hex(ch) || ch == '-' || ch == '_';
}

/* "pod<uid>", "kubepods-burstable-pod<uid>.slice" → the uid; empty if e is no pod. */
static struct text pod_uid_of(struct text e)
{
	const char *colon = memchr(e.p, ':', e.len);
	struct text uid = {e.p, 0};

	if (colon) /* "kubepods-pod<uid>.slice:cri-containerd:<id>" */
		e.len = (size_t)(colon - e.p);
	e = without_end(e, ".slice");
	if (begins(e, "pod"))
		uid = without_start(e, strlen("pod"));
	for (size_t i = 0; i + strlen("-pod") < e.len; i++) {
		if (begins(without_start(e, i), "-pod"))
			uid = without_start(e, i + strlen("-pod"));
	}
	if (uid.len >= CGROUP_POD_UID_BYTES || span(uid, is_uid_char) != uid.len)
		uid.len = 0;
	return uid;
}

static void set_pod_uid(struct cgroup_path *ret, struct text uid)
{
	for (size_t i = 0; i < uid.len; i++)
		ret->pod_uid[i] = uid.p[i] == '_' ? '-' : uid.p[i];
	ret->pod_uid[uid.len] = '\0';
}

/* An element that names its runtime: "docker-<id>.scope", "<anything>:cri-containerd:<id>". */
static bool find_prefixed_id(struct text e, struct cgroup_path *ret)
{
	const char *colon = memrchr(e.p, ':', e.len);

	if (colon) {
		struct text before = {e.p, (size_t)(colon - e.p)};
		struct text id = without_start(e, before.len + 1);

		if (!is_container_id(id))
			return false;
		if (ends(before, ":cri-containerd"))
			return set(ret, CGROUP_CONTAINERD, id);
		return ends(before, ":docker") && set(ret, CGROUP_DOCKER, id);
	}
	e = without_end(e, ".scope");
	for (size_t i = 0; i < ARRAY_SIZE(id_prefixes); i++) {
		struct text id;

		if (!begins(e, id_prefixes[i].prefix))
			continue;
		id = without_start(e, strlen(id_prefixes[i].prefix));
		if (is_container_id(id))
			return set(ret, id_prefixes[i].kind, id);
	}
	return false;
}

/* An element that is an id, below before. */
static bool find_bare_id(struct text e, struct text before, struct cgroup_path *ret)
{
	struct text parent = parent_of(before);

	if (!is_container_id(e))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(id_parents); i++) {
		if (equals(parent, id_parents[i].parent))
			return set(ret, id_parents[i].kind, e);
	}
	if (contains(before, "kubepods") || pod_uid_of(parent).len > 0)
		return set(ret, CGROUP_KUBEPODS, e);
	return set(ret, begins(before, "/ecs/") ? CGROUP_DOCKER : CGROUP_CONTAINER, e);
}

/* Nomad's own drivers: "<allocation>.<task>.scope" in a slice of Nomad's. */
static bool find_nomad_task(struct text e, struct text before, struct cgroup_path *ret)
{
	struct text top = next_element(&before);

	e = without_end(e, ".scope");
	if ((!equals(top, "nomad.slice") && !equals(top, "nomad")) || !begins_with_uuid(e))
		return false;
	set(ret, CGROUP_NOMAD, e);
	if (e.len > UUID_LEN)
		ret->id[UUID_LEN] = '/';
	return true;
}

/* Copies a unit's name and replaces systemd's "\x2d" with "-". */
static size_t unescape(struct text t, char ret[static CGROUP_ID_BYTES])
{
	size_t len = 0;

	while (t.len > 0 && len < CGROUP_ID_BYTES - 1) {
		bool dash = begins(t, "\\x2d");

		ret[len++] = dash ? '-' : *t.p;
		t = without_start(t, dash ? strlen("\\x2d") : 1);
	}
	ret[len] = '\0';
	return len;
}

/* "machine-qemu\x2d1\x2dweb.scope" → "web"; the number counts the machine's starts. */
static bool find_machine(struct text e, struct text before, struct cgroup_path *ret)
{
	static const char *const hypervisors[] = {"qemu-", "lxc-"};
	struct text parent = parent_of(before), name;
	char plain[CGROUP_ID_BYTES];

	if (equals(parent, "qemu.slice") && ends(e, ".scope"))
		return set(ret, CGROUP_MACHINE, without_end(e, ".scope"));
	if (!equals(parent, "machine.slice"))
		return false;
	if (begins(e, "systemd-nspawn@") && ends(e, ".service"))
		name = without_end(without_start(e, strlen("systemd-nspawn@")), ".service");
	else if (begins(e, "machine-") && ends(e, ".scope"))
		name = without_end(without_start(e, strlen("machine-")), ".scope");
	else
		return false;
	name = (struct text){plain, unescape(name, plain)};
	for (size_t i = 0; i < ARRAY_SIZE(hypervisors); i++) {
		struct text number;
		size_t digits;

		if (!begins(name, hypervisors[i]))
			continue;
		number = without_start(name, strlen(hypervisors[i]));
		digits = span(number, is_digit);
		if (digits > 0 && number.len > digits + 1 && number.p[digits] == '-')
			name = without_start(number, digits + 1);
	}
	return name.len > 0 && set(ret, CGROUP_MACHINE, name);
}

/* Containers that are known by a name and not by 64 hex digits. */
static bool find_named_container(struct text e, struct text before, struct cgroup_path *ret)
{
	struct text parent = parent_of(before), name;

	if (begins(e, "lxc.payload.") && e.len > strlen("lxc.payload."))
		return set(ret, CGROUP_LXC, without_start(e, strlen("lxc.payload.")));
	if (equals(parent, "lxc") || equals(parent, "lxc.payload"))
		return set(ret, CGROUP_LXC, e);
	/* started by ctr, or by runc or crun alone */
	if (equals(before, "/default") || equals(before, "/k8s.io"))
		return set(ret, CGROUP_CONTAINERD, e);
	name = without_end(e, ".scope");
	if (name.len < e.len && name.len > 5 && (begins(e, "runc-") || begins(e, "crun-")))
		return set(ret, CGROUP_CONTAINER, without_start(name, 5));
	/* Fargate: "/ecs/<task>-<number>", "/ecs/<task>/<task>-<number>" */
	if ((equals(before, "/ecs") || begins(before, "/ecs/")) && e.len > ECS_TASK_LEN + 1 &&
	    e.p[ECS_TASK_LEN] == '-' && span(e, is_hex) == ECS_TASK_LEN)
		return set(ret, CGROUP_CONTAINER, e);
	return find_nomad_task(e, before, ret) || find_machine(e, before, ret);
}

/*
 * The innermost container. relative: the path begins outside our cgroup namespace, so that
 * "kubepods" may be missing from it.
 */
static bool find_container(struct text path, bool relative, struct cgroup_path *ret)
{
	bool in_kubepods = relative || contains(path, "kubepods"), found = false, conmon = false;
	struct text e, before = path, uid;

	while (!found && (e = last_element(&before)).len > 0) {
		/* conmon monitors a container of the pod from outside */
		conmon |= begins(e, "crio-conmon-") || begins(e, "libpod-conmon-");
		found = find_prefixed_id(e, ret) || find_bare_id(e, before, ret) ||
			find_named_container(e, before, ret);
		if (!in_kubepods || ret->pod_uid[0])
			continue;
		uid = pod_uid_of(e);
		set_pod_uid(ret, uid);
		if (uid.len == 0 || found)
			continue;
		if (conmon)
			break;
		found = set(ret, CGROUP_KUBEPODS, (struct text){"pod", 3});
		snprintf(ret->id + 3, sizeof(ret->id) - 3, "%s", ret->pod_uid);
	}
	/* the pod around the container */
	while (found && in_kubepods && !ret->pod_uid[0] && (e = last_element(&before)).len > 0)
		set_pod_uid(ret, pod_uid_of(e));
	if (!found)
		ret->pod_uid[0] = '\0';
	return found;
}

static bool is_unit(struct text e)
{
	return ends(e, ".service") || ends(e, ".socket") || ends(e, ".mount");
}

/* systemd-run makes a new name for each run: "run-u12", "run-p71-i72", "run-r<32 hex digits>". */
static bool is_transient(struct text e)
{
	struct text rest;

	if (!begins(e, "run-"))
		return false;
	rest = without_start(e, strlen("run-"));
	if (begins(rest, "r"))
		return span(without_start(rest, 1), is_hex) == 32;
	return (begins(rest, "u") || begins(rest, "p")) &&
	       span(without_start(rest, 1), is_digit) > 0;
}

/*
 * "user@1000.service/…": which unit. Returns whether the path decides, which that of a session
 * ("user-1000.slice/session-2.scope") does, though it is no unit.
 */
static bool find_in_user_slice(struct text path, struct cgroup_path *ret)
{
	bool manager = false;
	struct text e;

	while ((e = next_element(&path)).len > 0) {
		/* terminals and tmux make a scope for each of their shells */
		if (ends(e, ".scope"))
			return begins(e, "session-") || contains(e, "-spawn-");
		if (begins(e, "user@") && ends(e, ".service")) {
			manager = true;
		} else if (manager && is_unit(e)) {
			/* a desktop's applications have a new unit per start */
			if (is_transient(e) || begins(e, "app-"))
				return false;
			ret->kind = CGROUP_SYSTEMD;
			snprintf(ret->id, sizeof(ret->id), "/user.slice/%.*s",
				 (int)(e.len < CGROUP_ID_BYTES ? e.len : CGROUP_ID_BYTES), e.p);
			return true;
		}
	}
	return false;
}

/*
 * The first unit: skips sub-slices and ignores a service's own children. A scope is transient
 * and not a service.
 */
static bool find_unit(struct text path, struct cgroup_path *ret)
{
	struct text slice = next_element(&path), e = slice;

	if (equals(slice, "user.slice"))
		return find_in_user_slice(path, ret);
	if (ends(slice, ".slice"))
		e = next_element(&path);
	else
		slice.len = 0;
	while (e.len > 0 && ends(e, ".slice"))
		e = next_element(&path);
	if (!is_unit(e) || is_transient(e))
		return false;
	ret->kind = CGROUP_SYSTEMD;
	snprintf(ret->id, sizeof(ret->id), "%s%.*s/%.*s", slice.len > 0 ? "/" : "",
		 (int)(slice.len < CGROUP_ID_BYTES ? slice.len : CGROUP_ID_BYTES), slice.p,
		 (int)(e.len < CGROUP_ID_BYTES ? e.len : CGROUP_ID_BYTES), e.p);
	return true;
}

static bool find_talos_service(struct text path, struct cgroup_path *ret)
{
	struct text first = next_element(&path), second = next_element(&path);

	if (equals(first, "init"))
		return set(ret, CGROUP_TALOS, first);
	return (equals(first, "system") || equals(first, "podruntime")) && second.len > 0 &&
	       set(ret, CGROUP_TALOS, second);
}

/* Removes the part of a path that leads out of our own cgroup namespace. */
static struct text inside(struct text path)
{
	while (begins(path, "/.."))
		path = without_start(path, 3);
	return path;
}

static bool find_service(struct text path, struct cgroup_path *ret)
{
	path = inside(path);
	return find_unit(path, ret) || find_talos_service(path, ret);
}

static bool has_controller(struct text list, const char *name)
{
	while (list.len > 0) {
		const char *comma = memchr(list.p, ',', list.len);
		size_t len = comma ? (size_t)(comma - list.p) : list.len;

		if (equals((struct text){list.p, len}, name))
			return true;
		list = without_start(list, len + (comma != NULL));
	}
	return false;
}

/* "4:cpu,cpuacct:/path" */
static void take_line(struct text line, struct text paths[static HIERARCHY_MAX])
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
	if (list.len == 0) {
		paths[UNIFIED] = path;
		return;
	}
	for (size_t i = 0; i < HIERARCHY_MAX; i++) {
		if (controllers[i] && has_controller(list, controllers[i]))
			paths[i] = path;
	}
}

void cgroup_path_parse(const char *text, size_t len, struct cgroup_path *ret)
{
	static const enum hierarchy kubelets[] = {CPU, MEMORY};
	struct text rest = {text, strnlen(text, len)}, paths[HIERARCHY_MAX];

	for (size_t i = 0; i < HIERARCHY_MAX; i++)
		paths[i] = (struct text){"", 0};
	*ret = (struct cgroup_path){.kind = CGROUP_NONE};
	while (rest.len > 0) {
		const char *newline = memchr(rest.p, '\n', rest.len);
		size_t line_len = newline ? (size_t)(newline - rest.p) : rest.len;

		take_line((struct text){rest.p, line_len}, paths);
		rest = without_start(rest, line_len + (newline != NULL));
	}
	for (size_t i = 0; i < ARRAY_SIZE(kubelets); i++) {
		struct text path = paths[kubelets[i]];

		if (contains(path, "kubepods") &&
		    find_container(inside(path), begins(path, "/.."), ret))
			return;
	}
	for (size_t i = 0; i < HIERARCHY_MAX; i++) {
		if (find_container(inside(paths[i]), begins(paths[i], "/.."), ret))
			return;
	}
	for (size_t i = 0; i < HIERARCHY_MAX; i++) {
		if (find_service(paths[i], ret))
			return;
	}
}
