/*
 * A program without rights that reads files of strangers for us.
 *
 * It is the agent's own binary, executed anew with a hidden command, so that nothing of the agent's
 * memory is in it. It has one end of a socket (AF_UNIX, SOCK_SEQPACKET) as HELPER_PROCESS_SOCKET,
 * and nothing else that is the agent's. A file comes as a descriptor with a message.
 *
 * The helper gives up its rights, then forks a child for the work, which confines itself before it
 * touches a file: limits of memory and time, and a filter of system calls. What crashes or is
 * killed is that child, and the helper answers for it.
 *
 * The agent cannot execute a program later: its filter of system calls does not allow it. So what
 * it starts is a keeper, which does nothing but fork the helper, again if the helper is killed from
 * outside: first after a second, at last once a minute. Both have the socket.
 */
#ifndef COMMON_PRIVILEGE_HELPER_PROCESS_H
#define COMMON_PRIVILEGE_HELPER_PROCESS_H

#include <sys/types.h>

#include "common/base.h"
#include "common/err.h"

#define HELPER_PROCESS_SOCKET 3
#define HELPER_PROCESS_FDS_MAX 4u

/* ---- the agent's end ---- */

struct helper_process {
	pid_t pid;
	int socket;
};

#define HELPER_PROCESS_NONE ((struct helper_process){.socket = -1})

/*
 * Starts program (NULL: this one, /proc/self/exe) with the arguments name and command. To be called
 * before a filter of system calls is installed. Returns 0 or -errno.
 */
int helper_process_start(struct helper_process *ret, const char *program, const char *name,
			 const char *command) MUST_CHECK;
/* Kills all its processes and waits for the end of the first. May be repeated. */
void helper_process_end(struct helper_process *h);

/*
 * Sends a message with descriptors, which stay the caller's, and does not wait. Either side may
 * call it. Returns 0, -EPIPE or -ECONNRESET if the other end is closed, or another -errno.
 */
int helper_process_send(int socket, const void *message, size_t len, const int *fds,
			size_t n_fds) MUST_CHECK;

/*
 * A message of this length says that the helper was killed and will be forked again. A request that
 * has no answer may be lost; one that is sent now is served afterwards.
 */
#define HELPER_PROCESS_RESTART_BYTES 1u

/* ---- the helper's end ---- */

/*
 * Gives up all rights that a process can give up, ignores the signals by which people end programs
 * (the agent ends it), and becomes the keeper. Returns 0 in the helper, which has this name; or
 * -errno with a sentence in err, as when a person has typed the command.
 */
int helper_process_begin(const char *name, struct err *err) MUST_CHECK;

/* Whether there is a message, or the other end closed, within timeout_ms; -1: no limit. */
bool helper_process_has_message(int socket, int timeout_ms);
bool helper_process_is_closed(int socket);

/*
 * Receives a message of exactly len bytes. Its descriptors are the caller's; those beyond n_fds are
 * closed, and the rest of fds is -1. Returns 0, or -EPIPE if the other end is closed or what came
 * is no such message.
 */
int helper_process_receive(int socket, void *message, size_t len, int *fds,
			   size_t n_fds) MUST_CHECK;

struct helper_limits {
	uint64_t heap_bytes;
	uint64_t mapped_bytes;
	uint64_t written_bytes; /* to files; 0: it cannot write at all */
};

/*
 * For the child, before it reads anything: limits what it may use, and leaves it the system calls
 * for reading descriptors that it has, for memory, and for answering; any other fails with EPERM.
 * Ends the process if that cannot be done: a process of root can open root's files even without
 * capabilities. Sanitizers reserve terabytes of addresses, so memory is not limited under them.
 */
void helper_process_confine(const struct helper_limits *l);

/* SIGPROF or SIGALRM ends the process if it takes longer from now on. 0: no limit. */
void helper_process_limit_time(uint32_t cpu_ms, unsigned wall_s);
/* -ETIMEDOUT if one of these signals ended a child with this status, else -EIO. */
int helper_process_error(int status);

#endif /* COMMON_PRIVILEGE_HELPER_PROCESS_H */
