/* Options from a YAML file. Used by options.c only. */
#ifndef COMMON_OPTIONS_OPTIONS_FILE_H
#define COMMON_OPTIONS_OPTIONS_FILE_H

#include "common/base.h"
#include "common/err.h"
#include "common/options/option_def.h"

/* Largest file that is read. */
#define OPTIONS_FILE_BYTES ((size_t)1024 * 1024)

/*
 * Sets what the file says. Returns 0, -ENOMEM, or -EINVAL or -errno of reading it with a sentence
 * that names file and line.
 */
int options_load_file(const struct option_def *defs, void *opts, const char *path,
		      struct err *err) MUST_CHECK;

#endif /* COMMON_OPTIONS_OPTIONS_FILE_H */
