/*
 * Writes one byte of a variable of a Go process. This is all that the agent ever writes to Go
 * processes, and only if an option asks for it.
 *
 * The word is switched between 0 and a value with a single byte that is not 0, so the program
 * never sees a third value. Before that, everything is checked through the very descriptor
 * that is written to, which stays bound to the memory it was opened for. It is opened only if
 * the values say that a write is due, as not every agent that may read a process may write to it.
 *
 * The process keeps running, and no system call compares and swaps a word of another process.
 * Between the check and the write, two consecutive system calls, the program may store a value of
 * its own. Our byte in the middle of it makes a mixture of both. So the word is read again
 * afterwards: our byte is taken out of a mixture, and the result is -EALREADY, as if the program
 * had stored its value before the check. What is left of the race, in these microseconds:
 *
 * - The program's value is 0 except in our byte. Then the mixture is the value that we wanted to
 *   write. The program's value is lost, and the result is 1.
 * - The program's value is not 0 in our byte nor in the others. Then it keeps the others, and has
 *   0 in our byte. The result is -EALREADY.
 * - After our write the program stores a value that has our byte by itself. That byte is cleared.
 * - The program stores again before our byte is taken out. The byte of that value is cleared.
 */
#ifndef NODE_AGENT_GO_IMAGE_GO_WRITE_H
#define NODE_AGENT_GO_IMAGE_GO_WRITE_H

#include "common/base.h"
#include "node-agent/go/image/go_runtime.h"

#define GO_WRITE_MINOR_MAX 27u /* newer releases are read only */

struct go_write {
	uint64_t address;       /* of an aligned word */
	uint64_t from;          /* the value that it must have */
	uint64_t to;            /* one of from and to is 0, the other has one byte that is not 0 */
	uint64_t guard_address; /* of a byte that must have guard_value; 0 if there is none */
	uint8_t guard_value;
};

/*
 * `id` is that of rt's process. Returns 1 if the word was written, 0 if it had that value
 * already, or
 *   -EALREADY  the word or the guard has another value: the program's own choice
 *   -ENOTSUP   the release is unknown, or the address is not that of a variable
 *   -EINVAL    `from` and `to` do not differ in a single byte as described
 *   -ESRCH     the process has exited or called execve(2)
 *   -EROFS     the agent may read the process's memory but not write to it
 *   another error of open(2), pread(2) or pwrite(2)
 */
int go_write_word(const struct go_runtime *rt, const struct program_id *id,
		  const struct go_write *w) MUST_CHECK;

#endif /* NODE_AGENT_GO_IMAGE_GO_WRITE_H */
