/*
 * The floor of the cluster-agent's write path: inserts the rows of the profiles of ingest_flood.c
 * into the embedded engine, with nothing around it. Rows are made before and are not in the times.
 * Prints a line of JSON with CPU time of all threads and wall time.
 *
 *	ingest_insert DIR UPLOADS ROWS new|known|FILE.pb.gz …
 *
 * inserts rows of UPLOADS uploads in batches of at most ROWS rows of a table.
 */
#include <stdio.h>

#include "cluster-agent/store/store_chdb.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "test/bench/ingest/bench_uploads.h"

#define SEEN_ENTRIES ((size_t)1 << 20)

static struct bench_profile profiles[BENCH_MAX_PROFILES];

/* Frames of one table that wait, and the memory of what they point to. */
struct waiting {
	struct store_frame *frames;
	size_t n, n_places;
	uint64_t n_rows, n_bytes;
};
static struct waiting waiting[STORE_TABLE_MAX];
static uint64_t n_inserts, n_rows, max_rows, wall_ns;

static void give_up(const char *what, const struct err *err)
{
	fprintf(stderr, "%s: %s\n", what, err->msg);
	exit(1);
}

static uint64_t process_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* All tables at once, as the drain does. */
static void insert_waiting(struct store *s)
{
	uint64_t wall = clock_monotonic_ns();
	struct err err = {""};
	char token[STORE_TOKEN_BYTES + 1];

	for (int t = 0; t < STORE_TABLE_MAX; t++) {
		struct waiting *w = &waiting[t];

		if (w->n == 0)
			continue;
		snprintf(token, sizeof(token), "%032llx", (unsigned long long)++n_inserts);
		if (store_insert(s, (enum store_table)t, token, w->frames, w->n, &err) < 0)
			give_up("insert", &err);
		n_rows += w->n_rows;
	}
	wall_ns += clock_monotonic_ns() - wall;
	for (int t = 0; t < STORE_TABLE_MAX; t++) {
		struct waiting *w = &waiting[t];

		for (size_t i = 0; i < w->n; i++)
			free((void *)(uintptr_t)w->frames[i].data);
		w->n = 0;
		w->n_rows = 0;
		w->n_bytes = 0;
	}
}

static void add_frame(struct waiting *w, const struct store_frame *frame)
{
	void *copy = malloc(frame->len);

	if (w->n == w->n_places) {
		w->n_places = w->n_places ? 2 * w->n_places : 64;
		w->frames = realloc(w->frames, w->n_places * sizeof(*w->frames));
	}
	if (!w->frames || !copy)
		abort();
	memcpy(copy, frame->data, frame->len);
	w->frames[w->n] = *frame;
	w->frames[w->n++].data = copy;
	w->n_rows += frame->n_rows;
	w->n_bytes += frame->n_bytes;
}

static bool is_full(void)
{
	for (int t = 0; t < STORE_TABLE_MAX; t++)
		if (waiting[t].n_rows > max_rows || waiting[t].n_bytes > STORE_INSERT_BYTES / 2)
			return true;
	return false;
}

static void add_batch(const struct row_batch *batch)
{
	for (int t = 0; t < STORE_TABLE_MAX; t++) {
		size_t n;
		const struct store_frame *frames = row_batch_frames(batch, (enum store_table)t, &n);

		for (size_t i = 0; i < n; i++)
			add_frame(&waiting[t], &frames[i]);
	}
}

/* Returns the CPU time that the engine took, with what it does beside inserts. */
static uint64_t insert_all(struct store *s, size_t n_uploads, size_t n_profiles)
{
	uint64_t start, making = 0;
	CLEANUP(seen_stacks_freep) struct seen_stacks *seen = NULL;
	CLEANUP(arena_fini) struct arena arena;
	CLEANUP(row_batch_fini) struct row_batch batch;

	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	row_batch_init(&batch, LIMIT_PROFILE_PACKED_BYTES, LIMIT_PROFILE_ROWS_BYTES);
	if (seen_stacks_new(&seen, SEEN_ENTRIES) < 0)
		abort();
	/* those that are sent again and again are known */
	for (size_t i = 0; i < n_profiles && n_profiles != BENCH_N_NEW; i++) {
		struct upload_rows rows;

		bench_uploads_rows(&rows, &batch, &profiles[i], i, seen, &arena);
		bench_uploads_remember(seen, &rows);
	}
	start = process_cpu_ns();
	for (size_t i = 0; i < n_uploads; i++) {
		uint64_t at = clock_thread_cpu_ns();
		struct upload_rows rows;

		bench_uploads_rows(&rows, &batch, &profiles[i % n_profiles], i % n_profiles, seen,
				   &arena);
		free(rows.stacks);
		add_batch(&batch);
		making += clock_thread_cpu_ns() - at;
		if (is_full() || i + 1 == n_uploads)
			insert_waiting(s);
	}
	return process_cpu_ns() - start - making;
}

int main(int argc, char **argv)
{
	struct store_chdb_config cfg = {.profiles_ttl_ns = 604800 * NS_PER_S};
	struct store *store;
	struct err err = {""};
	size_t n_profiles, n_uploads;
	uint64_t cpu_ns;

	if (argc < 5) {
		fprintf(stderr, "usage: ingest_insert DIR UPLOADS ROWS new|known|FILE...\n");
		return 1;
	}
	cfg.data_dir = argv[1];
	cfg.chdb_library = getenv("CHDB_LIBRARY");
	n_uploads = strtoul(argv[2], NULL, 10);
	max_rows = strtoul(argv[3], NULL, 10);
	n_profiles = bench_uploads_make(profiles, argv + 4, (size_t)(argc - 4));
	if (store_chdb_open(&store, &cfg, &err) < 0)
		give_up("open", &err);
	cpu_ns = insert_all(store, n_uploads, n_profiles);
	printf("{\"uploads\":%zu,\"inserts\":%llu,\"rows\":%llu,\"cpu\":%.3f,\"wall\":%.3f}\n",
	       n_uploads, (unsigned long long)n_inserts, (unsigned long long)n_rows,
	       (double)cpu_ns / 1e9, (double)wall_ns / 1e9);
	store_close(store);
	return 0;
}
