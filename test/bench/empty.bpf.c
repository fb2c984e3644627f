// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* What a sample costs before anything is done: the floor of the benchmark. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("perf_event")
int empty(void *ctx)
{
	(void)ctx;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
