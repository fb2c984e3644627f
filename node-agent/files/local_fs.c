#include "node-agent/files/local_fs.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#define ZFS_MAGIC 0x2fc12fc1 /* not in linux/magic.h */

enum fs_kind local_fs_kind(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return FS_OTHER;
	switch ((unsigned long)fs.f_type) {
	case EXT4_SUPER_MAGIC: /* and ext2, ext3 */
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case ZFS_MAGIC:
	case EROFS_SUPER_MAGIC_V1:
	case SQUASHFS_MAGIC:
	case ISOFS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
		return FS_LOCAL;
	case OVERLAYFS_SUPER_MAGIC:
		return FS_LAYERED;
	default:
		return FS_OTHER;
	}
}
