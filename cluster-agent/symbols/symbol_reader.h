/*
 * ELF files of strangers → tables of symbols, made by a program without rights
 * (helper_process.h): the agent's end.
 *
 * One request at a time. One thread owns a reader after symbol_reader_new().
 */
#ifndef CLUSTER_AGENT_SYMBOLS_SYMBOL_READER_H
#define CLUSTER_AGENT_SYMBOLS_SYMBOL_READER_H

#include "common/base.h"

struct symbol_reader;

/* As helper_process_start(). */
int symbol_reader_new(struct symbol_reader **ret, const char *program) MUST_CHECK;
/* Ends the program. NULL is allowed. */
void symbol_reader_free(struct symbol_reader *r);
DEFINE_CLEANUP(struct symbol_reader *, symbol_reader_free);

/* Descriptors are borrowed for the call. */
struct symbol_reader_files {
	int symbols; /* the ELF file that has symbols */
	int program; /* the program of the same build, which knows offsets; -1: none */
	int table;   /* receives the table; empty */
};

/* Returns 0; -EBUSY if the previous request is not answered; -EPIPE if the program has ended. */
int symbol_reader_ask(struct symbol_reader *r, const struct symbol_reader_files *f) MUST_CHECK;

/* Readable when there is an answer, or the program has ended. */
int symbol_reader_fd(const struct symbol_reader *r);

struct symbol_reader_answer {
	/*
	 * 0; an error of symbol_export(); -ETIMEDOUT if the file took too long; -EIO if reading it
	 * crashed or was killed; -ENOSPC or another error of writing the table
	 */
	int result;
	char why[256]; /* a printable sentence about the result, or "" */
};

/*
 * Takes the answer without waiting. Returns 0; -EAGAIN if there is none yet; -ECONNRESET if the
 * process that reads was killed from outside and there is a new one, so that a request without an
 * answer is to be made again; or -EPIPE if the program has ended. Whoever has taken over the
 * process that reads may have written anything into the table.
 */
int symbol_reader_take(struct symbol_reader *r, struct symbol_reader_answer *ret) MUST_CHECK;

#endif /* CLUSTER_AGENT_SYMBOLS_SYMBOL_READER_H */
