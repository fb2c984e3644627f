#include "node-agent/record/record_options.h"

#include <errno.h>

#include "common/system/clock.h"
#include "common/text/parse.h"

#define DEFAULT_DURATION_NS (10 * NS_PER_S)
#define MAX_DURATION_NS (24 * 3600 * NS_PER_S)
#define MIN_DURATION_NS (10 * NS_PER_MS)
#define DEFAULT_HZ 99u
#define DEFAULT_DEBUGINFOD_NS (60 * NS_PER_S)
#define MAX_HZ 10000u

static int set_pids(struct record_options *o, const char *value, struct err *err)
{
	for (const char *p = value;; p++) {
		size_t len = strcspn(p, ",");
		uint64_t pid;

		if (o->n_pids == RECORD_PIDS_MAX)
			return err_set(err, -EINVAL, "-p: more than %u processes", RECORD_PIDS_MAX);
		if (parse_u64(p, len, 1, INT32_MAX, &pid) < 0)
			return err_set(err, -EINVAL, "-p: \"%.*s\" is not a process id", (int)len,
				       p);
		o->pids[o->n_pids++] = (pid_t)pid;
		p += len;
		if (*p == '\0')
			return 0;
	}
}

static int set_comm(struct record_options *o, const char *value, struct err *err)
{
	o->comm = value;
	return value[0] ? 0 : err_set(err, -EINVAL, "--comm: the name is empty");
}

static int set_container(struct record_options *o, const char *value, struct err *err)
{
	o->container = value;
	if (strlen(value) >= 4)
		return 0;
	return err_set(err, -EINVAL, "--container: \"%s\" is too short: four characters or more",
		       value);
}

/* "10s", "1m30s", or a number of seconds; false if it is none of these. */
static bool parse_time(const char *value, uint64_t *ret_ns)
{
	uint64_t seconds;

	if (parse_u64(value, strlen(value), 0, MAX_DURATION_NS / NS_PER_S, &seconds) == 0)
		*ret_ns = seconds * NS_PER_S;
	else if (parse_duration(value, strlen(value), ret_ns) < 0)
		return false;
	return true;
}

static int set_debuginfod_time(struct record_options *o, const char *value, struct err *err)
{
	if (parse_time(value, &o->debuginfod_ns) && o->debuginfod_ns <= MAX_DURATION_NS)
		return 0;
	return err_set(err, -EINVAL, "--debuginfod-time: \"%s\" is not a time up to 24h", value);
}

static int set_duration(struct record_options *o, const char *value, struct err *err)
{
	if (!parse_time(value, &o->duration_ns))
		o->duration_ns = 0;
	if (o->duration_ns >= MIN_DURATION_NS && o->duration_ns <= MAX_DURATION_NS)
		return 0;
	return err_set(err, -EINVAL, "-d: \"%s\" is not a time between 10ms and 24h", value);
}

static int set_hz(struct record_options *o, const char *value, struct err *err)
{
	uint64_t hz;

	if (parse_u64(value, strlen(value), 1, MAX_HZ, &hz) < 0)
		return err_set(err, -EINVAL, "-F: \"%s\" is not a number from 1 to %u", value,
			       MAX_HZ);
	o->hz = (unsigned)hz;
	return 0;
}

static int set_output(struct record_options *o, const char *value, struct err *err)
{
	o->output = value;
	return value[0] ? 0 : err_set(err, -EINVAL, "-o: the name of the file is empty");
}

static int set_format(struct record_options *o, const char *value, struct err *err)
{
	o->format = recording_format_named(value);
	if (o->format != RECORDING_FORMAT_NONE)
		return 0;
	return err_set(err, -EINVAL, "--format: \"%s\" is not " RECORDING_FORMAT_NAMES, value);
}

static int set_purpose(struct record_options *o, const char *value, struct err *err)
{
	o->for_go_pgo = true;
	return strcmp(value, "go-pgo") == 0
		       ? 0
		       : err_set(err, -EINVAL, "--for: \"%s\" is not go-pgo", value);
}

static int set_heap(struct record_options *o, const char *value, struct err *err)
{
	(void)value;
	if (o->kind == RECORD_GOROUTINE)
		return err_set(err, -EINVAL, "--heap and --goroutine: one at a time");
	o->kind = RECORD_HEAP;
	return 0;
}

static int set_goroutine(struct record_options *o, const char *value, struct err *err)
{
	(void)value;
	if (o->kind == RECORD_HEAP)
		return err_set(err, -EINVAL, "--heap and --goroutine: one at a time");
	o->kind = RECORD_GOROUTINE;
	return 0;
}

static int set_include_excluded(struct record_options *o, const char *value, struct err *err)
{
	(void)value;
	(void)err;
	o->include_excluded = true;
	return 0;
}

static int set_python_async_callers(struct record_options *o, const char *value, struct err *err)
{
	(void)value;
	(void)err;
	o->python_async_callers = true;
	return 0;
}

static const struct flag {
	const char *name;
	const char *alias; /* NULL: none */
	bool has_value;
	int (*set)(struct record_options *o, const char *value, struct err *err);
} flags[] = {
	{"-p", "--pid", true, set_pids},
	{"--comm", NULL, true, set_comm},
	{"--container", NULL, true, set_container},
	{"-d", "--duration", true, set_duration},
	{"-F", "--frequency", true, set_hz},
	{"-o", "--output", true, set_output},
	{"--format", NULL, true, set_format},
	{"--for", NULL, true, set_purpose},
	{"--heap", NULL, false, set_heap},
	{"--goroutine", NULL, false, set_goroutine},
	{"--include-excluded", NULL, false, set_include_excluded},
	{"--python-async-callers", NULL, false, set_python_async_callers},
	{"--debuginfod-time", NULL, true, set_debuginfod_time},
};

