/* The private directory in a JVM's file system, and what others do to it. */
#include "node-agent/java/attach/jvm_place.h"
#include "node-agent/java/attach/place_sweep.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "common/system/fs.h"
#include "test/lib/fake_jvm.h"
#include "test/lib/unit.h"

#define OTHER_UID (FAKE_JVM_UID + 1)

struct fixture {
	struct fake_jvm jvm;
	struct jvm_target target;
	struct jvm_place place;
	struct jvm_library library;
	struct jvm_failure why;
	int proc_root_fd;
	char installed[32];
};

/* Something that looks like a library of this machine. */
static void write_library(const char *path, char version)
{
	Elf64_Ehdr header;
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	AUTO_CLOSE int own_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char text[100000];

	assert_int_equal(read(own_fd, &header, sizeof(header)), sizeof(header));
	header.e_type = ET_DYN;
	memset(text, version, sizeof(text));
	memcpy(text, "Agent_OnAttach", sizeof("Agent_OnAttach"));
	assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
	assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
	close(fd);
}

static void load_library(struct fixture *f, char version)
{
	struct err err = {""};

	write_library(f->installed, version);
	if (jvm_library_load(&f->library, f->installed, &err) < 0)
		fail_msg("%s", err.msg);
}

static void begin(struct fixture *f, const struct fake_jvm_script *script)
{
	int fd;

	*f = (struct fixture){
		.installed = "/tmp/test_jvm_place.XXXXXX",
		.proc_root_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
	};
	fd = mkstemp(f->installed);
	assert_true(fd >= 0);
	close(fd);
	load_library(f, 'a');
	fake_jvm_start(&f->jvm, script);
	if (jvm_target_open(&f->target, f->proc_root_fd, f->jvm.pid, f->jvm.start_time, &f->why) <
	    0)
		fail_msg("%s", f->why.err.msg);
}

static void end(struct fixture *f)
{
	jvm_place_close(&f->place);
	jvm_target_close(&f->target);
	fake_jvm_end(&f->jvm);
	jvm_library_fini(&f->library);
	assert_int_equal(unlink(f->installed), 0);
	close(f->proc_root_fd);
	assert_int_equal(geteuid(), 0);
}

static int prepare(struct fixture *f)
{
	return jvm_place_prepare(&f->place, &f->target, &f->library, 0, &f->why);
}

static void assert_prepared(struct fixture *f, enum jvm_place_kind kind)
{
	if (prepare(f) < 0)
		fail_msg("%s", f->why.err.msg);
	assert_int_equal(f->place.kind, kind);
	assert_true(f->place.current);
	assert_int_equal(jvm_place_check(&f->place, &f->why), 0);
}

static int find(struct fixture *f)
{
	return jvm_place_find(&f->place, &f->target, &f->library, &f->why);
}

/* The directory as it is called in a parent. */
static const char *dir_in(const struct fixture *f, const char *parent)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/" JVM_PLACE_PREFIX "%d-%llu", parent, (int)f->jvm.pid,
		 (unsigned long long)f->jvm.start_time);
	return fake_jvm_path(&f->jvm, path);
}

static const char *path_in(const struct fixture *f, const char *name)
{
	char path[JVM_PLACE_PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", f->place.dir, name);
	return fake_jvm_path(&f->jvm, path);
}

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void put_file(const char *path, uid_t uid, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchown(fd, uid, uid == FAKE_JVM_UID ? FAKE_JVM_GID : uid), 0);
	close(fd);
}

static void put_dir(const char *path, uid_t uid, mode_t mode)
{
	assert_int_equal(mkdir(path, mode), 0);
	assert_int_equal(chmod(path, mode), 0);
	assert_int_equal(chown(path, uid, uid), 0);
}

/* ---- making ---- */

static void assert_is_copy(const struct fixture *f)
{
	CLEANUP(buf_fini) struct buf copy;

	buf_init(&copy, 1u << 20);
	assert_int_equal(fs_read_file(fake_jvm_path(&f->jvm, f->place.library), &copy), 0);
	assert_int_equal(copy.len, f->library.bytes.len);
	assert_memory_equal(copy.data, f->library.bytes.data, copy.len);
}

