/*
 * Runs a BPF object's perf_event program "empty" on every CPU at HZ for SECONDS and prints what
 * the kernel's BPF statistics say one run costs, in nanoseconds:
 *   bpf_floor OBJECT HZ SECONDS
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int attach(struct bpf_program *prog, unsigned long hz)
{
	int n_cpus = libbpf_num_possible_cpus();

	for (int cpu = 0; cpu < n_cpus; cpu++) {
		struct perf_event_attr attr = {
			.type = PERF_TYPE_SOFTWARE,
			.size = sizeof(attr),
			.config = PERF_COUNT_SW_CPU_CLOCK,
			.freq = 1,
			.sample_freq = hz,
			.exclude_idle = 1,
		};
		int fd =
			(int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd >= 0 && !bpf_program__attach_perf_event(prog, fd))
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct bpf_prog_info info = {0};
	__u32 info_len = sizeof(info);
	struct bpf_program *prog;
	struct bpf_object *obj;
	int stats;

	if (argc != 4)
		return 2;
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	obj = bpf_object__open_file(argv[1], NULL);
	if (stats < 0 || !obj || bpf_object__load(obj) < 0)
		return 1;
	prog = bpf_object__find_program_by_name(obj, "empty");
	if (!prog || attach(prog, strtoul(argv[2], NULL, 10)) < 0)
		return 1;
	sleep((unsigned)strtoul(argv[3], NULL, 10));
	if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &info_len) < 0 || !info.run_cnt)
		return 1;
	printf("%.1f\n", (double)info.run_time_ns / (double)info.run_cnt);
	return 0;
}
