/*
 * Loading the sampler, following CPUs, and draining the ring.
 *
 * One software clock event per online CPU, each with its own attachment of the program: an
 * event for "all CPUs" does not exist, and CPUs can go offline at any time (attaching to one
 * that has just gone offline fails with ENODEV, which the next update settles). The clock is a
 * software one because virtual machines often have no hardware counters.
 *
 * Fork, exec and exit arrive through raw tracepoints in the same ring, so that their order among
 * the samples is kept: a sample before an exec belongs to the previous program.
 *
 * Errors of this file are what an operator sees when the agent does not start. privileges.h
 * turns an errno into the capability or setting that is missing; if the verifier refused a
 * program, its last line is added (privileges.h).
 */
#include "node-agent/sample/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "bpf/sampler.skel.h"
#include "common/system/fs.h"
#include "node-agent/sample/cpu_online.h"
#include "node-agent/sample/known_kernels.h"
#include "node-agent/sample/privileges.h"
#include "node-agent/workload/cgroup_hierarchy.h"

#define ONLINE_PATH "/sys/devices/system/cpu/online"
#define MAX_HZ 10000
#define TYPICAL_DEEP_STACK 60 /* frames; deeper ones are rare enough to average out */
#define RING_SECONDS 2
#define RING_RECORD_HEADER_BYTES 8
/* So that a producer that outruns us cannot occupy the loop thread. */
#define MAX_RECORDS_PER_DRAIN 100000

/* THREAD_SIZE of x86-64 and arm64, unless pages are larger. */
#define KERNEL_STACK_BYTES 16384

struct sampler {
	struct sampler_bpf *skel;
	struct ring_buffer *ring;
	struct bpf_link *exec_link;
	struct bpf_link *fork_link;
	struct bpf_link *exit_link;
	struct bpf_link **cpu_links; /* n_possible of them; NULL where not attached */
	unsigned n_possible;
	struct cpu_set_bits attached;
	unsigned hz;
	char *online_path;
	struct sampler_counters *per_cpu; /* room for one read */
	uint64_t bad_records;
	uint64_t map_bytes;
	const struct sampler_handlers *handlers; /* of the drain in progress */
	unsigned n_drained;                      /* records so far in that drain */
};

size_t sampler_ring_bytes(unsigned hz, unsigned n_cpus)
{
	size_t record = RING_RECORD_HEADER_BYTES + sizeof(struct sample_event) +
			TYPICAL_DEEP_STACK * sizeof(uint64_t);
	size_t want = (size_t)hz * n_cpus * RING_SECONDS * record;
	size_t bytes = SAMPLER_RING_MIN_BYTES;

	while (bytes < want && bytes < SAMPLER_RING_MAX_BYTES)
		bytes *= 2;
	return bytes;
}

enum sampler_cgroups sampler_cgroups_of(const struct cgroup_hierarchy *h)
{
	switch (cgroup_hierarchy_kind(h)) {
	case CGROUP_HIERARCHY_V1_MEMORY:
		return SAMPLER_CGROUPS_V1_MEMORY;
	case CGROUP_HIERARCHY_V1_CPU:
		return SAMPLER_CGROUPS_V1_CPU;
	case CGROUP_HIERARCHY_V2:
		break;
	}
	return SAMPLER_CGROUPS_V2;
}

static int explain(enum privileges_step step, int code, struct err *err)
{
	struct privileges p;

	privileges_read(&p);
	return privileges_explain(&p, step, code, err);
}

/* ---- load ---- */

/* The one of two sample programs that this kernel can load. */
static struct bpf_program *sample_program(const struct sampler_bpf *skel)
{
	return bpf_program__autoload(skel->progs.sample_cpu_maps) ? skel->progs.sample_cpu_maps
								  : skel->progs.sample_cpu;
}

static int configure(struct sampler *s, const struct sampler_config *cfg)
{
	struct sampler_bpf *skel = s->skel;
	size_t ring =
		cfg->ring_bytes ? cfg->ring_bytes : sampler_ring_bytes(cfg->hz, s->n_possible);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_find_vma, NULL) == 1) {
		bpf_program__set_autoload(skel->progs.sample_cpu_maps, true);
		bpf_program__set_autoload(skel->progs.sample_cpu, false);
	}
	skel->rodata->cfg_kernel_stacks = cfg->kernel_stacks;
	skel->rodata->cfg_cgroups = cfg->cgroups;
	skel->rodata->cfg_wakeup_bytes = ring / 2;
	skel->rodata->cfg_events_bytes = ring / 4 * 3;
	skel->rodata->cfg_kernel_stack_bytes =
		(uint32_t)(page > KERNEL_STACK_BYTES ? page : KERNEL_STACK_BYTES);
	return bpf_map__set_max_entries(skel->maps.events, (uint32_t)ring);
}

