#include "common/options/ignored_flags.h"

#include <errno.h>

#include "test/lib/unit.h"

static const struct ignored_flag flags[] = {
	{"root", false},
	{"disable-tracing", true},
	{0},
};

/* Runs it on a command line, "agent a b", and compares what is left and what was removed. */
static void check(const char *line, const char *want, const char *want_names)
{
	char text[256], left[256] = "";
	char *argv[16], **kept, *names;
	size_t n = 0;

	snprintf(text, sizeof(text), "%s", line);
	for (char *rest = text, *word; (word = strsep(&rest, " ")) != NULL;)
		argv[n++] = word;
	argv[n] = NULL;
	assert_int_equal(ignored_flags_remove(flags, argv, &kept, &names), 0);
	for (size_t i = 0; kept[i]; i++)
		snprintf(left + strlen(left), sizeof(left) - strlen(left), "%s%s", i ? " " : "",
			 kept[i]);
	assert_string_equal(left, want);
	assert_string_equal(names ?: "", want_names);
	free(kept);
	free(names);
}

TEST(flags_go_with_their_values)
{
	check("agent", "agent", "");
	check("agent --listen=:1 --root=/host --api-key k", "agent --listen=:1 --api-key k",
	      "--root");
	check("agent --root /host --listen :1", "agent --listen :1", "--root");
	check("agent --disable-tracing --listen :1", "agent --listen :1", "--disable-tracing");
	check("agent --no-disable-tracing --disable-tracing=false -h", "agent -h",
	      "--no-disable-tracing --disable-tracing");
	check("agent --root", "agent", "--root");
}

TEST(all_others_stay)
{
	check("agent --roots=/host --no-root=1 -root root --disable-tracin",
	      "agent --roots=/host --no-root=1 -root root --disable-tracin", "");
}

TEST(a_program_may_ignore_none)
{
	char name[] = "agent", flag[] = "--root=1";
	char *argv[] = {name, flag, NULL}, **kept, *names;

	assert_int_equal(ignored_flags_remove(NULL, argv, &kept, &names), 0);
	assert_ptr_equal(kept[1], flag);
	assert_null(kept[2]);
	assert_null(names);
	free(kept);
}

static int remove_some(void *arg)
{
	char name[] = "agent", flag[] = "--root=1", other[] = "--disable-tracing";
	char *argv[] = {name, flag, other, NULL}, **kept = NULL, *names = NULL;
	int r = ignored_flags_remove(flags, argv, &kept, &names);

	(void)arg;
	free(kept);
	free(names);
	return r;
}

TEST(survives_every_failed_allocation)
{
	check_oom(remove_some, NULL);
}
