#include <errno.h>

#include "common/err.h"
#include "node-agent/allocator.h"
#include "node-agent/goroutines_command.h"
#include "node-agent/node_agent.h"
#include "node-agent/node_options.h"
#include "version.h"

#define PROGRAM "coroot-node-agent"

static bool is_help(char **argv)
{
	bool help = false;

	for (char **arg = argv; *arg; arg++)
		help |= strcmp(*arg, "--help") == 0 || strcmp(*arg, "-h") == 0;
	return help;
}

static int run(char **argv, struct node_options *o, struct err *err)
{
	CLEANUP(node_agent_freep) struct node_agent *a = NULL;
	int r;

	if (argv[0] && argv[1] && strcmp(argv[1], GOROUTINES_COMMAND) == 0 && !is_help(argv))
		return goroutines_command(argv + 2, err);
	r = options_parse(node_option_defs, o, argv, PROGRAM, VERSION, err);
	if (r == OPTIONS_EXIT && is_help(argv))
		printf("\ncommands instead of options:\n" GOROUTINES_COMMAND_HELP);
	if (r == OPTIONS_EXIT)
		return 0;
	if (r == 0)
		r = node_options_check(o, err);
	if (r == 0)
		r = node_agent_new(&a, o, err);
	return r == 0 ? node_agent_run(a) : r;
}

int main(int argc, char **argv)
{
	struct node_options options = {0};
	struct err err = {""};
	int r;

	(void)argc;
	allocator_setup();
	r = run(argv, &options, &err);
	options_fini(node_option_defs, &options);
	if (r < 0)
		fprintf(stderr, PROGRAM ": %s\n", err.msg[0] ? err.msg : strerror(-r));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
