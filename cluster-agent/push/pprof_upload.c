#include "cluster-agent/push/pprof_upload.h"

#include "cluster-agent/push/foreign_types.h"
#include "cluster-agent/push/series_labels.h"
#include "common/pprof/pprof_decode.h"

static int convert(struct profile *p, struct arena *arena, const struct pprof_upload *u,
		   struct err *err)
{
	struct series_labels *labels = arena_calloc(arena, 1, sizeof(*labels));
	struct foreign_hints hints;
	int r = 0;

	if (!labels)
		return arena_error(arena, sizeof(*labels));
	/* only to learn what they say about the profiler */
	labels->arena = arena;
	for (size_t i = 0; i < u->n_labels && r == 0; i++)
		r = series_labels_add(labels, u->labels[i].name, u->labels[i].value, err);
	if (r < 0)
		return r;
	hints = (struct foreign_hints){.source = labels->source, .metric = labels->metric};
	foreign_times_set(p, u->now_ns);
	return foreign_types_apply(p, &hints, err);
}

int pprof_upload_decode(struct upload_parts *ret, struct arena *arena, const void *ctx,
			const void *body, size_t len, struct err *err)
{
	const struct pprof_upload *u = ctx;
	struct upload_part *part = arena_calloc(arena, 1, sizeof(*part));
	int r;

	if (!part)
		return arena_error(arena, sizeof(*part));
	*part = (struct upload_part){
		.service = u->service,
		.host = u->host,
		.labels = u->labels,
		.n_labels = u->n_labels,
	};
	*ret = (struct upload_parts){.items = part, .n = 1};
	r = pprof_decode(&part->profile, arena, body, len, err);
	return r == 0 && foreign_types_present(&part->profile)
		       ? convert(&part->profile, arena, u, err)
		       : r;
}