static bool is_flag(const char *name, const char *arg, size_t len)
{
	return name && strlen(name) == len && memcmp(name, arg, len) == 0;
}

static const struct flag *find_flag(const char *arg, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (is_flag(flags[i].name, arg, len) || is_flag(flags[i].alias, arg, len))
			return &flags[i];
	}
	return NULL;
}

/* Reads the flag at args[0], "-d 10s" or "--for=go-pgo". Returns how many arguments it took. */
static int read_flag(struct record_options *o, char **args, struct err *err)
{
	char *arg = args[0], *equals = arg[1] == '-' ? strchr(arg, '=') : NULL, *value = NULL;
	const struct flag *f = find_flag(arg, equals ? (size_t)(equals - arg) : strlen(arg));
	int r;

	if (!f)
		return err_set(err, -EINVAL, "unknown option \"%s\"; see record --help", arg);
	if (equals && !f->has_value)
		return err_set(err, -EINVAL, "%s has no value", f->name);
	if (f->has_value)
		value = equals ? equals + 1 : args[1];
	if (f->has_value && !value)
		return err_set(err, -EINVAL, "%s needs a value", f->name);
	r = f->set(o, value, err);
	return r < 0 ? r : 1 + (f->has_value && !equals);
}

static int check_output(struct record_options *o, struct err *err)
{
	if (o->for_go_pgo && o->format != RECORDING_FORMAT_NONE &&
	    o->format != RECORDING_FORMAT_PPROF)
		return err_set(err, -EINVAL, "--for=go-pgo: \"go build\" reads pprof only");
	if (o->for_go_pgo && !o->output)
		return err_set(err, -EINVAL,
			       "--for=go-pgo: -o FILE is missing, default.pgo for instance");
	if (o->for_go_pgo)
		o->format = RECORDING_FORMAT_PPROF;
	if (o->format != RECORDING_FORMAT_NONE && !o->output)
		return err_set(err, -EINVAL, "--format: -o FILE is missing");
	if (!o->output || o->format != RECORDING_FORMAT_NONE)
		return 0;
	if (strcmp(o->output, "-") == 0)
		o->format = RECORDING_FORMAT_PPROF;
	else
		o->format = recording_format_of_file(o->output);
	if (o->format != RECORDING_FORMAT_NONE)
		return 0;
	return err_set(err, -EINVAL,
		       "-o: \"%s\" does not end in " RECORDING_FORMAT_ENDINGS
		       "; --format says what it is",
		       o->output);
}

static int check(struct record_options *o, bool has_duration, struct err *err)
{
	int n = (o->n_pids > 0) + (o->comm != NULL) + (o->container != NULL) + (o->command != NULL);

	if (n > 1)
		return err_set(err, -EINVAL, "-p, --comm, --container and a command: one of them");
	if (o->command && !o->command[0])
		return err_set(err, -EINVAL, "a command is missing behind \"--\"");
	if (o->kind != RECORD_CPU && o->n_pids != 1)
		return err_set(err, -EINVAL, "%s: of one process, with -p PID",
			       o->kind == RECORD_HEAP ? "--heap" : "--goroutine");
	if (o->kind != RECORD_CPU && o->for_go_pgo)
		return err_set(err, -EINVAL, "--for=go-pgo: is made of CPU profiles");
	if (!has_duration)
		o->duration_ns = o->command ? UINT64_MAX : DEFAULT_DURATION_NS;
	return check_output(o, err);
}

int record_options_parse(char **args, struct record_options *ret, struct err *err)
{
	struct record_options o = {.hz = DEFAULT_HZ, .debuginfod_ns = DEFAULT_DEBUGINFOD_NS};
	int r;

	while (*args) {
		if (strcmp(*args, "--") == 0) {
			o.command = args + 1;
			break;
		}
		if ((*args)[0] != '-') {
			o.command = args; /* as perf and time have it */
			break;
		}
		r = read_flag(&o, args, err);
		if (r < 0)
			return r;
		args += r;
	}
	r = check(&o, o.duration_ns > 0, err);
	if (r < 0)
		return r;
	*ret = o;
	return 0;
}

/* ---- formats ---- */

static const struct {
	enum recording_format format;
	const char *name;
	const char *endings[4];
} formats[] = {
	{RECORDING_FORMAT_PPROF, "pprof", {".pb.gz", ".pprof", ".pgo"}},
	{RECORDING_FORMAT_FOLDED, "folded", {".folded", ".collapsed", ".txt"}},
	{RECORDING_FORMAT_SPEEDSCOPE, "speedscope", {".speedscope.json", ".json"}},
	{RECORDING_FORMAT_SVG, "svg", {".svg"}},
	{RECORDING_FORMAT_HTML, "html", {".html", ".htm"}},
};

enum recording_format recording_format_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(formats[i].name, name) == 0)
			return formats[i].format;
	}
	return RECORDING_FORMAT_NONE;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

enum recording_format recording_format_of_file(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(formats[i].endings) && formats[i].endings[k]; k++)
			if (ends_with(path, formats[i].endings[k]))
				return formats[i].format;
	}
	return RECORDING_FORMAT_NONE;
}
