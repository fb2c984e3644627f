#include "common/system/file_stamp.h"

#include <sys/stat.h>

#include "common/system/clock.h"

struct file_stamp file_stamp(const char *path)
{
	struct file_stamp stamp = {0};
	struct stat st;

	if (!path || stat(path, &st) < 0)
		return stamp;
	stamp.dev = st.st_dev;
	stamp.ino = st.st_ino;
	stamp.size = (uint64_t)st.st_size;
	stamp.changed_ns = (uint64_t)st.st_ctim.tv_sec * NS_PER_S + (uint64_t)st.st_ctim.tv_nsec;
	return stamp;
}

bool file_stamp_equal(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->changed_ns == b->changed_ns;
}
