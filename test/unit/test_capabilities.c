/* What is given up is gone, so most tests use a child, which exits with the line that failed. */
#include "common/privilege/capabilities.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "cluster-agent/cluster_privileges.h"
#include "common/data/buf.h"
#include "common/system/fs.h"
#include "common/telemetry/log.h"
#include "node-agent/java/attach/as_user.h"
#include "node-agent/node_privileges.h"
#include "test/lib/unit.h"

#define NOBODY 65534

#define CHECK(condition)                 \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

static void in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(fn() & 255);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* A set of /proc/<tid>/status, such as "CapBnd"; all bits if it cannot be read. */
static uint64_t read_set(const char *task, const char *name)
{
	CLEANUP(buf_fini) struct buf text;
	char path[64], line[16];
	const char *at;

	buf_init(&text, 65536);
	snprintf(path, sizeof(path), "/proc/%s/status", task);
	snprintf(line, sizeof(line), "\n%s:\t", name);
	if (fs_read_at(AT_FDCWD, path, &text) < 0 || buf_add(&text, "", 1) < 0)
		return UINT64_MAX;
	at = strstr(text.data, line);
	return at ? strtoull(at + strlen(line), NULL, 16) : UINT64_MAX;
}

static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};

static void *see_own_sets(void *arg)
{
	bool *empty = arg;

	*empty = true;
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		*empty = *empty && read_set("thread-self", sets[i]) == 0;
	return NULL;
}

static int keep_none(void)
{
	pthread_t thread;
	bool empty = false;

	CHECK(capabilities_held() & CAPABILITY(CAP_SETPCAP));
	CHECK(capabilities_keep(0) == 0);
	CHECK(capabilities_held() == 0);
	CHECK(pthread_create(&thread, NULL, see_own_sets, &empty) == 0);
	pthread_join(thread, NULL);
	CHECK(empty);
	(void)see_own_sets(&empty);
	return empty ? 0 : __LINE__;
}

static int keep_one(void)
{
	uint64_t one = CAPABILITY(CAP_SYS_PTRACE);

	CHECK(capabilities_keep(one | CAPABILITY(63)) == 0);
	CHECK(read_set("self", "CapPrm") == one && read_set("self", "CapEff") == one);
	CHECK(read_set("self", "CapBnd") == one);
	CHECK(read_set("self", "CapInh") == 0 && read_set("self", "CapAmb") == 0);
	return 0;
}

TEST(test_what_is_not_kept_is_gone_from_all_sets_and_new_threads)
{
	in_child(keep_none);
	in_child(keep_one);
}

static bool holds_kill(const void *arg)
{
	(void)arg;
	return capabilities_held() & CAPABILITY(CAP_KILL);
}

TEST(test_going_without_for_a_while_costs_nothing)
{
	uint64_t before = capabilities_held();

	assert_true(holds_kill(NULL));
	assert_false(capabilities_try_without(CAPABILITY(CAP_KILL), holds_kill, NULL));
	assert_int_equal(capabilities_held(), before);
}

TEST(test_low_ports_need_a_capability)
{
	uint64_t bind = CAPABILITY(CAP_NET_BIND_SERVICE);

	assert_int_equal(capabilities_to_listen("0.0.0.0:80"), bind);
	assert_int_equal(capabilities_to_listen("[::]:1023"), bind);
	assert_int_equal(capabilities_to_listen("127.0.0.1:1024"), 0);
	assert_int_equal(capabilities_to_listen("127.0.0.1:0"), 0);
	assert_int_equal(capabilities_to_listen("garbage"), 0);
	assert_int_equal(capabilities_to_listen(NULL), 0);
}

TEST(test_sets_are_shown_by_name)
{
	char text[64];

	assert_string_equal(capabilities_text(0, text, sizeof(text)), "none");
	assert_string_equal(
		capabilities_text(CAPABILITY(CAP_BPF) | CAPABILITY(CAP_SYSLOG), text, sizeof(text)),
		"CAP_SYSLOG CAP_BPF");
	assert_string_equal(capabilities_text(CAPABILITY(60), text, sizeof(text)), "CAP_?");
	(void)capabilities_text(UINT64_MAX, text, sizeof(text));
	assert_true(strlen(text) < sizeof(text));
}

