/*
 * A list of all running containers is one answer, which has the labels and addresses of all, and
 * needs no more privileges than reading it: /containers/json is all that is asked for.
 */
#include "cluster-agent/discover/docker_discovery.h"

#include <errno.h>

#include "cluster-agent/discover/docker_targets.h"
#include "cluster-agent/discover/known_pods.h"
#include "common/err.h"
#include "common/http/http.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"

#define INTERVAL_NS (10 * NS_PER_S)
#define TIMEOUT_NS (5 * NS_PER_S)

/* The host is only what the server sees. */
#define LIST_URL "http://localhost/containers/json"
/* In every answer of podman's. */
#define PODMAN_HEADER "Libpod-API-Version"

struct docker_discovery {
	struct docker_discovery_config cfg;
	struct http_client *http;
	struct loop_source *timer;
	struct known_pods *known;
	int error; /* the first one of upsert() in an answer */
	struct err problem;
};

/* One line when it begins, when it changes, and when it is over. */
static void set_problem(struct docker_discovery *d, const struct err *problem)
{
	if (strcmp(problem->msg, d->problem.msg) == 0)
		return;
	d->problem = *problem;
	if (problem->msg[0])
		log_warn("cannot find all containers to scrape, trying again", "error=%s",
			 LOG_QUOTED(problem->msg));
	else
		log_info("found the containers to scrape again", "socket=%s targets=%zu",
			 LOG_QUOTED(d->cfg.socket), known_pods_count(d->known));
}

static void on_target(void *ctx, const struct scrape_target *t)
{
	struct docker_discovery *d = ctx;
	int r = known_pods_put(d->known, t);

	if (r > 0) {
		r = d->cfg.upsert(d->cfg.ctx, t);
		if (r < 0)
			known_pods_mark_unpublished(d->known, t->uid);
	}
	if (r < 0 && d->error == 0)
		d->error = r;
}

/* Containers that the list does not name are gone, unless it was not read to its end. */
static int read_answer(struct docker_discovery *d, const struct http_result *result)
{
	const struct docker_targets_reader reader = {
		.is_podman = http_result_header(result, PODMAN_HEADER) != NULL,
		.default_kinds = d->cfg.kinds,
		.target = on_target,
		.ctx = d,
	};
	int r;

	d->error = 0;
	known_pods_unmark(d->known);
	r = docker_targets_read(result->body, result->body_len, &reader);
	if (r == 0 || r == -ENOSPC)
		known_pods_sweep(d->known, d->cfg.remove, d->cfg.ctx);
	return r < 0 ? r : d->error;
}

/* The same failure is always the same text. */
static void describe(const struct docker_discovery *d, int r, struct err *err)
{
	const char *socket = d->cfg.socket;

	if (r == -ETIMEDOUT)
		err_set(err, r, "%s: no answer within %llu seconds", socket,
			(unsigned long long)(TIMEOUT_NS / NS_PER_S));
	else if (r == -EAGAIN)
		err_set(err, r, "%s: the daemon accepts no connections", socket);
	else if (r == -EFBIG)
		err_set(err, r, "%s: the answer is larger than %zu bytes", socket,
			DOCKER_TARGETS_ANSWER_BYTES);
	else if (r == -ENOSPC)
		err_set(err, r, "%s: more than %u containers ask to be scraped", socket,
			DOCKER_TARGETS_MAX);
	else if (r == -EBADMSG)
		err_set(err, r, "%s: the answer is no list of containers", socket);
	else
		err_set(err, r, "%s: %s", socket, strerror(-r));
}

static void on_list(void *ctx, const struct http_result *result)
{
	struct docker_discovery *d = ctx;
	struct err problem = {""};
	int r = 0;

	loop_set_timer(d->timer, d->cfg.interval_ns);
	if (result->error < 0)
		describe(d, result->error, &problem);
	else if (result->status != 200)
		err_set(&problem, -EBADMSG, "%s: answered %d", d->cfg.socket, result->status);
	else
		r = read_answer(d, result);
	if (r < 0)
		describe(d, r, &problem);
	set_problem(d, &problem);
}

static void on_timer(void *ctx)
{
	struct docker_discovery *d = ctx;
	const struct http_request req = {
		.method = "GET",
		.url = LIST_URL,
		.timeout_ns = TIMEOUT_NS,
		.max_response_bytes = DOCKER_TARGETS_ANSWER_BYTES,
	};
	struct err problem = {""};
	int r = http_send(d->http, &req, on_list, d);

	if (r == 0)
		return;
	describe(d, r, &problem);
	set_problem(d, &problem);
	loop_set_timer(d->timer, d->cfg.interval_ns);
}

int docker_discovery_new(struct docker_discovery **ret, const struct docker_discovery_config *cfg)
{
	const struct http_client_config http = {.unix_socket = cfg->socket};
	CLEANUP(docker_discovery_freep) struct docker_discovery *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->cfg = *cfg;
	if (d->cfg.interval_ns == 0)
		d->cfg.interval_ns = INTERVAL_NS;
	/* those of a new list are put before those of the old one are swept */
	r = known_pods_new(&d->known, (size_t)2 * DOCKER_TARGETS_MAX);
	if (r == 0)
		r = http_client_new(&d->http, cfg->loop, &http);
	if (r == 0)
		r = loop_add_timer(cfg->loop, on_timer, d, &d->timer);
	if (r < 0)
		return r;
	loop_set_timer(d->timer, 0);
	*ret = TAKE_PTR(d);
	return 0;
}

void docker_discovery_free(struct docker_discovery *d)
{
	if (!d)
		return;
	http_client_free(d->http);
	loop_remove(d->timer);
	known_pods_free(d->known);
	free(d);
}

const char *docker_discovery_problem(const struct docker_discovery *d)
{
	return d->problem.msg;
}
