/*
 * A store with an engine of the test, which keeps rows as the real ones do: a token that it knows
 * adds nothing. It fails as it is told to. The value that is kept of a row is the number of its
 * upload.
 */
#ifndef TEST_LIB_FAULTY_STORE_H
#define TEST_LIB_FAULTY_STORE_H

#include <pthread.h>

#include "cluster-agent/store/store.h"
#include "common/base.h"

/* Inserts with a row of this upload are refused. */
#define FAULTY_STORE_POISON UINT64_C(666)
#define FAULTY_STORE_MAX_ROWS 1000u
#define FAULTY_STORE_MAX_TOKENS 1000u
#define FAULTY_STORE_MAX_CLAIMS 100u

struct faulty_rows {
	pthread_mutex_t lock;
	uint64_t rows[STORE_TABLE_MAX][FAULTY_STORE_MAX_ROWS];
	size_t n_rows[STORE_TABLE_MAX];
	char tokens[FAULTY_STORE_MAX_TOKENS][STORE_TOKEN_BYTES + 1];
	size_t n_tokens;
	unsigned n_inserts;
	unsigned n_fresh_tokens;
	/* faults */
	int error;  /* what inserts return, if not 0 */
	int lose;   /* table whose next insert is said to have failed, and did not */
	int die;    /* table whose next insert is the last one before the store is gone */
	bool drops; /* rows are accepted and not kept, as those beyond their TTL */
	bool hangs; /* inserts wait until they are stopped */
	bool stopped;
	int forget;   /* table whose next insert leaves its token but no rows */
	bool exact;   /* tables are replicated */
	bool no_days; /* it does not tell which quarters of an hour are of one day */
	struct {
		uint64_t upload;
		char claimant[STORE_TOKEN_BYTES + 1];
	} claims[FAULTY_STORE_MAX_CLAIMS]; /* in the order of their time */
	size_t n_claims;
	void (*on_insert)(enum store_table table); /* before each insert, unlocked; or NULL */
	unsigned max_frames; /* more are refused for want of memory; 0: any number */
};

/* What it has, and what goes wrong. */
extern struct faulty_rows faulty;
extern struct store faulty_store;

/* Empties it; nothing goes wrong. */
void faulty_store_reset(void);
/* From now on other agents may insert, too. */
void faulty_store_share(void);
/* Another receiver claims the upload. */
void faulty_store_claim(uint64_t upload, const char *claimant);
/* Another receiver inserts rows of the upload into the table. */
void faulty_store_add(enum store_table table, uint64_t upload);
/* How many rows of the upload it has. */
size_t faulty_store_count(enum store_table table, uint64_t value);

#endif /* TEST_LIB_FAULTY_STORE_H */
