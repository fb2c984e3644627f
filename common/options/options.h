/*
 * One table per agent: flag, environment variable, YAML key, --help,
 * validation and --print-config all come from it.
 *
 * Order of strength: flag, environment, file (--config), default. Unknown
 * flags and keys, bad values and repeated flags are errors of one line. The flag is the name with "--"
 * in front; the variable is the name in capitals with '_' for '-'; the YAML key is the name.
 * Values are "--name=value" or "--name value"; a bool flag alone means true, and takes a value
 * only after '='. An empty variable, and an empty or null value in the file, count as not given; an
 * empty flag unsets a string.
 *
 * Built in: --config FILE (or the variable CONFIG), --print-config, --version, --help and -h. No
 * table may use these names.
 */
#ifndef COMMON_OPTIONS_OPTIONS_H
#define COMMON_OPTIONS_OPTIONS_H

#include "common/base.h"
#include "common/err.h"

enum option_type {
	OPTION_STRING,   /* char *, NULL when unset */
	OPTION_SECRET,   /* the same, shown as "***" by --print-config */
	OPTION_UINT,     /* uint64_t within min..max */
	OPTION_DURATION, /* uint64_t ns within min..max; "90s", "1m30s", "500ms", "2h", "7d" */
	OPTION_BOOL,     /* bool */
	OPTION_ENUM,     /* char *, one of choices */
};

struct option_def {
	const char *name; /* NULL ends the table */
	enum option_type type;
	size_t offset;       /* of the field in the agent's struct */
	const char *def;     /* default as text; NULL: unset, 0, false */
	uint64_t min;        /* of UINT, and of DURATION in ns */
	uint64_t max;        /* 0: none */
	const char *choices; /* of ENUM: "a|b|c" */
	const char *value;   /* what --help calls the value: "URL", "DIR" */
	const char *help;    /* one sentence, no full stop */
};

enum options_outcome {
	OPTIONS_OK,
	OPTIONS_EXIT, /* --help, --version or --print-config was answered on stdout */
};

/* Of the file given by --config. */
#define OPTIONS_FILE_BYTES ((size_t)1024 * 1024)

/*
 * Fills the struct at opts, which must be zeroed. argv is that of main(): it
 * begins with the program's own name and ends with NULL. OPTIONS_OK or
 * OPTIONS_EXIT; -EINVAL, or what reading the file gave, with a sentence in err;
 * -ENOMEM. Strings are owned by opts: options_fini(). After a failure there are
 * none.
 */
int options_parse(const struct option_def *defs, void *opts, char **argv, const char *program,
		  const char *version, struct err *err) MUST_CHECK;
/* Frees and unsets the strings of opts; may be called again. */
void options_fini(const struct option_def *defs, void *opts);

#endif /* COMMON_OPTIONS_OPTIONS_H */