TEST(test_a_private_directory_with_a_verified_copy)
{
	struct fixture f;
	struct stat st;

	begin(&f, &(struct fake_jvm_script){0});
	assert_prepared(&f, JVM_PLACE_TMP);
	assert_int_equal(stat(fake_jvm_path(&f.jvm, f.place.dir), &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	assert_int_equal(st.st_uid, FAKE_JVM_UID);
	assert_int_equal(st.st_gid, FAKE_JVM_GID);
	assert_int_equal(stat(fake_jvm_path(&f.jvm, f.place.library), &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0500);
	assert_int_equal(st.st_uid, FAKE_JVM_UID);
	assert_non_null(strstr(f.place.library, f.library.name));
	assert_is_copy(&f);
	assert_int_equal(jvm_place_remove(&f.place), 0);
	assert_false(exists(dir_in(&f, "/tmp")));
	end(&f);
}

TEST(test_a_right_copy_is_used_again)
{
	struct fixture f;
	struct stat before, after;

	begin(&f, &(struct fake_jvm_script){0});
	assert_prepared(&f, JVM_PLACE_TMP);
	assert_int_equal(stat(fake_jvm_path(&f.jvm, f.place.library), &before), 0);
	jvm_place_close(&f.place);
	assert_prepared(&f, JVM_PLACE_TMP);
	assert_int_equal(stat(fake_jvm_path(&f.jvm, f.place.library), &after), 0);
	assert_true(before.st_ino == after.st_ino);
	end(&f);
}

static void assert_next_place(const struct fake_jvm_script *script, const char *reason)
{
	struct fixture f;

	begin(&f, script);
	assert_prepared(&f, JVM_PLACE_SHM);
	assert_memory_equal(f.place.dir, "/dev/shm/", strlen("/dev/shm/"));
	assert_false(exists(dir_in(&f, "/tmp")));
	assert_int_equal(jvm_place_remove(&f.place), 0);
	/* with nothing else left, the sentence says why */
	assert_int_equal(jvm_place_prepare(&f.place, &f.target, &f.library,
					   1u << JVM_PLACE_SHM | 1u << JVM_PLACE_CWD, &f.why),
			 -ENOENT);
	assert_int_equal(f.why.state, JAVA_STATE_NO_PLACE);
	if (!strstr(f.why.err.msg, reason))
		fail_msg("%s", f.why.err.msg);
	assert_false(exists(dir_in(&f, "/tmp")));
	end(&f);
}

TEST(test_places_that_are_unsuitable)
{
	assert_next_place(&(struct fake_jvm_script){.tmp_flags = MS_NOEXEC}, "/tmp: noexec");
	assert_next_place(&(struct fake_jvm_script){.tmp_flags = MS_RDONLY}, "/tmp: read-only");
	assert_next_place(&(struct fake_jvm_script){.tmp_options = "mode=1777,size=8m"},
			  "/tmp: nearly full");
	assert_next_place(&(struct fake_jvm_script){.tmp_options = "mode=0755"},
			  "/tmp: Permission denied");
	/* the directory fits, the lock or the library does not */
	assert_next_place(&(struct fake_jvm_script){.tmp_options = "mode=1777,nr_inodes=2"},
			  "/tmp: No space left");
	assert_next_place(&(struct fake_jvm_script){.tmp_options = "mode=1777,nr_inodes=3"},
			  "/tmp: No space left");
}

TEST(test_the_working_directory_is_the_last_place)
{
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){.tmp_flags = MS_NOEXEC});
	if (jvm_place_prepare(&f.place, &f.target, &f.library, 1u << JVM_PLACE_SHM, &f.why) < 0)
		fail_msg("%s", f.why.err.msg);
	assert_int_equal(f.place.kind, JVM_PLACE_CWD);
	assert_memory_equal(f.place.dir, "/dev/shm/work/", strlen("/dev/shm/work/"));
	assert_true(exists(fake_jvm_path(&f.jvm, f.place.library)));
	assert_int_equal(jvm_place_check(&f.place, &f.why), 0);
	end(&f);
}

/* In a chroot(2), the kernel's path of the working directory is not the JVM's. */
TEST(test_a_jvm_in_another_root)
{
	const char *root = temp_dir();
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){.root = root, .link_tmp_to = "/elsewhere"});
	assert_prepared(&f, JVM_PLACE_TMP);
	assert_true(exists(dir_in(&f, "/elsewhere")));
	assert_int_equal(jvm_place_remove(&f.place), 0);
	assert_int_equal(jvm_place_prepare(&f.place, &f.target, &f.library,
					   1u << JVM_PLACE_TMP | 1u << JVM_PLACE_SHM, &f.why),
			 -ENOENT);
	assert_non_null(strstr(f.why.err.msg, "its working directory: its path cannot be used"));
	end(&f);
	assert_int_equal(rmdir(root), 0);
}

