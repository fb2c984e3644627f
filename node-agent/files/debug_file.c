/*
 * The stripped file chooses the names to search for, and the container has the folders, so a
 * hostile one can put anything there: a link to /etc/shadow of the host, a pipe, a file of another
 * program, or a file system whose server never answers. Against that:
 *
 * Paths are resolved by openat2(2) with RESOLVE_IN_ROOT, so that no link leads out of the root.
 * They are opened with O_PATH first, and for reading only if they are regular files. The whole
 * search runs on a thread with a deadline (deadline_call.h). What is found is used only if it has
 * the build id, or the checksum, that the stripped file names.
 */
#include "node-agent/files/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/debuginfod/debuginfod_cache.h"
#include "common/elf/elf_layout.h"
#include "common/thread/deadline_call.h"
#include "node-agent/files/file_finder.h"
#include "node-agent/procfs/procfs.h"

#define DEBUG_ROOT "/usr/lib/debug"
#define PATH_BYTES 4096u
#define PIECE_BYTES 65536u
_Static_assert(2 * PATH_BYTES >= DEBUGINFOD_CACHE_PATH_BYTES, "search.path has the cache");
#define CALL_KEY (UINT64_C(3) << 61) /* no device */
#define HOST_PID 1

/* A copy of everything that the search needs, because it may outlive the call. */
struct search {
	struct deadline_job job; /* first */
	int root_fd;             /* of /proc; owned */
	pid_t pid;
	uint64_t start_time;
	uint8_t build_id[ELF_BUILD_ID_MAX_BYTES];
	size_t build_id_bytes;
	bool has_link;
	bool beside; /* a package or a sibling is wanted */
	struct elf_debug_link link;
	int result;
	struct debug_file found;
	/* the folder of the stripped file without a last slash, or the path of what is beside it */
	char dir[PATH_BYTES];
	char path[2 * PATH_BYTES];
};

static void free_search(struct deadline_job *j)
{
	struct search *s = (struct search *)j;

	closep(&s->root_fd);
	closep(&s->found.fd);
	free(s);
}

/* ---- on the thread with the deadline ---- */

static int crc_of(int fd, uint64_t size_bytes, uint32_t *ret)
{
	AUTO_FREE uint8_t *piece = malloc(PIECE_BYTES);
	uint32_t crc = 0;
	uint64_t at = 0;

	if (!piece)
		return -ENOMEM;
	if (size_bytes > DEBUG_FILE_CRC_MAX_BYTES)
		return -EFBIG;
	while (at < size_bytes) {
		ssize_t n = pread(fd, piece, PIECE_BYTES, (off_t)at);

		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		crc = libdeflate_crc32(crc, piece, (size_t)n);
		at += (uint64_t)n;
	}
	*ret = crc;
	return 0;
}

/* Whether the file at fd is the debug file of the stripped one. */
static bool belongs(const struct search *s, int fd, uint64_t size_bytes)
{
	struct elf_layout layout;
	struct byte_source src;
	uint32_t crc;

	byte_source_from_fd(&src, fd, size_bytes);
	if (s->beside)
		return true;
	if (elf_layout_parse_debug(&layout, &src) < 0)
		return false;
	/* the stripped file has the same build id and may have the name in the link, too */
	if (layout.sections[ELF_SECTION_SYMTAB].size_bytes == 0 &&
	    layout.sections[ELF_SECTION_DEBUG_INFO].size_bytes == 0 &&
	    layout.sections[ELF_SECTION_DEBUG_FRAME].size_bytes == 0)
		return false;
	if (s->build_id_bytes > 0)
		return layout.gnu_build_id_bytes == s->build_id_bytes &&
		       memcmp(layout.gnu_build_id, s->build_id, s->build_id_bytes) == 0;
	return s->has_link && crc_of(fd, size_bytes, &crc) == 0 && crc == s->link.crc;
}

/* Returns 0 if s->path is the debug file, or a negative errno. */
static int try_path(struct search *s, int root)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	AUTO_CLOSE int path_fd = (int)syscall(SYS_openat2, root, s->path, &how, sizeof(how));
	AUTO_CLOSE int fd = -1;
	struct file_version version;
	char link[32];
	bool regular;
	int r;

	if (path_fd < 0)
		return -errno;
	r = file_version_read(path_fd, "", &version, &regular);
	if (r < 0 || !regular)
		return r < 0 ? r : -ENOENT;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (!belongs(s, fd, version.id.size_bytes))
		return -ENOENT;
	s->found.may_hang = !local_fs_has(fd);
	s->found.id = version.id;
	s->found.fd = TAKE_FD(fd);
	return 0;
}

/* Appends bytes of the build id to the path, from this one on. */
static void add_build_id(struct search *s, size_t from)
{
	size_t len = strlen(s->path);

	for (size_t i = from; i < s->build_id_bytes; i++)
		len += (size_t)snprintf(s->path + len, sizeof(s->path) - len, "%02x",
					s->build_id[i]);
}

static void add_text(struct search *s, const char *text)
{
	size_t len = strlen(s->path);

	snprintf(s->path + len, sizeof(s->path) - len, "%s", text);
}

static int try_build_id(struct search *s, int root)
{
	/* a folder for the first byte, a file for the others */
	if (s->build_id_bytes < 2)
		return -ENOENT;
	snprintf(s->path, sizeof(s->path), "%s/.build-id/%02x/", DEBUG_ROOT, s->build_id[0]);
	add_build_id(s, 1);
	add_text(s, ".debug");
	return try_path(s, root);
}

