#include "test/lib/java_process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/data/buf.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "node-agent/procfs/procfs.h"
#include "test/lib/unit.h"

#define LAST_THREAD "RMI TCP Accept" /* of those that the program starts */
#define JDK_8 "/usr/lib/jvm/java-8-openjdk-amd64/jre/bin/java"
#define JDKS_BYTES 2048
#define PAUSE_NS (10 * NS_PER_MS)

static void check(bool condition, int line)
{
	if (!condition) {
		dprintf(STDERR_FILENO, "java_process.c:%d: %s\n", line, strerror(errno));
		_exit(99);
	}
}

#define CHECK(condition) check(condition, __LINE__)

static void pause_a_moment(void)
{
	const struct timespec t = {.tv_nsec = PAUSE_NS};

	(void)nanosleep(&t, NULL);
}

static _Noreturn void become_java(const struct java_process *p, const struct java_options *o)
{
	const int fd = p->output_fd;
	const char *root = o->release ? o->release->root : "";
	char flag[64], java[PATH_MAX];
	char module[] = "-m", in_module[] = "java.rmi/sun.rmi.registry.RegistryImpl";
	char no_module[] = "-Dno=module", program[] = "sun.rmi.registry.RegistryImpl";
	char *argv[] = {java,
			(char[]){"-Xmx64m"},
			(char[]){"-XX:TieredStopAtLevel=1"},
			flag,
			*root ? no_module : module,
			*root ? program : in_module,
			(char[]){"0"},
			NULL};

	snprintf(java, sizeof(java), "%s", o->release ? o->release->java : "java");
	snprintf(flag, sizeof(flag), "%s", o->flag ?: "-XX:+UseSerialGC");
	CHECK(dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	CHECK(chdir(o->cwd ?: "/") == 0);
	CHECK(setgroups(0, NULL) == 0 && setresgid(o->gid, o->gid, o->gid) == 0 &&
	      setresuid(o->uid, o->uid, o->uid) == 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	execvp(java, argv);
	CHECK(false);
	abort();
}

/* In a mount namespace of its own. */
static void enter_root(const char *root)
{
	static const char *const folders[] = {"/proc", "/dev"};
	char to[PATH_MAX];

	CHECK(unshare(CLONE_NEWNS) == 0 &&
	      mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(to, sizeof(to), "%s%s", root, folders[i]);
		CHECK(mount(folders[i], to, NULL, MS_BIND | MS_REC, NULL) == 0);
	}
	snprintf(to, sizeof(to), "%s/tmp", root);
	CHECK(mount("none", to, "tmpfs", 0, "mode=1777") == 0);
	CHECK(chroot(root) == 0);
}

static void write_map(pid_t pid, const char *name)
{
	char path[64], map[64];
	int fd, len = snprintf(map, sizeof(map), "0 %u 65536", JAVA_PROCESS_FIRST_ID);

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0 && write(fd, map, (size_t)len) == len);
	close(fd);
}

/*
 * The caller says, from outside, which ids there are in the new namespace, and waits. unshare(2)
 * would not do: the process may have a second thread, of a sanitizer.
 */
static void enter_user_namespace(void)
{
	int ends[2];
	char c = 0;
	pid_t pid;

	CHECK(pipe2(ends, O_CLOEXEC) == 0);
	pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	CHECK(pid >= 0);
	if (pid != 0) {
		write_map(pid, "uid_map");
		write_map(pid, "gid_map");
		CHECK(write(ends[1], &c, 1) == 1);
		CHECK(waitpid(pid, NULL, 0) == pid);
		_exit(0);
	}
	close(ends[1]);
	CHECK(read(ends[0], &c, 1) == 1);
	CHECK(setresgid(0, 0, 0) == 0 && setresuid(0, 0, 0) == 0);
	/* last: a change of credentials clears it */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Each process of the chain waits for the next one, which is in a namespace of its own. */
static _Noreturn void enter(const struct java_process *p, const struct java_options *o)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (o->user_namespace)
		enter_user_namespace();
	if (o->pid_namespaces > 0)
		CHECK(unshare(CLONE_NEWNS) == 0 &&
		      mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		      mount("none", "/tmp", "tmpfs", o->tmp_flags, o->tmp_options ?: "mode=1777") ==
			      0);
	for (unsigned i = 0; i < o->pid_namespaces; i++) {
		pid_t pid;

		CHECK(unshare(CLONE_NEWPID) == 0);
		pid = fork();
		if (pid != 0) {
			CHECK(waitpid(pid, NULL, 0) == pid);
			_exit(0);
		}
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
	if (o->release && *o->release->root)
		enter_root(o->release->root);
	become_java(p, o);
}

static pid_t only_child(pid_t pid)
{
	CLEANUP(buf_fini) struct buf text;
	char path[64];

	buf_init(&text, 4096);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	if (fs_read_at(AT_FDCWD, path, &text) < 0 || text.len == 0)
		return 0;
	return (pid_t)strtol(text.data, NULL, 10);
}

static int see_thread(void *ctx, pid_t tid)
{
	const pid_t pid = *(const pid_t *)ctx;
	CLEANUP(buf_fini) struct buf text;
	char path[64];

	buf_init(&text, 64);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	return fs_read_at(AT_FDCWD, path, &text) == 0 &&
	       strncmp(text.data, LAST_THREAD, strlen(LAST_THREAD)) == 0;
}

/* Whether the registry is up; a JVM that is still starting cannot load agents. */
static bool serves(pid_t pid)
{
	AUTO_CLOSE int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 && procfs_each_pid(fd, see_thread, &pid) == 1;
}

static bool is_ready(struct java_process *p, unsigned namespaces)
{
	AUTO_CLOSE int root_fd = -1;
	AUTO_CLOSE int proc_fd = -1;
	struct proc_stat stat;

	p->pid = p->child;
	for (unsigned i = 0; i < namespaces && p->pid > 0; i++)
		p->pid = only_child(p->pid);
	if (p->pid <= 0 || !serves(p->pid))
		return false;
	root_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	proc_fd = procfs_open_process(root_fd, p->pid);
	if (proc_fd < 0 || procfs_read_stat(proc_fd, &stat) < 0)
		return false;
	p->start_time = stat.start_time;
	return true;
}

/* The folder with the JDKs, or "" if they are not to be fetched. */
static void find_jdks(char to[static JDKS_BYTES])
{
	FILE *p;

	*to = '\0';
	if (!getenv("DEPS"))
		return;
	p = popen("test/java/jdks.sh 2>/dev/null", "re");
	assert_non_null(p);
	if (!fgets(to, JDKS_BYTES, p))
		*to = '\0';
	to[strcspn(to, "\n")] = '\0';
	assert_int_equal(pclose(p), 0);
}

bool java_release_find(struct java_release *ret, unsigned feature)
{
	char jdks[JDKS_BYTES];

	find_jdks(jdks);
	if (*jdks == '\0' || geteuid() != 0)
		return false;
	*ret = (struct java_release){.java = JDK_8};
	if (feature == 8)
		(void)snprintf(ret->root, sizeof(ret->root), "%s/8", jdks);
	else
		(void)snprintf(ret->java, sizeof(ret->java), "%s/%u/bin/java", jdks, feature);
	return true;
}

void java_process_start(struct java_process *p, const struct java_options *o)
{
	*p = (struct java_process){.output_fd = memfd_create("output", MFD_CLOEXEC)};
	assert_true(p->output_fd >= 0);
	p->child = fork();
	if (p->child == 0)
		enter(p, o);
	while (!is_ready(p, o->pid_namespaces + o->user_namespace)) {
		if (waitpid(p->child, NULL, WNOHANG) != 0) {
			(void)java_process_is_silent(p);
			fail_msg("it has ended");
		}
		pause_a_moment();
	}
	p->output_start = lseek(p->output_fd, 0, SEEK_END);
}

void java_process_end(struct java_process *p)
{
	char path[64];

	if (p->child > 0) {
		(void)kill(p->child, SIGKILL);
		(void)waitpid(p->child, NULL, 0);
	}
	/* a killed JVM leaves it behind, for whoever gets its pid */
	snprintf(path, sizeof(path), "/tmp/.java_pid%d", (int)p->pid);
	if (p->pid > 0)
		(void)unlink(path);
	if (p->output_fd > 0)
		close(p->output_fd);
	*p = (struct java_process){0};
}

bool java_process_is_silent(const struct java_process *p)
{
	char text[4096];
	ssize_t n = pread(p->output_fd, text, sizeof(text) - 1, p->output_start);

	assert_true(n >= 0);
	text[n] = '\0';
	if (n > 0)
		print_message("%s", text);
	return n == 0;
}