/* What the kernel charges for a map is in the fdinfo of its descriptor. */
static uint64_t charged_map_bytes(const struct bpf_map *map)
{
	CLEANUP(buf_fini) struct buf text;
	const char *p;
	char path[64];

	buf_init(&text, 4096);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(map));
	if (fs_read_at(AT_FDCWD, path, &text) < 0)
		return 0;
	p = strstr(text.data ? text.data : "", "\nmemlock:");
	return p ? strtoull(p + strlen("\nmemlock:"), NULL, 10) : 0;
}

/*
 * Kernels 5.11 to 6.3 report 0 for a ring buffer and one CPU's share of a per-CPU array, so
 * compute a lower bound.
 */
static uint64_t map_bytes(const struct bpf_map *map, unsigned n_cpus)
{
	uint64_t least = bpf_map__max_entries(map), charged = charged_map_bytes(map);

	if (bpf_map__type(map) != BPF_MAP_TYPE_RINGBUF)
		least *= bpf_map__value_size(map);
	if (bpf_map__type(map) == BPF_MAP_TYPE_PERCPU_ARRAY)
		least *= n_cpus;
	return charged > least ? charged : least;
}

/* All maps are preallocated, so reading this once after loading is enough. */
static uint64_t all_map_bytes(const struct sampler_bpf *skel, unsigned n_cpus)
{
	struct bpf_map *map;
	uint64_t sum = 0;

	for (map = bpf_object__next_map(skel->obj, NULL); map;
	     map = bpf_object__next_map(skel->obj, map))
		sum += map_bytes(map, n_cpus);
	return sum;
}

static int load(struct sampler *s, const struct sampler_config *cfg, struct err *err)
{
	int r;

	bpf_log_install();
	s->skel = sampler_bpf__open();
	if (!s->skel)
		return explain(PRIVILEGES_LOAD_BPF, -errno, err);
	r = configure(s, cfg);
	if (r == 0)
		r = sampler_bpf__load(s->skel);
	if (r == 0) {
		s->map_bytes = all_map_bytes(s->skel, s->n_possible);
		return 0;
	}
	r = explain(PRIVILEGES_LOAD_BPF, r, err);
	if (err && bpf_log_verifier_line()[0]) {
		struct err inner = *err;

		err_set(err, r, "%.90s; verifier: %.150s", inner.msg, bpf_log_verifier_line());
	}
	return r;
}

static int attach_process_events(struct sampler *s, struct err *err)
{
	const struct {
		struct bpf_link **link;
		struct bpf_program *prog;
		const char *name;
	} events[] = {
		{&s->fork_link, s->skel->progs.on_fork, "fork"},
		{&s->exec_link, s->skel->progs.on_exec, "exec"},
		{&s->exit_link, s->skel->progs.on_exit, "exit"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		*events[i].link = bpf_program__attach(events[i].prog);
		if (!*events[i].link)
			return err_set(err, -errno, "attach to tracepoint sched_process_%s: %m",
				       events[i].name);
	}
	return 0;
}

/* ---- CPUs ---- */

/* Returns 0 also if the CPU has just gone offline: the next sampler_update_cpus() detects that. */
static int attach_cpu(struct sampler *s, unsigned cpu, struct err *err)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = s->hz,
		.exclude_idle = 1,
	};
	AUTO_CLOSE int fd = -1;

	fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 && errno == ENODEV)
		return 0;
	if (fd < 0)
		return explain(PRIVILEGES_OPEN_PERF_EVENT, -errno, err);

	s->cpu_links[cpu] = bpf_program__attach_perf_event(sample_program(s->skel), fd);
	if (!s->cpu_links[cpu])
		return err_set(err, -errno, "attach to CPU %u: %m", cpu);

	(void)TAKE_FD(fd); /* the link owns it now */
	cpu_set_add(&s->attached, cpu);
	return 0;
}

