/* --help and --print-config, on standard output. */
#ifndef COMMON_OPTIONS_OPTIONS_PRINT_H
#define COMMON_OPTIONS_OPTIONS_PRINT_H

#include "common/base.h"
#include "common/err.h"
#include "common/options/option_def.h"

/* The list of options, without a line of usage. Returns 0 or -errno. */
int options_print_help(const struct option_def *defs) MUST_CHECK;

/* The values in opts as YAML, secrets masked. Returns 0, -ENOMEM, or -errno with a sentence. */
int options_print_config(const struct option_def *defs, const void *opts,
			 struct err *err) MUST_CHECK;

#endif /* COMMON_OPTIONS_OPTIONS_PRINT_H */
