/* Rows of the benchmark's profiles, as the cluster-agent makes them. */
#ifndef TEST_BENCH_INGEST_BENCH_UPLOADS_H
#define TEST_BENCH_INGEST_BENCH_UPLOADS_H

#include "cluster-agent/ingest/upload_rows.h"
#include "test/bench/ingest/bench_profiles.h"

#define BENCH_MAX_PROFILES 1024
#define BENCH_N_NEW 800u  /* profiles of 1,000 stacks that are different in each */
#define BENCH_N_KNOWN 32u /* profiles that are sent again and again */

/*
 * Makes the profiles that a name stands for: "new" or "known" (1,000 random stacks of 30 frames),
 * or else the files; each is to be freed. Returns their number.
 */
size_t bench_uploads_make(struct bench_profile *profiles, char **names, size_t n_names);

/* Service and labels of the profile with that number, as ingest_flood.c sends them. */
#define BENCH_SERVICE "/k8s/bench/service-%zu"
#define BENCH_CONTAINER "/k8s/bench/service-%zu-7d9f8c5b6-x2x4z/main"
#define BENCH_POD "service-7d9f8c5b6-x2x4z"

/* Makes the rows of an upload; number decides about the service. */
void bench_uploads_rows(struct upload_rows *ret, struct row_batch *batch,
			const struct bench_profile *p, size_t number, struct seen_stacks *seen,
			struct arena *arena);
void bench_uploads_remember(struct seen_stacks *seen, struct upload_rows *rows);

#endif /* TEST_BENCH_INGEST_BENCH_UPLOADS_H */
