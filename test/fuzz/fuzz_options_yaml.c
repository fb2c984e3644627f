/* Any bytes as the configuration file: refused with a sentence, or every value in its range. */
#include <fcntl.h>
#include <sys/mman.h>

#include "common/options/options.h"

struct opts {
	char *text;
	char *secret;
	char *list;
	enum { CHOICE_A, CHOICE_BB, CHOICE_CCC } choice;
	uint64_t number;
	uint64_t duration_ns;
	bool flag;
};

#define AT(field) .offset = offsetof(struct opts, field)

static const char *const choices[] = {"a", "bb", "ccc", NULL};

static const struct option_def defs[] = {
	{"text", OPTION_STRING, AT(text), .help = "Text"},
	{"secret", OPTION_SECRET, AT(secret), .help = "Secret"},
	{"list", OPTION_LIST, AT(list), .help = "List"},
	{"choice", OPTION_ENUM, AT(choice), .choices = choices, .help = "Choice"},
	{"number", OPTION_UINT, AT(number), .def = "5", .min = 3, .max = 999, .help = "Number"},
	{"duration", OPTION_DURATION, AT(duration_ns), .def = "1m", .min = 1000000000,
	 .max = UINT64_C(3600000000000), .help = "Duration"},
	{"flag", OPTION_BOOL, AT(flag), .help = "Flag"},
	{0},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_accepted(const struct opts *o)
{
	if (o->number < 3 || o->number > 999)
		abort();
	if (o->duration_ns < 1000000000 || o->duration_ns > UINT64_C(3600000000000))
		abort();
	if ((unsigned)o->choice > CHOICE_CCC)
		abort();
	if (o->text && !o->text[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_CLOSE int fd = memfd_create("config", MFD_CLOEXEC);
	char program[] = "agent", flag[] = "--config", path[64];
	char *argv[] = {program, flag, path, NULL};
	struct opts opts = {0};
	struct err err = {0};
	int r;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);

	r = options_parse(defs, &opts, argv, "agent", "v1", &err);
	if (r == OPTIONS_OK)
		check_accepted(&opts);
	else if (!err.msg[0])
		abort();
	options_fini(defs, &opts);
	return 0;
}
