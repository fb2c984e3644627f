// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * CPU sampler: every perf tick becomes one record in a ring buffer; so do fork, exec and exit of
 * processes, in the same ring, so that their order is kept.
 *
 * Nothing is aggregated here and no sample writes a hash map: streaming costs the same, cannot
 * collide, and a hash map's bucket lock taken from an interrupt has locked up kernels. User
 * space is not woken for every record but when the ring is half full, and early for a process
 * that is sampled for the first time, because its /proc folder must be read before it exits.
 *
 * Many processes exit before that. So an exec event carries what identifies the executable and
 * where it is loaded, and a fork event names the parent, whose mappings the child has: user space
 * can name addresses of a process that it never saw. Events of processes leave a quarter of the
 * ring to samples.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "file_identity.bpf.h"
#include "kernel_types.h"
#include "sample_event.h"
#include "user_registers.bpf.h"
#include "user_walk.bpf.h"
#include "vma_lookup.bpf.h"
#include "walk_state.bpf.h"

#define SEEN_SLOTS 1024 /* a power of two */
#define EARLY_WAKEUP_NS 50000000ULL
#define FRESH_WAKEUP_NS 5000000ULL
#define FRESH_PROCESS_NS 10000000000ULL

const volatile bool cfg_kernel_stacks = true;
const volatile __u32 cfg_cgroups = SAMPLER_CGROUPS_V2; /* enum sampler_cgroups */
const volatile __u64 cfg_wakeup_bytes = 128 * 1024;    /* unread bytes that wake user space */
const volatile __u64 cfg_events_bytes = 192 * 1024; /* unread bytes beyond which only samples fit */

__u32 excludes = 0; /* enum sampler_exclude, set by user space at any time */

/* Apart from struct scratch: a tick can interrupt an exec. */
struct exec_scratch {
	struct exec_event event;
	char room[SAMPLER_PATH_BYTES]; /* so that the verifier sees any masked size in bounds */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct exec_scratch);
	__uint(max_entries, 1);
} exec_scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct sampler_counters);
	__uint(max_entries, 1);
} counters SEC(".maps");

/* Processes that user space was woken for, indexed by the low bits of their pid. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, SEEN_SLOTS);
} seen SEC(".maps");

#define FRESH_SAMPLES 8 /* of each process, for which mappings are sent */
#define MAP_FRAMES 16   /* in which an address outside the executable is searched */

struct fresh {
	__u32 tgid;
	__u32 n; /* samples */
};

/* Indexed like seen. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct fresh);
	__uint(max_entries, SEEN_SLOTS);
} fresh SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u64); /* as sample_event.cgroup_id */
	__type(value, __u8);
	__uint(max_entries, SAMPLER_EXCLUDE_MAX);
} excl_cgroups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct sampler_process);
	__type(value, __u8);
	__uint(max_entries, SAMPLER_EXCLUDE_MAX);
} excl_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* sized by user space */
} events SEC(".maps");

static struct sampler_counters *get_counters(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&counters, &zero);
}

static __u64 start_boottime(struct task_struct *leader)
{
	if (bpf_core_field_exists(leader->start_boottime))
		return BPF_CORE_READ(leader, start_boottime);
	return BPF_CORE_READ((struct task_struct___pre55 *)leader, real_start_time);
}

/* That of the task that runs: the kernel saves it where user space sets it. */
static __u64 thread_pointer(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(task, thread.fsbase);
#else
	return BPF_CORE_READ(task, thread.uw.tp_value);
#endif
}

static void fill_header(struct event_header *h, __u32 type, struct task_struct *leader, __u64 now)
{
	__u64 id = bpf_get_current_pid_tgid();

	h->type = type;
	h->size = sizeof(*h);
	h->tgid = id >> 32;
	h->tid = (__u32)id;
	h->start_boottime_ns = start_boottime(leader);
	h->ktime_ns = now;
}

static __u32 *seen_slot(__u32 tgid)
{
	__u32 slot = tgid & (SEEN_SLOTS - 1);

	return bpf_map_lookup_elem(&seen, &slot);
}

/*
 * Names of code are in the memory of the process: of one that has just begun, and may be about to
 * end, they must be read soon.
 */
static bool has_fresh_code(const struct scratch *s)
{
	const struct chain_scratch *c = s->walk.chained ? get_chain_scratch() : NULL;
	const struct event_header *h = &s->event.header;

	return c && c->fresh && h->ktime_ns - s->early_wakeup_ns > FRESH_WAKEUP_NS &&
	       bpf_ktime_get_boot_ns() - h->start_boottime_ns < FRESH_PROCESS_NS;
}

