/*
 * The id that a sample carries is that of one hierarchy, and a runtime may put containers into
 * others only: then many cgroups share an id. Readings that disagree show that, and such an id is
 * not believed. A few may disagree by chance, as a process can be moved between its sample and its
 * reading; so a path is replaced only by one that was read twice in a row. The id of a root says
 * nothing, because on such a node it is the id of everything.
 *
 * The kernel does not reuse ids while it runs (kernfs counts them up), so an entry never becomes
 * wrong by age.
 */
#include "node-agent/workload/cgroup_cache.h"

#include <errno.h>

#include "common/data/table.h"
#include "common/system/clock.h"

#define ROOT_ID 1
#define KEEP_NS (600 * NS_PER_S)
#define DISAGREED_MAX 2        /* by chance; more must be … */
#define DISAGREED_SHARE_MAX 16 /* … less than one of this many */

struct entry {
	UT_hash_handle hh; /* by id */
	uint64_t id;
	uint64_t used_ns;
	pid_t pid;
	uint32_t n_agreed; /* readings that found what the one before had found */
	uint32_t n_disagreed;
	struct cgroup_path path;
	bool doubted; /* the latest reading was … */
	struct cgroup_path other;
};

struct cgroup_cache {
	struct entry *entries;
};

int cgroup_cache_new(struct cgroup_cache **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void drop(struct cgroup_cache *c, struct entry *e)
{
	HASH_DEL(c->entries, e);
	table_free(e);
}

void cgroup_cache_free(struct cgroup_cache *c)
{
	struct entry *e, *next;

	if (!c)
		return;
	for (e = c->entries; e; e = next) {
		next = e->hh.next;
		drop(c, e);
	}
	free(c);
}

static struct entry *find(const struct cgroup_cache *c, uint64_t id)
{
	struct entry *e;

	HASH_FIND(hh, c->entries, &id, sizeof(id), e);
	return e;
}

static bool paths_equal(const struct cgroup_path *a, const struct cgroup_path *b)
{
	return a->kind == b->kind && strcmp(a->id, b->id) == 0;
}

/* Whether the id stands for several cgroups. */
static bool is_ambiguous(const struct entry *e)
{
	return e->n_disagreed > DISAGREED_MAX &&
	       (uint64_t)e->n_disagreed * DISAGREED_SHARE_MAX > e->n_agreed;
}

static void update(struct entry *e, const struct cgroup_path *path)
{
	bool same = paths_equal(&e->path, path), again;

	if (same)
		e->n_agreed++;
	else
		e->n_disagreed++;
	again = !same && e->doubted && paths_equal(&e->other, path);
	if (same || again) {
		e->path = *path;
		e->doubted = false;
	} else {
		e->other = *path;
		e->doubted = true;
	}
}

int cgroup_cache_learn(struct cgroup_cache *c, uint64_t id, const struct cgroup_path *path,
		       pid_t pid, uint64_t now_ns)
{
	struct entry *e = find(c, id);

	if (e) {
		update(e, path);
		if (!e->doubted)
			e->pid = pid;
		e->used_ns = now_ns;
		return 0;
	}
	if (id <= ROOT_ID || HASH_COUNT(c->entries) >= CGROUP_CACHE_MAX)
		return 0;
	e = table_malloc(sizeof(*e));
	if (!e)
		return -ENOMEM;
	*e = (struct entry){.id = id, .used_ns = now_ns, .pid = pid, .path = *path};
	HASH_ADD(hh, c->entries, id, sizeof(e->id), e);
	if (!TABLE_ADDED(hh, e)) {
		table_free(e);
		return -ENOMEM;
	}
	return 0;
}

const struct cgroup_path *cgroup_cache_find(struct cgroup_cache *c, uint64_t id, uint64_t now_ns,
					    pid_t *ret_pid)
{
	struct entry *e = find(c, id);

	if (!e || is_ambiguous(e))
		return NULL;
	e->used_ns = now_ns;
	if (ret_pid)
		*ret_pid = e->pid;
	return &e->path;
}

void cgroup_cache_sweep(struct cgroup_cache *c, uint64_t now_ns)
{
	struct entry *e, *next;

	for (e = c->entries; e; e = next) {
		next = e->hh.next;
		if (now_ns - e->used_ns >= KEEP_NS)
			drop(c, e);
	}
}