/* ---- what others put there before ---- */

TEST(test_a_directory_of_somebody_else)
{
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){0});
	put_dir(dir_in(&f, "/tmp"), OTHER_UID, 0777);
	assert_prepared(&f, JVM_PLACE_SHM);
	assert_int_equal(jvm_place_remove(&f.place), 0);
	assert_true(exists(dir_in(&f, "/tmp")));
	assert_int_equal(rmdir(dir_in(&f, "/tmp")), 0);
	/* ours, but everybody may enter */
	put_dir(dir_in(&f, "/tmp"), FAKE_JVM_UID, 0755);
	assert_prepared(&f, JVM_PLACE_SHM);
	assert_int_equal(jvm_place_remove(&f.place), 0);
	assert_int_equal(rmdir(dir_in(&f, "/tmp")), 0);
	put_dir(fake_jvm_path(&f.jvm, "/tmp/target"), FAKE_JVM_UID, 0700);
	assert_int_equal(symlink("target", dir_in(&f, "/tmp")), 0);
	assert_prepared(&f, JVM_PLACE_SHM);
	assert_int_equal(jvm_place_remove(&f.place), 0);
	assert_int_equal(unlink(dir_in(&f, "/tmp")), 0);
	put_file(dir_in(&f, "/tmp"), FAKE_JVM_UID, "");
	assert_prepared(&f, JVM_PLACE_SHM);
	end(&f);
}

static void assert_repaired(struct fixture *f)
{
	struct stat st;

	assert_prepared(f, JVM_PLACE_TMP);
	assert_int_equal(lstat(fake_jvm_path(&f->jvm, f->place.library), &st), 0);
	assert_true(S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == FAKE_JVM_UID);
	assert_is_copy(f);
	jvm_place_close(&f->place);
}

TEST(test_a_wrong_library_is_replaced)
{
	char library[PATH_MAX];
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){0});
	assert_prepared(&f, JVM_PLACE_TMP);
	snprintf(library, sizeof(library), "%s", fake_jvm_path(&f.jvm, f.place.library));
	jvm_place_close(&f.place);

	put_file(library, FAKE_JVM_UID, "another library");
	assert_repaired(&f);
	/* the same size, one byte differs */
	assert_int_equal(chmod(library, 0700), 0);
	{
		AUTO_CLOSE int fd = open(library, O_WRONLY | O_CLOEXEC);

		assert_int_equal(pwrite(fd, "X", 1, 90000), 1);
	}
	assert_repaired(&f);
	assert_int_equal(link(library, fake_jvm_path(&f.jvm, "/tmp/second name")), 0);
	assert_repaired(&f);
	assert_int_equal(chmod(library, 0522), 0);
	assert_repaired(&f);
	assert_int_equal(unlink(library), 0);
	assert_int_equal(symlink("/tmp/second name", library), 0);
	assert_repaired(&f);
	assert_int_equal(unlink(library), 0);
	assert_int_equal(mkfifo(library, 0700), 0);
	assert_repaired(&f);
	end(&f);
}

TEST(test_changes_between_copy_and_load_are_noticed)
{
	char moved[PATH_MAX];
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){0});
	assert_prepared(&f, JVM_PLACE_TMP);
	assert_int_equal(chmod(fake_jvm_path(&f.jvm, f.place.library), 0700), 0);
	assert_int_equal(jvm_place_check(&f.place, &f.why), -ESTALE);
	assert_int_equal(f.why.state, JAVA_STATE_FAILED);
	jvm_place_close(&f.place);
	assert_prepared(&f, JVM_PLACE_TMP);
	put_file(fake_jvm_path(&f.jvm, f.place.library), FAKE_JVM_UID, "x");
	assert_int_equal(jvm_place_check(&f.place, &f.why), -ESTALE);
	jvm_place_close(&f.place);
	assert_prepared(&f, JVM_PLACE_TMP);
	assert_int_equal(chmod(dir_in(&f, "/tmp"), 0755), 0);
	assert_int_equal(jvm_place_check(&f.place, &f.why), -ESTALE);
	assert_int_equal(chmod(dir_in(&f, "/tmp"), 0700), 0);
	assert_int_equal(jvm_place_check(&f.place, &f.why), 0);
	/* another directory under its name, which must not be removed in its place */
	snprintf(moved, sizeof(moved), "%s-moved", dir_in(&f, "/tmp"));
	assert_int_equal(rename(dir_in(&f, "/tmp"), moved), 0);
	put_dir(dir_in(&f, "/tmp"), FAKE_JVM_UID, 0700);
	assert_int_equal(jvm_place_check(&f.place, &f.why), -ESTALE);
	assert_int_equal(jvm_place_remove(&f.place), -ESTALE);
	assert_true(exists(dir_in(&f, "/tmp")));
	end(&f);
}

