#include "common/options/options.h"

#include <ctype.h>
#include <errno.h>

#include "common/options/options_table.h"
#include "common/text/parse.h"

/* What the command line says, before anything is checked. */
struct flags {
	const char **text; /* per option; NULL: not given */
	const char *config;
	bool print_config;
};

const struct option_def *options_find(const struct option_def *defs, const char *name, size_t len)
{
	for (const struct option_def *d = defs; d->name; d++) {
		if (strlen(d->name) == len && memcmp(d->name, name, len) == 0)
			return d;
	}
	return NULL;
}

void options_env_name(const char *name, char ret[static OPTIONS_ENV_NAME_BYTES])
{
	size_t i;

	for (i = 0; i < OPTIONS_ENV_NAME_BYTES - 1 && name[i]; i++)
		ret[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
	ret[i] = '\0';
}

static int set_string(char **field, const char *text)
{
	char *copy = NULL;

	if (text[0]) {
		copy = strdup(text);
		if (!copy)
			return -ENOMEM;
	}
	free(*field);
	*field = copy;
	return 0;
}

static int check_choice(const struct option_def *def, const char *where, const char *text,
			struct err *err)
{
	size_t len = strlen(text);

	for (const char *c = def->choices; *c;) {
		size_t n = strcspn(c, "|");

		if (n == len && memcmp(c, text, n) == 0)
			return 0;
		c += n + (c[n] == '|');
	}
	return err_set(err, -EINVAL, "%s: \"%s\" is none of %s", where, text, def->choices);
}

static int check_range(const struct option_def *def, const char *where, const char *text,
		       uint64_t value, struct err *err)
{
	char min[OPTIONS_VALUE_BYTES], max[OPTIONS_VALUE_BYTES];

	if (value >= def->min && (def->max == 0 || value <= def->max))
		return 0;
	if (def->type == OPTION_DURATION) {
		options_format_duration(def->min, min);
		options_format_duration(def->max, max);
	} else {
		snprintf(min, sizeof(min), "%llu", (unsigned long long)def->min);
		snprintf(max, sizeof(max), "%llu", (unsigned long long)def->max);
	}
	if (def->max == 0)
		return err_set(err, -EINVAL, "%s: %s is below %s", where, text, min);
	return err_set(err, -EINVAL, "%s: %s is outside %s..%s", where, text, min, max);
}

static int set_number(const struct option_def *def, uint64_t *field, const char *where,
		      const char *text, struct err *err)
{
	bool is_duration = def->type == OPTION_DURATION;
	size_t len = strlen(text);
	uint64_t value;
	int r;

	r = is_duration ? parse_duration(text, len, &value)
			: parse_u64(text, len, 0, UINT64_MAX, &value);
	if (r == -ERANGE)
		return err_set(err, -EINVAL, "%s: %s is too large", where, text);
	if (r < 0)
		return err_set(err, -EINVAL, "%s: \"%s\" is not a %s", where, text,
			       is_duration ? "duration like 90s or 1h30m" : "whole number");
	r = check_range(def, where, text, value, err);
	if (r == 0)
		*field = value;
	return r;
}

int options_set(const struct option_def *def, void *opts, const char *where, const char *text,
		struct err *err)
{
	void *field = (char *)opts + def->offset;
	int r;

	switch (def->type) {
	case OPTION_ENUM:
		r = check_choice(def, where, text, err);
		return r < 0 ? r : set_string(field, text);
	case OPTION_UINT:
	case OPTION_DURATION:
		return set_number(def, field, where, text, err);
	case OPTION_BOOL:
		if (parse_bool(text, strlen(text), field) < 0)
			return err_set(err, -EINVAL, "%s: \"%s\" is neither true nor false", where,
				       text);
		return 0;
	case OPTION_STRING:
	case OPTION_SECRET:
		break;
	}
	return set_string(field, text);
}

static int set_defaults(const struct option_def *defs, void *opts, struct err *err)
{
	int r = 0;

	for (const struct option_def *d = defs; d->name && r == 0; d++) {
		char where[OPTIONS_ENV_NAME_BYTES];

		if (!d->def)
			continue;
		snprintf(where, sizeof(where), "default of --%s", d->name);
		r = options_set(d, opts, where, d->def, err);
	}
	return r;
}

static int set_from_environment(const struct option_def *defs, void *opts, struct err *err)
{
	int r = 0;

	for (const struct option_def *d = defs; d->name && r == 0; d++) {
		char name[OPTIONS_ENV_NAME_BYTES];
		const char *text;

		options_env_name(d->name, name);
		text = getenv(name);
		if (text && text[0])
			r = options_set(d, opts, name, text, err);
	}
	return r;
}

static int set_from_flags(const struct option_def *defs, void *opts, const struct flags *f,
			  struct err *err)
{
	int r = 0;

	for (size_t i = 0; defs[i].name && r == 0; i++) {
		char where[OPTIONS_ENV_NAME_BYTES];

		if (!f->text[i])
			continue;
		snprintf(where, sizeof(where), "--%s", defs[i].name);
		r = options_set(&defs[i], opts, where, f->text[i], err);
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

/*
 * Read the flag at argv[*i], and its value where that is the next argument.
 * OPTIONS_EXIT when it was answered.
 */
static int scan_flag(const struct option_def *defs, struct flags *f, char **argv, int *i,
		     struct err *err)
{
	const char *name = argv[*i] + 2, *value, **slot;
	size_t len = strcspn(name, "=");
	const struct option_def *d = options_find(defs, name, len);

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

/* The answers that need nothing else to be right. */
static int answer(const struct option_def *defs, char **argv, const char *program,
		  const char *version)
{
	for (int i = 1; argv[i]; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return options_print_help(defs, program);
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
	if (r == 0 && path && path[0])
		r = options_load_file(defs, opts, path, err);
	if (r == 0)
		r = set_from_environment(defs, opts, err);
	if (r == 0)
		r = set_from_flags(defs, opts, f, err);
	if (r == 0 && f->print_config)
		r = options_print_config(defs, opts, err);
	return r;
}

int options_parse(const struct option_def *defs, void *opts, char **argv, const char *program,
		  const char *version, struct err *err)
{
	AUTO_FREE const char **text = NULL;
	struct flags flags = {0};
	size_t n = 0;
	int r;

	if (!argv[0])
		return err_set(err, -EINVAL, "no arguments, not even a program name");
	r = answer(defs, argv, program, version);
	if (r != OPTIONS_OK)
		return r;

	while (defs[n].name)
		n++;
	text = calloc(n + 1, sizeof(*text));
	if (!text)
		return -ENOMEM;
	flags.text = text;

	r = scan_flags(defs, &flags, argv, err);
	if (r == OPTIONS_OK)
		r = set_all(defs, opts, &flags, err);
	if (r < 0)
		options_fini(defs, opts);
	return r;
}

void options_fini(const struct option_def *defs, void *opts)
{
	for (const struct option_def *d = defs; d->name; d++) {
		char **field = (void *)((char *)opts + d->offset);

		if (d->type != OPTION_STRING && d->type != OPTION_SECRET && d->type != OPTION_ENUM)
			continue;
		free(*field);
		*field = NULL;
	}
}
