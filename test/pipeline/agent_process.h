/*
 * The real cluster agent as a child process, and HTTP to it. For pipeline
 * tests: whatever goes wrong here fails the test.
 */
#ifndef TEST_PIPELINE_AGENT_PROCESS_H
#define TEST_PIPELINE_AGENT_PROCESS_H

#include <jansson.h>
#include <sys/types.h>

#include "common/base.h"
#include "common/data/buf.h"

struct agent_process {
	char dir[64]; /* data directory, made by agent_process_init() */
	char log[80];
	unsigned port;
	pid_t pid; /* 0: not running */
};

/* A fresh data directory; nothing runs yet. */
void agent_process_init(struct agent_process *a);
/* Ends the agent if it runs, and removes the directory. */
void agent_process_fini(struct agent_process *a);

/* Starts it and waits until it is ready. extra: one more argument, or NULL. */
void agent_process_start(struct agent_process *a, const char *extra);
/* Sends signo and waits for the end; the status as of waitpid(). */
int agent_process_stop(struct agent_process *a, int signo);

/* A directory and all in it. */
void agent_process_remove(const char *dir);

/* Runs the agent with these arguments (NULL-terminated) to its end: exit status, text of stderr. */
int agent_process_try(const char *const *args, char *ret_text, size_t size);

struct reply {
	long status; /* 0: no answer */
	struct buf body;
	char retry_after[16];
};
void reply_fini(struct reply *r);

/* POST /v1/profiles?<params>; key may be NULL. From any thread. */
void agent_post(const struct agent_process *a, const char *params, const char *key,
		const void *body, size_t len, struct reply *ret);
/* GET <path>, whatever the answer. */
void agent_get(const struct agent_process *a, const char *path, struct reply *ret);
/* GET <path> must be 200 with JSON; the caller frees it with json_decref(). */
json_t *agent_get_json(const struct agent_process *a, const char *path);

#endif /* TEST_PIPELINE_AGENT_PROCESS_H */
