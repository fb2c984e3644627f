/* The spool's files on a real file system: a directory of its own, or a small tmpfs. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/upload/spool_files.h"
#include "common/upload/spool_record.h"
#include "common/upload/spool_segment.h"
#include "test/lib/unit.h"

#define BIG (UINT64_C(1) << 30)

struct fixture {
	const char *dir; /* of the test; the spool's is below */
	char spool[80];
	struct spool_files_config cfg;
	struct spool_files *files;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	*state = f;
	f->dir = temp_dir();
	snprintf(f->spool, sizeof(f->spool), "%s/spool", f->dir);
	f->cfg = (struct spool_files_config){.dir = f->spool, .max_bytes = BIG};
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[128];

	spool_files_close(f->files);
	(void)umount2(f->dir, MNT_DETACH);
	snprintf(command, sizeof(command), "rm -rf %s", f->dir);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

static void open_spool(struct fixture *f)
{
	struct err err = {""};
	int r;

	spool_files_close(f->files);
	f->files = NULL;
	r = spool_files_open(&f->files, &f->cfg, &err);
	if (r < 0)
		fail_msg("%s", err.msg);
}

static struct upload_item *item_new(uint64_t n, size_t body_len)
{
	char *query = NULL, *body = calloc(1, body_len + 1);
	struct upload_item *i = NULL;
	struct upload_key key;

	snprintf(key.text, sizeof(key.text), "%032llx", (unsigned long long)n);
	if (asprintf(&query, "service.name=s%llu", (unsigned long long)n) < 0)
		query = NULL;
	if (query && body)
		i = upload_item_new(&key, 1000 + n, query, body, body_len);
	if (!i) {
		free(query);
		free(body);
	}
	return i;
}

static int try_put(struct fixture *f, uint64_t n, size_t body_len, struct spool_place *ret)
{
	CLEANUP(upload_item_unrefp) struct upload_item *item = item_new(n, body_len);
	struct spool_place place;

	return item ? spool_files_put(f->files, item, ret ? ret : &place) : -ENOMEM;
}

/* Puts profiles first to last, and lets them wait. */
static void put(struct fixture *f, uint64_t first, uint64_t last, size_t body_len)
{
	struct spool_place place;

	for (; first <= last; first++) {
		assert_int_equal(try_put(f, first, body_len, &place), 0);
		spool_files_release(f->files, &place);
	}
}

static uint64_t take(struct fixture *f, struct spool_place *place)
{
	CLEANUP(upload_item_unrefp) struct upload_item *item = NULL;
	int r = spool_files_take(f->files, &item, place);

	if (r == -ENODATA)
		return 0;
	assert_int_equal(r, 0);
	return strtoull(item->key.text, NULL, 16);
}

static void assert_takes(struct fixture *f, uint64_t first, uint64_t last)
{
	struct spool_place place;

	for (; first <= last; first++) {
		assert_int_equal(take(f, &place), first);
		spool_files_finish(f->files, &place);
	}
	assert_int_equal(take(f, &place), 0);
}

static struct spool_state state_of(const struct fixture *f)
{
	struct spool_state s;

	spool_files_state(f->files, &s);
	return s;
}

static unsigned n_segments(const struct fixture *f)
{
	char command[160], text[16];
	FILE *p;

	snprintf(command, sizeof(command), "ls %s/profiles/*.spool 2>/dev/null | wc -l", f->spool);
	p = popen(command, "r");
	assert_non_null(p);
	assert_non_null(fgets(text, sizeof(text), p));
	pclose(p);
	return (unsigned)strtoul(text, NULL, 10);
}

static void path_of(const struct fixture *f, uint64_t number, char ret[static 160])
{
	snprintf(ret, 160, "%s/profiles/%016llx.spool", f->spool, (unsigned long long)number);
}

