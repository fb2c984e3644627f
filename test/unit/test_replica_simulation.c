/*
 * Replicas on a simulated API server, network and clock. They are cut off, suspended, killed,
 * restarted and duplicated under one name, and their clocks run at different speeds. No key may
 * ever have two owners, and 30 s after the last disturbance each must have one.
 *
 * The server is a map that is read and written at one moment between a request and its answer.
 * An answer after the time-out is lost, and yet the request may have had its effect, or have it
 * later.
 */
#include "cluster-agent/replica/own_lease.h"
#include "cluster-agent/replica/replica_members.h"
#include "test/lib/unit.h"

#define STEP_NS (100 * NS_PER_MS)
#define N_NODES 4
#define N_NAMES 3 /* the last node is a second process under the name of the first */
#define N_KEYS 6
#define N_FLIGHTS 64

enum what { READ, CREATE, WRITE, LIST, DELETE };

struct server_lease {
	bool exists;
	unsigned version;
	unsigned uid;
	char holder[24];
};

struct flight {
	bool used, effective, refused;
	enum what what;
	unsigned node, process; /* answers to a dead process are dropped */
	unsigned name;
	unsigned version, uid;
	char holder[24];
	uint64_t sent_local_ns;
	uint64_t effect_ns, answer_ns; /* UINT64_MAX: never */
	struct server_lease answer[N_NAMES];
};

struct node {
	bool alive;
	unsigned process;
	uint64_t stopped_until_ns;
	uint64_t cut_until_ns;
	bool cuts_lists, cuts_others;
	double rate;
	uint64_t offset_ns;
	struct replica_members members;
	struct own_lease own;
	bool busy[2]; /* own Lease, list */
	uint64_t sent_ns[2], due_ns[2];
};

struct world {
	unsigned n_nodes;
	uint64_t random;
	uint64_t now_ns;
	uint64_t max_latency_ns;
	double max_drift;
	unsigned version;
	struct server_lease leases[N_NAMES];
	struct flight flights[N_FLIGHTS];
	struct node nodes[N_NODES];
	uint64_t disturbed_ns;
	uint64_t n_owned; /* key and step */
};

static uint64_t draw(struct world *w, uint64_t n)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (w->random >> 11) % n;
}

static uint64_t local_ns(const struct world *w, const struct node *n)
{
	return n->offset_ns + (uint64_t)((double)w->now_ns * n->rate);
}

static unsigned name_of(unsigned node)
{
	return node % N_NAMES;
}

static void start(struct world *w, unsigned i)
{
	struct node *n = &w->nodes[i];
	char name[16], holder[24];
	unsigned process = n->process + 1;

	snprintf(name, sizeof(name), "member-%u", name_of(i));
	snprintf(holder, sizeof(holder), "%u.%u", i, process);
	*n = (struct node){
		.alive = true,
		.process = process,
		.rate = 1 + w->max_drift * ((double)draw(w, 2001) / 1000 - 1),
		.offset_ns = draw(w, 1000) * NS_PER_S,
	};
	replica_members_init(&n->members, name);
	own_lease_init(&n->own, name, holder);
}

/* ---- requests ---- */

static void send(struct world *w, unsigned i, enum what what)
{
	struct node *n = &w->nodes[i];
	struct flight *f = w->flights;
	bool cut = w->now_ns < n->cut_until_ns && (what == LIST ? n->cuts_lists : n->cuts_others);

	while (f->used)
		assert_true(++f < w->flights + N_FLIGHTS);
	*f = (struct flight){
		.used = true,
		.what = what,
		.node = i,
		.process = n->process,
		.name = name_of(i),
		.version = (unsigned)strtoul(n->own.record.version, NULL, 10),
		.uid = (unsigned)strtoul(n->own.record.uid, NULL, 10),
		.sent_local_ns = local_ns(w, n),
		.effect_ns = w->now_ns + draw(w, w->max_latency_ns),
	};
	snprintf(f->holder, sizeof(f->holder), "%.23s", n->own.record.holder);
	f->answer_ns = f->effect_ns + draw(w, w->max_latency_ns);
	/* half of the lost requests still have their effect, at some time */
	if (cut) {
		f->answer_ns = UINT64_MAX;
		f->effect_ns = draw(w, 2) ? w->now_ns + draw(w, 20 * NS_PER_S) : UINT64_MAX;
	}
	n->busy[what == LIST] = true;
	n->sent_ns[what == LIST] = f->sent_local_ns;
}

