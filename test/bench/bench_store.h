/* What the programs that measure queries on the embedded engine share. All end at an error. */
#ifndef TEST_BENCH_BENCH_STORE_H
#define TEST_BENCH_BENCH_STORE_H

#include "cluster-agent/store/store.h"
#include "common/base.h"
#include "common/err.h"

#define BENCH_END_S INT64_C(1768089600) /* when the data ends: 2026-01-11 00:00 UTC */
#define BENCH_DAY_S INT64_C(86400)

struct bench {
	const char *name;
	unsigned max_rounds;
	void (*fill)(struct store *store);
	void (*ask)(struct store *store, unsigned rounds);
};

/* main() of "NAME DIR fill" and "NAME DIR ask ROUNDS". The environment names CHDB_LIBRARY. */
int bench_main(const struct bench *b, int argc, char **argv);

void bench_give_up(const char *what, const struct err *err) __attribute__((noreturn));
void bench_run_sql(struct store *store, const char *sql);
uint64_t bench_cpu_ns(void); /* of all threads of the process */

#endif /* TEST_BENCH_BENCH_STORE_H */
