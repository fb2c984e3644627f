#include <signal.h>

#include "cluster-agent/cluster_agent.h"
#include "cluster-agent/cluster_options.h"
#include "common/telemetry/log.h"
#include "version.h"

#define PROGRAM "coroot-cluster-agent"

static void options_finip(struct cluster_options *o)
{
	options_fini(cluster_option_defs, o);
}

static int run(char **argv, struct err *err)
{
	CLEANUP(options_finip) struct cluster_options opts = {0};
	CLEANUP(cluster_agent_freep) struct cluster_agent *agent = NULL;
	int r = options_parse(cluster_option_defs, &opts, argv, PROGRAM, VERSION, err);

	if (r < 0 || r == OPTIONS_EXIT)
		return r;
	log_set_level_name(opts.log_level);
	signal(SIGPIPE, SIG_IGN);
	r = cluster_options_check(&opts, err);
	if (r == 0)
		r = cluster_agent_new(&agent, &opts, err);
	if (r == 0)
		r = cluster_agent_run(agent);
	return r;
}

int main(int argc, char **argv)
{
	struct err err = {""};
	int r = run(argv, &err);

	(void)argc;
	if (r < 0)
		fprintf(stderr, PROGRAM ": %s\n", err.msg[0] ? err.msg : strerror(-r));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