/* ---- recordings ---- */

static int count_file(void *ctx, const char *name, uint64_t size)
{
	unsigned *n = ctx;

	assert_string_equal(name, "rec.jfr");
	assert_int_equal(size, 5);
	++*n;
	return 0;
}

TEST(test_only_plain_files_of_the_jvm_are_read)
{
	struct fixture f;
	char text[8] = "";
	unsigned n = 0;
	int fd;

	begin(&f, &(struct fake_jvm_script){0});
	assert_prepared(&f, JVM_PLACE_TMP);
	put_file(path_in(&f, "rec.jfr"), FAKE_JVM_UID, "bytes");
	fd = jvm_place_open_file(&f.place, "rec.jfr");
	assert_int_equal(read(fd, text, sizeof(text)), 5);
	close(fd);
	assert_int_equal(jvm_place_each_file(&f.place, count_file, &n), 0);
	assert_int_equal(n, 1);

	assert_int_equal(jvm_place_open_file(&f.place, "none"), -ENOENT);
	assert_int_equal(symlink("/etc/passwd", path_in(&f, "link")), 0);
	assert_int_equal(jvm_place_open_file(&f.place, "link"), -EBADMSG);
	assert_int_equal(mkfifo(path_in(&f, "fifo"), 0666), 0);
	assert_int_equal(jvm_place_open_file(&f.place, "fifo"), -EBADMSG); /* and does not wait */
	put_file(path_in(&f, "other"), OTHER_UID, "");
	assert_int_equal(chmod(path_in(&f, "other"), 0666), 0);
	assert_int_equal(jvm_place_open_file(&f.place, "other"), -EBADMSG);
	put_file(fake_jvm_path(&f.jvm, "/tmp/secret"), FAKE_JVM_UID, "");
	{
		char name[PATH_MAX];

		snprintf(name, sizeof(name), "%s", path_in(&f, "hard"));
		assert_int_equal(link(fake_jvm_path(&f.jvm, "/tmp/secret"), name), 0);
	}
	assert_int_equal(jvm_place_open_file(&f.place, "hard"), -EBADMSG);

	assert_int_equal(jvm_place_rename(&f.place, "rec.jfr", "old.jfr"), 0);
	assert_int_equal(jvm_place_rename(&f.place, "rec.jfr", "old.jfr"), -ENOENT);
	assert_int_equal(jvm_place_unlink(&f.place, "old.jfr"), 0);
	assert_int_equal(jvm_place_unlink(&f.place, "old.jfr"), 0);
	assert_int_equal(jvm_place_remove(&f.place), 0);
	assert_false(exists(dir_in(&f, "/tmp")));
	assert_true(exists(fake_jvm_path(&f.jvm, "/tmp/secret")));
	end(&f);
}

/*
 * A container may make devices, and some act on being opened. FIFOs play them here, because the
 * kernel can say that one was opened, if only for a moment.
 */
