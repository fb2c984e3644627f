#include <errno.h>

#include <yaml.h>

#include "common/data/buf.h"
#include "common/options/options_table.h"
#include "common/system/clock.h"

#define CONFIG_BYTES ((size_t)16 * 1024 * 1024)

void options_format_duration(uint64_t ns, char ret[static OPTIONS_VALUE_BYTES])
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
		len = (size_t)snprintf(ret, OPTIONS_VALUE_BYTES, "0s");
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (ns < units[i].ns)
			continue;
		len += (size_t)snprintf(ret + len, OPTIONS_VALUE_BYTES - len, "%llu%s",
					(unsigned long long)(ns / units[i].ns), units[i].name);
		ns %= units[i].ns;
	}
}

static const char *value_name(const struct option_def *d)
{
	if (d->value)
		return d->value;
	switch (d->type) {
	case OPTION_UINT:
		return "N";
	case OPTION_DURATION:
		return "DURATION";
	case OPTION_ENUM:
		return d->choices;
	default:
		return "TEXT";
	}
}

static void print_range(const struct option_def *d)
{
	char min[OPTIONS_VALUE_BYTES], max[OPTIONS_VALUE_BYTES];

	if (d->max == 0 || (d->type != OPTION_UINT && d->type != OPTION_DURATION))
		return;
	if (d->type == OPTION_DURATION) {
		options_format_duration(d->min, min);
		options_format_duration(d->max, max);
		printf("; range: %s..%s", min, max);
		return;
	}
	printf("; range: %llu..%llu", (unsigned long long)d->min, (unsigned long long)d->max);
}

static const char *default_text(const struct option_def *d)
{
	if (d->def)
		return d->def;
	switch (d->type) {
	case OPTION_UINT:
	case OPTION_DURATION:
		return "0";
	case OPTION_BOOL:
		return "false";
	default:
		return "none";
	}
}

int options_print_help(const struct option_def *defs, const char *program)
{
	printf("Usage: %s [OPTION]...\n\n", program);
	for (const struct option_def *d = defs; d->name; d++) {
		char env[OPTIONS_ENV_NAME_BYTES];

		options_env_name(d->name, env);
		if (d->type == OPTION_BOOL)
			printf("  --%s[=true|false]\n", d->name);
		else
			printf("  --%s=%s\n", d->name, value_name(d));
		printf("        %s\n        default: %s", d->help, default_text(d));
		print_range(d);
		printf("; environment: %s\n", env);
	}
	printf("  --config=FILE\n"
	       "        YAML file with any of the options above, as \"name: value\"\n"
	       "        default: none; environment: CONFIG\n"
	       "  --print-config\n"
	       "        Print the configuration in effect as YAML, secrets masked, and exit\n"
	       "  --version\n"
	       "        Print the version and exit\n"
	       "  -h, --help\n"
	       "        Print this text and exit\n"
	       "\n"
	       "A flag is stronger than the environment, the environment than the file.\n");
	return fflush(stdout) == 0 ? OPTIONS_EXIT : -errno;
}

/* The effective value; NULL: unset. text serves for what is no string. */
static const char *value_text(const struct option_def *d, const void *opts,
			      char text[static OPTIONS_VALUE_BYTES])
{
	const void *field = (const char *)opts + d->offset;

	switch (d->type) {
	case OPTION_UINT:
		snprintf(text, OPTIONS_VALUE_BYTES, "%llu",
			 (unsigned long long)*(const uint64_t *)field);
		return text;
	case OPTION_DURATION:
		options_format_duration(*(const uint64_t *)field, text);
		return text;
	case OPTION_BOOL:
		return *(const bool *)field ? "true" : "false";
	case OPTION_SECRET:
		return *(char *const *)field ? "***" : NULL;
	default:
		return *(char *const *)field;
	}
}

static int emit_scalar(yaml_emitter_t *emitter, const char *text, yaml_scalar_style_t style)
{
	yaml_event_t event;

	/* fails when text is not UTF-8; libyaml wants it unsigned and copies it */
	if (!yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
					  (int)strlen(text), 1, 1, style))
		return -EINVAL;
	return yaml_emitter_emit(emitter, &event) ? 0 : -ENOMEM;
}

static int emit_option(yaml_emitter_t *emitter, const struct option_def *d, const void *opts,
		       struct err *err)
{
	char text[OPTIONS_VALUE_BYTES];
	const char *value = value_text(d, opts, text);
	bool is_string = d->type == OPTION_STRING || d->type == OPTION_SECRET;
	int r;

	r = emit_scalar(emitter, d->name, YAML_PLAIN_SCALAR_STYLE);
	if (r == 0)
		r = emit_scalar(emitter, value ? value : "null",
				value && is_string ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
						   : YAML_PLAIN_SCALAR_STYLE);
	if (r == -EINVAL)
		return err_set(err, r, "--%s: the value is not UTF-8", d->name);
	return r;
}

/* The mapping of all options, between the events a document consists of. */
static int emit_config(yaml_emitter_t *emitter, const struct option_def *defs, const void *opts,
		       struct err *err)
{
	yaml_event_t event;
	int r = 0;

	if (!yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) ||
	    !yaml_emitter_emit(emitter, &event) ||
	    !yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) ||
	    !yaml_emitter_emit(emitter, &event) ||
	    !yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE) ||
	    !yaml_emitter_emit(emitter, &event))
		return -ENOMEM;
	for (const struct option_def *d = defs; d->name && r == 0; d++)
		r = emit_option(emitter, d, opts, err);
	if (r < 0)
		return r;
	if (!yaml_mapping_end_event_initialize(&event) || !yaml_emitter_emit(emitter, &event) ||
	    !yaml_document_end_event_initialize(&event, 1) || !yaml_emitter_emit(emitter, &event) ||
	    !yaml_stream_end_event_initialize(&event) || !yaml_emitter_emit(emitter, &event))
		return -ENOMEM;
	return 0;
}

static int write_to_buf(void *out, unsigned char *data, size_t len)
{
	return buf_add(out, data, len) == 0;
}

int options_print_config(const struct option_def *defs, const void *opts, struct err *err)
{
	CLEANUP(buf_fini) struct buf out;
	yaml_emitter_t emitter;
	int r;

	buf_init(&out, CONFIG_BYTES);
	if (!yaml_emitter_initialize(&emitter))
		return -ENOMEM;
	yaml_emitter_set_output(&emitter, write_to_buf, &out);
	yaml_emitter_set_unicode(&emitter, 1);
	yaml_emitter_set_width(&emitter, -1);
	r = emit_config(&emitter, defs, opts, err);
	yaml_emitter_delete(&emitter);
	if (r < 0)
		return r;

	if (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0)
		return err_set(err, -errno, "write the configuration: %m");
	return OPTIONS_EXIT;
}
