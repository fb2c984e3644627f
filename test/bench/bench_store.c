#include "test/bench/bench_store.h"

#include <stdio.h>
#include <time.h>

#include "cluster-agent/store/store_chdb.h"
#include "common/system/clock.h"

void bench_give_up(const char *what, const struct err *err)
{
	fprintf(stderr, "%s: %s\n", what, err->msg);
	exit(1);
}

void bench_run_sql(struct store *store, const char *sql)
{
	struct err err = {""};

	if (store_maintain(store, sql, NULL, &err) < 0)
		bench_give_up("insert", &err);
}

uint64_t bench_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

int bench_main(const struct bench *b, int argc, char **argv)
{
	unsigned rounds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
	bool is_fill = argc == 3 && strcmp(argv[2], "fill") == 0;
	bool is_ask =
		argc == 4 && strcmp(argv[2], "ask") == 0 && rounds > 0 && rounds <= b->max_rounds;
	struct store_chdb_config cfg = {
		.data_dir = argc > 1 ? argv[1] : "",
		.profiles_ttl_ns = UINT64_C(3650) * 86400 * NS_PER_S,
		.function_ttl_ns = UINT64_C(3650) * 86400 * NS_PER_S,
		.chdb_library = getenv("CHDB_LIBRARY"),
	};
	struct store *store;
	struct err err = {""};

	if (!is_fill && !is_ask) {
		fprintf(stderr, "usage: %s DIR fill | DIR ask ROUNDS (1 to %u)\n", b->name,
			b->max_rounds);
		return 2;
	}
	if (store_chdb_open(&store, &cfg, &err) < 0)
		bench_give_up(argv[1], &err);
	if (is_fill)
		b->fill(store);
	else
		b->ask(store, rounds);
	store_close(store);
	return 0;
}
