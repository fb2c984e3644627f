/*
 * A process that appends to the log from several threads, and inserts and commits on another one,
 * is killed again and again. What it answered with success, and what it inserted, it has written to
 * pipes before, so that the test knows what was promised when it died:
 *
 *  - each upload that was answered is inserted exactly once, counting inserts with equal tokens
 *    as one, as the store does;
 *  - no other upload is inserted twice;
 *  - a segment that is inserted again has the same uploads in the same order.
 *
 * Uploads that were not answered are sent again by the next process, and so are some that were.
 * It is killed 40 times, with SOAK=long 1000 times.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "test/lib/log_fixture.h"
#include "test/lib/unit.h"

#define N_THREADS 3
#define WINDOW 8 /* unanswered uploads of a thread */
#define MAX_ACKS_PER_LIFE 400
#define MAX_UPLOADS_PER_LIFE 1000000u
#define KILLS 40
#define KILLS_LONG 1000

/* ---- numbers of uploads: life, thread, sequence ---- */

static uint64_t upload_of(uint64_t life, uint64_t thread, uint64_t sequence)
{
	return (life << 8 | thread) << 32 | sequence;
}

struct numbers {
	uint64_t *v;
	size_t n;
};

static void add_number(struct numbers *a, uint64_t v)
{
	if ((a->n & (a->n - 1)) == 0) {
		a->v = realloc(a->v, (a->n ? 2 * a->n : 1) * sizeof(*a->v));
		assert_non_null(a->v);
	}
	a->v[a->n++] = v;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool has_number(const struct numbers *sorted, uint64_t v)
{
	return sorted->n > 0 && bsearch(&v, sorted->v, sorted->n, sizeof(v), by_value);
}

static void sort_numbers(struct numbers *a)
{
	if (a->n > 0)
		qsort(a->v, a->n, sizeof(*a->v), by_value);
}

/* ---- the process that is killed; it must not use cmocka ---- */

struct child {
	struct log_fixture *f;
	uint64_t life;
	const struct numbers *repeat; /* to be sent again */
	int acks_fd;
	int inserts_fd;
};

struct sender {
	struct child *child;
	uint64_t thread;
	sem_t room;
};

struct sent {
	struct sender *sender;
	uint64_t upload;
};

static void write_or_die(int fd, const void *data, size_t len)
{
	const char *from = data;

	while (len > 0) {
		ssize_t n = write(fd, from, len);

		if (n <= 0)
			abort();
		from += n;
		len -= (size_t)n;
	}
}

static void on_answer(void *ctx, int result)
{
	struct sent *s = ctx;

	if (result < 0)
		abort();
	/* one write of 8 bytes is whole or absent */
	write_or_die(s->sender->child->acks_fd, &s->upload, sizeof(s->upload));
	sem_post(&s->sender->room);
	free(s);
}

static void send_upload(struct sender *s, uint64_t upload)
{
	/* of many sizes, so that segments and batches end anywhere */
	size_t len = 8 + (upload * UINT64_C(0x9e3779b97f4a7c15) >> 50);
	AUTO_FREE uint64_t *bytes = calloc(1, len + 8);
	struct sent *sent = malloc(sizeof(*sent));
	const struct logged_frames frame = {
		.table = STORE_SAMPLES,
		.frame = {.data = bytes, .len = len, .n_rows = 1, .n_bytes = 8},
	};
	int r;

	if (!bytes || !sent)
		abort();
	bytes[0] = upload;
	*sent = (struct sent){.sender = s, .upload = upload};
	while (sem_wait(&s->room) < 0)
		;
	do
		r = upload_log_append(s->child->f->log, log_fixture_id(upload), &frame, 1,
				      on_answer, sent);
	while (r == -EAGAIN);
	if (r < 0)
		abort();
}

static void *send_all(void *ctx)
{
	struct sender *s = ctx;
	const struct child *c = s->child;

	for (size_t i = s->thread; i < c->repeat->n; i += N_THREADS)
		send_upload(s, c->repeat->v[i]);
	for (uint64_t i = 0; i < MAX_UPLOADS_PER_LIFE; i++)
		send_upload(s, upload_of(c->life, s->thread, i));
	return NULL;
}

static void insert(const struct child *c, const struct log_segment_content *content)
{
	uint64_t n = content->n_records;

	write_or_die(c->inserts_fd, content->token, 32);
	write_or_die(c->inserts_fd, &n, sizeof(n));
	for (size_t i = 0; i < n; i++) {
		uint64_t upload = content->ids[i].low;

		if (memcmp(content->frames[i].data.frame.data, &upload, sizeof(upload)) != 0)
			abort();
		write_or_die(c->inserts_fd, &upload, sizeof(upload));
	}
}

static _Noreturn void be_child(struct child *c)
{
	const struct upload_log_config cfg = {.dir = c->f->dir, .segment_bytes = 100000};
	static struct sender senders[N_THREADS];
	struct err err = {0};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (upload_log_open(&c->f->log, &cfg, &err) < 0)
		abort();
	for (unsigned i = 0; i < N_THREADS; i++) {
		pthread_t thread;

		senders[i].child = c;
		senders[i].thread = i;
		sem_init(&senders[i].room, 0, WINDOW);
		if (pthread_create(&thread, NULL, send_all, &senders[i]) != 0)
			abort();
	}
	for (;;) {
		struct log_segment *s = upload_log_next(c->f->log, UINT64_MAX);
		struct log_segment_content content;

		if (!s || log_segment_read(s, &content, &err) < 0 || content.damaged)
			abort();
		insert(c, &content);
		/* some die here: their segment is inserted again */
		usleep((unsigned)(content.ids[0].low * 911 % 3000));
		if (upload_log_commit(c->f->log, s, NULL, &err) < 0)
			abort();
	}
}

/* ---- what was promised ---- */

struct inserted {
	char token[33];
	struct numbers uploads;
};

struct ledger {
	struct numbers acked;
	struct inserted *inserts; /* of one token each */
	size_t n_inserts;
	size_t n_repeated; /* inserts that the store would have recognised */
};

static void note_insert(struct ledger *l, const struct inserted *new)
{
	for (size_t i = 0; i < l->n_inserts; i++) {
		const struct inserted *old = &l->inserts[i];

		if (strcmp(old->token, new->token) != 0)
			continue;
		assert_int_equal(old->uploads.n, new->uploads.n);
		assert_memory_equal(old->uploads.v, new->uploads.v,
				    new->uploads.n * sizeof(*new->uploads.v));
		free(new->uploads.v);
		l->n_repeated++;
		return;
	}
	l->inserts = realloc(l->inserts, (l->n_inserts + 1) * sizeof(*l->inserts));
	assert_non_null(l->inserts);
	l->inserts[l->n_inserts++] = *new;
}

/* Notes the whole inserts in buf; what is not whole was not inserted. */
static void note_inserts(struct ledger *l, const char *data, size_t len)
{
	while (len >= 32 + sizeof(uint64_t)) {
		struct inserted new = {.uploads = {0}};
		uint64_t n;

		memcpy(new.token, data, 32);
		memcpy(&n, data + 32, sizeof(n));
		data += 32 + sizeof(n);
		len -= 32 + sizeof(n);
		if (len < n * sizeof(uint64_t))
			return;
		for (uint64_t i = 0; i < n; i++) {
			uint64_t upload;

			memcpy(&upload, data + i * sizeof(upload), sizeof(upload));
			add_number(&new.uploads, upload);
		}
		data += n * sizeof(uint64_t);
		len -= n * sizeof(uint64_t);
		note_insert(l, &new);
	}
}

static void check(struct ledger *l)
{
	struct numbers all = {0};

	for (size_t i = 0; i < l->n_inserts; i++) {
		for (size_t k = 0; k < l->inserts[i].uploads.n; k++)
			add_number(&all, l->inserts[i].uploads.v[k]);
		free(l->inserts[i].uploads.v);
	}
	sort_numbers(&all);
	for (size_t i = 1; i < all.n; i++) {
		if (all.v[i] == all.v[i - 1])
			fail_msg("upload %llx was inserted twice", (unsigned long long)all.v[i]);
	}
	for (size_t i = 0; i < l->acked.n; i++) {
		if (!has_number(&all, l->acked.v[i]))
			fail_msg("upload %llx was answered and is lost",
				 (unsigned long long)l->acked.v[i]);
	}
	print_message("%zu answers, %zu uploads in %zu segments, %zu inserted again\n", l->acked.n,
		      all.n, l->n_inserts, l->n_repeated);
	free(all.v);
	free(l->acked.v);
	free(l->inserts);
}

/* ---- lives ---- */

struct pipes {
	int acks[2];
	int inserts[2];
};

/* Reads acks until there are n_wanted or the pipe ends; returns false at its end. */
static bool read_acks(int fd, struct numbers *ret, size_t n_wanted)
{
	while (ret->n < n_wanted) {
		uint64_t upload;
		ssize_t n = read(fd, &upload, sizeof(upload));

		if (n != sizeof(upload))
			return false;
		add_number(ret, upload);
	}
	return true;
}

struct reader {
	int fd;
	struct buf bytes;
};

static void *read_inserts(void *ctx)
{
	struct reader *r = ctx;
	char chunk[4096];
	ssize_t n;

	while ((n = read(r->fd, chunk, sizeof(chunk))) > 0) {
		if (buf_add(&r->bytes, chunk, (size_t)n) < 0)
			abort();
	}
	return NULL;
}

/* The uploads of the last life that may not have been answered, and a few that were. */
static void choose_repeated(struct numbers *ret, const struct numbers *acked, uint64_t last_life)
{
	uint64_t next[N_THREADS] = {0};

	ret->n = 0;
	for (size_t i = 0; i < acked->n; i++) {
		uint64_t v = acked->v[i];

		if (v >> 40 == last_life && next[v >> 32 & 0xff] <= (v & UINT32_MAX))
			next[v >> 32 & 0xff] = (v & UINT32_MAX) + 1;
		if (i + 2000 > acked->n && v % 7 == last_life % 7)
			add_number(ret, v);
	}
	for (unsigned t = 0; t < N_THREADS; t++) {
		/* answers of a batch come in order, but there may be gaps: go back a little */
		uint64_t first = next[t] > 2 * WINDOW ? next[t] - 2 * WINDOW : 0;

		for (uint64_t i = first; i < next[t] + WINDOW; i++)
			add_number(ret, upload_of(last_life, t, i));
	}
}

static void live_and_die(struct log_fixture *f, struct ledger *l, uint64_t life)
{
	struct numbers repeat = {0}, acked = {0};
	struct reader reader;
	struct pipes p;
	pthread_t thread;
	int status;
	pid_t pid;

	if (life > 0)
		choose_repeated(&repeat, &l->acked, life - 1);
	assert_int_equal(pipe2(p.acks, O_CLOEXEC) + pipe2(p.inserts, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct child c = {.f = f,
				  .life = life,
				  .repeat = &repeat,
				  .acks_fd = p.acks[1],
				  .inserts_fd = p.inserts[1]};

		be_child(&c);
	}
	close(p.acks[1]);
	close(p.inserts[1]);
	reader.fd = p.inserts[0];
	buf_init(&reader.bytes, SIZE_MAX);
	assert_int_equal(pthread_create(&thread, NULL, read_inserts, &reader), 0);

	/* every eighth dies early, perhaps while it recovers */
	if (life % 8 == 7)
		usleep((unsigned)(rand() % 20000));
	else if (!read_acks(p.acks[0], &acked, (size_t)(rand() % MAX_ACKS_PER_LIFE)))
		fail_msg("the process has ended by itself");
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

	(void)read_acks(p.acks[0], &acked, SIZE_MAX);
	pthread_join(thread, NULL);
	for (size_t i = 0; i < acked.n; i++)
		add_number(&l->acked, acked.v[i]);
	note_inserts(l, reader.bytes.data, reader.bytes.len);
	buf_fini(&reader.bytes);
	close(p.acks[0]);
	close(p.inserts[0]);
	free(acked.v);
	free(repeat.v);
}

static void drain(struct log_fixture *f, struct ledger *l)
{
	struct upload_log_state state;

	for (;;) {
		struct inserted new = {.uploads = {0}};
		struct log_segment_content c;
		struct log_segment *s;

		upload_log_state(f->log, &state);
		if (state.n_bytes == 0)
			return;
		s = log_fixture_next(f, &c);
		memcpy(new.token, c.token, sizeof(new.token));
		for (size_t i = 0; i < c.n_records; i++)
			add_number(&new.uploads, log_fixture_upload(&c, i));
		note_insert(l, &new);
		log_fixture_commit(f, s, NULL);
	}
}

TEST_FIXTURE(test_killed_again_and_again_it_keeps_each_upload_once, log_fixture_setup,
	     log_fixture_teardown)
{
	const char *soak = getenv("SOAK");
	uint64_t n_kills = soak && strcmp(soak, "long") == 0 ? KILLS_LONG : KILLS;
	struct log_fixture *f = *state;
	struct ledger l = {0};

	srand((unsigned)getpid());
	for (uint64_t life = 0; life < n_kills; life++)
		live_and_die(f, &l, life);
	log_fixture_open(f, NULL);
	assert_int_equal(log_fixture_metric(f, "damaged_segments_total"), 0);
	assert_int_equal(log_fixture_metric(f, "damaged_ids_total"), 0);
	drain(f, &l);
	assert_true(l.acked.n > 0);
	check(&l);
}
