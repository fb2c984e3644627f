#include <signal.h>

#include "common/agent/agent_main.h"
#include "common/privilege/capabilities.h"
#include "common/telemetry/log.h"
#include "node-agent/allocator.h"
#include "node-agent/goroutines_command.h"
#include "node-agent/lines/line_helper.h"
#include "node-agent/node_agent.h"
#include "node-agent/node_options.h"
#include "node-agent/node_privileges.h"
#include "node-agent/record_command.h"
#include "node-agent/symbols_command.h"
#include "version.h"

/*
 * What starts Coroot's agent switches its profiler off by leaving out the endpoint for profiles,
 * beside those of what we do not do. An agent that exits would be started again and again.
 */
static bool is_switched_off(const struct node_options *o)
{
	static const char *const others[] = {"METRICS_ENDPOINT", "LOGS_ENDPOINT",
					     "TRACES_ENDPOINT"};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (getenv(others[i]))
			return !o->collector_endpoint && !o->profiles_endpoint && !o->otlp_endpoint;
	}
	return false;
}

static int wait_for_end(void)
{
	sigset_t end;
	int signal_number;
	int r = capabilities_keep(0);

	if (r < 0)
		return r;
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGINT);
	sigprocmask(SIG_BLOCK, &end, NULL);
	log_warn("profiling is switched off; doing nothing",
		 "reason=\"PROFILES_ENDPOINT is not set\"");
	return -sigwait(&end, &signal_number);
}

static int serve(const void *opts, struct err *err)
{
	CLEANUP(node_agent_freep) struct node_agent *a = NULL;
	const struct node_options *o = opts;
	int r;

	if (is_switched_off(o))
		return wait_for_end();
	r = node_options_check(o, err);
	if (r < 0)
		return r;
	r = node_privileges_drop(o, err);
	if (r < 0)
		return r;
	r = node_agent_new(&a, o, err);
	if (r < 0)
		return r;
	return node_agent_run(a);
}

/* What line_reader.h starts. */
static int read_lines(char **args, struct err *err)
{
	(void)args;
	return line_helper_run(err);
}

int main(int argc, char **argv)
{
	const struct agent_command commands[] = {
		goroutines_command,
		record_command,
		symbols_command,
		{LINE_HELPER_COMMAND, "", "read source lines for the node agent", read_lines,
		 .hidden = true},
		{0},
	};
	struct node_options opts = {0};
	const struct agent_program program = {
		.name = "coroot-node-agent",
		.version = VERSION,
		.commands = commands,
		.options = node_option_defs,
		.ignored = node_ignored_flags,
		.opts = &opts,
		.log_level = &opts.log_level,
		.serve = serve,
	};

	(void)argc;
	allocator_setup();
	return agent_main(&program, argv);
}
