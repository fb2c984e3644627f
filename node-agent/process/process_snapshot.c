#include "node-agent/process/process_snapshot.h"

struct process_snapshot *process_snapshot_ref(struct process_snapshot *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void process_snapshot_drop_mappings(struct process_snapshot *s)
{
	for (size_t i = 0; i < s->n_mappings; i++)
		mapped_file_unref(s->mappings[i].file);
	s->n_mappings = 0;
}

void process_snapshot_unref(struct process_snapshot *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1)
		return;
	if (!s->mappings_of) {
		process_snapshot_drop_mappings(s);
		free(s->mappings);
	}
	process_snapshot_unref(s->mappings_of); /* which never has one itself */
	jit_files_unref(s->jit_files);
	free(s->exe);
	workload_unref(s->workload);
	free(s);
}

bool process_snapshot_has_jit(const struct process_snapshot *s)
{
	/* [vsyscall], which every process has, is in the kernel's half */
	for (size_t i = 0; i < s->n_mappings; i++) {
		if (s->mappings[i].kind == PROCESS_MAPPING_ANONYMOUS &&
		    (int64_t)s->mappings[i].start >= 0)
			return true;
	}
	return false;
}

const struct process_mapping *process_snapshot_find(const struct process_snapshot *s, uint64_t addr)
{
	size_t lo = 0, hi = s->n_mappings;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (addr >= s->mappings[mid].end)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->n_mappings && addr >= s->mappings[lo].start ? &s->mappings[lo] : NULL;
}
