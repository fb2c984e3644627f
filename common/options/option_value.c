#include "common/options/option_value.h"

#include <ctype.h>
#include <errno.h>

#include "common/system/clock.h"
#include "common/text/parse.h"

const struct option_def *option_find(const struct option_def *defs, const char *name, size_t len)
{
	for (const struct option_def *d = defs; d->name; d++) {
		if (strlen(d->name) == len && memcmp(d->name, name, len) == 0)
			return d;
	}
	return NULL;
}

bool option_is_text(const struct option_def *def)
{
	return def->type == OPTION_STRING || def->type == OPTION_LIST || def->type == OPTION_SECRET;
}

void option_env_name(const char *name, char ret[static OPTION_ENV_NAME_BYTES])
{
	size_t i;

	for (i = 0; i < OPTION_ENV_NAME_BYTES - 1 && name[i]; i++)
		ret[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
	ret[i] = '\0';
}

void option_format_duration(uint64_t ns, char ret[static OPTION_VALUE_BYTES])
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"d", 86400 * NS_PER_S},
		{"h", 3600 * NS_PER_S},
		{"m", 60 * NS_PER_S},
		{"s", NS_PER_S},
		{"ms", NS_PER_MS},
		{"us", 1000},
		{"ns", 1},
	};
	size_t len = 0;

	if (ns == 0)
		len = (size_t)snprintf(ret, OPTION_VALUE_BYTES, "0s");
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (ns < units[i].ns)
			continue;
		len += (size_t)snprintf(ret + len, OPTION_VALUE_BYTES - len, "%llu%s",
					(unsigned long long)(ns / units[i].ns), units[i].name);
		ns %= units[i].ns;
	}
}

static void option_format_size(uint64_t n, char ret[static OPTION_VALUE_BYTES])
{
	static const char *const units[][2] = {
		{"", ""}, {"KB", "KiB"}, {"MB", "MiB"}, {"GB", "GiB"}, {"TB", "TiB"}};
	bool is_binary = n % 1000 != 0;
	unsigned step = is_binary ? 1024 : 1000;
	size_t i = 0;

	for (; n >= step && n % step == 0 && i + 1 < ARRAY_SIZE(units); i++)
		n /= step;
	snprintf(ret, OPTION_VALUE_BYTES, "%llu%s", (unsigned long long)n, units[i][is_binary]);
}

void option_choices(const struct option_def *def, const char *separator, char *ret, size_t size)
{
	size_t len = 0;

	ret[0] = '\0';
	for (const char *const *c = def->choices; *c && len < size; c++)
		len += (size_t)snprintf(ret + len, size - len, "%s%s",
					c == def->choices ? "" : separator, *c);
}

void option_form(const struct option_def *def, char ret[static OPTION_FORM_BYTES])
{
	static const char *const names[] = {
		[OPTION_STRING] = "TEXT", [OPTION_LIST] = "TEXT",         [OPTION_SECRET] = "TEXT",
		[OPTION_UINT] = "N",      [OPTION_DURATION] = "DURATION", [OPTION_SIZE] = "SIZE",
	};
	char choices[OPTION_CHOICES_BYTES];
	const char *value = def->value;

	if (def->type == OPTION_BOOL) {
		snprintf(ret, OPTION_FORM_BYTES, "--%s[=true|false]", def->name);
		return;
	}
	if (def->type == OPTION_ENUM) {
		option_choices(def, "|", choices, sizeof(choices));
		value = choices;
	}
	snprintf(ret, OPTION_FORM_BYTES, "--%s=%s", def->name, value ? value : names[def->type]);
}

const char *option_default(const struct option_def *def)
{
	if (def->def)
		return def->def;
	switch (def->type) {
	case OPTION_UINT:
	case OPTION_DURATION:
	case OPTION_SIZE:
		return "0";
	case OPTION_BOOL:
		return "false";
	case OPTION_ENUM:
		return def->choices[0];
	default:
		return "none";
	}
}

static void format_number(const struct option_def *def, uint64_t value,
			  char ret[static OPTION_VALUE_BYTES])
{
	if (def->type == OPTION_DURATION)
		option_format_duration(value, ret);
	else if (def->type == OPTION_SIZE)
		option_format_size(value, ret);
	else
		snprintf(ret, OPTION_VALUE_BYTES, "%llu", (unsigned long long)value);
}

static bool is_number(const struct option_def *def)
{
	return def->type == OPTION_UINT || def->type == OPTION_DURATION || def->type == OPTION_SIZE;
}

