/*
 * From argv, environment and file to the agent's struct, by its table of options.
 *
 * The command line is scanned before anything is set, because --config on it names the file, which
 * is weaker than the flags and must be applied before them. Sources are then applied from the
 * weakest to the strongest, each overwriting the values of those before it, and each value is
 * checked where it is set; so an error names the flag, the variable, or the file and line at fault.
 * A bad value in a weak source is an error even if a stronger one overrides it.
 */
#include "common/options/options.h"

#include <errno.h>

#include "common/options/option_value.h"
#include "common/options/options_file.h"
#include "common/options/options_print.h"

/* The command line before any value is checked. */
struct flags {
	const char **text; /* one per option, NULL if not given */
	char **lists;      /* one per option: the lines of a repeated flag, owned; else NULL */
	const char *config;
	bool print_config;
};

static int set_defaults(const struct option_def *defs, void *opts, struct err *err)
{
	int r = 0;

	for (const struct option_def *d = defs; d->name && r == 0; d++) {
		char where[OPTION_ENV_NAME_BYTES];

		if (!d->def)
			continue;
		snprintf(where, sizeof(where), "default of --%s", d->name);
		r = option_set(d, opts, where, d->def, err);
	}
	return r;
}

static int set_from_environment(const struct option_def *defs, void *opts, struct err *err)
{
	int r = 0;

	for (const struct option_def *d = defs; d->name && r == 0; d++) {
		char name[OPTION_ENV_NAME_BYTES];
		const char *text;

		option_env_name(d->name, name);
		text = getenv(name);
		if (d->variable && (!text || !text[0])) {
			snprintf(name, sizeof(name), "%s", d->variable);
			text = getenv(name);
		}
		if (text && text[0])
			r = option_set(d, opts, name, text, err);
	}
	return r;
}

static int set_from_flags(const struct option_def *defs, void *opts, const struct flags *f,
			  struct err *err)
{
	int r = 0;

	for (size_t i = 0; defs[i].name && r == 0; i++) {
		char where[OPTION_ENV_NAME_BYTES];

		if (!f->text[i])
			continue;
		snprintf(where, sizeof(where), "--%s", defs[i].name);
		r = option_set(&defs[i], opts, where, f->text[i], err);
	}
	return r;
}

static bool name_is(const char *name, size_t len, const char *want)
{
	return strlen(want) == len && memcmp(name, want, len) == 0;
}

static int print_version(const char *program, const char *version)
{
	if (printf("%s %s\n", program, version) < 0 || fflush(stdout) != 0)
		return -errno;
	return OPTIONS_EXIT;
}

/* Adds a line to the list of option i, which has one already. */
static int add_to_list(struct flags *f, size_t i, const char *value)
{
	size_t old = strlen(f->text[i]), size = old + 1 + strlen(value) + 1;
	char *joined = malloc(size);

	if (!joined)
		return -ENOMEM;
	snprintf(joined, size, "%s\n%s", f->text[i], value);
	free(f->lists[i]);
	f->lists[i] = joined;
	f->text[i] = joined;
	return OPTIONS_OK;
}

/* Reads the flag at argv[*i], and its value if that is the next argument. */
static int scan_flag(const struct option_def *defs, struct flags *f, char **argv, int *i,
		     struct err *err)
{
	const char *name = argv[*i] + 2, *value, **slot;
	size_t len = strcspn(name, "=");
	const struct option_def *d = option_find(defs, name, len);

	if (name_is(name, len, "config"))
		slot = &f->config;
	else if (d)
		slot = &f->text[d - defs];
	else
		return err_set(err, -EINVAL, "unknown flag --%.*s", (int)len, name);

	if (name[len] == '=') {
		value = name + len + 1;
	} else if (d && d->type == OPTION_BOOL) {
		value = "true";
	} else {
		/* a forgotten value must not swallow the next flag */
		if (!argv[*i + 1] || strncmp(argv[*i + 1], "--", 2) == 0)
			return err_set(err, -EINVAL, "--%s: needs a value", name);
		value = argv[++*i];
	}
	if (*slot && d && d->type == OPTION_LIST)
		return add_to_list(f, (size_t)(d - defs), value);
	if (*slot)
		return err_set(err, -EINVAL, "--%.*s: given twice", (int)len, name);
	*slot = value;
	return OPTIONS_OK;
}

