#include "common/telemetry/metrics.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include "common/system/clock.h"

#define BUILD_LABELS_BYTES 256

enum process_metric {
	PROCESS_CPU,
	PROCESS_RESIDENT,
	PROCESS_FDS,
	PROCESS_START,
	PROCESS_BUILD_INFO,
	N_PROCESS_METRICS,
};

/* Metrics, or families whose lines somebody writes. */
struct metrics_block {
	struct metric *array; /* NULL: families */
	const struct metric_family *families;
	size_t n;
	metric_family_fn *write;
	void *ctx;
};

struct metrics {
	struct metrics_block *blocks;
	size_t n_blocks;
	struct metric process[N_PROCESS_METRICS];
	char *build_info_name;
	struct buf build_info_labels;
};

int metrics_new(struct metrics **ret)
{
	struct metrics *ms;

	ms = calloc(1, sizeof(*ms));
	if (!ms)
		return -ENOMEM;
	buf_init(&ms->build_info_labels, BUILD_LABELS_BYTES);
	*ret = ms;
	return 0;
}

void metrics_free(struct metrics *ms)
{
	if (!ms)
		return;
	free(ms->blocks);
	free(ms->build_info_name);
	buf_fini(&ms->build_info_labels);
	free(ms);
}

static bool ends_in_total(const char *name)
{
	static const char suffix[] = "_total";
	size_t len = strlen(name);

	return len > strlen(suffix) && strcmp(name + len - strlen(suffix), suffix) == 0;
}

static bool name_is_valid(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_:";

	return *name && !(*name >= '0' && *name <= '9') && name[strspn(name, allowed)] == '\0';
}

static const struct metric *last_registered(const struct metrics *ms)
{
	const struct metrics_block *b;

	if (ms->n_blocks == 0)
		return NULL;
	b = &ms->blocks[ms->n_blocks - 1];
	return b->array ? &b->array[b->n - 1] : NULL;
}

static const char *name_in(const struct metrics_block *b, size_t i)
{
	return b->array ? b->array[i].name : b->families[i].name;
}

static bool is_registered(const struct metrics *ms, const char *name)
{
	for (size_t b = 0; b < ms->n_blocks; b++)
		for (size_t i = 0; i < ms->blocks[b].n; i++)
			if (strcmp(name_in(&ms->blocks[b], i), name) == 0)
				return true;
	return false;
}

static bool describes(const char *name, const char *help, enum metric_kind kind)
{
	return name && help && name_is_valid(name) &&
	       ends_in_total(name) == (kind == METRIC_COUNTER);
}

/* May m stand right after prev (NULL: at the beginning)? */
static bool is_well_formed(const struct metrics *ms, const struct metric *m,
			   const struct metric *prev)
{
	if (!describes(m->name, m->help, m->kind))
		return false;
	if (prev && strcmp(prev->name, m->name) == 0)
		return prev->kind == m->kind;
	return !is_registered(ms, m->name);
}

static bool repeats_within(const struct metric *array, size_t i)
{
	for (size_t j = 0; j + 1 < i; j++)
		if (strcmp(array[j].name, array[i].name) == 0)
			return strcmp(array[i - 1].name, array[i].name) != 0;
	return false;
}

static int add_block(struct metrics *ms, const struct metrics_block *b)
{
	struct metrics_block *blocks = reallocarray(ms->blocks, ms->n_blocks + 1, sizeof(*blocks));

	if (!blocks)
		return -ENOMEM;
	ms->blocks = blocks;
	ms->blocks[ms->n_blocks++] = *b;
	return 0;
}

int metrics_register(struct metrics *ms, struct metric *array, size_t n)
{
	const struct metric *prev = last_registered(ms);

	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (!is_well_formed(ms, &array[i], prev) || repeats_within(array, i))
			return -EINVAL;
		prev = &array[i];
	}
	return add_block(ms, &(struct metrics_block){.array = array, .n = n});
}

int metrics_register_families(struct metrics *ms, const struct metric_family *families, size_t n,
			      metric_family_fn *fn, void *ctx)
{
	for (size_t i = 0; i < n; i++) {
		const struct metric_family *f = &families[i];

		if (!describes(f->name, f->help, f->kind) || is_registered(ms, f->name))
			return -EINVAL;
		for (size_t j = 0; j < i; j++)
			if (strcmp(families[j].name, f->name) == 0)
				return -EINVAL;
	}
	return add_block(
		ms, &(struct metrics_block){.families = families, .n = n, .write = fn, .ctx = ctx});
}