TEST_FIXTURE(profiles_come_back_oldest_first, set_up, tear_down)
{
	struct fixture *f = *state;

	f->cfg.segment_bytes = 4096;
	open_spool(f);
	put(f, 1, 100, 500);
	assert_true(n_segments(f) > 5);
	assert_int_equal(state_of(f).n_profiles, 100);
	assert_int_equal(state_of(f).oldest_created_ns, 1001);
	assert_takes(f, 1, 100);
	assert_int_equal(state_of(f).n_profiles, 0);
	assert_int_equal(state_of(f).oldest_created_ns, 0);
	assert_in_range(n_segments(f), 0, 1);
}

TEST_FIXTURE(what_was_not_finished_is_there_after_a_restart, set_up, tear_down)
{
	struct fixture *f = *state;
	struct spool_place place;

	f->cfg.segment_bytes = 4096;
	open_spool(f);
	put(f, 1, 50, 500);
	for (uint64_t n = 1; n <= 20; n++) {
		assert_int_equal(take(f, &place), n);
		if (n % 2 == 1)
			spool_files_finish(f->files, &place);
	}
	open_spool(f);
	assert_int_equal(state_of(f).n_profiles, 40);
	put(f, 51, 60, 500);
	for (uint64_t n = 2; n <= 20; n += 2) {
		assert_int_equal(take(f, &place), n);
		spool_files_finish(f->files, &place);
	}
	assert_takes(f, 21, 60);
	open_spool(f);
	assert_int_equal(take(f, &place), 0);
	assert_int_equal(n_segments(f), 0);
}

TEST_FIXTURE(one_that_is_released_has_its_turn_after_the_others, set_up, tear_down)
{
	struct fixture *f = *state;
	struct spool_place place;

	open_spool(f);
	put(f, 1, 3, 10);
	assert_int_equal(take(f, &place), 1);
	spool_files_release(f->files, &place);
	assert_int_equal(take(f, &place), 2);
	assert_int_equal(take(f, &place), 3);
	assert_int_equal(take(f, &place), 1);
	assert_int_equal(take(f, &place), 0);
}

static bool is_in_doubt(struct fixture *f, struct spool_place *place)
{
	CLEANUP(upload_item_unrefp) struct upload_item *item = NULL;

	assert_int_equal(spool_files_take(f->files, &item, place), 0);
	return atomic_load(&item->is_in_doubt);
}

/* The file does not say it, so what an earlier process left is in doubt. */
TEST_FIXTURE(what_may_have_been_accepted_is_in_doubt, set_up, tear_down)
{
	struct fixture *f = *state;
	struct spool_place place;

	open_spool(f);
	put(f, 1, 1, 10);
	assert_false(is_in_doubt(f, &place));
	spool_files_release(f->files, &place);
	assert_false(is_in_doubt(f, &place));
	place.is_in_doubt = true;
	spool_files_release(f->files, &place);
	assert_true(is_in_doubt(f, &place));
	spool_files_finish(f->files, &place);
	put(f, 2, 2, 10);
	open_spool(f);
	assert_true(is_in_doubt(f, &place));
}

TEST_FIXTURE(the_oldest_are_dropped_above_the_cap_and_counted, set_up, tear_down)
{
	struct fixture *f = *state;
	struct spool_place place, out;
	uint64_t first;

	f->cfg.max_bytes = 64 * 1024;
	f->cfg.segment_bytes = 8 * 1024;
	open_spool(f);
	put(f, 1, 1, 1000);
	assert_int_equal(take(f, &out), 1);
	put(f, 2, 200, 1000);
	assert_true(state_of(f).n_bytes <= 64 * 1024);
	assert_true(state_of(f).is_full);
	/* the one that is out is counted when it comes back */
	assert_int_equal(state_of(f).n_profiles + state_of(f).n_dropped_full, 199);
	spool_files_release(f->files, &out);
	assert_int_equal(state_of(f).n_profiles + state_of(f).n_dropped_full, 200);
	first = take(f, &place);
	assert_int_equal(first, state_of(f).n_dropped_full + 1);
	spool_files_finish(f->files, &place);
	assert_takes(f, first + 1, 200);
	assert_false(state_of(f).is_full);
	assert_int_equal(try_put(f, 201, 70 * 1024, NULL), -EFBIG);
}

