/*
 * Asks each URL, in order, until it answers 200. An answer that is not 200 may be that of a server
 * that is still starting, so it is retried like a refused connection; only the time limit is
 * an error. The last answer is then in the error line.
 */
#include "cluster-agent/wait_command.h"

#include <errno.h>
#include <signal.h>

#include "common/http/http.h"
#include "common/system/clock.h"
#include "common/text/parse.h"

#define ARGUMENTS "[--timeout=DURATION] [--ca-file=FILE] [--insecure-skip-verify] URL..."
#define DEFAULT_TIMEOUT_NS (120 * NS_PER_S)
#define REQUEST_TIMEOUT_NS (10 * NS_PER_S)
#define PAUSE_NS (500 * NS_PER_MS)

struct wait {
	char **urls; /* the one that is asked, and those after it */
	struct loop *loop;
	struct http_client *client;
	struct loop_source *pause;
	uint64_t deadline_ns;
	int result; /* once the loop has stopped */
	struct err *err;
};

struct wait_arguments {
	struct http_client_config client;
	uint64_t timeout_ns;
	char **urls;
};

static const char *value_of(const char *arg, const char *name)
{
	size_t len = strlen(name);

	return strncmp(arg, name, len) == 0 ? arg + len : NULL;
}

static bool parse_flag(const char *arg, struct wait_arguments *ret)
{
	const char *value = value_of(arg, "--timeout=");

	if (value)
		return parse_duration(value, strlen(value), &ret->timeout_ns) == 0;
	value = value_of(arg, "--ca-file=");
	if (value && *value) {
		ret->client.ca_file = value;
		return true;
	}
	if (strcmp(arg, "--insecure-skip-verify") != 0)
		return false;
	ret->client.insecure_skip_verify = true;
	return true;
}

static int parse(char **args, struct wait_arguments *ret, struct err *err)
{
	*ret = (struct wait_arguments){.timeout_ns = DEFAULT_TIMEOUT_NS};
	for (; *args && (*args)[0] == '-'; args++)
		if (!parse_flag(*args, ret))
			return err_set(err, -EINVAL, "bad argument \"%s\"; usage: wait-for %s",
				       *args, ARGUMENTS);
	if (!*args)
		return err_set(err, -EINVAL, "usage: wait-for %s", ARGUMENTS);
	ret->urls = args;
	return 0;
}

static void end(struct wait *w, int result)
{
	w->result = result;
	loop_stop(w->loop);
}

static int discard(void *ctx, const char *data, size_t len)
{
	(void)ctx;
	(void)data;
	(void)len;
	return 0;
}

static void ask(void *ctx);

static void retry(struct wait *w, const struct http_result *result)
{
	if (clock_monotonic_ns() < w->deadline_ns)
		loop_set_timer(w->pause, PAUSE_NS);
	else if (result->error < 0)
		end(w, err_set(w->err, result->error, "%s: %s", *w->urls,
			       result->msg ? result->msg : strerror(-result->error)));
	else
		end(w,
		    err_set(w->err, -EIO, "%s: answered with status %d", *w->urls, result->status));
}

static void done(void *ctx, const struct http_result *result)
{
	struct wait *w = ctx;

	if (result->error < 0 || result->status != 200) {
		retry(w, result);
		return;
	}
	printf("%s: 200\n", *w->urls);
	w->urls++;
	if (*w->urls)
		ask(w);
	else
		end(w, 0);
}

static void ask(void *ctx)
{
	struct wait *w = ctx;
	const struct http_request request = {
		.method = "GET",
		.url = *w->urls,
		.timeout_ns = REQUEST_TIMEOUT_NS,
		.on_data = discard,
	};
	int r = http_send(w->client, &request, done, w);

	if (r == -EINVAL)
		end(w, err_set(w->err, r, "\"%s\" is not a URL", *w->urls));
	else if (r < 0)
		end(w, r);
}

static int run(char **args, struct err *err)
{
	CLEANUP(loop_freep) struct loop *loop = NULL;
	CLEANUP(http_client_freep) struct http_client *client = NULL;
	struct wait_arguments given;
	struct wait w;
	int r = parse(args, &given, err);

	if (r == 0)
		r = loop_new(&loop);
	if (r == 0)
		r = http_client_new(&client, loop, &given.client);
	if (r < 0)
		return r;
	signal(SIGPIPE, SIG_IGN);
	w = (struct wait){
		.urls = given.urls,
		.loop = loop,
		.client = client,
		.deadline_ns = clock_monotonic_ns() + given.timeout_ns,
		.err = err,
	};
	r = loop_add_timer(loop, ask, &w, &w.pause);
	if (r < 0)
		return r;
	loop_set_timer(w.pause, 0);
	r = loop_run(loop);
	return r < 0 ? r : w.result;
}

const struct agent_command wait_command = {
	.name = "wait-for",
	.arguments = ARGUMENTS,
	.help = "wait until each URL answers 200, up to two minutes; for tests inside a cluster",
	.run = run,
};
