/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What the kernel's inode says about a file (struct event_file), on all kernels.
 */
#ifndef BPF_FILE_IDENTITY_BPF_H
#define BPF_FILE_IDENTITY_BPF_H

#include <bpf/bpf_core_read.h>

#include "kernel_types.h"
#include "sample_event.h"

#define NS_PER_S 1000000000ULL
#define NSEC_MASK ((1U << 30) - 1) /* 6.13 and later keep a flag in the highest bit */

static __always_inline __u64 mtime_ns(struct inode *inode)
{
	struct inode___pre611 *pre611 = (void *)inode;
	struct inode___pre67 *pre67 = (void *)inode;

	if (bpf_core_field_exists(inode->i_mtime_sec))
		return BPF_CORE_READ(inode, i_mtime_sec) * NS_PER_S +
		       (BPF_CORE_READ(inode, i_mtime_nsec) & NSEC_MASK);
	if (bpf_core_field_exists(pre611->__i_mtime))
		return BPF_CORE_READ(pre611, __i_mtime.tv_sec) * NS_PER_S +
		       BPF_CORE_READ(pre611, __i_mtime.tv_nsec);
	return BPF_CORE_READ(pre67, i_mtime.tv_sec) * NS_PER_S +
	       BPF_CORE_READ(pre67, i_mtime.tv_nsec);
}

static __always_inline __u64 ctime_ns(struct inode *inode)
{
	struct inode___pre611 *pre611 = (void *)inode;
	struct inode___pre66 *pre66 = (void *)inode;

	if (bpf_core_field_exists(inode->i_ctime_sec))
		return BPF_CORE_READ(inode, i_ctime_sec) * NS_PER_S +
		       (BPF_CORE_READ(inode, i_ctime_nsec) & NSEC_MASK);
	if (bpf_core_field_exists(pre611->__i_ctime))
		return BPF_CORE_READ(pre611, __i_ctime.tv_sec) * NS_PER_S +
		       BPF_CORE_READ(pre611, __i_ctime.tv_nsec);
	return BPF_CORE_READ(pre66, i_ctime.tv_sec) * NS_PER_S +
	       BPF_CORE_READ(pre66, i_ctime.tv_nsec);
}

static __always_inline void read_inode(struct event_file *ret, struct inode *inode)
{
	ret->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	ret->ino = BPF_CORE_READ(inode, i_ino);
	ret->size_bytes = BPF_CORE_READ(inode, i_size);
	ret->mtime_ns = mtime_ns(inode);
	ret->ctime_ns = ctime_ns(inode);
}

#endif /* BPF_FILE_IDENTITY_BPF_H */
