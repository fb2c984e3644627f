/*
 * A child that waits in mmap(2) because this process, which reads the child's memory, waits for a
 * page of a file that does not answer: nobody can look at the child's mappings. Root only.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "node-agent/process/process_table.h"
#include "node-agent/procfs/procfs.h"
#include "test/lib/silent_file.h"
#include "test/lib/start_time.h"
#include "test/lib/unit.h"

#define LATER_NS (120 * NS_PER_S) /* all that is read again at times is due */

struct fixture {
	struct silent_file *silent;
	void *page; /* of the file, in the child too */
	pid_t child;
	int go; /* a pipe to the child: it maps memory when it gets a byte */
	pthread_t reader;
	struct process_table *table;
};

static void map_when_told(int go)
{
	char byte;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(go, &byte, 1) == 1)
		(void)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	_exit(0);
}

static char state_of(pid_t pid)
{
	AUTO_CLOSE int fd = -1;
	char path[64], text[512] = "";
	const char *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return '?';
	end = strrchr(text, ')');
	return end ? end[2] : '?';
}

static void *read_page(void *ctx)
{
	const struct fixture *f = ctx;
	AUTO_CLOSE int fd = -1;
	char path[64], byte;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)f->child);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	(void)!pread(fd, &byte, 1, (off_t)(uintptr_t)f->page);
	return NULL;
}

/* Returns NULL without root. */
static struct fixture *begin(void)
{
	static struct fixture f;
	int go[2];

	f = (struct fixture){.silent = silent_file_new()};
	if (!f.silent)
		return NULL;
	f.page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, f.silent->fd, 0);
	assert_ptr_not_equal(f.page, MAP_FAILED);
	assert_int_equal(pipe(go), 0);
	f.child = fork();
	assert_true(f.child >= 0);
	if (f.child == 0) {
		close(go[1]);
		map_when_told(go[0]);
	}
	close(go[0]);
	f.go = go[1];
	assert_int_equal(process_table_new(&f.table, &(struct process_table_config){0}, NULL), 0);
	return &f;
}

static void lock(struct fixture *f)
{
	silent_file_silence(f->silent);
	assert_int_equal(pthread_create(&f->reader, NULL, read_page, f), 0);
	eventually(silent_file_is_waited_for(f->silent));
	assert_int_equal(write(f->go, "", 1), 1);
	eventually(state_of(f->child) == 'D');
}

static void unlock(struct fixture *f)
{
	silent_file_answer(f->silent);
	pthread_join(f->reader, NULL);
	eventually(state_of(f->child) == 'S');
}

static void end(struct fixture *f)
{
	process_table_free(f->table);
	kill(f->child, SIGKILL);
	assert_int_equal(waitpid(f->child, NULL, 0), f->child);
	close(f->go);
	munmap(f->page, 4096);
	silent_file_free(f->silent);
}

static const struct process_snapshot *get(struct fixture *f, uint64_t now_ns)
{
	uint64_t nowhere = 1; /* an address outside all mappings: they are read again */
	struct process_snapshot *s = NULL;
	struct process_seen seen = {
		.pid = f->child,
		.start_boottime_ns = start_boottime_ns(f->child),
		.comm = "test_memory_loc",
		.addrs = &nowhere,
		.n_addrs = 1,
	};

	assert_int_equal(process_table_get(f->table, &seen, now_ns, &s), 0);
	assert_non_null(s);
	return s;
}

TEST(a_process_whose_mappings_are_locked_is_read_without_them_and_again_later)
{
	struct fixture *f = begin();
	const struct process_snapshot *s;
	struct process_table_stats stats;
	uint64_t now_ns = clock_monotonic_ns();

	if (!f)
		skip();
	lock(f);
	s = get(f, now_ns);
	assert_int_equal(s->n_mappings, 0);
	assert_true(s->unreadable);
	process_table_read_stats(f->table, &stats);
	assert_int_equal(stats.locked, 1);
	assert_int_equal(stats.unreadable, 1);
	assert_non_null(strstr(s->exe, "test_memory_lock"));
	unlock(f);
	eventually_by(now_ns += LATER_NS, get(f, now_ns)->n_mappings > 0);
	end(f);
}

TEST(what_was_known_of_it_is_kept)
{
	struct fixture *f = begin();
	uint64_t now_ns = clock_monotonic_ns();
	size_t n;

	if (!f)
		skip();
	n = get(f, now_ns)->n_mappings;
	assert_true(n > 0);
	lock(f);
	assert_int_equal(get(f, now_ns + LATER_NS)->n_mappings, n);
	assert_int_equal(get(f, now_ns + 2 * LATER_NS)->n_mappings, n);
	unlock(f);
	end(f);
}
