/*
 * The commands that we give to async-profiler: option strings for Agent_OnAttach. Pure.
 */
#ifndef NODE_AGENT_JAVA_PROFILE_JAVA_COMMANDS_H
#define NODE_AGENT_JAVA_PROFILE_JAVA_COMMANDS_H

#include "common/base.h"
#include "common/jfr/jfr_stacks.h"

#define JAVA_COMMAND_BYTES 1000u /* with the NUL; a JVM accepts 1,024 */
#define JAVA_STACK_DEPTH 1024u   /* frames that async-profiler walks, from the leaf */

/* Completes the current chunk of the recording and begins the next one. */
#define JAVA_COMMAND_DUMP "dump,jfr,loglevel=none,quiet"
/* Completes the recording and closes it. */
#define JAVA_COMMAND_STOP "stop,loglevel=none,quiet"

/* What Agent_OnAttach returns. */
#define JAVA_COMMAND_OK 0
#define JAVA_COMMAND_BAD_OPTIONS 100
#define JAVA_COMMAND_FAILED 200 /* such as: it runs already; it does not run */

/* Timers that sample CPU time, the better one first. */
enum java_cpu_timer {
	JAVA_CPU_TIMER_THREAD,  /* a timer per thread */
	JAVA_CPU_TIMER_PROCESS, /* one for all threads: biased, but always to be had */
};

/* What async-profiler may refuse to record in a JVM, while it can record the rest. Bits. */
enum {
	JAVA_REFUSED_ALLOC = 1,  /* a JDK 8 without symbols has no allocation samples */
	JAVA_REFUSED_TIMERS = 2, /* a process may have no timers left */
	JAVA_REFUSED_ALL = 3,
};

/* Which of these an error of async-profiler is about; 0: none, or it does not say. */
unsigned java_command_refused(const char *error);

struct java_start {
	enum java_cpu_timer timer;
	const char *dir;      /* as the JVM sees it */
	const char *file;     /* the recording's name in it */
	const char *log_file; /* likewise, for async-profiler's messages; NULL: none */
	/* What is sampled, and how often; 0: not at all. The interval of CPU time must not be 0. */
	struct jfr_settings settings;
	unsigned life_s; /* it stops by itself after that time */
};

/*
 * Begins a recording. Returns 0, -EINVAL if the directory has a character that options cannot have,
 * or -E2BIG if it is too long.
 */
int java_command_start(const struct java_start *start, char ret[JAVA_COMMAND_BYTES]) MUST_CHECK;

#endif /* NODE_AGENT_JAVA_PROFILE_JAVA_COMMANDS_H */