TEST_FIXTURE(a_smaller_cap_holds_after_a_restart, set_up, tear_down)
{
	struct fixture *f = *state;

	f->cfg.segment_bytes = 8 * 1024;
	open_spool(f);
	put(f, 1, 100, 1000);
	f->cfg.max_bytes = 32 * 1024;
	open_spool(f);
	assert_true(state_of(f).n_bytes <= 32 * 1024);
	assert_int_equal(state_of(f).n_profiles + state_of(f).n_dropped_full, 100);
}

TEST_FIXTURE(a_full_disk_costs_the_oldest, set_up, tear_down)
{
	struct fixture *f = *state;
	struct spool_place place;
	struct spool_state s;
	unsigned n = 0;

	assert_int_equal(mount("none", f->dir, "tmpfs", 0, "size=256k"), 0);
	f->cfg.segment_bytes = 32 * 1024;
	open_spool(f);
	while (!state_of(f).is_full && n < 1000)
		put(f, n + 1, n + 1, 1000), n++;
	assert_true(state_of(f).is_full);
	put(f, n + 1, n + 200, 1000);
	n += 200;
	s = state_of(f);
	assert_int_equal(s.n_profiles + s.n_dropped_full, n);
	assert_true(s.n_profiles > 100);
	/* all that is left can be read, by the next process as well */
	open_spool(f);
	s = state_of(f);
	for (uint64_t i = n - s.n_profiles + 1; i <= n; i++) {
		assert_int_equal(take(f, &place), i);
		spool_files_finish(f->files, &place);
	}
	assert_int_equal(state_of(f).n_dropped_damaged, 0);
}

TEST_FIXTURE(a_disk_filled_by_others_keeps_the_newest_segment, set_up, tear_down)
{
	struct fixture *f = *state;
	struct spool_place place;
	char path[160];
	int fd;

	assert_int_equal(mount("none", f->dir, "tmpfs", 0, "size=256k"), 0);
	open_spool(f);
	put(f, 1, 10, 1000);
	snprintf(path, sizeof(path), "%s/other", f->dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	while (write(fd, path, sizeof(path)) == (ssize_t)sizeof(path))
		;
	close(fd);
	assert_int_equal(try_put(f, 11, 50000, NULL), -ENOSPC);
	assert_true(state_of(f).is_full);
	assert_int_equal(state_of(f).n_profiles, 10);
	assert_int_equal(unlink(path), 0);
	put(f, 11, 11, 50000);
	assert_false(state_of(f).is_full);
	assert_int_equal(take(f, &place), 1);
	spool_files_finish(f->files, &place);
	assert_takes(f, 2, 11);
}

TEST_FIXTURE(a_torn_end_costs_one_profile, set_up, tear_down)
{
	struct fixture *f = *state;
	char path[160];
	struct stat st;

	open_spool(f);
	put(f, 1, 10, 1000);
	spool_files_close(f->files);
	f->files = NULL;
	path_of(f, 1, path);
	assert_int_equal(stat(path, &st), 0);
	for (off_t cut = 1; cut < 900; cut += 97) {
		assert_int_equal(truncate(path, st.st_size - cut), 0);
		open_spool(f);
		assert_int_equal(state_of(f).n_profiles, 9);
		assert_int_equal(state_of(f).n_dropped_damaged, 0);
		spool_files_close(f->files);
		f->files = NULL;
	}
	open_spool(f);
	put(f, 10, 10, 1000);
	assert_takes(f, 1, 10);
}

TEST_FIXTURE(damage_costs_what_it_hits, set_up, tear_down)
{
	struct fixture *f = *state;
	struct spool_place place;
	char path[160];
	uint64_t last = 0, n_read = 0;
	int fd;

	open_spool(f);
	put(f, 1, 100, 1000);
	path_of(f, 1, path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "damage", 6, 20000), 6);
	/* found while the spool is in use */
	for (uint64_t n; n_read < 50 && (n = take(f, &place)) > 0; n_read++) {
		assert_true(n == last + 1 || n == last + 2);
		last = n;
		spool_files_finish(f->files, &place);
	}
	assert_int_equal(last, 51);
	assert_int_equal(state_of(f).n_dropped_damaged, 1);
	/* and by the next process */
	assert_int_equal(pwrite(fd, "damage", 6, 90000), 6);
	close(fd);
	open_spool(f);
	assert_int_equal(state_of(f).n_dropped_damaged, 1 + 1); /* the first is there still */
	assert_int_equal(state_of(f).n_profiles, 48);
}

