#include "common/agent/agent_main.h"
#include "node-agent/allocator.h"
#include "node-agent/goroutines_command.h"
#include "node-agent/node_agent.h"
#include "node-agent/node_options.h"
#include "node-agent/node_privileges.h"
#include "version.h"

static int serve(const void *opts, struct err *err)
{
	CLEANUP(node_agent_freep) struct node_agent *a = NULL;
	const struct node_options *o = opts;
	int r;

	r = node_options_check(o, err);
	if (r == 0)
		r = node_privileges_drop(o, err);
	if (r == 0)
		r = node_agent_new(&a, o, err);
	return r == 0 ? node_agent_run(a) : r;
}

int main(int argc, char **argv)
{
	const struct agent_command commands[] = {goroutines_command, {0}};
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
