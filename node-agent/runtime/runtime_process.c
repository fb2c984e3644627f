#include "node-agent/runtime/runtime_process.h"

#include "node-agent/procfs/procfs.h"
#include "node-agent/runtime/runtime_states.h"

int runtime_process_init(struct runtime_process *p, const struct runtime_ops *ops,
			 enum runtime_baseline baseline, uint64_t now_ns)
{
	p->ops = ops;
	p->baseline = baseline;
	p->due_ns = now_ns;
	return ops->session_new(&p->session, baseline, now_ns);
}

void runtime_process_fini(struct runtime_process *p)
{
	if (p->session)
		p->ops->session_free(TAKE_PTR(p->session));
	container_share_free(TAKE_PTR(p->share));
	runtime_state_free(TAKE_PTR(p->state));
}

size_t runtime_process_bytes(const struct runtime_process *p)
{
	return p->session ? p->ops->session_bytes(p->session) : 0;
}

const struct runtime_turn_def *runtime_process_own_turn(const struct runtime_process *p,
							uint64_t *ret_ns)
{
	const struct runtime_turn_def *first = NULL;
	uint64_t first_ns = p->due_ns;

	for (size_t i = 0; i < p->ops->n_turns; i++) {
		const struct runtime_turn_def *turn = &p->ops->turns[i];
		uint64_t ns = turn->due_ns ? turn->due_ns(p->session) : 0;

		if (ns == 0 || ns > first_ns || (first && ns == first_ns))
			continue;
		first = turn;
		first_ns = ns;
	}
	*ret_ns = first_ns;
	return first;
}

uint64_t runtime_process_next_ns(const struct runtime_process *p)
{
	uint64_t ns;

	(void)runtime_process_own_turn(p, &ns);
	return ns;
}

/* ---- those left out ---- */

void left_out_add(struct left_out *l, const struct program_id *id)
{
	l->of[l->next] = (struct left_out_process){id->pid, id->start_time};
	l->next = (l->next + 1) % LEFT_OUT_MAX;
	if (l->n < LEFT_OUT_MAX)
		l->n++;
}

bool left_out_contains(const struct left_out *l, int root_fd, pid_t pid)
{
	for (size_t i = 0; i < l->n; i++) {
		AUTO_CLOSE int fd = -1;
		struct proc_stat st;

		if (l->of[i].pid != pid)
			continue;
		fd = procfs_open_process(root_fd, pid);
		if (fd >= 0 && procfs_read_stat(fd, &st) == 0 &&
		    st.start_time == l->of[i].start_time)
			return true;
	}
	return false;
}
