/*
 * A decision is made once per container and again when its name changes, never per sample. A
 * sample costs one comparison while nothing is excluded, and one lookup by pid otherwise;
 * samples of what is excluded mostly do not arrive.
 *
 * A cgroup is excluded by its number only if its path, in the very hierarchy that numbers are
 * of, names the workload, and if the directory at that path has the number. Anything else may
 * be shared: the root, a parent that runtimes were told to use for all containers, a v1
 * hierarchy that a runtime does not use. The number in the sample alone proves nothing, because
 * a process is moved into its container's cgroup after it was created in another one.
 */
#include "node-agent/sample/exclusions.h"

#include <errno.h>
#include <fcntl.h>

#include "common/data/buf.h"
#include "common/data/table.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "node-agent/process/environ_verdicts.h"
#include "node-agent/procfs/procfs.h"

#define CGROUP_MAX_BYTES 65536
#define KEY_BYTES (WORKLOAD_NAME_BYTES + 16)
#define RECHECK_NS (30 * NS_PER_S)
#define RECHECKS_PER_UPDATE 1024 /* about 15 ms */

/* A workload with sampled processes or excluded cgroups. */
struct group {
	UT_hash_handle hh; /* by key */
	char key[KEY_BYTES];
	struct workload *raw;
	bool excluded;
	size_t n_processes;
	size_t n_cgroups;
};

/* A sampled process. */
struct process {
	UT_hash_handle hh; /* by pid */
	pid_t pid;
	uint64_t start_time;
	struct group *group;
	bool checked; /* the environment of its program was read */
	/* its environment excludes it; until that is read, its last program's or ancestor's */
	bool by_environ;
	bool in_kernel; /* excluded there by `id` */
	struct sampler_process id;
	uint64_t excluded_ns; /* if in_kernel: since when, on clock_monotonic_ns() */
	uint64_t recheck_ns;  /* if in_kernel: when it is decided again */
	uint64_t cgroup_id;   /* excluded there; 0: none */
	bool overflow;        /* the kernel's maps were full; retried at the next update */
};

/* Excluded in the kernel. */
struct cgroup {
	UT_hash_handle hh; /* by id */
	uint64_t id;
	struct group *group;
	char path[]; /* in the hierarchy */
};

struct exclusions {
	struct exclusions_config cfg;
	int root_fd;
	struct environ_verdicts *environ;
	struct process_listener on_process;
	struct container_listener on_name;
	struct group *groups;
	struct process *processes;
	struct cgroup *cgroups;
	size_t n_excluding; /* excluded groups, and processes excluded by their environment */
	struct exclusions_stats stats;
};

/* ---- in the kernel ---- */

static void include_process(struct exclusions *x, struct process *p)
{
	if (p->in_kernel) {
		sampler_include_process(x->cfg.sampler, &p->id);
		x->stats.processes--;
	}
	p->in_kernel = false;
	p->cgroup_id = 0;
	p->overflow = false;
}

static void include_cgroup(struct exclusions *x, struct cgroup *c)
{
	sampler_include_cgroup(x->cfg.sampler, c->id);
	x->stats.cgroups--;
	c->group->n_cgroups--;
	HASH_DEL(x->cgroups, c);
	table_free(c);
}

static int add_cgroup(struct exclusions *x, struct group *g, uint64_t id, const char *path)
{
	size_t size = strlen(path) + 1;
	struct cgroup *c = table_malloc(sizeof(*c) + size);
	int r;

	if (!c)
		return -ENOMEM;
	*c = (struct cgroup){.id = id, .group = g};
	memcpy(c->path, path, size);
	HASH_ADD(hh, x->cgroups, id, sizeof(c->id), c);
	if (!TABLE_ADDED(hh, c)) {
		table_free(c);
		return -ENOMEM;
	}
	g->n_cgroups++;
	x->stats.cgroups++;
	r = sampler_exclude_cgroup(x->cfg.sampler, id);
	if (r < 0)
		include_cgroup(x, c);
	return r;
}

/* Whether the cgroup alone names the same workload as all that is known about the process. */
static bool cgroup_names(const struct cgroup_path *cgroup, const struct workload *raw)
{
	CLEANUP(workload_unrefp) struct workload *w = NULL;
	const struct workload_facts facts = {.cgroup = *cgroup, .exe = "", .comm = ""};

	return cgroup->kind != CGROUP_NONE && workload_new(&w, &facts) == 0 &&
	       w->kind == raw->kind && strcmp(w->runtime_id, raw->runtime_id) == 0 &&
	       workload_compare(w, raw) == 0;
}