static void detach_cpu(struct sampler *s, unsigned cpu)
{
	bpf_link__destroy(s->cpu_links[cpu]);
	s->cpu_links[cpu] = NULL;
	cpu_set_remove(&s->attached, cpu);
}

static int read_online(const struct sampler *s, struct cpu_set_bits *ret, struct err *err)
{
	CLEANUP(buf_fini) struct buf text;
	int r;

	buf_init(&text, 4096);
	r = fs_read_at(AT_FDCWD, s->online_path, &text);
	if (r == 0)
		r = cpu_online_parse(text.data ? text.data : "", text.len, ret);
	return r < 0 ? err_set(err, r, "read %s: %s", s->online_path, strerror(-r)) : 0;
}

int sampler_update_cpus(struct sampler *s, struct err *err)
{
	struct cpu_set_bits online, added, removed;
	int r, result, n_changes = 0;

	result = read_online(s, &online, err);
	if (result < 0)
		return result;

	added = cpu_set_minus(&online, &s->attached);
	removed = cpu_set_minus(&s->attached, &online);
	for (unsigned cpu = 0; cpu < s->n_possible; cpu++) {
		if (cpu_set_has(&removed, cpu)) {
			detach_cpu(s, cpu);
			n_changes++;
		} else if (cpu_set_has(&added, cpu)) {
			r = attach_cpu(s, cpu, err);
			if (r < 0)
				result = r;
			n_changes += cpu_set_has(&s->attached, cpu);
		}
	}
	return result < 0 ? result : n_changes;
}

/* ---- create, drain, destroy ---- */

static int on_record(void *ctx, void *data, size_t len)
{
	struct sampler *s = ctx;
	const struct sampler_handlers *h = s->handlers;

	switch (event_parse(data, len)) {
	case EVENT_SAMPLE:
		h->on_sample(h->ctx, data);
		break;
	case EVENT_EXEC:
		h->on_exec(h->ctx, data);
		break;
	case EVENT_FORK:
		h->on_fork(h->ctx, data);
		break;
	case EVENT_EXIT:
		h->on_exit(h->ctx, data);
		break;
	case EVENT_MAP:
		h->on_map(h->ctx, data);
		break;
	case EVENT_CODE:
		if (h->on_code)
			h->on_code(h->ctx, data);
		break;
	default:
		s->bad_records++;
		break;
	}
	s->n_drained++;
	return s->n_drained < MAX_RECORDS_PER_DRAIN ? 0 : -EAGAIN;
}

static int allocate(struct sampler *s, const struct sampler_config *cfg, struct err *err)
{
	int n = libbpf_num_possible_cpus();

	if (n < 0)
		return err_set(err, n, "count possible CPUs: %s", strerror(-n));
	s->hz = cfg->hz;
	s->n_possible = (unsigned)n;
	s->cpu_links = calloc((size_t)n, sizeof(*s->cpu_links));
	s->per_cpu = calloc((size_t)n, sizeof(*s->per_cpu));
	s->online_path = strdup(cfg->online_path ? cfg->online_path : ONLINE_PATH);
	return s->cpu_links && s->per_cpu && s->online_path ? 0 : -ENOMEM;
}

int sampler_new(struct sampler **ret, const struct sampler_config *cfg, struct err *err)
{
	CLEANUP(sampler_freep) struct sampler *s = NULL;
	int r;

	if (cfg->hz < 1 || cfg->hz > MAX_HZ)
		return err_set(err, -EINVAL, "sample rate %u Hz is not within 1 … %d", cfg->hz,
			       MAX_HZ);
	r = cfg->allow_known_bad_kernel ? 0 : known_kernels_check(err);
	if (r < 0)
		return r;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	r = allocate(s, cfg, err);
	if (r < 0)
		return r;
	r = load(s, cfg, err);
	if (r < 0)
		return r;
	r = attach_process_events(s, err);
	if (r < 0)
		return r;
	s->ring = ring_buffer__new(bpf_map__fd(s->skel->maps.events), on_record, s, NULL);
	if (!s->ring)
		return err_set(err, -errno, "map the ring buffer: %m");
	r = sampler_update_cpus(s, err);
	if (r < 0)
		return r;

	*ret = TAKE_PTR(s);
	return 0;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;

	for (unsigned cpu = 0; s->cpu_links && cpu < s->n_possible; cpu++)
		bpf_link__destroy(s->cpu_links[cpu]);
	ring_buffer__free(s->ring);
	bpf_link__destroy(s->fork_link);
	bpf_link__destroy(s->exec_link);
	bpf_link__destroy(s->exit_link);
	sampler_bpf__destroy(s->skel);
	free(s->cpu_links);
	free(s->per_cpu);
	free(s->online_path);
	free(s);
}