TEST(test_devices_are_not_opened)
{
	AUTO_CLOSE int watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	const char *names[] = {".lock", "", "rec.jfr"};
	char library[PATH_MAX], event[sizeof(struct inotify_event) + NAME_MAX + 1];
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){0});
	assert_prepared(&f, JVM_PLACE_TMP);
	snprintf(library, sizeof(library), "%s", strrchr(f.place.library, '/') + 1);
	names[1] = library;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *path = path_in(&f, names[i]);

		(void)unlink(path);
		assert_int_equal(mkfifo(path, 0600), 0);
		assert_int_equal(chown(path, FAKE_JVM_UID, FAKE_JVM_GID), 0);
		assert_true(inotify_add_watch(watch_fd, path, IN_OPEN) >= 0);
	}
	assert_int_equal(jvm_place_open_file(&f.place, "rec.jfr"), -EBADMSG);
	jvm_place_close(&f.place);
	assert_int_equal(find(&f), -ENOENT);
	assert_int_equal(unlink(path_in(&f, ".lock")), 0);
	/* which replaces the library */
	assert_prepared(&f, JVM_PLACE_TMP);
	while (read(watch_fd, event, sizeof(event)) > 0) {
		const struct inotify_event *e = (const struct inotify_event *)event;

		assert_int_equal(e->mask & IN_OPEN, 0);
	}
	end(&f);
}