static bool path_names(const char *path, const struct workload *raw)
{
	char line[CGROUP_HIERARCHY_PATH_BYTES + 8];
	int len = snprintf(line, sizeof(line), "0::%s\n", path);
	struct cgroup_path cgroup;

	cgroup_path_parse(line, (size_t)len, &cgroup);
	return cgroup_names(&cgroup, raw);
}

/* Returns 0, -EINVAL if it is not known to be the workload's alone, or another -errno. */
static int exclude_cgroup(struct exclusions *x, struct process *p, uint64_t id)
{
	AUTO_CLOSE int fd = procfs_open_process(x->root_fd, p->pid);
	char path[CGROUP_HIERARCHY_PATH_BYTES];
	CLEANUP(buf_fini) struct buf text;
	struct cgroup *known;
	int r;

	buf_init(&text, CGROUP_MAX_BYTES);
	HASH_FIND(hh, x->cgroups, &id, sizeof(id), known);
	if (known)
		return known->group == p->group ? 0 : -EINVAL;
	if (fd < 0 || p->group->raw->kind == CGROUP_NONE || id == 0)
		return -EINVAL;
	r = fs_read_at(fd, "cgroup", &text);
	if (r == 0)
		r = cgroup_hierarchy_parse(cgroup_hierarchy_kind(x->cfg.hierarchy),
					   text.data ? text.data : "", text.len, path);
	if (r < 0)
		return r;
	if (!path_names(path, p->group->raw) || cgroup_hierarchy_id(x->cfg.hierarchy, path) != id)
		return -EINVAL;
	return add_cgroup(x, p->group, id, path);
}

static void exclude_process(struct exclusions *x, struct process *p, const struct sample_event *e)
{
	AUTO_CLOSE int fd = procfs_open_process(x->root_fd, p->pid);

	if (fd < 0) /* it has exited: these are its last samples */
		return;
	p->id = (struct sampler_process){.tgid = e->header.tgid,
					 .start_boottime_ns = e->header.start_boottime_ns};
	if (sampler_exclude_process(x->cfg.sampler, &p->id) < 0) {
		p->overflow = true;
		x->stats.overflow++;
		return;
	}
	p->in_kernel = true;
	p->excluded_ns = clock_monotonic_ns();
	p->recheck_ns = p->excluded_ns + x->cfg.recheck_ns;
	x->stats.processes++;
}

/* Its next sample makes a snapshot, by which it is decided again. Until then all stays as it is. */
static void reconsider(struct exclusions *x, struct process *p)
{
	p->checked = false;
	include_process(x, p);
	process_table_reread(x->cfg.processes, p->pid);
}

/* Samples that were under way arrive after the exclusion: then there is nothing left to do. */
static void exclude_in_kernel(struct exclusions *x, struct process *p, const struct sample_event *e)
{
	if (p->in_kernel && e->header.ktime_ns > p->excluded_ns) {
		/* the kernel ended the exclusion at an exec, whose event was lost */
		environ_verdicts_exec(x->environ, p->pid);
		reconsider(x, p);
		return;
	}
	if (p->in_kernel || p->overflow || (p->cgroup_id != 0 && p->cgroup_id == e->cgroup_id))
		return;
	if (p->group->excluded && exclude_cgroup(x, p, e->cgroup_id) == 0)
		p->cgroup_id = e->cgroup_id;
	else
		exclude_process(x, p, e);
}

/* ---- workloads ---- */

static void make_key(const struct workload *w, char ret[static KEY_BYTES])
{
	/* containers of different runtimes may have one id: some ids are names */
	snprintf(ret, KEY_BYTES, "%d %s", (int)w->kind,
		 w->runtime_id[0] ? w->runtime_id : w->container_id);
}

static struct group *find_group(const struct exclusions *x, const struct workload *w)
{
	char key[KEY_BYTES];
	struct group *g;

	make_key(w, key);
	HASH_FIND_STR(x->groups, key, g);
	return g;
}

