/*
 * A process that plays HotSpot's side of attaching, and its faults. It runs as a user of its own in
 * a mount namespace with an empty /tmp and /dev/shm, and says in shared memory what it saw.
 */
#ifndef TEST_LIB_FAKE_JVM_H
#define TEST_LIB_FAKE_JVM_H

#include <stdatomic.h>
#include <sys/types.h>

#include "common/base.h"

#define FAKE_JVM_UID 23456u
#define FAKE_JVM_GID 34567u

enum fake_jvm_listen {
	FAKE_JVM_LISTENS,        /* when it gets the signal */
	FAKE_JVM_LISTENS_LATE,   /* when it gets the signal and `released` is set */
	FAKE_JVM_LISTENS_ALWAYS, /* from the start */
	FAKE_JVM_LEAVES_SOCKET,  /* as the last; but at the start there is one that nobody serves */
	FAKE_JVM_IS_DEAF,        /* it listens always and never accepts */
	FAKE_JVM_EXITS,          /* when it gets the signal */
	FAKE_JVM_NEVER_CATCHES,  /* SIGQUIT is not handled */
	FAKE_JVM_BLOCKS,         /* SIGQUIT is handled and blocked */
	FAKE_JVM_EXECUTES,       /* it has called execve(2) since */
};

enum fake_jvm_answer {
	FAKE_JVM_ANSWERS,
	FAKE_JVM_ANSWERS_SLOWLY, /* a byte at a time */
	FAKE_JVM_FLOODS,         /* the answer, then a megabyte of the same byte */
	FAKE_JVM_HANGS_UP,
	FAKE_JVM_STALLS, /* half the answer, then nothing */
	FAKE_JVM_DIES,   /* half the answer, then it exits */
};

struct fake_jvm_script {
	enum fake_jvm_listen listen;
	enum fake_jvm_answer answer;
	const char *text;        /* of the answer; NULL: "0\nreturn code: 0\n" */
	const char *tmp_options; /* of its /tmp's mount; NULL: "mode=1777" */
	unsigned long tmp_flags;
	bool is_root;
	const char *root;        /* chroot(2) to this; NULL: none */
	const char *cwd;         /* NULL: a directory of its own in /dev/shm */
	const char *link_tmp_to; /* its /tmp is a symbolic link, inside root */
};

/* What it saw: in memory that it shares with the test. */
struct fake_jvm_seen {
	atomic_bool ready;
	atomic_bool released; /* set by the test */
	atomic_uint n_signals;
	atomic_uint n_connections;
	atomic_uint n_without_file; /* signals for which a JVM would have printed a thread dump */
	atomic_uint peer_uid, peer_gid;
	char request[4096];
	atomic_uint request_len;
};

struct fake_jvm {
	pid_t pid;
	uint64_t start_time;
	struct fake_jvm_seen *seen;
};

void fake_jvm_start(struct fake_jvm *f, const struct fake_jvm_script *script);
void fake_jvm_end(struct fake_jvm *f);

/* A path in it as we see it, valid until the next call. */
const char *fake_jvm_path(const struct fake_jvm *f, const char *path);

#endif /* TEST_LIB_FAKE_JVM_H */
