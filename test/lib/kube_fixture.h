/*
 * A kube_client and an API server that accepts one Authorization header and answers 401 to all
 * others. The files of a test live in a directory of its own.
 */
#ifndef TEST_LIB_KUBE_FIXTURE_H
#define TEST_LIB_KUBE_FIXTURE_H

#include <pthread.h>

#include "common/http/http_server.h"
#include "common/kubernetes/kube_client.h"
#include "common/system/loop.h"

struct kube_fixture {
	struct loop *loop;
	struct loop_source *stopper;
	struct kube_client *client;
	struct kube_config cfg; /* strings belong to the test */
	const char *dir;
	char url[64]; /* of the server, without '/' at the end */

	/* the server; its handler runs on another thread */
	struct http_server *server;
	http_handler_fn
		answer; /* to authorized requests; NULL: a list, or 403 for /api/forbidden */
	pthread_mutex_t lock;
	char wanted[128];     /* Authorization; "": anything */
	char rotate_path[96]; /* unless "": on a 401, rotate_to is written to this file */
	char rotate_to[64];
	unsigned n_requests;
	char seen[256]; /* Authorization of the last request */

	/* the last result */
	int n_done, n_expected;
	int error, status;
	char msg[512];
	char body[512];
	uint64_t retry_after_ns;
};

/* For cmocka: *state becomes a struct kube_fixture *. */
int kube_fixture_set_up(void **state);
int kube_fixture_tear_down(void **state);

void kube_fixture_write(const struct kube_fixture *f, const char *name, const char *text);
/* Writes a shell script, which finds its directory in $dir. */
void kube_fixture_write_script(const struct kube_fixture *f, const char *name, const char *text);
/* The size of a file, with which scripts count; 0 if it does not exist. */
size_t kube_fixture_size(const struct kube_fixture *f, const char *name);
/* Valid until the fixture is torn down; at most 8. */
char *kube_fixture_path(struct kube_fixture *f, const char *name);

/* Starts the server; cfg.server is its URL. */
void kube_fixture_serve(struct kube_fixture *f, const char *wanted);
void kube_fixture_want(struct kube_fixture *f, const char *wanted);
unsigned kube_fixture_requests(struct kube_fixture *f);

/* The client of cfg. */
void kube_fixture_connect(struct kube_fixture *f);
/* Sends GET /api/v1/pods, or req; done keeps the result and stops the loop. */
struct kube_call *kube_fixture_send(struct kube_fixture *f, struct kube_request req);
void kube_fixture_keep_result(void *ctx, const struct kube_result *result);
/* Runs the loop until all that was sent is answered. */
void kube_fixture_wait(struct kube_fixture *f);
/* Sends a request and waits for the result. */
void kube_fixture_ask(struct kube_fixture *f, struct kube_request req);
/* Runs the loop for that long. */
void kube_fixture_pass(struct kube_fixture *f, uint64_t ns);

void kube_fixture_assert_ok(const struct kube_fixture *f);
/* sentence is a part of the message. */
void kube_fixture_assert_failed(const struct kube_fixture *f, int error, const char *sentence);

#endif /* TEST_LIB_KUBE_FIXTURE_H */