TEST_FIXTURE(a_file_that_cannot_be_read_is_removed_and_counted, set_up, tear_down)
{
	struct fixture *f = *state;
	char path[160];
	int fd;

	open_spool(f);
	put(f, 1, 5, 100);
	path_of(f, 7, path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, path, sizeof(path)), sizeof(path));
	close(fd);
	/* a process that ended before the file had a header lost nothing */
	path_of(f, 9, path);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	open_spool(f);
	assert_int_equal(state_of(f).n_dropped_damaged, 1);
	assert_int_equal(n_segments(f), 1);
	put(f, 6, 6, 100);
	assert_takes(f, 1, 6);
}

TEST_FIXTURE(a_file_of_a_later_version_is_left_alone, set_up, tear_down)
{
	struct fixture *f = *state;
	const struct record_file_header later = {
		.type = SPOOL_FILE_TYPE,
		.version = SPOOL_FILE_VERSION + 1,
	};
	uint8_t header[RECORD_FILE_HEADER_BYTES], back[RECORD_FILE_HEADER_BYTES];
	char path[160];
	int fd;

	open_spool(f);
	put(f, 1, 5, 100);
	path_of(f, 7, path);
	record_file_header_encode(header, &later);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, header, sizeof(header)), sizeof(header));
	close(fd);
	open_spool(f);
	assert_int_equal(state_of(f).n_left_alone, 1);
	assert_int_equal(state_of(f).n_dropped_damaged, 0);
	put(f, 6, 6, 100);
	assert_takes(f, 1, 6);
	/* for the version that wrote it */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, back, sizeof(back)), sizeof(back));
	assert_memory_equal(back, header, sizeof(back));
	close(fd);
}

TEST_FIXTURE(a_file_that_the_disk_does_not_give_back_costs_only_itself, set_up, tear_down)
{
	struct fixture *f = *state;
	char path[160];

	open_spool(f);
	put(f, 1, 5, 100);
	/* reading it fails, as with a bad sector */
	path_of(f, 7, path);
	assert_int_equal(mkdir(path, 0700), 0);
	open_spool(f);
	assert_int_equal(state_of(f).n_left_alone, 1);
	assert_int_equal(state_of(f).n_dropped_damaged, 1);
	put(f, 6, 6, 100);
	assert_takes(f, 1, 6);
}

TEST_FIXTURE(a_file_that_somebody_removes_costs_only_itself, set_up, tear_down)
{
	struct fixture *f = *state;
	char path[160];

	f->cfg.segment_bytes = 2048;
	open_spool(f);
	put(f, 1, 20, 500);
	open_spool(f);
	path_of(f, 1, path);
	assert_int_equal(unlink(path), 0);
	assert_takes(f, 5, 20);
	assert_int_equal(state_of(f).n_dropped_damaged, 4);
	assert_int_equal(state_of(f).n_profiles, 0);
}

TEST_FIXTURE(a_second_process_is_kept_out, set_up, tear_down)
{
	struct fixture *f = *state;
	struct spool_files *second = NULL;
	struct err err = {""};

	open_spool(f);
	assert_int_equal(spool_files_open(&second, &f->cfg, &err), -EBUSY);
	assert_non_null(strstr(err.msg, "is used by another process"));
}

