/* An agent's table of options: one entry per option, for flag, variable, YAML key and documents. */
#ifndef COMMON_OPTIONS_OPTION_DEF_H
#define COMMON_OPTIONS_OPTION_DEF_H

#include "common/base.h"

enum option_type {
	OPTION_STRING,   /* char *, NULL if unset */
	OPTION_LIST,     /* char * with a line per item, NULL if unset; the flag may be repeated */
	OPTION_SECRET,   /* a string, shown as "***" by --print-config */
	OPTION_UINT,     /* uint64_t within min..max */
	OPTION_DURATION, /* uint64_t ns within min..max; "90s", "1m30s", "500ms", "2h", "7d" */
	OPTION_SIZE,     /* uint64_t bytes within min..max; "500MB", "1GiB", "0" */
	OPTION_BOOL,     /* bool */
	OPTION_ENUM,     /* an enum whose values are the indexes of choices */
};

struct option_def {
	const char *name; /* NULL ends the table */
	enum option_type type;
	size_t offset; /* of the field in the agent's struct */
	/* another environment variable, which counts if the option's own is not set; or NULL */
	const char *variable;
	const char *def;            /* default as text; NULL: unset, 0, false, the first choice */
	uint64_t min;               /* of UINT, of DURATION in ns, of SIZE in bytes */
	uint64_t max;               /* 0 if there is none */
	const char *const *choices; /* of ENUM: names in the order of the enum, NULL at the end */
	const char *value;          /* how --help calls the value: "URL", "DIR" */
	const char *help;           /* one sentence without a full stop */
};

/*
 * The beginning of an entry: {STRING_OPTION("listen", listen), .value = "ADDR:PORT", .help = …}.
 * The file of the table defines OPTIONS as the agent's struct. A field of another C type than the
 * option has does not compile.
 */
#define OPTION(option_name, option_type, c_type, field)             \
	.name = (option_name), .type = (option_type),               \
	.offset = _Generic(((OPTIONS *)NULL)->field, typeof(c_type) \
			   : offsetof(OPTIONS, field))
#define STRING_OPTION(name, field) OPTION(name, OPTION_STRING, char *, field)
#define LIST_OPTION(name, field) OPTION(name, OPTION_LIST, char *, field)
#define SECRET_OPTION(name, field) OPTION(name, OPTION_SECRET, char *, field)
#define UINT_OPTION(name, field) OPTION(name, OPTION_UINT, uint64_t, field)
#define DURATION_OPTION(name, field) OPTION(name, OPTION_DURATION, uint64_t, field)
#define SIZE_OPTION(name, field) OPTION(name, OPTION_SIZE, uint64_t, field)
#define BOOL_OPTION(name, field) OPTION(name, OPTION_BOOL, bool, field)
/* Enums without negative values are unsigned. */
#define ENUM_OPTION(name, field) OPTION(name, OPTION_ENUM, unsigned, field)

#endif /* COMMON_OPTIONS_OPTION_DEF_H */
