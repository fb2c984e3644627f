#include "node-agent/procfs/file_id.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/system/clock.h"

static uint64_t ns_of(const struct statx_timestamp *t)
{
	return (uint64_t)t->tv_sec * NS_PER_S + t->tv_nsec;
}

int file_version_read(int dir_fd, const char *name, struct file_version *ret, bool *ret_regular)
{
	int flags = AT_STATX_DONT_SYNC | (name[0] == '\0' ? AT_EMPTY_PATH : 0);
	struct statx st;

	if (statx(dir_fd, name, flags, STATX_BASIC_STATS, &st) < 0)
		return -errno;
	*ret = (struct file_version){
		.id =
			{
				.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
				.ino = st.stx_ino,
				.size_bytes = st.stx_size,
				.mtime_ns = ns_of(&st.stx_mtime),
			},
		.ctime_ns = ns_of(&st.stx_ctime),
	};
	if (ret_regular)
		*ret_regular = S_ISREG(st.stx_mode);
	return 0;
}