/* Flags for bpf_ringbuf_output(): whether to wake up user space for this sample. */
static __u64 wakeup_flags(struct scratch *s)
{
	__u32 *slot = seen_slot(s->event.header.tgid);

	if (slot && *slot != s->event.header.tgid &&
	    s->event.header.ktime_ns - s->early_wakeup_ns > EARLY_WAKEUP_NS) {
		*slot = s->event.header.tgid;
		s->early_wakeup_ns = s->event.header.ktime_ns;
		return BPF_RB_FORCE_WAKEUP;
	}
	if (has_fresh_code(s)) {
		s->early_wakeup_ns = s->event.header.ktime_ns;
		return BPF_RB_FORCE_WAKEUP;
	}
	if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >= cfg_wakeup_bytes)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

static void take_kernel_stack(struct bpf_perf_event_data *ctx, struct scratch *s,
			      struct sampler_counters *c)
{
	const __u32 max = SAMPLER_KERNEL_FRAMES * sizeof(__u64);
	long r = bpf_get_stack(ctx, s->addrs, max, 0);

	if (r <= 0) {
		c->kernel_stack_errors++;
		s->event.flags |= SAMPLE_KERNEL_STACK_ERROR;
		return;
	}
	if (r == max)
		s->event.flags |= SAMPLE_KERNEL_STACK_CUT;
	s->n_addrs = (__u32)r / sizeof(__u64);
}

/*
 * The memory of a process that is exiting or executing another program is given up while its user
 * registers still point into it.
 */
static bool memory_is_going(struct task_struct *task)
{
	return BPF_CORE_READ(task, flags) & PF_EXITING ||
	       BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

/* Returns whether the thread has frames of an interpreter. */
static bool find_chain(struct task_struct *task)
{
	struct chain_scratch *c = get_chain_scratch();

	if (!c)
		return false;
	c->thread_pointer = thread_pointer(task);
	return chain_start();
}

static enum walk_end take_user_stack(struct scratch *s, struct task_struct *task)
{
	struct event_header *h = &s->event.header;
	struct walk *w = &s->walk;
	enum walk_end end;

	if (w->ip == 0) /* a worker that the kernel runs inside the process */
		return WALK_END_NO_USER_STACK;
	if (!BPF_CORE_READ(task, mm)) {
		push_user_addr(s, w->ip);
		return WALK_END_GONE;
	}
	w->exact = true;
	w->was_exact = false;
	w->rbx_at = WALK_RBX_IN_REGISTER;
	w->sp_is_low = false;
	w->guessed = false;
	w->mappings.used_at = h->ktime_ns >> UNWIND_USED_SHIFT;
	w->by_tables = unwind_find_process(&w->mappings, h->tgid, h->start_boottime_ns) ||
		       vma_lookup_is_possible();
	s->n_vmas = 0;
	w->jvm_bytes = 0;
	w->chained = w->mappings.chain.block != 0 && find_chain(task);
	end = walk_user(s);
	if (w->chained)
		chain_finish();
	if (w->by_tables)
		s->event.flags |= SAMPLE_BY_TABLES;
	if (w->guessed)
		s->event.flags |= SAMPLE_GUESSED;
	if (end != WALK_END_BOTTOM && end != WALK_END_DEPTH_LIMIT && memory_is_going(task))
		end = WALK_END_GONE;
	return end;
}

static void take_stacks(struct bpf_perf_event_data *ctx, struct scratch *s,
			struct task_struct *task, struct sampler_counters *c)
{
	s->n_addrs = 0;
	s->n_user = s->n_walked = 0;
	s->n_switches = 0;
	s->walk.ip = 0;
	s->event.root_at = 0;
	__builtin_memset(s->event.stack_switch, 0, sizeof(s->event.stack_switch));
	s->event.n_chain = 0;
	s->event.chain_state = 0;
	s->walk.chained = false;
	if (regs_are_user(&ctx->regs)) {
		walk_from_regs(&s->walk, &ctx->regs);
	} else {
		s->event.flags |= SAMPLE_IN_KERNEL;
		if (cfg_kernel_stacks)
			take_kernel_stack(ctx, s, c);
	}
	s->event.n_kernel = s->n_addrs;

	if (s->event.flags & SAMPLE_IN_KERNEL && !(s->event.flags & SAMPLE_KERNEL_THREAD) &&
	    !walk_from_saved(&s->walk, task))
		s->walk.ip = 0;
	s->event.end = take_user_stack(s, task);
	s->event.n_user = s->n_user;
	s->event.n_walked = s->n_walked;
	s->n_addrs = s->event.n_kernel + s->n_user;
}

static __always_inline __u32 chain_bytes(const struct chain_scratch *c)
{
	return (c->event.n_chain & (CHAIN_ENTRIES - 1)) * sizeof(c->entries[0]);
}

static __always_inline __u32 addrs_bytes(const struct scratch *s)
{
	return (s->n_addrs & (SAMPLER_MAX_ADDRS - 1)) * sizeof(s->addrs[0]);
}

/*
 * Sends a record that has frames of an interpreter, and is put together elsewhere. Returns false if
 * it has none.
 */
static bool send_chain(struct scratch *s, __u64 flags, long *ret)
{
	struct chain_scratch *c = get_chain_scratch();

	if (!c || c->event.n_chain == 0)
		return false;
	s->event.n_chain = c->event.n_chain;
	s->event.chain_state = c->event.chain_state;
	if (c->cut)
		s->event.flags |= SAMPLE_CHAIN_CUT;
	s->event.header.size = sizeof(c->event) + chain_bytes(c) + addrs_bytes(s);
	c->event = s->event;
	if (bpf_probe_read_kernel((void *)c->entries + chain_bytes(c), addrs_bytes(s), s->addrs))
		return false;
	barrier(); /* sizes are computed again, as old verifiers forget their bounds */
	*ret = bpf_ringbuf_output(&events, &c->event,
				  sizeof(c->event) + chain_bytes(c) + addrs_bytes(s), flags);
	return true;
}

static void send_sample(struct scratch *s, struct sampler_counters *c)
{
	__u32 size = sizeof(s->event) + addrs_bytes(s);
	__u64 flags = wakeup_flags(s);
	long r;

	if (!s->walk.chained || !send_chain(s, flags, &r)) {
		s->event.header.size = size;
		r = bpf_ringbuf_output(&events, &s->event, size, flags);
	}
	if (r) {
		c->lost_ring_full++;
		return;
	}
	c->sent++;
	if (flags == BPF_RB_FORCE_WAKEUP)
		c->wakeups++;
}

#define CGROUP_ROOT 1 /* the id of the root of each hierarchy */

static __u64 v1_cgroup_id(struct task_struct *task)
{
	__u32 index = cfg_cgroups == SAMPLER_CGROUPS_V1_MEMORY
			      ? bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id)
			      : bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id);
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *state = NULL;

	if (!set || bpf_probe_read_kernel(&state, sizeof(state), &set->subsys[0] + index) < 0)
		return 0;
	return BPF_CORE_READ(state, cgroup, kn, id);
}