TEST_FIXTURE(links_and_foreign_directories_are_refused, set_up, tear_down)
{
	struct fixture *f = *state;
	char victim[80], link[96];
	struct err err = {""};
	struct stat st;

	snprintf(victim, sizeof(victim), "%s/victim", f->dir);
	assert_int_equal(mkdir(victim, 0755), 0);
	assert_int_equal(symlink(victim, f->spool), 0);
	assert_true(spool_files_open(&f->files, &f->cfg, &err) < 0);
	assert_non_null(strstr(err.msg, "is a symbolic link"));
	snprintf(link, sizeof(link), "%s/", f->spool);
	f->cfg.dir = link;
	assert_true(spool_files_open(&f->files, &f->cfg, &err) < 0);
	assert_non_null(strstr(err.msg, "is a symbolic link"));
	f->cfg.dir = f->spool;
	assert_int_equal(unlink(f->spool), 0);

	assert_int_equal(mkdir(f->spool, 0755), 0);
	snprintf(link, sizeof(link), "%s/profiles", f->spool);
	assert_int_equal(symlink(victim, link), 0);
	assert_true(spool_files_open(&f->files, &f->cfg, &err) < 0);
	assert_int_equal(unlink(link), 0);

	assert_int_equal(mkdir(link, 0777), 0);
	assert_int_equal(chown(link, 1234, 1234), 0);
	assert_int_equal(spool_files_open(&f->files, &f->cfg, &err), -EPERM);
	assert_int_equal(chown(link, 0, 0), 0);
	assert_int_equal(chown(f->spool, 1234, 1234), 0);
	assert_int_equal(spool_files_open(&f->files, &f->cfg, &err), -EPERM);
	assert_int_equal(chown(f->spool, 0, 0), 0);
	open_spool(f);
	assert_int_equal(stat(link, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

TEST_FIXTURE(a_directory_that_cannot_be_made_is_named, set_up, tear_down)
{
	struct fixture *f = *state;
	struct err err = {""};

	f->cfg.dir = "/proc/no-such-place/spool";
	assert_int_equal(spool_files_open(&f->files, &f->cfg, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/proc/no-such-place/spool"));
}

TEST_FIXTURE(a_kill_while_writing_loses_nothing_that_was_written, set_up, tear_down)
{
	struct fixture *f = *state;

	f->cfg.segment_bytes = 16 * 1024;
	for (unsigned round = 0; round < 10; round++) {
		uint64_t n = 0, stored = 0;
		int pipes[2], status;
		pid_t pid;

		assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
		pid = fork();
		if (pid == 0) {
			struct spool_place place;

			open_spool(f);
			for (uint64_t i = 1;; i++) {
				if (try_put(f, i, 700, &place) < 0 ||
				    write(pipes[1], &i, sizeof(i)) != (ssize_t)sizeof(i))
					_exit(1);
			}
		}
		assert_true(pid > 0);
		close(pipes[1]);
		while (stored < 50 + 37 * round)
			assert_int_equal(read(pipes[0], &stored, sizeof(stored)), sizeof(stored));
		kill(pid, SIGKILL);
		while (read(pipes[0], &n, sizeof(n)) == (ssize_t)sizeof(n))
			stored = n;
		close(pipes[0]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		open_spool(f);
		assert_int_equal(state_of(f).n_dropped_damaged, 0);
		assert_in_range(state_of(f).n_profiles, stored, stored + 1);
		assert_takes(f, 1, state_of(f).n_profiles);
		spool_files_close(f->files);
		f->files = NULL;
	}
}

static int put_and_take_one(void *arg)
{
	CLEANUP(spool_files_closep) struct spool_files *files = NULL;
	CLEANUP(upload_item_unrefp) struct upload_item *item = item_new(1, 10), *back = NULL;
	const struct spool_files_config *cfg = arg;
	struct spool_place place;
	struct err err = {""};
	char command[128];
	int r;

	/* what a failed attempt has left would take more memory each time */
	snprintf(command, sizeof(command), "rm -rf %s", cfg->dir);
	assert_int_equal(system(command), 0);
	r = item ? spool_files_open(&files, cfg, &err) : -ENOMEM;
	if (r == 0)
		r = spool_files_put(files, item, &place);
	if (r == 0) {
		spool_files_release(files, &place);
		r = spool_files_take(files, &back, &place);
	}
	if (r == 0)
		spool_files_finish(files, &place);
	return r;
}

TEST_FIXTURE(survives_every_failed_allocation, set_up, tear_down)
{
	struct fixture *f = *state;

	check_oom(put_and_take_one, &f->cfg);
}
