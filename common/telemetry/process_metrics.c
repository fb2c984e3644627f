#include "common/telemetry/process_metrics.h"

#include <dirent.h>
#include <fcntl.h>

#include "common/system/clock.h"

enum process_metric {
	PROCESS_CPU,
	PROCESS_RESIDENT,
	PROCESS_FDS,
	PROCESS_START,
	PROCESS_METRIC_MAX,
};

static uint64_t read_cpu_ns(void *ctx)
{
	struct timespec t;

	(void)ctx;
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Reads a small file of /proc as text. Returns false if it cannot be read. */
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

/* Returns the number in the field with that index of a line separated by single spaces, or 0. */
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
	return n - 1; /* without the descriptor of this listing */
}

/* Start of this process in ns since the epoch, or 0 if /proc cannot be read. */
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

static const struct metric_def metric_defs[PROCESS_METRIC_MAX] = {
	[PROCESS_CPU] = {.name = "process_cpu_seconds_total",
			 .help = "CPU time used by this process, user and system",
			 .scale = 1e-9,
			 .read = read_cpu_ns},
	[PROCESS_RESIDENT] = {.name = "process_resident_memory_bytes",
			      .help = "Resident memory of this process",
			      .kind = METRIC_GAUGE,
			      .read = read_resident_bytes},
	[PROCESS_FDS] = {.name = "process_open_fds",
			 .help = "Open file descriptors of this process",
			 .kind = METRIC_GAUGE,
			 .read = read_open_fds},
	[PROCESS_START] = {.name = "process_start_time_seconds",
			   .help = "When this process started, in seconds since the Unix epoch",
			   .kind = METRIC_GAUGE,
			   .scale = 1e-9},
};
METRIC_TABLE(metric_table, metric_defs);

static const struct metric_def build_info_defs[] = {
	{.name = "_build_info",
	 .labels = "version",
	 .help = "Always 1; the version is in the label",
	 .kind = METRIC_GAUGE},
};
METRIC_TABLE(build_info_table, build_info_defs);

/* There is one process, so there is one of each. */
static struct metric values[PROCESS_METRIC_MAX];
static struct {
	const char *prefix;
	const char *version;
} build;

static int write_build_info(void *ctx, size_t family, struct buf *out)
{
	int r = buf_addf(out, "%s%s{version=\"", build.prefix, build_info_defs[family].name);

	(void)ctx;
	if (r < 0)
		return r;
	r = metrics_add_label_value(out, build.version);
	if (r < 0)
		return r;
	return buf_addf(out, "\"} 1\n");
}

int process_metrics_register(struct metrics *ms, const char *prefix, const char *version)
{
	int r = metrics_register(ms, &metric_table, values, NULL);

	if (r < 0)
		return r;
	metric_set(&values[PROCESS_START], process_start_ns());
	build.prefix = prefix;
	build.version = version;
	return metrics_register_families(ms, prefix, &build_info_table, write_build_info, NULL);
}
