#include "test/bench/ingest/bench_uploads.h"

#include <stdio.h>

#include "common/system/clock.h"

#define STACKS 1000u
#define DEPTH 30u
#define FUNCTIONS 2000u

size_t bench_uploads_make(struct bench_profile *profiles, char **names, size_t n_names)
{
	bool is_new = strcmp(names[0], "new") == 0;
	size_t n = is_new ? BENCH_N_NEW : BENCH_N_KNOWN;

	if (is_new || strcmp(names[0], "known") == 0) {
		for (size_t i = 0; i < n; i++)
			bench_profile_random(&profiles[i], is_new ? clock_realtime_ns() : i, STACKS,
					     DEPTH, FUNCTIONS);
		return n;
	}
	n = n_names < BENCH_MAX_PROFILES ? n_names : BENCH_MAX_PROFILES;
	for (size_t i = 0; i < n; i++)
		bench_profile_load(&profiles[i], names[i]);
	return n;
}

#define TEXT(s) ((struct row_text){(s), strlen(s)})

void bench_uploads_rows(struct upload_rows *ret, struct row_batch *batch,
			const struct bench_profile *p, size_t number, struct seen_stacks *seen,
			struct arena *arena)
{
	const struct upload_rows_config cfg = {
		.now_ns = (int64_t)clock_realtime_ns(),
		.max_age_ns = INT64_C(604800) * (int64_t)NS_PER_S,
		.seen = seen,
		.upload = number,
	};
	char service[64], container[96];
	const struct row_label labels[] = {
		{TEXT("host.name"), TEXT("node-1")},
		{TEXT("container.id"), {container, 0}},
		{TEXT("namespace"), TEXT("bench")},
		{TEXT("pod"), TEXT(BENCH_POD)},
	};
	struct row_label filled[ARRAY_SIZE(labels)];
	struct upload u = {.body = p->gzipped.data, .len = p->gzipped.len};
	struct err err = {""};

	memcpy(filled, labels, sizeof(filled));
	snprintf(service, sizeof(service), BENCH_SERVICE, number % BENCH_N_KNOWN);
	snprintf(container, sizeof(container), BENCH_CONTAINER, number % BENCH_N_KNOWN);
	filled[1].value.len = strlen(container);
	u.service = TEXT(service);
	u.host = TEXT("node-1");
	u.labels = filled;
	u.n_labels = ARRAY_SIZE(filled);
	row_batch_clear(batch);
	arena_clear(arena);
	if (upload_rows_make(ret, batch, &u, &cfg, arena, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		exit(1);
	}
}

void bench_uploads_remember(struct seen_stacks *seen, struct upload_rows *rows)
{
	seen_stacks_add(seen, rows->stacks, rows->n_stacks, rows->last_seen_ns);
	free(rows->stacks);
	rows->stacks = NULL;
}
