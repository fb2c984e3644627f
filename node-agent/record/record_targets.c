#include "node-agent/record/record_targets.h"

#include <errno.h>

#include "common/data/table.h"
#include "node-agent/procfs/procfs.h"

struct target {
	UT_hash_handle hh;
	pid_t pid;
};

struct record_targets {
	struct record_targets_config cfg;
	struct target *targets;
};

int record_targets_new(struct record_targets **ret, const struct record_targets_config *cfg)
{
	struct record_targets *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->cfg = *cfg;
	*ret = t;
	return 0;
}

static struct target *find(const struct record_targets *t, pid_t pid)
{
	struct target *found = NULL;

	HASH_FIND(hh, t->targets, &pid, sizeof(pid), found);
	return found;
}

static void drop(struct record_targets *t, struct target *target)
{
	HASH_DELETE(hh, t->targets, target);
	table_free(target);
}

void record_targets_free(struct record_targets *t)
{
	if (!t)
		return;
	while (t->targets)
		drop(t, t->targets);
	free(t);
}

int record_targets_add(struct record_targets *t, pid_t pid)
{
	struct target *target;

	if (find(t, pid))
		return 0;
	target = table_malloc(sizeof(*target));
	if (!target)
		return -ENOMEM;
	*target = (struct target){.pid = pid};
	HASH_ADD(hh, t->targets, pid, sizeof(target->pid), target);
	if (!TABLE_ADDED(hh, target)) {
		table_free(target);
		return -ENOMEM;
	}
	return 0;
}

int record_targets_fork(struct record_targets *t, pid_t parent, pid_t child)
{
	return find(t, parent) ? record_targets_add(t, child) : 0;
}

void record_targets_exit(struct record_targets *t, pid_t pid)
{
	struct target *target = find(t, pid);

	if (target)
		drop(t, target);
}

size_t record_targets_count(const struct record_targets *t)
{
	return HASH_COUNT(t->targets);
}

bool record_targets_may_want(const struct record_targets *t, pid_t pid, const char *comm)
{
	if (t->cfg.by_id)
		return find(t, pid) != NULL;
	/* the kernel keeps so much of a name */
	return !t->cfg.comm || strncmp(t->cfg.comm, comm, PROCESS_COMM_BYTES - 1) == 0;
}

/* "0123456789ab" as container tools show ids, a longer part of it, or a whole name. */
static bool is_named(const char *name, const char *asked)
{
	return strncmp(name, asked, strlen(asked)) == 0;
}

bool record_targets_may_want_cgroup(const struct record_targets *t, const struct cgroup_path *c)
{
	const char *asked = t->cfg.container, *last = asked ? strrchr(asked, '/') : NULL;

	if (!asked)
		return true;
	return is_named(c->id, asked) || (last && is_named(c->id, last + 1));
}

bool record_targets_want_workload(const struct record_targets *t, const struct workload *w)
{
	const char *asked = t->cfg.container;

	if (!asked)
		return true;
	return is_named(w->runtime_id, asked) || strcmp(w->service, asked) == 0 ||
	       strcmp(w->container_id, asked) == 0;
}