int sampler_fd(const struct sampler *s)
{
	return bpf_map__fd(s->skel->maps.events);
}

int sampler_map_fd(const struct sampler *s, const char *name)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(s->skel->obj, name);

	return map ? bpf_map__fd(map) : -ENOENT;
}

int sampler_drain(struct sampler *s, const struct sampler_handlers *h)
{
	int r;

	s->handlers = h;
	s->n_drained = 0;
	r = ring_buffer__consume(s->ring);
	s->handlers = NULL;
	return r < 0 && r != -EAGAIN ? r : (int)s->n_drained;
}

/* ---- exclude ---- */

enum excluded { CGROUPS, PROCESSES };

static int excluded_map_fd(const struct sampler *s, enum excluded which)
{
	return bpf_map__fd(which == CGROUPS ? s->skel->maps.excl_cgroups
					    : s->skel->maps.excl_processes);
}

/* The program consults a map only if its bit is set. */
static void set_consulted(struct sampler *s, enum excluded which, bool consulted)
{
	uint32_t bit = which == CGROUPS ? SAMPLER_EXCLUDE_CGROUPS : SAMPLER_EXCLUDE_PROCESSES;
	uint32_t *bits = &s->skel->bss->excludes;

	__atomic_store_n(bits, consulted ? *bits | bit : *bits & ~bit, __ATOMIC_RELEASE);
}

static int exclude(struct sampler *s, enum excluded which, const void *key)
{
	const uint8_t value = 1;

	if (bpf_map_update_elem(excluded_map_fd(s, which), key, &value, BPF_NOEXIST) == 0)
		set_consulted(s, which, true);
	else if (errno != EEXIST)
		return -errno;
	return 0;
}

/* The program deletes entries too, so whether any is left is asked of the map. */
static void include(struct sampler *s, enum excluded which, const void *key)
{
	int fd = excluded_map_fd(s, which);
	struct sampler_process first; /* the longer key */

	(void)bpf_map_delete_elem(fd, key);
	if (bpf_map_get_next_key(fd, NULL, &first) < 0 && errno == ENOENT)
		set_consulted(s, which, false);
}

int sampler_exclude_cgroup(struct sampler *s, uint64_t id)
{
	return exclude(s, CGROUPS, &id);
}

void sampler_include_cgroup(struct sampler *s, uint64_t id)
{
	include(s, CGROUPS, &id);
}

int sampler_exclude_process(struct sampler *s, const struct sampler_process *p)
{
	return exclude(s, PROCESSES, p);
}

void sampler_include_process(struct sampler *s, const struct sampler_process *p)
{
	include(s, PROCESSES, p);
}

/* ---- counters ---- */

static int sum_counters(struct sampler *s, struct sampler_counters *ret)
{
	const size_t n_fields = sizeof(*ret) / sizeof(uint64_t);
	uint64_t *sum = (uint64_t *)ret;
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.counters), &zero, s->per_cpu) < 0)
		return -errno;
	memset(ret, 0, sizeof(*ret));
	for (unsigned cpu = 0; cpu < s->n_possible; cpu++) {
		const uint64_t *one = (const uint64_t *)&s->per_cpu[cpu];

		for (size_t i = 0; i < n_fields; i++)
			sum[i] += one[i];
	}
	return 0;
}

int sampler_read_stats(struct sampler *s, struct sampler_stats *ret)
{
	struct bpf_prog_info info = {0};
	uint32_t info_len = sizeof(info);
	int r;

	*ret = (struct sampler_stats){
		.bad_records = s->bad_records,
		.map_bytes = s->map_bytes,
		.n_cpus = cpu_set_count(&s->attached),
	};
	r = sum_counters(s, &ret->kernel);
	if (r < 0)
		return r;
	if (bpf_obj_get_info_by_fd(bpf_program__fd(sample_program(s->skel)), &info, &info_len) ==
	    0) {
		ret->run_time_ns = info.run_time_ns;
		ret->run_count = info.run_cnt;
	}
	return 0;
}
