/*
 * Scanning the host's root for sockets, on a thread of its own.
 *
 * A path below the host's root belongs to others: /var/run may be an absolute link, which must
 * lead into the host's root and not ours (openat2, RESOLVE_IN_ROOT), and anything may be mounted
 * there, even a file system that never answers. If the thread hangs, no more sockets are found,
 * but those that it has found stay usable. Places that a user controls are read last, and
 * nothing there is followed: no links and no mounts, so a user cannot make the thread hang.
 *
 * The thread opens each socket with O_PATH, and connect(2) to /proc/self/fd/<n> reaches it,
 * whatever has become of its path. A new socket at the same place takes over the number by
 * dup3(2), which is atomic, so whoever connects to a slot never learns of it.
 *
 * All that is shared with the loop thread is the number of published slots; a published slot
 * does not change.
 */
#include "node-agent/container/runtime_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/system/clock.h"
#include "common/system/fs.h"
#include "common/telemetry/log.h"
#include "common/text/parse.h"
#include "common/thread/deadline_call.h"
#include "common/thread/worker_thread.h"
#include "node-agent/files/file_finder.h"

#define PATH_BYTES 512
#define DEFAULT_INTERVAL_NS (5 * NS_PER_S)
#define JOIN_NS (2 * NS_PER_S)
#define CHECK_NS (2 * NS_PER_S)
/* Users whose folders are read in one scan. */
#define MAX_USERS 256

struct place {
	const char *runtime;
	enum runtime_api api;
	const char *path;
};

/*
 * By priority. A second path to the same socket (/var/run is a link to /run nearly everywhere)
 * is recognised and skipped.
 */
static const struct place places[] = {
	{"containerd", RUNTIME_API_CRI, "/run/containerd/containerd.sock"},
	{"containerd", RUNTIME_API_CRI, "/run/k3s/containerd/containerd.sock"}, /* and RKE2 */
	{"containerd", RUNTIME_API_CRI, "/run/k0s/containerd.sock"},
	{"containerd", RUNTIME_API_CRI, "/var/run/containerd/containerd.sock"},
	{"cri-o", RUNTIME_API_CRI, "/run/crio/crio.sock"},
	{"cri-o", RUNTIME_API_CRI, "/var/run/crio/crio.sock"},
	{"cri-dockerd", RUNTIME_API_CRI, "/run/cri-dockerd.sock"},
	{"cri-dockerd", RUNTIME_API_CRI, "/var/run/cri-dockerd.sock"},
	{"cri", RUNTIME_API_CRI, "/run/dockershim.sock"}, /* Bottlerocket: containerd's */
	{"cri", RUNTIME_API_CRI, "/var/run/dockershim.sock"},
	{"docker", RUNTIME_API_DOCKER, "/run/docker.sock"},
	{"docker", RUNTIME_API_DOCKER, "/var/run/docker.sock"},
	{"docker", RUNTIME_API_DOCKER, "/run/balena-engine.sock"},
	{"podman", RUNTIME_API_DOCKER, "/run/podman/podman.sock"},
	{"podman", RUNTIME_API_DOCKER, "/var/run/podman/podman.sock"},
	{"containerd", RUNTIME_API_CRI, "/var/snap/microk8s/common/run/containerd.sock"},
};

/* Below /run/user/<uid>. */
static const struct place user_places[] = {
	{"docker", RUNTIME_API_DOCKER, "docker.sock"},
	{"podman", RUNTIME_API_DOCKER, "podman/podman.sock"},
};

/* Identity of a socket: a new one at the same path may have the same inode number. */
struct identity {
	dev_t dev;
	ino_t ino;
	int64_t changed_ns;
};

struct slot {
	struct runtime_socket socket;
	int fd;
	struct identity identity;
	char path[PATH_BYTES];
	char connect[32];
};

/* Owned by the thread, which frees it if it is abandoned. */
struct scan {
	char host_root[PATH_BYTES];
	char cri_socket[PATH_BYTES]; /* "" if not configured */
	uint64_t interval_ns;
	struct worker_thread *self;
	struct loop_source *wake; /* used between worker_thread_enter() and leave() only */
	bool warned;
	atomic_uint n_published;
	struct slot slots[RUNTIME_SOCKETS_MAX];
};

