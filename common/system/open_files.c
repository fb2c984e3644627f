#include "common/system/open_files.h"

#include <errno.h>
#include <sys/resource.h>

/* Descriptors that are open in any case: timers, queues, data files. */
#define ALWAYS_OPEN 128

size_t open_files_raise(void)
{
	struct rlimit lim, raised;

	if (getrlimit(RLIMIT_NOFILE, &lim) < 0)
		return ALWAYS_OPEN;
	raised = (struct rlimit){lim.rlim_max, lim.rlim_max};
	if (lim.rlim_cur != lim.rlim_max && setrlimit(RLIMIT_NOFILE, &raised) == 0)
		lim = raised;
	return lim.rlim_cur == RLIM_INFINITY ? SIZE_MAX : (size_t)lim.rlim_cur;
}

int open_files_require(struct err *err)
{
	size_t limit = open_files_raise();

	if (limit >= OPEN_FILES_MIN)
		return 0;
	return err_set(err, -EMFILE,
		       "only %zu files may be open, and %d are needed: raise the limit "
		       "(ulimit -n, LimitNOFILE=)",
		       limit, OPEN_FILES_MIN);
}

size_t open_files_share(size_t limit)
{
	return limit > ALWAYS_OPEN + 2 ? (limit - ALWAYS_OPEN) / 2 : 1;
}
