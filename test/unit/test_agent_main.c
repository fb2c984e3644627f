#include <errno.h>
#include <sys/mman.h>

#include "common/agent/agent_main.h"
#include "common/agent/agent_options.h"
#include "test/lib/unit.h"

struct opts {
	char *listen;
	enum log_level log_level;
};

#define OPTIONS struct opts
static const struct option_def defs[] = {
	{STRING_OPTION("listen", listen), .value = "ADDR", .help = "address to listen on"},
	LOG_LEVEL_OPTION,
	{0},
};

static char said[1024]; /* what ran, with its arguments */

static int count_goats(char **args, struct err *err)
{
	if (args[0] && strcmp(args[0], "none") == 0)
		return err_set(err, -ENOENT, "there are no goats");
	snprintf(said, sizeof(said), "goats %s", args[0] ? args[0] : "-");
	return 0;
}

static int serve(const void *opts, struct err *err)
{
	const struct opts *o = opts;

	snprintf(said, sizeof(said), "serving on %s", o->listen ? o->listen : "nothing");
	return o->listen ? 0 : err_set(err, -EINVAL, "--listen is missing");
}

static int count_bees(char **args, struct err *err)
{
	(void)err;
	snprintf(said, sizeof(said), "bees %s", args[0] ? args[0] : "-");
	return 0;
}

static const struct agent_command hive_commands[] = {
	{"bees", "", "count the bees", count_bees},
	{0},
};
static struct opts hive_opts;
static const struct agent_program hive = {
	"agent hive", "v2", hive_commands, defs, &hive_opts, &hive_opts.log_level, serve};

static const struct agent_command commands[] = {
	{"goats", "FIELD [--brown]", "count the goats of a field", count_goats},
	{"inner", "", "do what only the agent asks for", count_bees, .hidden = true},
	{.name = "hive", .arguments = "[OPTION]...", .help = "keep bees", .program = &hive},
	{0},
};

/* What a program wrote to one of its streams. */
struct capture {
	int stream, saved, fd;
	char text[16384];
};

static void capture_begin(struct capture *c, int stream)
{
	fflush(stdout);
	c->stream = stream;
	c->fd = memfd_create("captured", MFD_CLOEXEC);
	c->saved = dup(stream);
	assert_true(c->fd >= 0 && c->saved >= 0);
	dup2(c->fd, stream);
}

static void capture_end(struct capture *c)
{
	ssize_t n;

	fflush(stdout);
	dup2(c->saved, c->stream);
	close(c->saved);
	n = pread(c->fd, c->text, sizeof(c->text) - 1, 0);
	close(c->fd);
	assert_true(n >= 0);
	c->text[n] = '\0';
}

static struct capture out, errors;

static int run(const char *first, const char *second)
{
	char name[] = "agent", a[64], b[64];
	char *argv[] = {name, first ? a : NULL, second ? b : NULL, NULL};
	struct opts opts = {0};
	const struct agent_program program = {"agent",         "v1", commands, defs, &opts,
					      &opts.log_level, serve};
	int status;

	snprintf(a, sizeof(a), "%s", first ? first : "");
	snprintf(b, sizeof(b), "%s", second ? second : "");
	said[0] = '\0';
	capture_begin(&out, STDOUT_FILENO);
	capture_begin(&errors, STDERR_FILENO);
	status = agent_main(&program, argv);
	capture_end(&errors);
	capture_end(&out);
	assert_null(opts.listen);
	return status;
}

TEST(options_alone_serve)
{
	assert_int_equal(run("--listen=a", "--log-level=warn"), EXIT_SUCCESS);
	assert_string_equal(said, "serving on a");
	log_set_level(LOG_LEVEL_INFO);
}