static void set_excluded(struct exclusions *x, struct group *g, bool excluded)
{
	struct cgroup *c, *next;

	if (g->excluded == excluded)
		return;
	g->excluded = excluded;
	x->n_excluding += excluded ? 1 : (size_t)-1;
	if (excluded)
		return;
	for (c = x->cgroups; c; c = next) {
		next = c->hh.next;
		if (c->group == g)
			include_cgroup(x, c);
	}
	for (struct process *p = x->processes; p; p = p->hh.next) {
		if (p->group == g && !p->by_environ)
			include_process(x, p);
	}
}

/* Until a container has its name, what was decided before stays. */
static void decide(struct exclusions *x, struct group *g)
{
	CLEANUP(workload_unrefp) struct workload *named = NULL;

	if (container_directory_name(x->cfg.directory, g->raw, &named) == 0)
		set_excluded(x, g, profile_filter_excludes(x->cfg.filter, named));
}

static void release_group(struct exclusions *x, struct group *g)
{
	if (g->n_processes > 0 || g->n_cgroups > 0)
		return;
	set_excluded(x, g, false);
	HASH_DEL(x->groups, g);
	workload_unref(g->raw);
	table_free(g);
}

static struct group *require_group(struct exclusions *x, struct workload *raw)
{
	struct group *g = find_group(x, raw);

	if (g)
		return g;
	g = table_malloc(sizeof(*g));
	if (!g)
		return NULL;
	*g = (struct group){.raw = raw};
	make_key(raw, g->key);
	HASH_ADD_STR(x->groups, key, g);
	if (!TABLE_ADDED(hh, g)) {
		table_free(g);
		return NULL;
	}
	workload_ref(raw);
	decide(x, g);
	return g;
}

/* ---- processes ---- */

static struct process *find_process(const struct exclusions *x, pid_t pid)
{
	struct process *p;

	HASH_FIND(hh, x->processes, &pid, sizeof(pid), p);
	return p;
}

static void set_by_environ(struct exclusions *x, struct process *p, bool by_environ)
{
	if (p->by_environ == by_environ)
		return;
	p->by_environ = by_environ;
	x->n_excluding += by_environ ? 1 : (size_t)-1;
	if (!by_environ)
		include_process(x, p);
}

static void drop_process(struct exclusions *x, struct process *p)
{
	set_by_environ(x, p, false);
	include_process(x, p);
	HASH_DEL(x->processes, p);
	p->group->n_processes--;
	release_group(x, p->group);
	table_free(p);
}

static struct process *add_process(struct exclusions *x, const struct process_snapshot *s)
{
	struct process *p = table_malloc(sizeof(*p));
	struct group *g = p ? require_group(x, s->workload) : NULL;

	if (!g) {
		table_free(p);
		return NULL;
	}
	*p = (struct process){.pid = s->pid, .start_time = s->start_time, .group = g};
	HASH_ADD(hh, x->processes, pid, sizeof(p->pid), p);
	if (!TABLE_ADDED(hh, p)) {
		table_free(p);
		release_group(x, g);
		return NULL;
	}
	g->n_processes++;
	return p;
}

static void check_environ(struct exclusions *x, struct process *p, const struct process_snapshot *s)
{
	enum environ_verdict v;

	if (p->checked || s->kernel_thread)
		return;
	v = environ_verdicts_read(x->environ, s->pid, s->start_time);
	p->checked = v != ENVIRON_UNKNOWN;
	if (v == ENVIRON_UNKNOWN)
		v = environ_verdicts_inherit(x->environ, s->pid, s->start_time);
	if (v != ENVIRON_UNKNOWN)
		set_by_environ(x, p, v == ENVIRON_EXCLUDED);
}

static void on_snapshot(void *ctx, struct process_snapshot *s)
{
	struct exclusions *x = ctx;
	struct process *p = find_process(x, s->pid);

	if (p && (p->start_time != s->start_time || find_group(x, s->workload) != p->group)) {
		drop_process(x, p);
		p = NULL;
	}
	if (!p)
		p = add_process(x, s);
	if (p)
		check_environ(x, p, s);
}

static void on_exited(void *ctx, const struct process_snapshot *last)
{
	struct exclusions *x = ctx;
	struct process *p = find_process(x, last->pid);

	if (p && p->start_time == last->start_time)
		drop_process(x, p);
}

static void on_changed(void *ctx, pid_t pid, enum process_change change)
{
	struct exclusions *x = ctx;
	struct process *p = find_process(x, pid);

	if (change != PROCESS_EXECUTED)
		return;
	environ_verdicts_exec(x->environ, pid); /* another environment, too */
	if (p)
		reconsider(x, p);
}