/*
 * Not the cgroup of v2 where controllers are in hierarchies of v1: there, all containers may be
 * in the root of v2.
 */
static __u64 cgroup_id(struct task_struct *task)
{
	__u64 id = cfg_cgroups == SAMPLER_CGROUPS_V2 ? bpf_get_current_cgroup_id()
						     : v1_cgroup_id(task);

	return id == CGROUP_ROOT ? 0 : id;
}

static bool cgroup_is_excluded(__u64 id)
{
	return id != 0 && excludes & SAMPLER_EXCLUDE_CGROUPS &&
	       bpf_map_lookup_elem(&excl_cgroups, &id);
}

static bool process_is_excluded(struct task_struct *leader)
{
	struct sampler_process key = {};

	if (!(excludes & SAMPLER_EXCLUDE_PROCESSES))
		return false;
	key.tgid = bpf_get_current_pid_tgid() >> 32;
	key.start_boottime_ns = start_boottime(leader);
	return bpf_map_lookup_elem(&excl_processes, &key);
}

/*
 * The exclusion was for the program that the process executed so far. It ends here and not in user
 * space, because the event of the exec can be lost; then no sample would ever show the new program.
 */
static void include_process(const struct event_header *h)
{
	struct sampler_process key = {};

	if (!(excludes & SAMPLER_EXCLUDE_PROCESSES))
		return;
	key.tgid = h->tgid;
	key.start_boottime_ns = h->start_boottime_ns;
	bpf_map_delete_elem(&excl_processes, &key);
}

/* ---- mappings ---- */

static void send_event(void *event, __u64 size)
{
	__u64 unread = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);
	__u64 flags = unread >= cfg_wakeup_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
	struct sampler_counters *c = get_counters();

	if (!c)
		return;
	if (unread >= cfg_events_bytes || bpf_ringbuf_output(&events, event, size, flags))
		__sync_fetch_and_add(&c->events_lost, 1);
	else
		__sync_fetch_and_add(&c->events_sent, 1);
}

