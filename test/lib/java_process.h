/*
 * A Java program of this machine's JDK in a process of its own: RMI's registry, which every JDK has
 * and which does nothing. Its standard output and error are kept.
 */
#ifndef TEST_LIB_JAVA_PROCESS_H
#define TEST_LIB_JAVA_PROCESS_H

#include <limits.h>
#include <sys/types.h>

#include "common/base.h"

#define JAVA_PROCESS_FIRST_ID 100000u

struct java_process {
	pid_t pid;            /* of the JVM, in our PID namespace */
	pid_t child;          /* ours: the JVM, or the first of the namespaces around it */
	uint64_t start_time;  /* clock ticks since boot */
	int output_fd;        /* what it prints */
	int64_t output_start; /* its length when the JVM was up */
};

/* A JDK of those that test/java/jdks.sh fetches. */
struct java_release {
	char java[PATH_MAX]; /* the launcher */
	char root[PATH_MAX]; /* of the system that it is in; "" for the machine's */
};

/* 8, 11, 21, 25. Returns false without root, and if nothing is to be fetched: outside of make. */
bool java_release_find(struct java_release *ret, unsigned feature);

struct java_options {
	const struct java_release *release; /* NULL: the machine's JDK */
	const char *flag;                   /* of the JVM; NULL: none */
	uid_t uid;
	gid_t gid;
	bool user_namespace;     /* its ids are those in one that maps 0 to JAVA_PROCESS_FIRST_ID */
	unsigned pid_namespaces; /* around it, each in the one before; with a /tmp of its own */
	const char *cwd;         /* NULL: "/" */
	const char *tmp_options; /* of that /tmp's mount; NULL: "mode=1777" */
	unsigned long tmp_flags; /* MS_NOEXEC and the like */
};

/* Starts one and waits until it handles signals. Fails the test if it does not. */
void java_process_start(struct java_process *p, const struct java_options *o);

/* Kills it and removes its output. Harmless if it has ended. */
void java_process_end(struct java_process *p);

/* Whether it has printed nothing since it was up. */
bool java_process_is_silent(const struct java_process *p);

#endif /* TEST_LIB_JAVA_PROCESS_H */