void option_range(const struct option_def *def, char ret[static 2 * OPTION_VALUE_BYTES])
{
	char min[OPTION_VALUE_BYTES], max[OPTION_VALUE_BYTES];

	ret[0] = '\0';
	if (!is_number(def))
		return;
	format_number(def, def->min, min);
	format_number(def, def->max, max);
	if (def->max > 0)
		snprintf(ret, 2 * (size_t)OPTION_VALUE_BYTES, "%.60s..%.60s", min, max);
	else if (def->min > 0)
		snprintf(ret, 2 * (size_t)OPTION_VALUE_BYTES, "at least %.60s", min);
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

static int set_choice(const struct option_def *def, void *field, const char *where,
		      const char *text, struct err *err)
{
	char choices[OPTION_CHOICES_BYTES];

	for (unsigned i = 0; def->choices[i]; i++) {
		if (strcmp(def->choices[i], text) != 0)
			continue;
		/* GCC and clang give an enum without negative values the size of unsigned */
		memcpy(field, &i, sizeof(i));
		return 0;
	}
	option_choices(def, ", ", choices, sizeof(choices));
	return err_set(err, -EINVAL, "%s: \"%s\" is not one of %s", where, text, choices);
}

static int check_range(const struct option_def *def, const char *where, const char *text,
		       uint64_t value, struct err *err)
{
	char min[OPTION_VALUE_BYTES], max[OPTION_VALUE_BYTES];

	if (value >= def->min && (def->max == 0 || value <= def->max))
		return 0;
	format_number(def, def->min, min);
	format_number(def, def->max, max);
	if (def->max == 0)
		return err_set(err, -EINVAL, "%s: %s is below %s", where, text, min);
	return err_set(err, -EINVAL, "%s: %s is outside %s..%s", where, text, min, max);
}

/* What the text should be, for the error message. */
static const char *number_form(const struct option_def *def)
{
	if (def->type == OPTION_DURATION)
		return "duration like 90s or 1h30m";
	return def->type == OPTION_SIZE ? "size like 500MB or 1GiB" : "whole number";
}

static int parse_number(const struct option_def *def, const char *text, uint64_t *ret)
{
	size_t len = strlen(text);

	if (def->type == OPTION_DURATION)
		return parse_duration(text, len, ret);
	if (def->type == OPTION_SIZE)
		return parse_size(text, len, ret);
	return parse_u64(text, len, 0, UINT64_MAX, ret);
}

static int set_number(const struct option_def *def, uint64_t *field, const char *where,
		      const char *text, struct err *err)
{
	uint64_t value;
	int r = parse_number(def, text, &value);

	if (r == -ERANGE)
		return err_set(err, -EINVAL, "%s: %s is too large", where, text);
	if (r < 0)
		return err_set(err, -EINVAL, "%s: \"%s\" is not a %s", where, text,
			       number_form(def));
	r = check_range(def, where, text, value, err);
	if (r == 0)
		*field = value;
	return r;
}

int option_set(const struct option_def *def, void *opts, const char *where, const char *text,
	       struct err *err)
{
	void *field = (char *)opts + def->offset;

	switch (def->type) {
	case OPTION_ENUM:
		return set_choice(def, field, where, text, err);
	case OPTION_UINT:
	case OPTION_DURATION:
	case OPTION_SIZE:
		return set_number(def, field, where, text, err);
	case OPTION_BOOL:
		if (parse_bool(text, strlen(text), field) < 0)
			return err_set(err, -EINVAL, "%s: \"%s\" is neither true nor false", where,
				       text);
		return 0;
	case OPTION_STRING:
	case OPTION_LIST:
	case OPTION_SECRET:
		break;
	}
	return set_string(field, text);
}

const char *option_text(const struct option_def *def, const void *opts,
			char text[static OPTION_VALUE_BYTES])
{
	const void *field = (const char *)opts + def->offset;
	unsigned choice;

	switch (def->type) {
	case OPTION_UINT:
	case OPTION_DURATION:
	case OPTION_SIZE:
		format_number(def, *(const uint64_t *)field, text);
		return text;
	case OPTION_BOOL:
		return *(const bool *)field ? "true" : "false";
	case OPTION_ENUM:
		memcpy(&choice, field, sizeof(choice));
		return def->choices[choice];
	case OPTION_SECRET:
		return *(char *const *)field ? "***" : NULL;
	case OPTION_STRING:
	case OPTION_LIST:
		break;
	}
	return *(char *const *)field;
}