static int harden(void)
{
	struct rlimit core;

	process_harden();
	CHECK(prctl(PR_GET_DUMPABLE) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	CHECK(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 && core.rlim_max == 0);
	CHECK(umask(0) == 077);
	return 0;
}

TEST(test_hardening_holds)
{
	in_child(harden);
}

/* ---- the agents ---- */

static char dir[64];
static int log_fd;

static bool log_has(const char *text)
{
	char log[4096];
	ssize_t len = pread(log_fd, log, sizeof(log) - 1, 0);

	log[len > 0 ? len : 0] = '\0';
	return strstr(log, text) != NULL;
}

static int drop_cluster(char *data_dir, char *kubeconfig, char *listen)
{
	struct cluster_options o = {
		.data_dir = data_dir, .kubeconfig = kubeconfig, .listen = listen};
	struct err err;

	log_fd = open(dir, O_TMPFILE | O_RDWR, 0600);
	log_set_fd(log_fd);
	return cluster_privileges_drop(&o, &err);
}

static int cluster_needs_nothing(void)
{
	char own[96];

	snprintf(own, sizeof(own), "%s/new", dir);
	CHECK(drop_cluster(own, NULL, strdup("127.0.0.1:8080")) == 0);
	CHECK(capabilities_held() == 0 && !log_has("level="));
	return 0;
}

static int cluster_low_port(void)
{
	CHECK(drop_cluster(dir, NULL, strdup("127.0.0.1:443")) == 0);
	CHECK(capabilities_held() == CAPABILITY(CAP_NET_BIND_SERVICE));
	return 0;
}

static int cluster_directory_of_another(void)
{
	AUTO_CLOSE int fd = -1;

	CHECK(chown(dir, NOBODY, NOBODY) == 0 && chmod(dir, 0700) == 0);
	CHECK(drop_cluster(dir, NULL, NULL) == 0);
	CHECK(capabilities_held() == (CAPABILITY(CAP_DAC_OVERRIDE) | CAPABILITY(CAP_FOWNER)));
	CHECK(log_has("belongs to another user") && log_has(dir));
	fd = open(dir, O_TMPFILE | O_RDWR, 0600);
	CHECK(fd >= 0 && chmod(dir, 0700) == 0);
	return 0;
}

static int cluster_kubeconfig_of_another(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/kubeconfig", dir);
	CHECK(close(open(path, O_CREAT | O_WRONLY, 0600)) == 0 && chown(path, NOBODY, 0) == 0);
	CHECK(drop_cluster(dir, path, NULL) == 0);
	CHECK(capabilities_held() == CAPABILITY(CAP_DAC_READ_SEARCH) && log_has(path));
	CHECK(unlink(path) == 0);
	return 0;
}

static int cluster_engine_of_another(void)
{
	char path[96];
	struct cluster_options o = {.data_dir = dir, .chdb_library = path};
	struct err err;

	snprintf(path, sizeof(path), "%s/libchdb.so", dir);
	CHECK(close(open(path, O_CREAT | O_WRONLY, 0600)) == 0 && chown(path, NOBODY, 0) == 0);
	CHECK(cluster_privileges_drop(&o, &err) == 0);
	CHECK(capabilities_held() == CAPABILITY(CAP_DAC_READ_SEARCH));
	CHECK(access(path, R_OK) == 0 && unlink(path) == 0);
	return 0;
}

TEST(test_the_cluster_agent_keeps_nothing_but_what_its_files_need)
{
	snprintf(dir, sizeof(dir), "%s", temp_dir());
	in_child(cluster_needs_nothing);
	in_child(cluster_low_port);
	in_child(cluster_kubeconfig_of_another);
	in_child(cluster_engine_of_another);
	in_child(cluster_directory_of_another);
	assert_int_equal(rmdir(dir), 0);
}

static int node_names_what_is_missing(void)
{
	struct node_options o = {.listen = strdup("127.0.0.1:1")};
	struct err err;

	log_fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	log_set_fd(log_fd);
	CHECK(capabilities_keep(~(CAPABILITY(CAP_SYSLOG) | CAPABILITY(CAP_CHECKPOINT_RESTORE) |
				  CAPABILITY(CAP_SYS_PTRACE) | CAPABILITY(CAP_DAC_OVERRIDE))) == 0);
	CHECK(node_privileges_drop(&o, &err) == 0);
	CHECK(log_has("CAP_SYS_PTRACE: processes of other users have no symbols"));
	CHECK(!log_has("CAP_CHECKPOINT_RESTORE") && !log_has("CAP_DAC_READ_SEARCH"));
	/* what is not asked for is not missing, and names of the kernel may not need theirs */
	CHECK(!log_has("CAP_DAC_OVERRIDE") && !log_has("CAP_SYSLOG"));
	CHECK(capabilities_held() & CAPABILITY(CAP_NET_BIND_SERVICE));
	CHECK(!(capabilities_held() & CAPABILITY(CAP_KILL)));
	/* it stands for CAP_CHECKPOINT_RESTORE, so it stays */
	CHECK(node_privileges_drop_start(&err) == 0);
	CHECK(capabilities_held() & CAPABILITY(CAP_SYS_ADMIN));
	CHECK(!(read_set("self", "CapBnd") & CAPABILITY(CAP_SETPCAP)));
	return 0;
}

static int node_names_what_options_need(void)
{
	struct node_options o = {.listen = strdup("127.0.0.1:1"),
				 .go_heap_profiler = GO_HEAP_FORCE};
	struct err err;

	log_fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	log_set_fd(log_fd);
	CHECK(capabilities_keep(~CAPABILITY(CAP_DAC_OVERRIDE)) == 0);
	CHECK(node_privileges_drop(&o, &err) == 0);
	CHECK(log_has("CAP_DAC_OVERRIDE: profilers of Go processes of other users"));
	return 0;
}

static int node_keeps_what_java_needs(void)
{
	const uint64_t java = CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID);
	struct node_options o = {.listen = strdup("127.0.0.1:10300"), .java_async_profiler = true};
	struct err err;

	log_fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	log_set_fd(log_fd);
	CHECK(node_privileges_drop(&o, &err) == 0);
	CHECK((capabilities_held() & java) == java);
	CHECK(!log_has("CAP_SETUID"));
	o.java_async_profiler = false;
	CHECK(node_privileges_drop(&o, &err) == 0);
	CHECK((capabilities_held() & java) == 0);
	CHECK(!log_has("CAP_SETUID"));
	o.java_async_profiler = true;
	CHECK(node_privileges_drop(&o, &err) == 0);
	CHECK(log_has("CAP_SETUID: no Java profiles of JVMs of other users"));
	CHECK(log_has("CAP_SETGID: no Java profiles of JVMs of other groups"));
	return 0;
}

