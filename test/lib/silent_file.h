/*
 * A file whose file system does not answer until the test says so: whoever reads it, or memory that
 * it is mapped to, waits. Root only.
 *
 * The file system is FUSE, mounted nowhere, and served by a process of its own. When that process
 * ends, all readers get an error. It is killed when the test's main thread ends, and at exit() too,
 * for a test that failed at an assertion: LeakSanitizer stops all threads at exit and would wait
 * forever for one that waits for the file.
 *
 * A silenced server leaves requests in the queue: a reader that waits for one of these can be
 * killed. A reader whose request was taken cannot; silent_file_swallow() is for tests of that.
 */
#ifndef TEST_LIB_SILENT_FILE_H
#define TEST_LIB_SILENT_FILE_H

#include <sys/types.h>

#include "common/base.h"

#define SILENT_FILE_BYTES 16384u

/* In memory that is shared with the server. */
struct silent_file {
	uint8_t content[SILENT_FILE_BYTES]; /* the test's, until silent_file_answer() */
	int fd;                             /* of the file */

	/* the fixture's own */
	pid_t server;
	int device; /* the server's */
	int mount;
	int control[2]; /* a pipe to the server: one byte per command */
	int said[2];    /* a pipe from the server: one byte when a command is in force */
	_Atomic bool is_waited_for;
	struct silent_file *next; /* of those of this process */
};

/* Returns NULL without root. The file answers until it is silenced. */
struct silent_file *silent_file_new(void);
/* Closes fd. Readers that still wait get an error. */
void silent_file_free(struct silent_file *f);
/* Frees all files of this process: for the teardown of a test that may have failed half-way. */
void silent_file_free_all(void);

void silent_file_silence(struct silent_file *f);
void silent_file_answer(struct silent_file *f);
/* As silent_file_silence(), but takes requests, so that their readers cannot be killed either. */
void silent_file_swallow(struct silent_file *f);

/* Returns true if something has tried to read the file since it was silenced. */
bool silent_file_is_waited_for(const struct silent_file *f);

#endif /* TEST_LIB_SILENT_FILE_H */