struct runtime_sockets {
	struct runtime_sockets_config cfg;
	struct loop_source *wake;
	struct loop_source *retry;
	struct worker_thread *thread;
	struct scan *scan;
	unsigned n_reported;
};

const char *runtime_sockets_host_root(void)
{
	struct stat own, host;

	if (stat("/", &own) < 0 || stat("/proc/1/root/", &host) < 0)
		return "/";
	return own.st_dev == host.st_dev && own.st_ino == host.st_ino ? "/" : "/proc/1/root";
}

/* ---- the thread ----------------------------------------------------------------------------- */

static int open_path(int at_fd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags, .resolve = resolve};

	return (int)syscall(SYS_openat2, at_fd, path, &how, sizeof(how));
}

static bool same_socket(const struct identity *a, const struct identity *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->changed_ns == b->changed_ns;
}

/* The slot of a path, or an empty one; NULL if all are taken. */
static struct slot *slot_of(struct scan *s, const char *path)
{
	unsigned n = atomic_load_explicit(&s->n_published, memory_order_relaxed);

	for (unsigned i = 0; i < n; i++)
		if (strcmp(s->slots[i].path, path) == 0)
			return &s->slots[i];
	return n < RUNTIME_SOCKETS_MAX ? &s->slots[n] : NULL;
}

static bool has_other_slot(const struct scan *s, const struct slot *own, const struct identity *id)
{
	unsigned n = atomic_load_explicit(&s->n_published, memory_order_relaxed);

	for (unsigned i = 0; i < n; i++)
		if (&s->slots[i] != own && same_socket(&s->slots[i].identity, id))
			return true;
	return false;
}

static void publish(struct scan *s)
{
	atomic_fetch_add_explicit(&s->n_published, 1, memory_order_release);
	if (!worker_thread_enter(s->self))
		return;
	loop_wake(s->wake);
	worker_thread_leave(s->self);
}

/* Takes over fd_adopt, which is at path. owner: whose it must be. */
static void add_socket(struct scan *s, const struct place *p, const char *path, int fd_adopt,
		       uid_t owner)
{
	AUTO_CLOSE int fd = fd_adopt;
	struct slot *slot = slot_of(s, path);
	struct identity id;
	struct stat st;

	if (!slot || fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode) ||
	    (owner != 0 && st.st_uid != owner))
		return;
	id = (struct identity){st.st_dev, st.st_ino,
			       st.st_ctim.tv_sec * (int64_t)NS_PER_S + st.st_ctim.tv_nsec};
	if (has_other_slot(s, slot, &id) || (slot->fd >= 0 && same_socket(&slot->identity, &id)))
		return;
	slot->identity = id;
	if (slot->fd >= 0) {
		if (dup3(fd, slot->fd, O_CLOEXEC) < 0)
			slot->identity = (struct identity){0};
		return;
	}
	slot->fd = TAKE_FD(fd);
	snprintf(slot->path, sizeof(slot->path), "%s", path);
	snprintf(slot->connect, sizeof(slot->connect), "/proc/self/fd/%d", slot->fd);
	slot->socket =
		(struct runtime_socket){p->runtime, p->api, slot->path, slot->connect, owner != 0};
	publish(s);
}

static bool try_place(struct scan *s, const struct place *p, int root_fd)
{
	int fd = open_path(root_fd, p->path, 0, RESOLVE_IN_ROOT);

	if (fd < 0)
		return false;
	add_socket(s, p, p->path, fd, 0);
	return true;
}

