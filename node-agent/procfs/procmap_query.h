/*
 * The kernel's interface for asking about one mapping of a process: an ioctl(2) on an open
 * /proc/<pid>/maps, since Linux 6.11 (include/uapi/linux/fs.h, which older headers do not have).
 */
#ifndef NODE_AGENT_PROCFS_PROCMAP_QUERY_H
#define NODE_AGENT_PROCFS_PROCMAP_QUERY_H

#include <linux/types.h>
#include <sys/ioctl.h>

#include "common/base.h"

struct procmap_request {
	__u64 size;  /* of this struct */
	__u64 flags; /* PROCMAP_REQUEST_… */
	__u64 address;
	/* what the kernel answers */
	__u64 start;
	__u64 end;
	__u64 permissions;
	__u64 page_bytes;
	__u64 file_offset;
	__u64 ino;
	__u32 dev_major;
	__u32 dev_minor;
	__u32 name_bytes; /* in: room for the name; out: its length with its NUL, 0: none */
	__u32 build_id_bytes;
	__u64 name; /* pointer; 0: the name is not wanted */
	__u64 build_id;
};
_Static_assert(sizeof(struct procmap_request) == 104, "procmap_query layout");

/* Another number than this kernel's size of the struct is another ioctl to older kernels. */
#define PROCMAP_REQUEST _IOWR('f', 17, struct procmap_request)

/* The mapping at the address, if it may be executed; else -ENOENT. */
#define PROCMAP_REQUEST_EXECUTABLE 0x04

#endif /* NODE_AGENT_PROCFS_PROCMAP_QUERY_H */
