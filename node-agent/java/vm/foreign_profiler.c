#include "node-agent/java/vm/foreign_profiler.h"

#include <errno.h>

#include "node-agent/files/loaded_library.h"
#include "node-agent/procfs/proc_maps.h"
#include "node-agent/procfs/procfs.h"

/* Parts of file names. Those that unpack a copy put other text around the name. */
static const struct {
	const char *part;
	const char *product;
} known[] = {
	/* also Pyroscope's, Elastic's, Sentry's and IntelliJ IDEA's copies of it */
	{"asyncProfiler", "async-profiler"},
	{"libjavaProfiler", "Datadog"},
	{"profiler_java_agent.so", "Google Cloud Profiler"},
	{"liblagent", "honest-profiler"},
	{"libyjpagent", "YourKit"},
	{"libjprofilerti", "JProfiler"},
	{"libprofilerinterface", "VisualVM"},
	{"libgp-collector", "gprofng"},
};

const char *foreign_profiler_name(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	const char *name = slash ? slash + 1 : path;
	size_t name_len = len - (size_t)(name - path);

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (memmem(name, name_len, known[i].part, strlen(known[i].part)))
			return known[i].product;
	}
	return NULL;
}

struct search {
	foreign_profiler_ours_fn *is_ours;
	const char *found;
};

static int on_line(void *ctx, const char *line, size_t len)
{
	struct search *s = ctx;
	struct proc_map m;

	if (proc_map_parse(line, len, &m) < 0 || m.ino == 0)
		return 0;
	s->found = foreign_profiler_name(m.path, m.path_len);
	if (s->found && s->is_ours && s->is_ours(m.path, m.path_len))
		s->found = NULL;
	return s->found != NULL;
}

int foreign_profiler_find(int proc_fd, foreign_profiler_ours_fn *is_ours, const char **ret_name)
{
	struct search s = {.is_ours = is_ours};
	int r = procfs_each_map(proc_fd, LOADED_LIBRARY_MAPS_MAX_BYTES, on_line, &s);

	if (r == 1)
		*ret_name = s.found;
	return r == -ENOENT ? -ESRCH : r;
}