/* The folder of a user: neither links nor mounts in it are followed. */
static void scan_user(struct scan *s, int users_fd, const char *uid_text)
{
	const uint64_t strict = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
	AUTO_CLOSE int dir_fd = -1;
	uint64_t uid;

	if (parse_u64(uid_text, strlen(uid_text), 0, UINT32_MAX - 1, &uid) < 0)
		return;
	dir_fd = open_path(users_fd, uid_text, O_DIRECTORY, strict);
	if (dir_fd < 0 || !local_fs_has(dir_fd))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(user_places); i++) {
		char path[PATH_BYTES];
		int fd = open_path(dir_fd, user_places[i].path, 0, strict | RESOLVE_NO_XDEV);

		if (fd < 0)
			continue;
		snprintf(path, sizeof(path), "/run/user/%s/%s", uid_text, user_places[i].path);
		add_socket(s, &user_places[i], path, fd, (uid_t)uid);
	}
}

struct user_scan {
	struct scan *scan;
	int users_fd;
	int n;
};

static int see_user(void *ctx, const char *name)
{
	struct user_scan *u = ctx;

	if (name[0] == '.')
		return 0;
	scan_user(u->scan, u->users_fd, name);
	return ++u->n == MAX_USERS;
}

static void scan_users(struct scan *s, int root_fd)
{
	AUTO_CLOSE int users_fd = open_path(root_fd, "/run/user", O_DIRECTORY, RESOLVE_IN_ROOT);
	struct user_scan u = {.scan = s, .users_fd = users_fd};

	if (users_fd >= 0)
		(void)fs_each_name(users_fd, see_user, &u);
}

/* --cri-socket: below the host's root, or as the agent itself sees it. */
static void scan_configured(struct scan *s, int root_fd)
{
	const struct place p = {"cri", RUNTIME_API_CRI, s->cri_socket};
	AUTO_CLOSE int own_fd = -1;

	if (root_fd >= 0 && try_place(s, &p, root_fd))
		return;
	own_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (own_fd >= 0 && try_place(s, &p, own_fd))
		return;
	if (!s->warned)
		log_warn("--cri-socket does not exist yet; looking for it every few seconds",
			 "path=%s", LOG_QUOTED(s->cri_socket));
	s->warned = true;
}

static void scan_all(struct scan *s)
{
	AUTO_CLOSE int root_fd = open(s->host_root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (s->cri_socket[0])
		scan_configured(s, root_fd);
	if (root_fd < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i].api != RUNTIME_API_CRI || !s->cri_socket[0])
			(void)try_place(s, &places[i], root_fd);
	scan_users(s, root_fd);
}

static void run(void *ctx, struct worker_thread *t)
{
	struct scan *s = ctx;

	s->self = t;
	while (!worker_thread_must_end(t)) {
		scan_all(s);
		worker_thread_wait(t, s->interval_ns);
	}
}

static void scan_free(struct scan *s)
{
	for (size_t i = 0; i < RUNTIME_SOCKETS_MAX; i++)
		closep(&s->slots[i].fd);
	free(s);
}

DEFINE_CLEANUP(struct scan *, scan_free);

static void free_scan(void *ctx, bool abandoned)
{
	(void)abandoned;
	scan_free(ctx);
}

/* ---- the owner ------------------------------------------------------------------------------ */

static void report_found(void *ctx)
{
	struct runtime_sockets *r = ctx;

	while (r->n_reported < atomic_load_explicit(&r->scan->n_published, memory_order_acquire)) {
		if (r->cfg.found(r->cfg.ctx, &r->scan->slots[r->n_reported].socket) < 0) {
			loop_set_timer(r->retry, r->scan->interval_ns);
			return;
		}
		r->n_reported++;
	}
}

static const char *without_scheme(const char *cri_socket)
{
	static const char scheme[] = "unix://";

	return strncmp(cri_socket, scheme, strlen(scheme)) == 0 ? cri_socket + strlen(scheme)
								: cri_socket;
}

static int scan_new(struct scan **ret, const struct runtime_sockets_config *cfg)
{
	const char *root = cfg->host_root ? cfg->host_root : runtime_sockets_host_root();
	CLEANUP(scan_freep) struct scan *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < RUNTIME_SOCKETS_MAX; i++)
		s->slots[i].fd = -1;
	snprintf(s->host_root, sizeof(s->host_root), "%s", root);
	if (cfg->cri_socket)
		snprintf(s->cri_socket, sizeof(s->cri_socket), "%s",
			 without_scheme(cfg->cri_socket));
	s->interval_ns = cfg->interval_ns ? cfg->interval_ns : DEFAULT_INTERVAL_NS;
	*ret = TAKE_PTR(s);
	return 0;
}