static __noinline long send_map(struct task_struct *task, struct vm_area_struct *vma, void *ctx)
{
	const struct event_header *h = ctx;
	struct map_event e = {};
	struct file *file = BPF_CORE_READ(vma, vm_file);

	(void)task;
	if (!file || !(BPF_CORE_READ(vma, vm_flags) & VM_EXEC))
		return 0;
	e.header = *h;
	e.header.type = EVENT_MAP;
	e.header.size = sizeof(e);
	read_inode(&e.file, BPF_CORE_READ(file, f_inode));
	e.start = BPF_CORE_READ(vma, vm_start);
	e.end = BPF_CORE_READ(vma, vm_end);
	e.page_offset = BPF_CORE_READ(vma, vm_pgoff);
	send_event(&e, sizeof(e));
	return 0;
}

/* Whether the process is one of few samples so far; a collision in the table costs a look-up. */
static bool is_fresh(__u32 tgid)
{
	__u32 slot = tgid & (SEEN_SLOTS - 1);
	struct fresh *f = bpf_map_lookup_elem(&fresh, &slot);

	if (!f)
		return false;
	if (f->tgid != tgid) {
		f->tgid = tgid;
		f->n = 0;
	}
	return f->n < FRESH_SAMPLES && ++f->n > 0;
}

/*
 * Those that the walk has found in the kernel's tree. Another thread may have unmapped one since:
 * it is sent if it still belongs to this process.
 */
static __always_inline void send_found(struct scratch *s, struct task_struct *task,
				       struct mm_struct *mm, struct event_header *h)
{
	for (__u32 i = 0; i < WALK_VMAS && i < s->n_vmas; i++) {
		struct vm_area_struct *vma = (void *)s->vmas[i];

		if (BPF_CORE_READ(vma, vm_mm) == mm)
			send_map(task, vma, h);
	}
}

/*
 * The libraries of a process that exits before it is read, or before they are, are known to nobody
 * else. Where the walk did not look for them, an interrupt can look up one mapping (the kernel
 * unlocks the memory map after it): that of the first address outside the executable, which the
 * exec event has.
 */
static void send_maps_of(struct scratch *s, struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	__u64 start, end, addr = 0;
	__u32 first = s->event.n_kernel;
	struct event_header h;

	if (!mm || s->event.n_user == 0 || !is_fresh(s->event.header.tgid))
		return;
	h = s->event.header; /* the callback's argument must be on the stack */
	if (s->n_vmas > 0) {
		send_found(s, task, mm, &h);
		return;
	}
	start = BPF_CORE_READ(mm, start_code);
	end = BPF_CORE_READ(mm, end_code);
	for (__u32 i = 0; i < MAP_FRAMES && i < s->event.n_user; i++) {
		addr = s->addrs[(first + i) & (SAMPLER_MAX_ADDRS - 1)];
		if (addr < start || addr >= end)
			break;
		addr = 0;
	}
	if (!addr)
		return;
	bpf_find_vma(bpf_get_current_task_btf(), addr, send_map, &h, 0);
}

/* Sends code objects before the sample that has them: its names are read from what was sent. */
static void send_codes(const struct scratch *s)
{
	struct chain_scratch *c = s->walk.chained ? get_chain_scratch() : NULL;

	for (__u32 i = 0; c && i < CHAIN_FRESH && i < c->n_fresh; i++) {
		if (!chain_keep(i))
			continue;
		c->code.header = s->event.header;
		c->code.header.type = EVENT_CODE;
		c->code.header.size = sizeof(c->code);
		send_event(&c->code, sizeof(c->code));
	}
}

static __always_inline int sample(struct bpf_perf_event_data *ctx, bool send_maps)
{
	struct task_struct *task = (void *)bpf_get_current_task(), *leader;
	struct sampler_counters *c = get_counters();
	__u64 begin_ns = bpf_ktime_get_ns();
	struct scratch *s = get_scratch();

	if (!c || !s) /* cannot be: both arrays have an element 0 */
		return 0;

	c->ticks++;
	if (bpf_get_current_pid_tgid() == 0) {
		c->idle++;
		return 0;
	}
	s->event.cgroup_id = cgroup_id(task);
	leader = BPF_CORE_READ(task, group_leader);
	if (cgroup_is_excluded(s->event.cgroup_id) || (leader && process_is_excluded(leader))) {
		c->excluded++;
		return 0;
	}
	if (!leader ||
	    bpf_probe_read_kernel_str(s->event.comm, sizeof(s->event.comm), &leader->comm) < 0) {
		c->lost_no_task++;
		return 0;
	}
	fill_header(&s->event.header, EVENT_SAMPLE, leader, begin_ns);
	s->event.flags = BPF_CORE_READ(task, flags) & PF_KTHREAD ? SAMPLE_KERNEL_THREAD : 0;
	take_stacks(ctx, s, task, c);
	send_codes(s);
	s->event.cost_ns = (__u32)(bpf_ktime_get_ns() - begin_ns);
	if (send_maps)
		send_maps_of(s, task);
	send_sample(s, c);
	return 0;
}