static uint64_t read_cpu_ns(void *ctx)
{
	struct timespec t;

	(void)ctx;
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* The whole of a small file of /proc as text; false when it cannot be read. */
static bool read_proc(const char *path, char *text, size_t size)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

/* Number in the field with that index of a line separated by single spaces; 0: not there. */
static uint64_t field_as_number(const char *text, unsigned index)
{
	while (text && index-- > 0) {
		text = strchr(text, ' ');
		if (text)
			text++;
	}
	return text ? strtoull(text, NULL, 10) : 0;
}

static uint64_t read_resident_bytes(void *ctx)
{
	char text[128];

	(void)ctx;
	if (!read_proc("/proc/self/statm", text, sizeof(text)))
		return 0;
	return field_as_number(text, 1) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t read_open_fds(void *ctx)
{
	const struct dirent *entry;
	uint64_t n = 0;
	DIR *dir;

	(void)ctx;
	dir = opendir("/proc/self/fd");
	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			n++;
	closedir(dir);
	return n - 1; /* the one that lists them */
}

/* When this process began, in ns since the epoch; 0 when /proc does not tell. */
static uint64_t process_start_ns(void)
{
	uint64_t ticks, since_boot_ns;
	struct timespec now;
	const char *after_comm;
	char text[1024];

	/* field 2 is the command in parentheses and may hold anything; starttime is field 22 */
	if (!read_proc("/proc/self/stat", text, sizeof(text)))
		return 0;
	after_comm = strrchr(text, ')');
	if (!after_comm)
		return 0;
	ticks = field_as_number(after_comm, 20);

	clock_gettime(CLOCK_BOOTTIME, &now);
	since_boot_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec - since_boot_ns +
	       ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Appends s with the characters escaped that would end the text it stands in. */
static int add_escaped(struct buf *out, const char *s, bool escape_quotes)
{
	int r = 0;

	for (; *s && r == 0; s++) {
		if (*s == '\n')
			r = buf_add(out, "\\n", 2);
		else if (*s == '\\' || (*s == '"' && escape_quotes))
			r = buf_addf(out, "\\%c", *s);
		else
			r = buf_add(out, s, 1);
	}
	return r;
}

int metrics_add_label_value(struct buf *out, const char *text)
{
	return add_escaped(out, text, true);
}

static int set_build_info(struct metrics *ms, const char *prefix, const char *version)
{
	int r;

	if (asprintf(&ms->build_info_name, "%s_build_info", prefix) < 0) {
		ms->build_info_name = NULL;
		return -ENOMEM;
	}
	r = buf_addf(&ms->build_info_labels, "version=\"");
	if (r == 0)
		r = add_escaped(&ms->build_info_labels, version, true);
	if (r == 0)
		r = buf_addf(&ms->build_info_labels, "\"");
	return r;
}

int metrics_register_process(struct metrics *ms, const char *prefix, const char *version)
{
	int r;

	if (ms->build_info_name)
		return -EEXIST;
	r = set_build_info(ms, prefix, version);
	if (r < 0)
		return r;

	ms->process[PROCESS_CPU] = (struct metric){
		.name = "process_cpu_seconds_total",
		.help = "CPU time used, user and system",
		.kind = METRIC_COUNTER,
		.scale = 1e-9,
		.read = read_cpu_ns,
	};
	ms->process[PROCESS_RESIDENT] = (struct metric){
		.name = "process_resident_memory_bytes",
		.help = "Resident memory",
		.kind = METRIC_GAUGE,
		.read = read_resident_bytes,
	};
	ms->process[PROCESS_FDS] = (struct metric){
		.name = "process_open_fds",
		.help = "Open file descriptors",
		.kind = METRIC_GAUGE,
		.read = read_open_fds,
	};
	ms->process[PROCESS_START] = (struct metric){
		.name = "process_start_time_seconds",
		.help = "When the process began, since the Unix epoch",
		.kind = METRIC_GAUGE,
		.scale = 1e-9,
		.value = process_start_ns(),
	};
	ms->process[PROCESS_BUILD_INFO] = (struct metric){
		.name = ms->build_info_name,
		.labels = ms->build_info_labels.data,
		.help = "Always 1; the version is in the label",
		.kind = METRIC_GAUGE,
		.value = 1,
	};
	return metrics_register(ms, ms->process, N_PROCESS_METRICS);
}

static int write_head(struct buf *out, const char *name, const char *help, enum metric_kind kind)
{
	int r;

	r = buf_addf(out, "# HELP %s ", name);
	if (r == 0)
		r = add_escaped(out, help, false);
	if (r == 0)
		r = buf_addf(out, "\n# TYPE %s %s\n", name,
			     kind == METRIC_COUNTER ? "counter" : "gauge");
	return r;
}

static int write_sample(struct buf *out, struct metric *m)
{
	uint64_t value = m->read ? m->read(m->ctx) : metric_get(m);
	int r;

	r = m->labels ? buf_addf(out, "%s{%s} ", m->name, m->labels)
		      : buf_addf(out, "%s ", m->name);
	if (r < 0)
		return r;
	if (m->scale == 0)
		return buf_addf(out, "%" PRIu64 "\n", value);
	return buf_addf(out, "%.15g\n", (double)value * m->scale);
}

static int write_families(struct buf *out, const struct metrics_block *b)
{
	int r = 0;

	for (size_t i = 0; i < b->n && r == 0; i++) {
		const struct metric_family *f = &b->families[i];

		r = write_head(out, f->name, f->help, f->kind);
		if (r == 0)
			r = b->write(b->ctx, i, out);
	}
	return r;
}

/* *name: the last one written, which needs no head any more. */
static int write_metrics(struct buf *out, const struct metrics_block *b, const char **name)
{
	int r = 0;

	for (size_t i = 0; i < b->n && r == 0; i++) {
		struct metric *m = &b->array[i];

		if (strcmp(m->name, *name) != 0)
			r = write_head(out, m->name, m->help, m->kind);
		if (r == 0)
			r = write_sample(out, m);
		*name = m->name;
	}
	return r;
}

int metrics_write(struct metrics *ms, struct buf *out)
{
	const char *name = "";
	int r = 0;

	for (size_t b = 0; b < ms->n_blocks && r == 0; b++) {
		const struct metrics_block *block = &ms->blocks[b];

		r = block->array ? write_metrics(out, block, &name) : write_families(out, block);
	}
	return r;
}
