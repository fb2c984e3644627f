#include "node-agent/process/process_image.h"

#include "node-agent/process/process_snapshot.h"

struct process_image *process_image_new(const struct process_exec *exec, pid_t owner,
					uint64_t owner_start_time)
{
	struct process_image *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	i->refs = 1;
	i->owner = owner;
	i->owner_start_time = owner_start_time;
	if (!exec)
		return i;
	i->executed = true;
	i->file = exec->file;
	i->end_code = exec->end_code;
	i->vdso = exec->vdso;
	if (!exec->path[0])
		return i;
	i->path = strdup(exec->path);
	if (!i->path) {
		free(i);
		return NULL;
	}
	return i;
}

struct process_image *process_image_ref(struct process_image *i)
{
	i->refs++;
	return i;
}

void process_image_unref(struct process_image *i)
{
	if (!i || --i->refs > 0)
		return;
	process_snapshot_unref(i->snapshot);
	free(i->path);
	free(i);
}

void process_image_learn(struct process_image *i, struct process_snapshot *s)
{
	if (!i)
		return;
	process_snapshot_unref(i->snapshot);
	i->snapshot = process_snapshot_ref(s);
}