/* In the cache of debuginfod's client. */
static int try_cache(struct search *s)
{
	AUTO_CLOSE int root = -1;

	debuginfod_cache_path(s->path);
	if (!s->path[0] || s->build_id_bytes == 0)
		return -ENOENT;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	add_text(s, "/");
	add_build_id(s, 0);
	add_text(s, "/debuginfo");
	return try_path(s, root);
}

/*
 * Tries the name in .gnu_debuglink below DEBUG_ROOT and, if beside is set, next to the stripped
 * file. The path of that file is meaningful in the root of its own process only. Below the host's
 * root it could name any folder, for instance one that the automounter mounts when it is opened.
 */
static int try_link(struct search *s, int root, bool beside)
{
	static const struct {
		const char *root;
		const char *folder;
	} places[] = {{DEBUG_ROOT, ""}, {"", "/.debug"}, {"", ""}};
	size_t n = beside ? ARRAY_SIZE(places) : 1;
	int r = -ENOENT;

	for (size_t i = 0; s->has_link && r < 0 && i < n; i++) {
		snprintf(s->path, sizeof(s->path), "%s%s%s/%s", places[i].root, s->dir,
			 places[i].folder, s->link.name);
		r = try_path(s, root);
	}
	return r;
}

static int search_root(struct search *s, int proc_fd, bool beside)
{
	AUTO_CLOSE int root = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (root < 0)
		return -errno;
	r = try_build_id(s, root);
	return r < 0 ? try_link(s, root, beside) : r;
}

/* Returns the descriptor of /proc/<pid> if it is still that process, or -ESRCH. */
static int open_process(const struct search *s)
{
	AUTO_CLOSE int fd = procfs_open_process(s->root_fd, s->pid);
	struct proc_stat stat;

	if (fd < 0 || procfs_read_stat(fd, &stat) < 0 || stat.ended ||
	    stat.start_time != s->start_time)
		return -ESRCH;
	return TAKE_FD(fd);
}

static int try_beside(struct search *s, int proc_fd)
{
	AUTO_CLOSE int root = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return -errno;
	snprintf(s->path, sizeof(s->path), "%s", s->dir);
	return try_path(s, root);
}

/* Beside the file, in the root of its process; without one, in the host's or the agent's own. */
static int search_beside(struct search *s)
{
	AUTO_CLOSE int process =
		s->pid > 0 ? open_process(s) : procfs_open_process(s->root_fd, HOST_PID);
	AUTO_CLOSE int own = -1;
	int r = process >= 0 ? try_beside(s, process) : -ESRCH;

	if (s->pid > 0 || r == 0)
		return r;
	own = openat(s->root_fd, "self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return own >= 0 ? try_beside(s, own) : -ENOENT;
}

static int search_all(struct search *s)
{
	AUTO_CLOSE int process = s->pid > 0 ? open_process(s) : -ENOENT;
	AUTO_CLOSE int host = -1, own = -1;
	int of_process = process >= 0 ? search_root(s, process, true) : process;

	if (of_process == 0)
		return 0;
	host = procfs_open_process(s->root_fd, HOST_PID);
	if (host >= 0 && search_root(s, host, s->pid == 0) == 0)
		return 0;
	own = openat(s->root_fd, "self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (own >= 0 && search_root(s, own, s->pid == 0) == 0)
		return 0;
	if (try_cache(s) == 0)
		return 0;
	return of_process == -ESRCH ? -ESRCH : -ENOENT;
}

static void run_search(struct deadline_job *j)
{
	struct search *s = (struct search *)j;

	s->result = s->beside ? search_beside(s) : search_all(s);
}

/* ---- on the caller's thread ---- */

static bool is_beside(const struct debug_file_query *q)
{
	return q->package || q->sibling;
}

/* Where the stripped file is, or, of a file beside it, the whole path. */
static void set_dir(struct search *s, const struct debug_file_query *q)
{
	const char *slash = strrchr(q->path, '/');
	int dir_len = slash && slash - q->path < (int)PATH_BYTES ? (int)(slash - q->path) : 0;
	int n;

	if (q->package)
		n = snprintf(s->dir, sizeof(s->dir), "%s.dwp", q->path);
	else if (q->sibling)
		n = snprintf(s->dir, sizeof(s->dir), "%.*s/%s", dir_len, q->path, q->sibling);
	else
		n = snprintf(s->dir, sizeof(s->dir), "%.*s", dir_len, q->path);
	if (n >= (int)sizeof(s->dir)) /* no path of a file is as long */
		s->dir[0] = '\0';
}

static struct search *new_search(const struct debug_file_query *q)
{
	struct search *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->job = (struct deadline_job){run_search, free_search, CALL_KEY};
	s->found.fd = -1;
	s->root_fd = open(q->proc_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	s->pid = q->pid;
	s->start_time = q->start_time;
	s->beside = is_beside(q);
	if (!s->beside) {
		s->build_id_bytes = q->layout->gnu_build_id_bytes;
		memcpy(s->build_id, q->layout->gnu_build_id, s->build_id_bytes);
	}
	s->has_link = q->link != NULL;
	if (q->link)
		s->link = *q->link;
	set_dir(s, q);
	return s;
}

int debug_file_open(struct deadline_caller *caller, const struct debug_file_query *query,
		    struct debug_file *ret)
{
	struct search *s;
	int r;

	if (!is_beside(query) && query->layout->gnu_build_id_bytes == 0 && !query->link)
		return -ENOENT;
	s = new_search(query);
	if (!s)
		return -ENOMEM;
	r = deadline_call(caller, &s->job);
	if (r < 0) /* s is freed */
		return r;
	r = s->result;
	if (r == 0) {
		*ret = s->found;
		(void)TAKE_FD(s->found.fd);
	}
	free_search(&s->job);
	return r;
}
