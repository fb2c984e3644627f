/*
 * One table per agent: flag, environment variable, YAML key, --help, validation, --print-config and
 * the generated documentation all come from it.
 *
 * The flag is the name with "--" in front; the variable is the name in capitals with '_' for '-',
 * and may have an alternative that other programs use; the YAML key is the name. A flag overrides
 * the environment, the environment overrides the file (--config), the file overrides the default.
 * Unknown flags and keys, bad values and repeated flags are errors of one line.
 *
 * Values are "--name=value" or "--name value"; a bool flag alone means true, and takes a value
 * only after '='. A list's flag may be repeated; its variable has a line per item, its YAML value
 * is a sequence or has a line per item. An empty variable, and an empty or null value in the file,
 * count as not given; an empty flag unsets a string.
 *
 * Built in: --config FILE (or the variable CONFIG), --print-config, --version, --help and -h. No
 * table may use these names.
 */
#ifndef COMMON_OPTIONS_OPTIONS_H
#define COMMON_OPTIONS_OPTIONS_H

#include "common/base.h"
#include "common/err.h"
#include "common/options/option_def.h"

enum options_outcome {
	OPTIONS_OK,
	OPTIONS_EXIT, /* --version or --print-config was answered on stdout */
	OPTIONS_HELP, /* --help was given: the caller prints its usage and options_print_help() */
};

/*
 * Fills the struct at opts, which must be zeroed. argv is that of main(): it begins with the
 * program's own name and ends with NULL. Returns an outcome, -ENOMEM, or -EINVAL or -errno of
 * reading the file with a sentence in err. opts owns its strings: options_fini(). After a failure
 * it has none.
 */
int options_parse(const struct option_def *defs, void *opts, char **argv, const char *program,
		  const char *version, struct err *err) MUST_CHECK;
/*
 * Overwrites the secrets among the arguments and in the environment, which everybody on the machine
 * (/proc/<pid>/cmdline) and every child could read. After options_parse(), which has copied them;
 * before there are threads. The strings of argv must be writable, as those of main() are.
 */
void options_wipe_secrets(const struct option_def *defs, char **argv);
/* Frees and unsets the strings of opts; may be called again. */
void options_fini(const struct option_def *defs, void *opts);

#endif /* COMMON_OPTIONS_OPTIONS_H */