TEST(a_misspelt_variable_is_told_without_its_value)
{
	setenv("LOG_LEVLE", "hunter2", 1);
	setenv("LOG_LEVEL", "info", 1);
	assert_int_equal(run("--listen=a", NULL), EXIT_SUCCESS);
	unsetenv("LOG_LEVLE");
	unsetenv("LOG_LEVEL");
	assert_non_null(strstr(errors.text,
			       "a variable is no option, and looks like one; it has no effect\" "
			       "variable=\"LOG_LEVLE\" did_you_mean=LOG_LEVEL"));
	assert_null(strstr(errors.text, "hunter2"));
	assert_string_equal(said, "serving on a");
	assert_int_equal(run("--listen=a", NULL), EXIT_SUCCESS);
	assert_string_equal(errors.text, "");
}

TEST(an_error_is_one_line_and_a_failure)
{
	assert_int_equal(run(NULL, NULL), EXIT_FAILURE);
	assert_string_equal(errors.text, "agent: --listen is missing\n");
	assert_int_equal(run("--log-level=loud", NULL), EXIT_FAILURE);
	assert_string_equal(errors.text, "agent: --log-level: \"loud\" is not one of error, warn, "
					 "info, debug\n");
	assert_string_equal(said, "");
}

TEST(a_command_runs_with_its_arguments_instead_of_serving)
{
	assert_int_equal(run("goats", "north"), EXIT_SUCCESS);
	assert_string_equal(said, "goats north");
	assert_int_equal(run("goats", NULL), EXIT_SUCCESS);
	assert_string_equal(said, "goats -");
	assert_int_equal(run("goats", "none"), EXIT_FAILURE);
	assert_string_equal(errors.text, "agent: there are no goats\n");
}

TEST(an_unknown_command_is_one_line)
{
	assert_int_equal(run("sheep", "north"), EXIT_FAILURE);
	assert_string_equal(errors.text, "agent: unknown command \"sheep\"; see agent --help\n");
	assert_string_equal(out.text, "");
}

TEST(help_lists_commands_and_options)
{
	assert_int_equal(run("--help", NULL), EXIT_SUCCESS);
	assert_non_null(strstr(out.text, "Usage: agent [OPTION]...\n"
					 "       agent goats FIELD [--brown]\n"
					 "       agent hive [OPTION]...\n"
					 "\n"
					 "Commands:\n"
					 "  goats FIELD [--brown]\n"
					 "        count the goats of a field\n"
					 "  hive [OPTION]...\n"
					 "        keep bees\n"
					 "\n"
					 "Options:\n"
					 "  --listen=ADDR\n"));
	assert_non_null(strstr(out.text, "  --log-level=error|warn|info|debug\n"));
	assert_string_equal(errors.text, "");
}

TEST(a_command_has_help_of_its_own)
{
	assert_int_equal(run("goats", "--help"), EXIT_SUCCESS);
	assert_string_equal(out.text,
			    "Usage: agent goats FIELD [--brown]\n\ncount the goats of a field\n");
	assert_string_equal(said, "");
}

TEST(a_command_may_be_a_program_with_options_and_commands)
{
	assert_int_equal(run("hive", "--listen=h"), EXIT_SUCCESS);
	assert_string_equal(said, "serving on h");
	assert_null(hive_opts.listen);
	assert_int_equal(run("hive", "bees"), EXIT_SUCCESS);
	assert_string_equal(said, "bees -");
	assert_int_equal(run("hive", NULL), EXIT_FAILURE);
	assert_string_equal(errors.text, "agent hive: --listen is missing\n");
	assert_int_equal(run("hive", "wasps"), EXIT_FAILURE);
	assert_string_equal(errors.text,
			    "agent hive: unknown command \"wasps\"; see agent hive --help\n");
	assert_int_equal(run("hive", "--version"), EXIT_SUCCESS);
	assert_string_equal(out.text, "agent hive v2\n");
	assert_int_equal(run("hive", "--help"), EXIT_SUCCESS);
	assert_non_null(strstr(out.text, "Usage: agent hive [OPTION]...\n"
					 "       agent hive bees \n"
					 "\n"));
	assert_non_null(strstr(out.text, "  --listen=ADDR\n"));
}

TEST(the_version_is_one_line)
{
	assert_int_equal(run("--version", NULL), EXIT_SUCCESS);
	assert_string_equal(out.text, "agent v1\n");
}