static void on_name(void *ctx, struct workload *w)
{
	struct exclusions *x = ctx;
	struct group *g = find_group(x, w);

	if (g)
		decide(x, g);
}

/* ---- interface ---- */

int exclusions_new(struct exclusions **ret, const struct exclusions_config *cfg)
{
	CLEANUP(exclusions_freep) struct exclusions *x = calloc(1, sizeof(*x));
	int r;

	if (!x)
		return -ENOMEM;
	x->cfg = *cfg;
	if (x->cfg.recheck_ns == 0)
		x->cfg.recheck_ns = RECHECK_NS;
	x->root_fd =
		open(cfg->proc_root ? cfg->proc_root : "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (x->root_fd < 0)
		return -errno;
	r = environ_verdicts_new(&x->environ, x->root_fd, cfg->processes);
	if (r < 0)
		return r;
	x->on_process = (struct process_listener){on_snapshot, on_exited, on_changed, x, NULL};
	process_table_subscribe(cfg->processes, &x->on_process);
	x->on_name = (struct container_listener){on_name, x, NULL};
	if (cfg->directory)
		container_directory_listen(cfg->directory, &x->on_name);
	*ret = TAKE_PTR(x);
	return 0;
}

void exclusions_free(struct exclusions *x)
{
	struct process *p, *next_process;
	struct cgroup *c, *next_cgroup;

	if (!x)
		return;
	for (c = x->cgroups; c; c = next_cgroup) {
		struct group *g = c->group;

		next_cgroup = c->hh.next;
		include_cgroup(x, c);
		release_group(x, g);
	}
	for (p = x->processes; p; p = next_process) {
		next_process = p->hh.next;
		drop_process(x, p);
	}
	environ_verdicts_free(x->environ);
	closep(&x->root_fd);
	free(x);
}

bool exclusions_drop(struct exclusions *x, const struct sample_event *e)
{
	struct process *p;

	if (x->n_excluding == 0)
		return false;
	p = find_process(x, (pid_t)e->header.tgid);
	if (!p || !(p->by_environ || p->group->excluded))
		return false;
	exclude_in_kernel(x, p, e);
	x->stats.dropped++;
	return true;
}

/* Whether the process is in the cgroup of another workload. */
static bool has_moved(const struct exclusions *x, const struct process *p)
{
	AUTO_CLOSE int fd = procfs_open_process(x->root_fd, p->pid);
	struct workload_cgroup cgroup;
	struct proc_stat st;

	return fd >= 0 && procfs_read_stat(fd, &st) == 0 && st.start_time == p->start_time &&
	       workload_read_cgroup(&cgroup, fd, NULL) == 0 &&
	       !cgroup_names(&cgroup.path, p->group->raw);
}

/*
 * A process can be moved to another cgroup, which no event reports. Other reasons to exclude it are
 * not in its cgroup: then one sample is taken, and it is decided by that.
 */
static void recheck(struct exclusions *x)
{
	uint64_t now_ns = clock_monotonic_ns();
	unsigned n = 0;

	for (struct process *p = x->processes; p && n < RECHECKS_PER_UPDATE; p = p->hh.next) {
		if (!p->in_kernel || now_ns < p->recheck_ns)
			continue;
		n++;
		p->recheck_ns = now_ns + x->cfg.recheck_ns;
		if (p->by_environ || p->group->raw->kind == CGROUP_NONE || has_moved(x, p))
			reconsider(x, p);
	}
}

void exclusions_update(struct exclusions *x)
{
	struct group *g, *next_group;
	struct cgroup *c, *next_cgroup;

	for (c = x->cgroups; c; c = next_cgroup) {
		next_cgroup = c->hh.next;
		if (cgroup_hierarchy_id(x->cfg.hierarchy, c->path) != c->id)
			include_cgroup(x, c);
	}
	for (struct process *p = x->processes; p; p = p->hh.next)
		p->overflow = false;
	for (g = x->groups; g; g = next_group) {
		next_group = g->hh.next;
		decide(x, g);
		release_group(x, g);
	}
	recheck(x);
}

void exclusions_read_stats(const struct exclusions *x, struct exclusions_stats *ret)
{
	*ret = x->stats;
}