static int scan_flags(const struct option_def *defs, struct flags *f, char **argv, struct err *err)
{
	int r = OPTIONS_OK;

	for (int i = 1; argv[i] && r == OPTIONS_OK; i++) {
		if (strncmp(argv[i], "--", 2) != 0 || !argv[i][2])
			return err_set(err, -EINVAL, "unexpected argument \"%s\"", argv[i]);
		if (strcmp(argv[i], "--print-config") == 0)
			f->print_config = true;
		else
			r = scan_flag(defs, f, argv, &i, err);
	}
	return r;
}

/* Answers --help and --version even if the rest of the command line is wrong. */
static int answer(char **argv, const char *program, const char *version)
{
	for (int i = 1; argv[i]; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return OPTIONS_HELP;
		if (strcmp(argv[i], "--version") == 0)
			return print_version(program, version);
	}
	return OPTIONS_OK;
}

static int set_all(const struct option_def *defs, void *opts, const struct flags *f,
		   struct err *err)
{
	const char *path = f->config ? f->config : getenv("CONFIG");
	int r;

	r = set_defaults(defs, opts, err);
	if (r < 0)
		return r;
	if (path && path[0])
		r = options_load_file(defs, opts, path, err);
	if (r < 0)
		return r;
	r = set_from_environment(defs, opts, err);
	if (r < 0)
		return r;
	r = set_from_flags(defs, opts, f, err);
	if (r < 0)
		return r;
	if (f->print_config)
		r = options_print_config(defs, opts, err) ?: OPTIONS_EXIT;
	return r;
}

int options_parse(const struct option_def *defs, void *opts, char **argv, const char *program,
		  const char *version, struct err *err)
{
	AUTO_FREE const char **text = NULL;
	AUTO_FREE char **lists = NULL;
	struct flags flags = {0};
	size_t n = 0;
	int r;

	if (!argv[0])
		return err_set(err, -EINVAL, "no arguments, not even a program name");
	r = answer(argv, program, version);
	if (r != OPTIONS_OK)
		return r;

	while (defs[n].name)
		n++;
	text = calloc(n + 1, sizeof(*text));
	lists = calloc(n + 1, sizeof(*lists));
	if (!text || !lists)
		return -ENOMEM;
	flags.text = text;
	flags.lists = lists;

	r = scan_flags(defs, &flags, argv, err);
	if (r == OPTIONS_OK)
		r = set_all(defs, opts, &flags, err);
	for (size_t i = 0; i < n; i++)
		free(lists[i]);
	if (r < 0)
		options_fini(defs, opts);
	return r;
}

/* A few stars show that something was given; nothing shows how long it was but the empty space. */
static void wipe(char *secret)
{
	size_t len = strlen(secret);

	explicit_bzero(secret, len);
	memset(secret, '*', len < 3 ? len : 3);
}

static void wipe_variable(const char *name)
{
	char *value = name ? getenv(name) : NULL;

	if (!value)
		return;
	explicit_bzero(value, strlen(value));
	unsetenv(name);
}

void options_wipe_secrets(const struct option_def *defs, char **argv)
{
	for (size_t i = 1; argv[0] && argv[i]; i++) {
		size_t len = strncmp(argv[i], "--", 2) == 0 ? strcspn(argv[i] + 2, "=") : 0;
		const struct option_def *d = option_find(defs, argv[i] + 2 * (len > 0), len);

		if (!d || d->type == OPTION_BOOL)
			continue;
		if (argv[i][2 + len] == '=') {
			if (d->type == OPTION_SECRET)
				wipe(argv[i] + 2 + len + 1);
		} else if (argv[i + 1]) {
			i++;
			if (d->type == OPTION_SECRET)
				wipe(argv[i]);
		}
	}
	for (const struct option_def *d = defs; d->name; d++) {
		char name[OPTION_ENV_NAME_BYTES];

		if (d->type != OPTION_SECRET)
			continue;
		option_env_name(d->name, name);
		wipe_variable(name);
		wipe_variable(d->variable);
	}
}

void options_fini(const struct option_def *defs, void *opts)
{
	for (const struct option_def *d = defs; d->name; d++) {
		char **field = (void *)((char *)opts + d->offset);

		if (!option_is_text(d))
			continue;
		free(*field);
		*field = NULL;
	}
}