static void set_lease(struct world *w, struct server_lease *l, const struct flight *f)
{
	l->version = ++w->version;
	if (!l->exists)
		l->uid = w->version;
	l->exists = true;
	snprintf(l->holder, sizeof(l->holder), "%s", f->holder);
}

static void take_effect(struct world *w, struct flight *f)
{
	struct server_lease *l = &w->leases[f->name];

	f->effective = true;
	if (f->what == CREATE)
		f->refused = l->exists;
	if (f->what == WRITE)
		f->refused = !l->exists || l->version != f->version || l->uid != f->uid;
	if (f->what == DELETE && l->exists && l->version == f->version)
		l->exists = false;
	if ((f->what == CREATE || f->what == WRITE) && !f->refused)
		set_lease(w, l, f);
	memcpy(f->answer, w->leases, sizeof(f->answer));
}

static void read_list(struct node *n, const struct flight *f, uint64_t now_ns)
{
	char name[16], version[16];

	replica_members_list_begin(&n->members);
	for (unsigned i = 0; i < N_NAMES; i++) {
		const struct server_lease *l = &f->answer[i];

		if (!l->exists)
			continue;
		snprintf(name, sizeof(name), "member-%u", i);
		snprintf(version, sizeof(version), "%u", l->version);
		replica_members_list_add(&n->members, name, version,
					 i == f->name && !strcmp(l->holder, n->own.record.holder),
					 now_ns);
	}
	replica_members_list_end(&n->members, f->sent_local_ns);
}

static void read_own(struct node *n, const struct flight *f, uint64_t now_ns)
{
	const struct server_lease *sl = &f->answer[f->name];
	char version[16], uid[16];
	struct lease l = {.name = n->own.record.name,
			  .version = version,
			  .uid = uid,
			  .holder = sl->holder,
			  .acquired = ""};

	snprintf(version, sizeof(version), "%u", sl->version);
	snprintf(uid, sizeof(uid), "%u", sl->uid);
	if (f->what == READ) {
		if (!own_lease_read(&n->own, sl->exists ? &l : NULL, f->sent_local_ns, now_ns))
			replica_members_lost(&n->members);
		n->due_ns[0] = n->own.has_rival ? f->sent_local_ns + REPLICA_RENEW_NS : now_ns;
	} else if (f->refused) {
		lease_record_unknown(&n->own.record);
		n->due_ns[0] = now_ns;
	} else {
		own_lease_written(&n->own, &l, now_ns);
		replica_members_renewed(&n->members, f->sent_local_ns, now_ns);
		n->due_ns[0] = f->sent_local_ns + REPLICA_RENEW_NS;
	}
}

static void answer(struct world *w, struct flight *f)
{
	struct node *n = &w->nodes[f->node];
	uint64_t now_ns = local_ns(w, n);
	bool list = f->what == LIST;

	f->used = false;
	/* given up already, or another process */
	if (!n->alive || n->process != f->process || !n->busy[list] ||
	    n->sent_ns[list] != f->sent_local_ns || f->what == DELETE)
		return;
	n->busy[list] = false;
	if (!list) {
		read_own(n, f, now_ns);
		return;
	}
	read_list(n, f, now_ns);
	n->due_ns[1] = f->sent_local_ns + REPLICA_RENEW_NS;
	if (n->due_ns[1] > replica_members_expiry_ns(&n->members))
		n->due_ns[1] = replica_members_expiry_ns(&n->members);
}

static void move_requests(struct world *w)
{
	for (struct flight *f = w->flights; f < w->flights + N_FLIGHTS; f++) {
		bool stopped = w->now_ns < w->nodes[f->node].stopped_until_ns;

		if (f->used && !f->effective && w->now_ns >= f->effect_ns)
			take_effect(w, f);
		if (f->used && f->effective && w->now_ns >= f->answer_ns && !stopped)
			answer(w, f);
		if (f->used && f->answer_ns == UINT64_MAX &&
		    (f->effective || f->effect_ns == UINT64_MAX))
			f->used = false;
	}
}

/* ---- what a replica does ---- */

static void give_up(struct node *n, bool list, uint64_t now_ns)
{
	if (!n->busy[list] || now_ns < n->sent_ns[list] + REPLICA_TIMEOUT_NS)
		return;
	n->busy[list] = false;
	n->due_ns[list] = now_ns;
	if (!list)
		lease_record_unknown(&n->own.record);
}