SEC("perf_event")
int sample_cpu(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, false);
}

/* The same for kernels that have bpf_find_vma(), which older ones refuse to load. */
SEC("?perf_event")
int sample_cpu_maps(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, true);
}

/* ---- events of processes ---- */

/*
 * Wakes user space for the next program of this process, or the next process with its pid. Both
 * have other code.
 */
static void forget_seen(__u32 tgid)
{
	__u32 *slot = seen_slot(tgid), index;
	struct fresh *f;

	if (slot && *slot == tgid)
		*slot = 0;
	index = tgid & (SEEN_SLOTS - 1);
	f = bpf_map_lookup_elem(&fresh, &index);
	if (f && f->tgid == tgid)
		f->tgid = 0;
	bpf_map_delete_elem(&unwind_processes, &tgid);
}

/*
 * Raw tracepoints attach without tracefs and without BPF trampolines. Those of exec and exit run in
 * the task they are about.
 *
 * The arguments of sched_process_exec are (task, old pid, linux_binprm), since 3.4. The new
 * program is loaded by then: the fields of mm are final.
 */
SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct linux_binprm *bprm = (void *)ctx->args[2];
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct exec_scratch *s;
	struct exec_event *e;
	__u32 zero = 0, size;
	long n;

	s = bpf_map_lookup_elem(&exec_scratch, &zero);
	if (!s)
		return 0;
	e = &s->event;
	fill_header(&e->header, EVENT_EXEC, BPF_CORE_READ(task, group_leader), bpf_ktime_get_ns());
	e->cgroup_id = cgroup_id(task);
	read_inode(&e->file, BPF_CORE_READ(mm, exe_file, f_inode));
	e->start_code = BPF_CORE_READ(mm, start_code);
	e->end_code = BPF_CORE_READ(mm, end_code);
	e->vdso = (__u64)BPF_CORE_READ(mm, context.vdso);
	n = bpf_probe_read_kernel_str(e->path, sizeof(e->path), BPF_CORE_READ(bprm, interp));
	if (n < 1 || n >= SAMPLER_PATH_BYTES) { /* as long as the buffer: cut, perhaps */
		e->path[0] = '\0';
		n = 1;
	}
	size = sizeof(*e) - sizeof(e->path) + (((__u32)n + 7) & (2 * sizeof(e->path) - 8));
	e->header.size = size;
	forget_seen(e->header.tgid);
	include_process(&e->header);
	send_event(e, size);
	return 0;
}

/*
 * Runs in the parent, for every new process and thread. The arguments are (parent, child), since
 * 2.6.33.
 */
SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	struct fork_event e = {};

	e.header.tgid = BPF_CORE_READ(child, tgid);
	e.header.tid = BPF_CORE_READ(child, pid);
	if (e.header.tgid != e.header.tid) /* a thread */
		return 0;
	e.header.type = EVENT_FORK;
	e.header.size = sizeof(e);
	e.header.start_boottime_ns = start_boottime(child);
	e.header.ktime_ns = bpf_ktime_get_ns();
	e.cgroup_id = cgroup_id(parent);
	e.parent_tgid = BPF_CORE_READ(parent, tgid);
	e.parent_start_boottime_ns = start_boottime(BPF_CORE_READ(parent, group_leader));
	send_event(&e, sizeof(e));
	return 0;
}

/*
 * Runs for every thread; a process exits with its last one, which need not be the leader. The
 * kernel decrements the count of live threads before the tracepoint, so two threads that exit
 * at the same time may both see zero: an exit can be reported twice, but is never missed.
 */
SEC("raw_tp/sched_process_exit")
int on_exit(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct event_header h = {};

	(void)ctx;
	if (BPF_CORE_READ(task, signal, live.counter) != 0)
		return 0;
	fill_header(&h, EVENT_EXIT, BPF_CORE_READ(task, group_leader), bpf_ktime_get_ns());
	forget_seen(h.tgid);
	send_event(&h, sizeof(h));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
