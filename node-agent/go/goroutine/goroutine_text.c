#include "node-agent/go/goroutine/goroutine_text.h"

#include <errno.h>
#include <inttypes.h>

#include "common/system/clock.h"

#define S_PER_MIN 60u
#define S_PER_HOUR 3600u

static int append_wait(struct buf *out, uint64_t since_ns, uint64_t now_ns)
{
	uint64_t s;

	/* unknown, or on the clock of another time namespace */
	if (since_ns == 0 || since_ns > now_ns)
		return 0;
	s = (now_ns - since_ns) / NS_PER_S;
	if (s < S_PER_MIN)
		return buf_addf(out, ", for at least %" PRIu64 "s", s);
	if (s < S_PER_HOUR)
		return buf_addf(out, ", for at least %" PRIu64 "m%" PRIu64 "s", s / S_PER_MIN,
				s % S_PER_MIN);
	return buf_addf(out, ", for at least %" PRIu64 "h%" PRIu64 "m", s / S_PER_HOUR,
			s % S_PER_HOUR / S_PER_MIN);
}

/* Collapses equal frames in a row, as of a recursion, into one line. */
struct calls {
	struct buf *out;
	struct frame frame; /* not written yet */
	size_t n;           /* how often it occurred in a row; 0 if there is none */
	enum frame_role last;
};

static int append_pending(struct calls *c)
{
	const struct frame *f = &c->frame;
	int r = 0;

	if (c->n == 0)
		return 0;
	r = buf_addf(c->out, "    %s", f->function);
	if (r < 0)
		return r;
	if (f->file[0])
		r = buf_addf(c->out, " %s:%u", f->file, f->line);
	if (r < 0)
		return r;
	if (c->n > 1)
		r = buf_addf(c->out, " (%zu times)", c->n);
	if (r < 0)
		return r;
	return buf_add(c->out, "\n", 1);
}

static bool is_same(const struct frame *a, const struct frame *b)
{
	return a->line == b->line && strcmp(a->function, b->function) == 0 &&
	       strcmp(a->file, b->file) == 0;
}

/* Hides the same frames as stack_profile.c does for physical addresses. */
static int append_frame(struct calls *c, const struct frame *f)
{
	bool show = f->role != FRAME_WRAPPER || c->last == FRAME_PANIC;
	int r;

	c->last = f->role;
	if (!show)
		return 0;
	if (c->n > 0 && is_same(&c->frame, f)) {
		c->n++;
		return 0;
	}
	r = append_pending(c);
	c->frame = *f;
	c->n = 1;
	return r;
}

static int append_calls(struct buf *out, const struct goroutine_group *g,
			const struct frame_resolver *resolver, struct frame_list *frames)
{
	struct calls c = {.out = out, .last = FRAME_PLAIN};
	int r = 0;

	for (size_t i = 0; r == 0 && i < g->place.n_pcs; i++) {
		r = resolver->resolve(resolver->ctx, g->place.pcs[i], true, frames);
		for (size_t k = 0; r == 0 && k < frames->n; k++)
			r = append_frame(&c, &frames->frames[k]);
	}
	if (r < 0)
		return r;
	r = append_pending(&c);
	if (r < 0)
		return r;
	if (g->place.truncated)
		r = buf_addf(out, "    " GOROUTINE_TRUNCATED "\n");
	return r;
}

static int append_group(struct buf *out, struct goroutine_names *names,
			const struct goroutine_group *g, uint64_t now_ns)
{
	const char *reason = NULL;
	int r = goroutine_names_reason(names, &g->place, &reason);

	if (r < 0)
		return r;
	r = buf_addf(out, "%" PRIu64 " %s %s", g->n, g->n == 1 ? "goroutine" : "goroutines",
		     reason);
	if (r < 0)
		return r;
	r = append_wait(out, g->wait_since_ns, now_ns);
	if (r < 0)
		return r;
	return buf_addf(out, g->n == 1 ? ", id %" PRIu64 "%s:\n" : ", e.g. id %" PRIu64 "%s:\n",
			g->id, g->place.no_stack ? ", started with" : "");
}

int goroutine_text_append(struct buf *out, struct goroutine_names *names,
			  const struct frame_resolver *resolver,
			  const struct goroutine_group *const *groups, size_t n, uint64_t now_ns)
{
	AUTO_FREE struct frame_list *frames = malloc(sizeof(*frames));
	int r = frames ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++) {
		if (i > 0)
			r = buf_add(out, "\n", 1);
		if (r == 0)
			r = append_group(out, names, groups[i], now_ns);
		if (r == 0)
			r = append_calls(out, groups[i], resolver, frames);
	}
	return r;
}

/* ---- names ---- */

static const char *const states[GOROUTINE_STATUS_MAX] = {
	[GOROUTINE_IDLE] = "[idle]",           [GOROUTINE_RUNNABLE] = "[runnable]",
	[GOROUTINE_RUNNING] = "[running]",     [GOROUTINE_SYSCALL] = "[syscall]",
	[GOROUTINE_WAITING] = "[waiting]",     [GOROUTINE_DEAD] = "[dead]",
	[GOROUTINE_COPYSTACK] = "[copystack]", [GOROUTINE_PREEMPTED] = "[preempted]",
	[GOROUTINE_LEAKED] = "[leaked]",       [GOROUTINE_DEAD_EXTRA] = "[dead]",
};

void goroutine_names_init(struct goroutine_names *n, struct go_runtime *rt)
{
	memset(n, 0, sizeof(*n));
	n->rt = rt;
}

int goroutine_names_reason(struct goroutine_names *n, const struct goroutine_place *place,
			   const char **ret)
{
	const char *state = place->status < GOROUTINE_STATUS_MAX ? states[place->status] : NULL;
	char *text = n->reasons[place->wait_reason], reason[GOROUTINE_REASON_BYTES];
	int r;

	*ret = state ? state : "[unknown]";
	if (place->wait_reason == 0)
		return 0;
	if (text[0] == '\0') {
		r = goroutine_variables_reason(n->rt, place->wait_reason, reason);
		if (r < 0)
			return r == -ENOENT ? 0 : r;
		snprintf(text, sizeof(n->reasons[0]), "[%s]", reason);
	}
	*ret = text;
	return 0;
}
