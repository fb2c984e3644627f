#include "cluster-agent/cluster_agent.h"
#include "cluster-agent/cluster_options.h"
#include "cluster-agent/cluster_privileges.h"
#include "cluster-agent/cluster_store.h"
#include "cluster-agent/operator/operator_command.h"
#include "cluster-agent/symbols/symbol_helper.h"
#include "cluster-agent/wait_command.h"
#include "common/agent/agent_main.h"
#include "version.h"

static int serve(const void *opts, struct err *err)
{
	CLEANUP(cluster_agent_freep) struct cluster_agent *a = NULL;
	const struct cluster_options *o = opts;
	int r;

	r = cluster_options_check(o, err);
	if (r < 0)
		return r;
	if (!cluster_options_forward(o))
		r = cluster_store_check(o, err);
	if (r < 0)
		return r;
	r = cluster_privileges_drop(o, err);
	if (r < 0)
		return r;
	r = cluster_agent_new(&a, o, err);
	if (r < 0)
		return r;
	return cluster_agent_run(a);
}

/* What symbol_reader.h starts. */
static int read_symbols(char **args, struct err *err)
{
	(void)args;
	return symbol_helper_run(err);
}

int main(int argc, char **argv)
{
	const struct agent_command commands[] = {
		operator_command,
		wait_command,
		{SYMBOL_HELPER_COMMAND, "", "read debug files for the cluster agent", read_symbols,
		 .hidden = true},
		{0},
	};
	struct cluster_options opts = {0};
	const struct agent_program program = {
		.name = "coroot-cluster-agent",
		.version = VERSION,
		.commands = commands,
		.options = cluster_option_defs,
		.ignored = cluster_ignored_flags,
		.opts = &opts,
		.log_level = &opts.log_level,
		.serve = serve,
	};

	(void)argc;
	return agent_main(&program, argv);
}
