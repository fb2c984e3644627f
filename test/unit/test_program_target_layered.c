/* A process whose executable is in layers (overlayfs), as those of most containers are. */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/target/program_target.h"
#include "test/lib/own_mounts.h"
#include "test/lib/unit.h"

#define FOLDER "/tmp"
#define LAYERS "lowerdir=" FOLDER "/low,upperdir=" FOLDER "/up,workdir=" FOLDER "/work"
#define PROGRAM "/all/program"

/* ---- the process ---- */

static bool copy_self(const char *to)
{
	AUTO_CLOSE int from_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int to_fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	struct stat st;
	off_t at = 0;

	if (from_fd < 0 || to_fd < 0 || fstat(from_fd, &st) < 0)
		return false;
	while (at < st.st_size) {
		if (sendfile(to_fd, from_fd, &at, (size_t)(st.st_size - at)) <= 0)
			return false;
	}
	return true;
}

/*
 * This program from a file system of its own, which goes with the process. Returns where it
 * fails.
 */
static int execute_layered(const char *word_fd)
{
	static const char *const folders[] = {FOLDER "/low", FOLDER "/up", FOLDER "/work",
					      FOLDER "/all"};

	if (!own_mounts_enter() || mount("layers", FOLDER, "tmpfs", 0, NULL) < 0)
		return __LINE__;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		if (mkdir(folders[i], 0700) < 0)
			return __LINE__;
	}
	if (!copy_self(FOLDER "/low/program") ||
	    mount("overlay", FOLDER "/all", "overlay", 0, LAYERS) < 0)
		return __LINE__;
	execl(FOLDER PROGRAM, "program", word_fd, (char *)NULL);
	return __LINE__;
}

/* Says where a word of anonymous memory is, and waits. */
static int be_program(const char *text)
{
	uint64_t *word = malloc(sizeof(*word));
	int fd = (int)strtol(text, NULL, 10);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_DUMPABLE, 1);
	if (!word)
		return 1;
	*word = 0x1234567890abcdef;
	if (write(fd, &word, sizeof(word)) != sizeof(word))
		return 1;
	close(fd);
	for (;;)
		pause();
}

struct fixture {
	pid_t child;
	int root_fd;
	uint64_t word; /* its address */
	struct program_target_files files;
	struct program_id id;
};

static void begin(struct fixture *f)
{
	struct proc_stat st;
	char text[16];
	int said[2];

	assert_int_equal(pipe(said), 0);
	(void)snprintf(text, sizeof(text), "%d", said[1]);
	f->child = fork();
	if (f->child == 0) {
		int line;

		close(said[0]);
		line = execute_layered(text);
		print_message("line %d: %s\n", line, strerror(errno));
		_exit(1);
	}
	close(said[1]);
	assert_int_equal(read(said[0], &f->word, sizeof(f->word)), sizeof(f->word));
	close(said[0]);
	f->root_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(deadline_caller_new(&f->files.caller, 5 * NS_PER_S, NS_PER_S * 3600), 0);
	assert_int_equal(program_file_cache_new(&f->files.cache), 0);

	AUTO_CLOSE int fd = procfs_open_process(f->root_fd, f->child);

	assert_int_equal(procfs_read_stat(fd, &st), 0);
	f->id = (struct program_id){.pid = f->child, .start_time = st.start_time};
	assert_int_equal(procfs_read_exe_id(fd, &f->id.exe), 0);
}

static void end(struct fixture *f)
{
	kill(f->child, SIGKILL);
	waitpid(f->child, NULL, 0);
	program_file_cache_free(f->files.cache);
	deadline_caller_free(f->files.caller);
	close(f->root_fd);
}

/* ---- a file system that does not answer ---- */

struct hanging_job {
	struct deadline_job job; /* first */
	sem_t *gate, *gone;
};

static void hang(struct deadline_job *j)
{
	struct hanging_job *job = (struct hanging_job *)j;

	while (sem_wait(job->gate) < 0)
		;
}

static void hanging_job_free(struct deadline_job *j)
{
	struct hanging_job *job = (struct hanging_job *)j;
	sem_t *gone = job->gone;

	free(job);
	sem_post(gone);
}

static void stop_answering(const struct fixture *f, sem_t *gate, sem_t *gone)
{
	struct hanging_job *job = calloc(1, sizeof(*job));

	assert_non_null(job);
	*job = (struct hanging_job){{hang, hanging_job_free, f->id.exe.dev}, gate, gone};
	assert_int_equal(deadline_call(f->files.caller, &job->job), -ETIMEDOUT);
}

TEST(test_anonymous_memory_is_read_although_the_file_system_hangs)
{
	struct program_target t;
	struct fixture f;
	uint64_t got = 0, code;
	sem_t gate, gone;

	begin(&f);
	assert_int_equal(sem_init(&gate, 0, 0), 0);
	assert_int_equal(sem_init(&gone, 0, 0), 0);
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), 0);
	code = t.layout.text_start + t.bias;
	assert_int_equal(byte_source_read(&t.memory, code, &got, sizeof(got)), 0);
	assert_int_equal(byte_source_read(&t.file, 0, &got, sizeof(got)), 0);

	stop_answering(&f, &gate, &gone);
	assert_int_equal(byte_source_read(&t.memory, f.word, &got, sizeof(got)), 0);
	assert_int_equal(got, 0x1234567890abcdef);
	assert_int_equal(byte_source_read(&t.memory, code, &got, sizeof(got)), -EBUSY);
	assert_int_equal(byte_source_read(&t.file, 0, &got, sizeof(got)), -EBUSY);
	program_target_close(&t);
	/* its headers are cached, but opening the file would hang */
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), -EBUSY);
	sem_post(&gate);
	while (sem_wait(&gone) < 0)
		;
	end(&f);
}

static struct file_version version_of(const struct fixture *f)
{
	char name[32];
	struct file_version version;

	(void)snprintf(name, sizeof(name), "%d/exe", (int)f->child);
	assert_int_equal(file_version_read(f->root_fd, name, &version, NULL), 0);
	return version;
}

TEST(test_headers_of_a_layered_file_are_parsed_once)
{
	struct program_file_facts other = {.may_hang = true};
	struct file_version file;
	struct program_target t;
	struct fixture f;

	begin(&f);
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), 0);
	file = version_of(&f);
	assert_true(program_file_cache_find(f.files.cache, &file)->may_hang);
	other.layout = t.layout;
	other.layout.text_start++; /* a value that can come from the cache only */
	program_target_close(&t);

	program_file_cache_free(f.files.cache);
	assert_int_equal(program_file_cache_new(&f.files.cache), 0);
	assert_int_equal(program_file_cache_add(f.files.cache, &file, &other), 0);
	assert_int_equal(program_target_open(&t, f.root_fd, &f.id, &f.files), 0);
	assert_int_equal(t.layout.text_start, other.layout.text_start);
	program_target_close(&t);
	end(&f);
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return be_program(argv[1]);
	return unit_run(NULL, NULL);
}
