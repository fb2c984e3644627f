#include "common/agent/agent_main.h"

#include <errno.h>
#include <signal.h>

#include "common/options/option_variables.h"
#include "common/options/options.h"
#include "common/options/options_print.h"
#include "common/privilege/capabilities.h"

static bool is_help(const char *arg)
{
	return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

/* The first command from c on that --help shows, or the end of the table. */
static const struct agent_command *next_shown(const struct agent_command *c)
{
	while (c->name && c->hidden)
		c++;
	return c;
}

static int print_help(const struct agent_program *p)
{
	const struct agent_command *shown = next_shown(p->commands);

	printf("Usage: %s [OPTION]...\n", p->name);
	for (const struct agent_command *c = shown; c->name; c = next_shown(c + 1))
		printf("       %s %s %s\n", p->name, c->name, c->arguments);
	if (shown->name)
		printf("\nCommands:\n");
	for (const struct agent_command *c = shown; c->name; c = next_shown(c + 1))
		printf("  %s %s\n        %s\n", c->name, c->arguments, c->help);
	printf("\nOptions:\n");
	return options_print_help(p->options);
}

static int print_command_help(const struct agent_program *p, const struct agent_command *c)
{
	printf("Usage: %s %s %s\n\n%s\n", p->name, c->name, c->arguments, c->help);
	return fflush(stdout) == 0 ? 0 : -errno;
}

/* The command that argv[1] names, or NULL. */
static const struct agent_command *find_command(const struct agent_program *p, char **argv)
{
	for (const struct agent_command *c = p->commands; c->name; c++)
		if (strcmp(c->name, argv[1]) == 0)
			return c;
	return NULL;
}

static int run_command(const struct agent_program *p, char **argv, struct err *err)
{
	const struct agent_command *c = find_command(p, argv);

	if (!c)
		return err_set(err, -EINVAL, "unknown command \"%s\"; see %s --help", argv[1],
			       p->name);
	return argv[2] && is_help(argv[2]) ? print_command_help(p, c) : c->run(argv + 2, err);
}

/*
 * A misspelt flag is an error, but the environment has variables of everybody. Their values may be
 * secrets.
 */
static void warn_of_misspelt_variables(const struct option_def *defs)
{
	for (char **v = environ; *v; v++) {
		char name[OPTION_ENV_NAME_BYTES], meant[OPTION_ENV_NAME_BYTES];
		size_t len = strcspn(*v, "=");

		if (len >= sizeof(name))
			continue;
		memcpy(name, *v, len);
		name[len] = '\0';
		if (option_variable_misspelt(defs, name, meant))
			log_warn("a variable is no option, and looks like one; it has no effect",
				 "variable=%s did_you_mean=%s", LOG_QUOTED(name), meant);
	}
}

static int parse(const struct agent_program *p, char **argv, struct err *err)
{
	AUTO_FREE char **kept = NULL;
	AUTO_FREE char *ignored = NULL;
	int r = ignored_flags_remove(p->ignored, argv, &kept, &ignored);

	if (r < 0)
		return r;
	r = options_parse(p->options, p->opts, kept, p->name, p->version, err);
	options_wipe_secrets(p->options, kept);
	if (r != OPTIONS_OK)
		return r;
	log_set_level(*p->log_level);
	if (ignored)
		log_warn("flags of Coroot's agent that mean nothing here are ignored",
			 "flags=\"%s\"", ignored);
	warn_of_misspelt_variables(p->options);
	return OPTIONS_OK;
}

static bool names_command(char **argv)
{
	return argv[0] && argv[1] && argv[1][0] != '-';
}

static int run(const struct agent_program *p, char **argv, struct err *err)
{
	int r;

	if (names_command(argv))
		return run_command(p, argv, err);
	r = parse(p, argv, err);
	if (r == OPTIONS_HELP)
		return print_help(p);
	if (r != OPTIONS_OK)
		return r < 0 ? r : 0;
	/* a peer that closes its connection is an error of write(2), not the end of the agent */
	signal(SIGPIPE, SIG_IGN);
	process_harden();
	r = p->serve(p->opts, err);
	return r < 0 ? r : 0;
}

int agent_main(const struct agent_program *p, char **argv)
{
	const struct agent_command *c = names_command(argv) ? find_command(p, argv) : NULL;
	struct err err = {""};
	int r;

	if (c && c->program)
		return agent_main(c->program, argv + 1);
	r = run(p, argv, &err);
	options_fini(p->options, p->opts);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", p->name, err.msg[0] ? err.msg : strerror(-r));
	return r < 0 ? EXIT_FAILURE : r;
}