static long set_ids(uid_t real)
{
	return syscall(SYS_setresuid, real, 1, -1);
}

/* It can act as another user, and cannot become one. */
static int node_acts_as_others(void)
{
	struct node_options o = {.listen = strdup("127.0.0.1:10300"), .java_async_profiler = true};
	struct as_user user;
	struct err err;

	CHECK(node_privileges_filter(&o, &err) == 0);
	CHECK(as_user_begin(&user, NOBODY, NOBODY) == 0);
	CHECK(geteuid() == NOBODY && getegid() == NOBODY && capabilities_held() == 0);
	as_user_end(&user);
	CHECK(geteuid() == 0 && getegid() == 0 && capabilities_held() != 0);
	CHECK(set_ids(1) < 0 && set_ids(NOBODY) < 0);
	CHECK(getuid() == 0 && geteuid() == 0);
	return 0;
}

static int node_without_java_is_killed(void)
{
	struct node_options o = {.listen = strdup("127.0.0.1:10300")};
	struct err err;

	(void)prctl(PR_SET_DUMPABLE, 0);
	CHECK(node_privileges_filter(&o, &err) == 0);
	(void)set_ids((uid_t)-1);
	return __LINE__;
}

TEST(test_the_node_agent_may_act_as_others_only_for_java)
{
	pid_t pid;
	int status;

	in_child(node_keeps_what_java_needs);
	in_child(node_acts_as_others);
	pid = fork();
	if (pid == 0)
		_exit(node_without_java_is_killed() & 255);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

static int node_without_admin(void)
{
	struct node_options o = {.listen = strdup("127.0.0.1:10300")};
	struct err err;

	CHECK(node_privileges_drop(&o, &err) == 0);
	CHECK(capabilities_held() & CAPABILITY(CAP_SYS_ADMIN));
	CHECK(node_privileges_drop_start(&err) == 0);
	CHECK(!(read_set("self", "CapBnd") & CAPABILITY(CAP_SYS_ADMIN)));
	CHECK(capabilities_held() == read_set("self", "CapPrm"));
	CHECK(capabilities_held() & CAPABILITY(CAP_BPF));
	return 0;
}

TEST(test_the_node_agent_names_what_it_lacks_and_ends_without_sys_admin)
{
	in_child(node_names_what_is_missing);
	in_child(node_names_what_options_need);
	in_child(node_without_admin);
}
