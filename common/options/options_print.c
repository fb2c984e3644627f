#include "common/options/options_print.h"

#include <errno.h>

#include <yaml.h>

#include "common/data/buf.h"
#include "common/options/option_value.h"

#define CONFIG_BYTES ((size_t)16 * 1024 * 1024)

int options_print_help(const struct option_def *defs)
{
	for (const struct option_def *d = defs; d->name; d++) {
		char env[OPTION_ENV_NAME_BYTES], form[OPTION_FORM_BYTES];
		char range[2 * OPTION_VALUE_BYTES];

		option_env_name(d->name, env);
		option_form(d, form);
		option_range(d, range);
		printf("  %s\n        %s\n        default: %s%s%s; environment: %s%s%s\n", form,
		       d->help, option_default(d), range[0] ? "; range: " : "", range, env,
		       d->variable ? " or " : "", d->variable ?: "");
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
	       "A flag overrides the environment, the environment overrides the file.\n");
	return fflush(stdout) == 0 ? 0 : -errno;
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
	char text[OPTION_VALUE_BYTES];
	const char *value = option_text(d, opts, text);
	bool is_string = option_is_text(d);
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
	return 0;
}
