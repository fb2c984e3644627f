/* Ids cannot always be taken back, so each test uses a child, which exits with the failing line. */
#include "node-agent/java/attach/as_user.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/privilege/capabilities.h"
#include "test/lib/unit.h"

#define USER 23456u
#define GROUP 34567u
#define AGENT 1234u
#define NEEDED (CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID))

#define CHECK(condition)                 \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

static int status_of(int (*fn)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(fn() & 255);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void in_child(int (*fn)(void))
{
	int status = status_of(fn);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static bool ids_are(uid_t real, uid_t effective, uid_t saved)
{
	uid_t r, e, s;

	return getresuid(&r, &e, &s) == 0 && r == real && e == effective && s == saved;
}

static int root_acts_as_user(void)
{
	const uint64_t held = capabilities_held();
	struct as_user user, again;
	struct stat st;
	int fd;

	CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
	CHECK(as_user_begin(&user, USER, GROUP) == 0);
	CHECK(ids_are(0, USER, 0) && getgid() == 0 && getegid() == GROUP);
	CHECK(capabilities_held() == 0);
	fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	CHECK(fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == USER && st.st_gid == GROUP);
	CHECK(open("/etc/shadow", O_RDONLY) < 0);
	errno = EXDEV;
	as_user_end(&user);
	CHECK(errno == EXDEV);
	CHECK(ids_are(0, 0, 0) && getegid() == 0 && capabilities_held() == held);
	CHECK(prctl(PR_GET_DUMPABLE) == 0 && prctl(PR_GET_KEEPCAPS) == 0);
	as_user_end(&user); /* a second time does nothing */
	/* an operator may let such processes dump core: fs.suid_dumpable */
	CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
	CHECK(as_user_begin(&again, USER, GROUP) == 0);
	as_user_end(&again);
	CHECK(prctl(PR_GET_DUMPABLE) == 1);
	return 0;
}

/* For a JVM of root: its own files, but none of the agent's rights. */
static int root_acts_as_root(void)
{
	const uint64_t held = capabilities_held();
	struct as_user user;

	CHECK(as_user_begin(&user, 0, 0) == 0);
	CHECK(ids_are(0, 0, 0) && capabilities_held() == 0);
	as_user_end(&user);
	CHECK(capabilities_held() == held);
	return 0;
}

static int become_agent(uint64_t capabilities)
{
	CHECK(prctl(PR_SET_KEEPCAPS, 1) == 0);
	CHECK(setresgid(AGENT, AGENT, AGENT) == 0 && setresuid(AGENT, AGENT, AGENT) == 0);
	CHECK(prctl(PR_SET_KEEPCAPS, 0) == 0);
	CHECK(capabilities_set_effective(capabilities) == 0);
	return 0;
}

/* The kernel would take the capabilities away from whoever stops being root. */
static int other_agent_acts_as_root_and_as_user(void)
{
	struct as_user user;

	CHECK(become_agent(NEEDED) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK(as_user_begin(&user, 0, 0) == 0);
		CHECK(ids_are(AGENT, 0, AGENT) && getegid() == 0 && capabilities_held() == 0);
		as_user_end(&user);
		CHECK(ids_are(AGENT, AGENT, AGENT) && getegid() == AGENT);
		CHECK(capabilities_held() == NEEDED);
		CHECK(as_user_begin(&user, USER, GROUP) == 0);
		CHECK(ids_are(AGENT, USER, AGENT) && capabilities_held() == 0);
		as_user_end(&user);
		CHECK(capabilities_held() == NEEDED);
	}
	CHECK(prctl(PR_GET_KEEPCAPS) == 0);
	return 0;
}

static int without_the_right(void)
{
	struct as_user user;

	CHECK(capabilities_set_effective(CAPABILITY(CAP_SETUID)) == 0);
	CHECK(as_user_begin(&user, USER, GROUP) == -EPERM);
	CHECK(ids_are(0, 0, 0) && getegid() == 0);
	CHECK(strcmp(as_user_missing(USER, GROUP), "CAP_SETGID") == 0);
	CHECK(capabilities_set_effective(CAPABILITY(CAP_SETGID)) == 0);
	CHECK(as_user_begin(&user, USER, GROUP) == -EPERM);
	/* the group was changed by then */
	CHECK(ids_are(0, 0, 0) && getegid() == 0);
	CHECK(capabilities_held() == CAPABILITY(CAP_SETGID));
	CHECK(strcmp(as_user_missing(USER, GROUP), "CAP_SETUID") == 0);
	as_user_end(&user);
	CHECK(capabilities_set_effective(0) == 0);
	CHECK(as_user_begin(&user, 0, 0) == 0); /* its own */
	as_user_end(&user);
	return 0;
}

static int with_ids_that_do_not_exist(void)
{
	struct as_user user;

	CHECK(as_user_begin(&user, (uid_t)-1, GROUP) == -EINVAL);
	CHECK(as_user_begin(&user, USER, (gid_t)-1) == -EINVAL);
	/* an effective id that could not be taken back */
	CHECK(syscall(SYS_setresuid, 0, USER, 0) == 0);
	CHECK(as_user_begin(&user, 0, 0) == -EINVAL);
	CHECK(ids_are(0, USER, 0));
	return 0;
}

static void *see_ids(void *arg)
{
	(void)arg;
	return (void *)(uintptr_t)(ids_are(0, 0, 0) && getegid() == 0 && capabilities_held() != 0);
}

struct other_thread {
	pthread_barrier_t before, after;
	bool right;
};

static void *wait_and_see(void *arg)
{
	struct other_thread *o = arg;

	pthread_barrier_wait(&o->before);
	o->right = see_ids(NULL) != NULL;
	pthread_barrier_wait(&o->after);
	return NULL;
}

static int other_threads_stay(void)
{
	struct other_thread o;
	struct as_user user;
	pthread_t thread;

	pthread_barrier_init(&o.before, NULL, 2);
	pthread_barrier_init(&o.after, NULL, 2);
	CHECK(pthread_create(&thread, NULL, wait_and_see, &o) == 0);
	CHECK(as_user_begin(&user, USER, GROUP) == 0);
	pthread_barrier_wait(&o.before);
	pthread_barrier_wait(&o.after);
	as_user_end(&user);
	pthread_join(thread, NULL);
	CHECK(o.right);
	return 0;
}

/* It must not go on as somebody else. */
static int cannot_come_back(void)
{
	struct as_user user;

	CHECK(as_user_begin(&user, USER, GROUP) == 0);
	CHECK(syscall(SYS_setresuid, USER, USER, USER) == 0);
	as_user_end(&user);
	return __LINE__;
}

TEST(test_root_acts_as_others_and_comes_back)
{
	in_child(root_acts_as_user);
	in_child(root_acts_as_root);
}

TEST(test_an_agent_that_is_not_root_keeps_its_capabilities)
{
	in_child(other_agent_acts_as_root_and_as_user);
}

TEST(test_what_is_missing_is_named_and_nothing_is_changed)
{
	in_child(without_the_right);
	in_child(with_ids_that_do_not_exist);
}

TEST(test_only_the_calling_thread_is_changed)
{
	in_child(other_threads_stay);
}

TEST(test_a_process_that_cannot_come_back_ends)
{
	int status = status_of(cannot_come_back);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}
