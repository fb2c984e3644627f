/*
 * What the programs of the sampler cost the verifier of the running kernel. Needs root and BTF.
 */
#include <bpf/libbpf.h>
#include <unistd.h>

#include "bpf/sampler.skel.h"
#include "node-agent/sample/sampler.h"
#include "test/lib/unit.h"

static unsigned budget_of(const char *program)
{
	char line[512], want[64];
	unsigned budget = 0;
	FILE *f = fopen("bpf/README.md", "r");

	assert_non_null(f);
	snprintf(want, sizeof(want), "| `%s` |", program);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, want, strlen(want)) == 0)
			budget = (unsigned)strtoul(line + strlen(want), NULL, 10);
	}
	fclose(f);
	return budget;
}

/* The verifier's log at level BPF_LOG_STATS: the only count before kernel 5.16. */
static unsigned verified_insns(const char *log)
{
	const char *p = strstr(log, "processed ");

	return p ? (unsigned)strtoul(p + strlen("processed "), NULL, 10) : 0;
}

TEST(every_program_loads_within_its_instruction_budget)
{
	enum { BPF_LOG_STATS = 4, MAX_PROGRAMS = 8, LOG_BYTES = 1 << 20 };
	static char logs[MAX_PROGRAMS][LOG_BYTES];
	struct sampler_bpf *skel = sampler_bpf__open();
	struct bpf_program *prog;
	size_t n = 0;

	assert_non_null(skel);
	assert_int_equal(bpf_map__set_max_entries(skel->maps.events, SAMPLER_RING_MIN_BYTES), 0);
	bpf_program__set_autoload(
		skel->progs.sample_cpu_maps,
		libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_find_vma, NULL) == 1);
	bpf_object__for_each_program(prog, skel->obj)
	{
		assert_true(n < MAX_PROGRAMS);
		assert_int_equal(bpf_program__set_log_buf(prog, logs[n], LOG_BYTES), 0);
		assert_int_equal(bpf_program__set_log_level(prog, BPF_LOG_STATS), 0);
		n++;
	}
	assert_int_equal(sampler_bpf__load(skel), 0);
	n = 0;
	bpf_object__for_each_program(prog, skel->obj)
	{
		unsigned budget = budget_of(bpf_program__name(prog));
		unsigned verified = verified_insns(logs[n++]);

		if (!bpf_program__autoload(prog)) /* not for this kernel */
			continue;
		printf("%s: %u verified, budget %u\n", bpf_program__name(prog), verified, budget);
		assert_true(verified > 0);
		assert_true(verified <= budget);
	}
	sampler_bpf__destroy(skel);
}
