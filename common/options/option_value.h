/* One option of a table: its names, and its value from and to text. Pure but for malloc(3). */
#ifndef COMMON_OPTIONS_OPTION_VALUE_H
#define COMMON_OPTIONS_OPTION_VALUE_H

#include "common/base.h"
#include "common/err.h"
#include "common/options/option_def.h"

#define OPTION_ENV_NAME_BYTES 128
#define OPTION_VALUE_BYTES 64 /* of a number or duration as text */
#define OPTION_FORM_BYTES 256
#define OPTION_CHOICES_BYTES 128

/* Returns the option with that name, or NULL. */
const struct option_def *option_find(const struct option_def *defs, const char *name, size_t len);

/* Whether its field is a string, which options_fini() frees. */
bool option_is_text(const struct option_def *def);

/* The option's variable: "sample-hz" → "SAMPLE_HZ", cut to fit. */
void option_env_name(const char *name, char ret[static OPTION_ENV_NAME_BYTES]);

/* How documents show flag and value: "--listen=ADDR:PORT", "--storage=a|b"; cut to fit. */
void option_form(const struct option_def *def, char ret[static OPTION_FORM_BYTES]);

/* The choices of an ENUM, with separator between them; cut to fit. */
void option_choices(const struct option_def *def, const char *separator, char *ret, size_t size);

/* The default as text, "none" if there is none. */
const char *option_default(const struct option_def *def);

/* The range of a number or duration: "1..999", "at least 2"; "" if there is none. */
void option_range(const struct option_def *def, char ret[static 2 * OPTION_VALUE_BYTES]);

/*
 * Checks text and stores it in opts, replacing the previous value. where names the source and
 * begins the sentence of an error. Returns 0, -EINVAL or -ENOMEM.
 */
int option_set(const struct option_def *def, void *opts, const char *where, const char *text,
	       struct err *err) MUST_CHECK;

/*
 * The value in opts as text, "***" for a secret, NULL if it is unset. text provides the space for
 * values that are not strings.
 */
const char *option_text(const struct option_def *def, const void *opts,
			char text[static OPTION_VALUE_BYTES]);

/* As parse_duration() reads it, in the largest units: "1h30m". */
void option_format_duration(uint64_t ns, char ret[static OPTION_VALUE_BYTES]);

#endif /* COMMON_OPTIONS_OPTION_VALUE_H */
