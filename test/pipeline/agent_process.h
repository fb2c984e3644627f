/* The real cluster-agent as a child process, and HTTP to it. Every failure here fails the test. */
#ifndef TEST_PIPELINE_AGENT_PROCESS_H
#define TEST_PIPELINE_AGENT_PROCESS_H

#include <jansson.h>
#include <sys/types.h>

#include "common/base.h"
#include "common/data/buf.h"

struct agent_process {
	const char *dir; /* data directory, made by agent_process_init() */
	char log[80];
	unsigned port;
	pid_t pid; /* 0: not running */
};

/* Makes an empty data directory; starts nothing. */
void agent_process_init(struct agent_process *a);
/* Stops the agent if it runs, and removes the directory. */
void agent_process_fini(struct agent_process *a);

/* Starts the agent and waits until it is ready. extra is one more argument, or NULL. */
void agent_process_start(struct agent_process *a, const char *extra);
/* Sends signo, waits until the agent has exited, and returns the status as waitpid() does. */
int agent_process_stop(struct agent_process *a, int signo);

/* Removes a directory with its content. */
void agent_process_remove(const char *dir);

/*
 * Runs the agent with these arguments (NULL-terminated) until it exits. Returns its exit status
 * and the text of stderr.
 */
int agent_process_try(const char *const *args, char *ret_text, size_t size);

struct reply {
	long status; /* 0: no answer */
	struct buf body;
	char retry_after[16];
};
void reply_fini(struct reply *r);

/* Sends POST /v1/profiles?<params>; key may be NULL. From any thread. */
void agent_post(const struct agent_process *a, const char *params, const char *key,
		const void *body, size_t len, struct reply *ret);
/* Sends GET <path>; any answer will do. */
void agent_get(const struct agent_process *a, const char *path, struct reply *ret);
/* Waits until all uploads that were answered are in the store, where queries find them. */
void agent_settle(const struct agent_process *a);
/*
 * Sends GET <path> when the agent has settled. The answer must be 200 with JSON. Freed with
 * json_decref().
 */
json_t *agent_get_json(const struct agent_process *a, const char *path);

#endif /* TEST_PIPELINE_AGENT_PROCESS_H */
