/*
 * Included before everything else when the analyzers run, never in a build:
 * gives errno one of a few values whenever it is looked at. Without it, they
 * take "return -errno" for a possible success, and report what follows from that.
 */
#ifndef TEST_LINT_ERRNO_H
#define TEST_LINT_ERRNO_H

#include <errno.h>

extern volatile int lint_choice;

#undef errno
#define errno                                                                                      \
	(*({                                                                                       \
		int *errno_ = __errno_location();                                                  \
		*errno_ = lint_choice ? EIO : lint_choice ? ENOENT : lint_choice ? EAGAIN : EINTR; \
		errno_;                                                                            \
	}))

#endif /* TEST_LINT_ERRNO_H */
