#include "node-agent/process/process_image.h"

#include <errno.h>

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
	free(i->maps);
	free(i);
}

int process_image_add_map(struct process_image *i, const struct process_map *map)
{
	struct process_map *maps;

	for (size_t k = 0; k < i->n_maps; k++) {
		if (i->maps[k].start == map->start)
			return 0;
	}
	if (i->n_maps == PROCESS_IMAGE_MAPS_MAX)
		return 0;
	maps = realloc(i->maps, (i->n_maps + 1) * sizeof(*maps));
	if (!maps)
		return -ENOMEM;
	i->maps = maps;
	i->maps[i->n_maps++] = *map;
	return 1;
}

void process_image_learn(struct process_image *i, struct process_snapshot *s)
{
	if (!i)
		return;
	process_snapshot_unref(i->snapshot);
	i->snapshot = process_snapshot_ref(s);
}
