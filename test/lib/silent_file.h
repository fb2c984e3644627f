/*
 * A file whose file system does not answer until the test says so: who reads it, or memory that it is mapped to, waits. Root only.
 *
 * The file system is FUSE, mounted nowhere, and served by a process of its own, which ends with the test, however that ends: the
 * waiting end with it. Until it answers it does not take requests: those who wait for one that was not taken can be killed, those
 * who wait for one that was cannot.
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
	int control[2]; /* a pipe: a byte says go silent, or answer; its end says end */
	int said[2];    /* a pipe: a byte each time that this is done */
	_Atomic bool is_waited_for;
};

/* NULL: not allowed, to anybody but root. Takes requests until it is silenced. */
struct silent_file *silent_file_new(void);
/* Nobody waits for it any more, and fd is closed. */
void silent_file_free(struct silent_file *f);

void silent_file_silence(struct silent_file *f);
void silent_file_answer(struct silent_file *f);

/* Whether somebody has asked since it was silenced. */
bool silent_file_is_waited_for(const struct silent_file *f);

#endif /* TEST_LIB_SILENT_FILE_H */