static void run_node(struct world *w, unsigned i)
{
	static const enum what of_step[] = {
		[LEASE_READ] = READ, [LEASE_CREATE] = CREATE, [LEASE_WRITE] = WRITE};
	struct node *n = &w->nodes[i];
	uint64_t now_ns = local_ns(w, n);

	give_up(n, false, now_ns);
	give_up(n, true, now_ns);
	if (!n->busy[0] && now_ns >= n->due_ns[0])
		send(w, i, of_step[n->own.record.step]);
	if (!n->busy[1] && now_ns >= n->due_ns[1])
		send(w, i, LIST);
}

static void leave(struct world *w, unsigned i)
{
	struct node *n = &w->nodes[i];

	/* the answer to the last renewal is missing: nothing to delete */
	if (!n->busy[0] && own_lease_may_delete(&n->own, local_ns(w, n)))
		send(w, i, DELETE);
	w->nodes[i].alive = false;
}

static void disturb(struct world *w)
{
	unsigned i = (unsigned)draw(w, w->n_nodes);
	struct node *n = &w->nodes[i];
	uint64_t until_ns = w->now_ns + draw(w, 40 * NS_PER_S);

	if (!n->alive) {
		start(w, i);
		until_ns = w->now_ns;
	} else {
		switch (draw(w, 6)) {
		case 0:
			n->alive = false;
			break;
		case 1:
			leave(w, i);
			break;
		case 2:
			n->stopped_until_ns = until_ns;
			break;
		case 3: /* killed and started again at once */
			start(w, i);
			break;
		default:
			n->cut_until_ns = until_ns;
			n->cuts_lists = draw(w, 3) > 0;
			n->cuts_others = !n->cuts_lists || draw(w, 2);
			break;
		}
	}
	w->disturbed_ns = until_ns;
}

/* ---- what must hold ---- */

static void check_keys(struct world *w, bool settled)
{
	char key[16];
	unsigned n_alive = 0;

	for (unsigned i = 0; i < w->n_nodes; i++)
		n_alive += w->nodes[i].alive;
	for (unsigned k = 0; k < N_KEYS; k++) {
		unsigned n_owners = 0;

		snprintf(key, sizeof(key), "key-%u", k);
		for (unsigned i = 0; i < w->n_nodes; i++) {
			const struct node *n = &w->nodes[i];

			n_owners +=
				n->alive && replica_members_owns(&n->members, key, local_ns(w, n));
		}
		if (n_owners > 1 || (settled && n_alive > 0 && n_owners == 0))
			fail_msg("%s has %u owners at %.1f s, %.1f s after the last disturbance",
				 key, n_owners, (double)w->now_ns / 1e9,
				 ((double)w->now_ns - (double)w->disturbed_ns) / 1e9);
		w->n_owned += n_owners;
	}
}

static bool is_settled(const struct world *w)
{
	return w->now_ns >= w->disturbed_ns + 30 * NS_PER_S;
}

/*
 * One disturbance per interval on average; if quiet, the next one only after everything has
 * settled.
 */
static double simulate(struct world *w, uint64_t seed, uint64_t mean_s, bool quiet)
{
	const uint64_t end_ns = 900 * NS_PER_S;
	uint64_t n_steps = 0;

	w->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (unsigned i = 0; i < N_NAMES; i++)
		start(w, i);
	for (; w->now_ns < end_ns; w->now_ns += STEP_NS) {
		if (draw(w, mean_s * NS_PER_S / STEP_NS) == 0 && (!quiet || is_settled(w)))
			disturb(w);
		move_requests(w);
		for (unsigned i = 0; i < w->n_nodes; i++)
			if (w->nodes[i].alive && w->now_ns >= w->nodes[i].stopped_until_ns)
				run_node(w, i);
		check_keys(w, quiet && is_settled(w));
		n_steps++;
	}
	return (double)w->n_owned / (double)(n_steps * N_KEYS);
}

TEST(no_key_ever_has_two_owners)
{
	double owned = 0;

	for (uint64_t seed = 1; seed <= 50; seed++) {
		/* clocks up to 10 % off; some answers take longer than the time-out */
		struct world w = {
			.n_nodes = N_NODES, .max_latency_ns = 2 * NS_PER_S, .max_drift = 0.1};

		owned += simulate(&w, seed, 15, false) / 50;
	}
	/* owning nothing at all would also satisfy the checks above */
	assert_true(owned > 0.2);
}

TEST(every_key_is_taken_over_in_time)
{
	double owned = 0;

	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct world w = {
			.n_nodes = N_NAMES, .max_latency_ns = 1 * NS_PER_S, .max_drift = 0.001};

		owned += simulate(&w, seed, 40, true) / 50;
	}
	assert_true(owned > 0.7);
}
