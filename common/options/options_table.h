/* What the files of options share; nobody else includes it. */
#ifndef COMMON_OPTIONS_OPTIONS_TABLE_H
#define COMMON_OPTIONS_OPTIONS_TABLE_H

#include "common/base.h"
#include "common/err.h"
#include "common/options/options.h"

#define OPTIONS_ENV_NAME_BYTES 128
#define OPTIONS_VALUE_BYTES 64 /* of a number or duration as text */

/* NULL when there is none. */
const struct option_def *options_find(const struct option_def *defs, const char *name, size_t len);

/* The option's variable: "sample-hz" → "SAMPLE_HZ", cut to fit. */
void options_env_name(const char *name, char ret[static OPTIONS_ENV_NAME_BYTES]);

/*
 * Check text and store it in opts, replacing what is there. where names the
 * source and begins the sentence. -EINVAL; -ENOMEM.
 */
int options_set(const struct option_def *def, void *opts, const char *where, const char *text,
		struct err *err) MUST_CHECK;

/*
 * Set what the YAML file at path says. -EINVAL and -errno of reading it, with
 * a sentence that names file and line; -ENOMEM.
 */
int options_load_file(const struct option_def *defs, void *opts, const char *path,
		      struct err *err) MUST_CHECK;

/* As parse_duration() reads it, in the largest units: "1h30m". */
void options_format_duration(uint64_t ns, char ret[static OPTIONS_VALUE_BYTES]);

/* On stdout; -errno of writing it. */
int options_print_help(const struct option_def *defs, const char *program) MUST_CHECK;
int options_print_config(const struct option_def *defs, const void *opts,
			 struct err *err) MUST_CHECK;

#endif /* COMMON_OPTIONS_OPTIONS_TABLE_H */