TEST(test_it_is_removed_after_the_jvm_has_died)
{
	struct fixture f;
	struct stat st;
	int tmp_fd;

	begin(&f, &(struct fake_jvm_script){0});
	assert_prepared(&f, JVM_PLACE_TMP);
	put_file(path_in(&f, "rec.jfr"), FAKE_JVM_UID, "bytes");
	tmp_fd = open(fake_jvm_path(&f.jvm, "/tmp"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(kill(f.jvm.pid, SIGKILL), 0);
	assert_int_equal(waitpid(f.jvm.pid, NULL, 0), f.jvm.pid);
	f.jvm.pid = 0;
	assert_int_equal(fstatat(tmp_fd, f.place.name, &st, 0), 0);
	assert_int_equal(jvm_place_remove(&f.place), 0);
	assert_int_equal(fstatat(tmp_fd, f.place.name, &st, 0), -1);
	close(tmp_fd);
	end(&f);
}

/* ---- earlier and other agents ---- */

TEST(test_the_next_agent_finds_it)
{
	char old[JVM_PLACE_PATH_MAX];
	struct fixture f;

	begin(&f, &(struct fake_jvm_script){0});
	assert_int_equal(find(&f), -ENOENT);
	assert_false(exists(dir_in(&f, "/tmp")));
	assert_prepared(&f, JVM_PLACE_TMP);
	snprintf(old, sizeof(old), "%s", f.place.library);
	jvm_place_close(&f.place);
	assert_int_equal(find(&f), 0);
	assert_true(f.place.current);
	assert_string_equal(f.place.library, old);
	assert_int_equal(jvm_place_check(&f.place, &f.why), 0);
	jvm_place_close(&f.place);

	/* of another release */
	jvm_library_fini(&f.library);
	load_library(&f, 'b');
	assert_int_equal(find(&f), 0);
	assert_false(f.place.current);
	assert_string_equal(f.place.library, old);
	jvm_place_close(&f.place);
	assert_prepared(&f, JVM_PLACE_TMP);
	assert_string_not_equal(f.place.library, old);
	assert_true(exists(fake_jvm_path(&f.jvm, old))); /* the JVM may have mapped it */
	end(&f);
}

TEST(test_one_agent_at_a_time)
{
	struct fixture f;
	int to_child[2];
	int from_child[2];
	pid_t pid;
	char c;

	begin(&f, &(struct fake_jvm_script){0});
	assert_int_equal(pipe2(to_child, O_CLOEXEC) | pipe2(from_child, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		close(to_child[1]);
		_exit(prepare(&f) < 0 || write(from_child[1], "x", 1) != 1 ||
		      read(to_child[0], &c, 1) != 0);
	}
	assert_int_equal(read(from_child[0], &c, 1), 1);
	assert_int_equal(prepare(&f), -EBUSY);
	assert_int_equal(f.why.state, JAVA_STATE_OTHER_AGENT);
	assert_int_equal(find(&f), -EBUSY);
	assert_true(exists(dir_in(&f, "/tmp")));
	close(to_child[1]); /* that agent ends */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_prepared(&f, JVM_PLACE_TMP);
	close(to_child[0]);
	close(from_child[0]);
	close(from_child[1]);
	end(&f);
}

TEST(test_what_dead_jvms_left_is_removed)
{
	struct fixture f;
	char kept[64], path[PATH_MAX];

	begin(&f, &(struct fake_jvm_script){0});
	/* of a process that runs; of one that ran before it with its pid; of none */
	snprintf(kept, sizeof(kept), "/tmp/" JVM_PLACE_PREFIX "%d-%llu", (int)f.jvm.pid,
		 (unsigned long long)f.jvm.start_time);
	put_dir(fake_jvm_path(&f.jvm, kept), FAKE_JVM_UID, 0700);
	snprintf(path, sizeof(path), "/tmp/" JVM_PLACE_PREFIX "%d-1", (int)f.jvm.pid);
	put_dir(fake_jvm_path(&f.jvm, path), FAKE_JVM_UID, 0700);
	snprintf(path, sizeof(path), "/tmp/" JVM_PLACE_PREFIX "%d-1/rec.jfr", (int)f.jvm.pid);
	put_file(fake_jvm_path(&f.jvm, path), FAKE_JVM_UID, "x");
	put_dir(fake_jvm_path(&f.jvm, "/tmp/" JVM_PLACE_PREFIX "2147483646-5"), FAKE_JVM_UID, 0700);
	/* not ours: other users, other names, other modes, and one with a directory inside */
	put_dir(fake_jvm_path(&f.jvm, "/tmp/" JVM_PLACE_PREFIX "2147483646-6"), OTHER_UID, 0700);
	put_dir(fake_jvm_path(&f.jvm, "/tmp/" JVM_PLACE_PREFIX "2147483646-7"), FAKE_JVM_UID, 0755);
	put_dir(fake_jvm_path(&f.jvm, "/tmp/" JVM_PLACE_PREFIX "2147483646-8x"), FAKE_JVM_UID,
		0700);
	put_dir(fake_jvm_path(&f.jvm, "/tmp/" JVM_PLACE_PREFIX "2147483646-9"), FAKE_JVM_UID, 0700);
	put_dir(fake_jvm_path(&f.jvm, "/tmp/" JVM_PLACE_PREFIX "2147483646-9/sub"), FAKE_JVM_UID,
		0700);
	assert_prepared(&f, JVM_PLACE_TMP);
	place_sweep(&f.place, &f.target);
	snprintf(path, sizeof(path), "/tmp/" JVM_PLACE_PREFIX "%d-1", (int)f.jvm.pid);
	assert_false(exists(fake_jvm_path(&f.jvm, path)));
	assert_false(exists(fake_jvm_path(&f.jvm, "/tmp/" JVM_PLACE_PREFIX "2147483646-5")));
	for (int i = 6; i <= 9; i++) {
		snprintf(path, sizeof(path), "/tmp/" JVM_PLACE_PREFIX "2147483646-%d%s", i,
			 i == 8 ? "x" : "");
		assert_true(exists(fake_jvm_path(&f.jvm, path)));
	}
	assert_true(exists(fake_jvm_path(&f.jvm, kept)));
	end(&f);
}

/* ---- the installed library ---- */

static void assert_not_a_library(const char *path, int error, const char *words)
{
	struct jvm_library lib;
	struct err err = {""};

	assert_int_equal(jvm_library_load(&lib, path, &err), error);
	if (!strstr(err.msg, words))
		fail_msg("%s", err.msg);
}

TEST(test_a_library_that_must_not_be_loaded)
{
	char path[] = "/tmp/test_jvm_place.XXXXXX";
	int fd = mkstemp(path);

	close(fd);
	assert_not_a_library("/nowhere/lib.so", -ENOENT, "No such file");
	assert_not_a_library("/tmp", -EINVAL, "not a regular file");
	assert_not_a_library(path, -ENOEXEC, "is not a library");
	assert_not_a_library("/etc/passwd", -ENOEXEC, "is not a library");
	write_library(path, 'a');
	assert_int_equal(chmod(path, 0666), 0);
	assert_not_a_library(path, -EPERM, "written by others");
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(chown(path, OTHER_UID, 0), 0);
	assert_not_a_library(path, -EPERM, "written by others");
	assert_int_equal(chown(path, 0, 0), 0);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "\0\0", 2, offsetof(Elf64_Ehdr, e_machine)), 2);
	assert_not_a_library(path, -ENOEXEC, "another kind of machine");
	write_library(path, 'a');
	assert_int_equal(pwrite(fd, "agent", 5, sizeof(Elf64_Ehdr)), 5);
	assert_not_a_library(path, -ENOEXEC, "has no Agent_OnAttach");
	close(fd);
	assert_int_equal(unlink(path), 0);
}