int runtime_sockets_new(struct runtime_sockets **ret, const struct runtime_sockets_config *cfg)
{
	CLEANUP(runtime_sockets_freep) struct runtime_sockets *r = calloc(1, sizeof(*r));
	CLEANUP(scan_freep) struct scan *s = NULL;
	struct worker_thread_config thread = {.name = "sockets", .run = run, .free = free_scan};
	int result;

	if (!r)
		return -ENOMEM;
	r->cfg = *cfg;
	result = scan_new(&s, cfg);
	if (result == 0)
		result = loop_add_wake(cfg->loop, report_found, r, &r->wake);
	if (result == 0)
		result = loop_add_timer(cfg->loop, report_found, r, &r->retry);
	if (result < 0)
		return result;
	s->wake = r->wake;
	thread.ctx = s;
	result = worker_thread_start(&r->thread, &thread);
	if (result < 0)
		return result;
	r->scan = TAKE_PTR(s);
	*ret = TAKE_PTR(r);
	return 0;
}

void runtime_sockets_free(struct runtime_sockets *r)
{
	if (!r)
		return;
	if (r->thread && worker_thread_join(r->thread, JOIN_NS) < 0)
		worker_thread_abandon(r->thread);
	loop_remove(r->wake);
	loop_remove(r->retry);
	free(r);
}

/* ---- check ---------------------------------------------------------------------------------- */

struct check_job {
	struct deadline_job job;
	char host_root[PATH_BYTES];
	char path[PATH_BYTES];
	bool other_kind; /* something is there that is no socket */
};

static void free_check(struct deadline_job *j)
{
	free(j);
}

static void run_check(struct deadline_job *j)
{
	struct check_job *c = (struct check_job *)j;
	const char *const roots[] = {c->host_root, "/"};

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		AUTO_CLOSE int root_fd = open(roots[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		AUTO_CLOSE int fd =
			root_fd < 0 ? -1 : open_path(root_fd, c->path, 0, RESOLVE_IN_ROOT);
		struct stat st;

		if (fd < 0 || fstat(fd, &st) < 0)
			continue;
		c->other_kind = !S_ISSOCK(st.st_mode);
		return;
	}
}

/* Returns false if the file system does not answer, too. */
static bool is_other_kind(const char *path, const char *host_root)
{
	CLEANUP(deadline_caller_freep) struct deadline_caller *caller = NULL;
	struct check_job *c;
	bool other;

	if (deadline_caller_new(&caller, CHECK_NS, 0) < 0)
		return false;
	c = calloc(1, sizeof(*c));
	if (!c)
		return false;
	c->job = (struct deadline_job){.run = run_check, .free = free_check};
	snprintf(c->host_root, sizeof(c->host_root), "%s", host_root);
	snprintf(c->path, sizeof(c->path), "%s", path);
	if (deadline_call(caller, &c->job) < 0)
		return false;
	other = c->other_kind;
	free(c);
	return other;
}

int runtime_sockets_check(const char *cri_socket, const char *host_root, struct err *err)
{
	const char *path = without_scheme(cri_socket);
	size_t len = strlen(path);

	if (path[0] != '/' || len < 2 || path[len - 1] == '/')
		return err_set(err, -EINVAL,
			       "--cri-socket: \"%.100s\" is not the absolute path of a socket",
			       cri_socket);
	if (len >= PATH_BYTES)
		return err_set(err, -EINVAL, "--cri-socket: the path is longer than %d bytes",
			       PATH_BYTES - 1);
	if (is_other_kind(path, host_root ? host_root : runtime_sockets_host_root()))
		return err_set(err, -EINVAL, "--cri-socket: \"%.100s\" is not a socket",
			       cri_socket);
	return 0;
}
