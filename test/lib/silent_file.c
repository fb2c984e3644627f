#include "test/lib/silent_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define FILE_NODE 2u
#define REQUEST_BYTES 65536u /* FUSE_MIN_READ_BUFFER and more */
#define VALID_S 3600u

/* ---- the server ---- */

static void reply(const struct silent_file *f, uint64_t unique, int error, const void *data,
		  size_t bytes)
{
	struct fuse_out_header head = {(uint32_t)(sizeof(head) + bytes), error, unique};
	uint8_t out[sizeof(head) + SILENT_FILE_BYTES];

	memcpy(out, &head, sizeof(head));
	if (bytes > 0)
		memcpy(out + sizeof(head), data, bytes);
	/* whoever asked may have been killed */
	(void)!write(f->device, out, head.len);
}

static struct fuse_attr attributes(uint64_t node)
{
	bool is_file = node == FILE_NODE;

	return (struct fuse_attr){
		.ino = node,
		.size = is_file ? SILENT_FILE_BYTES : 0,
		.mode = is_file ? S_IFREG | 0444 : S_IFDIR | 0555,
		.nlink = 1,
		.blksize = 4096,
	};
}

static void give(const struct silent_file *f, uint64_t unique, const struct fuse_read_in *in)
{
	size_t offset = in->offset < SILENT_FILE_BYTES ? in->offset : SILENT_FILE_BYTES;
	size_t bytes = SILENT_FILE_BYTES - offset;

	reply(f, unique, 0, f->content + offset, bytes < in->size ? bytes : in->size);
}

static void on_request(const struct silent_file *f, const struct fuse_in_header *h)
{
	const struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = 31,
		.max_readahead = 4096,
		.max_write = 4096,
	};
	const struct fuse_attr_out attr = {.attr_valid = VALID_S, .attr = attributes(h->nodeid)};
	const struct fuse_entry_out entry = {
		.nodeid = FILE_NODE,
		.entry_valid = VALID_S,
		.attr_valid = VALID_S,
		.attr = attributes(FILE_NODE),
	};
	const struct fuse_open_out opened = {.open_flags = FOPEN_KEEP_CACHE};

	switch (h->opcode) {
	case FUSE_INIT:
		reply(f, h->unique, 0, &init, sizeof(init));
		break;
	case FUSE_GETATTR:
		reply(f, h->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_LOOKUP:
		reply(f, h->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_OPEN:
		reply(f, h->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		give(f, h->unique, (const void *)(h + 1));
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT: /* nobody waits for an answer to these */
		break;
	default: /* FUSE_FLUSH: never asked again, so that close(2) does not wait */
		reply(f, h->unique, h->opcode == FUSE_RELEASE ? 0 : -ENOSYS, NULL, 0);
	}
}

static void take_request(const struct silent_file *f)
{
	static _Alignas(8) uint8_t request[REQUEST_BYTES];
	const struct fuse_in_header *h = (const void *)request;

	if (read(f->device, request, sizeof(request)) >= (ssize_t)sizeof(*h))
		on_request(f, h);
}

/* Takes a request and does not answer. */
static void swallow_request(const struct silent_file *f)
{
	static uint8_t request[REQUEST_BYTES];

	(void)!read(f->device, request, sizeof(request));
}

static void serve(struct silent_file *f)
{
	struct pollfd control = {.fd = f->control[0], .events = POLLIN},
		      device = {.fd = f->device, .events = POLLIN};
	bool is_silent = false, swallows = false;

	for (;;) {
		struct pollfd fds[] = {control, device};
		bool ignores = is_silent && !swallows && f->is_waited_for;

		if (poll(fds, ignores ? 1 : 2, -1) < 0)
			continue;
		if (fds[0].revents != 0) {
			char byte;

			if (read(f->control[0], &byte, 1) != 1)
				return;
			swallows = byte == 'e';
			is_silent = swallows || byte == 's';
			f->is_waited_for = false;
			(void)!write(f->said[1], "", 1);
		} else if (!ignores && fds[1].revents & POLLIN && is_silent) {
			if (swallows)
				swallow_request(f);
			f->is_waited_for = true;
		} else if (!ignores && fds[1].revents & POLLIN) {
			take_request(f);
		} else if (!ignores && fds[1].revents != 0) {
			return;
		}
	}
}

/* ---- the test's side ---- */

static struct silent_file *files;

/* A mount that is nowhere. */
static int mount_device(int device)
{
	AUTO_CLOSE int fs = fsopen("fuse", FSOPEN_CLOEXEC);
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", device);
	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "source", "silent", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "fd", text, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "rootmode", "40000", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "user_id", "0", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "group_id", "0", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return fsmount(fs, FSMOUNT_CLOEXEC, 0);
}

static void require(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	abort();
}

static void start_server(struct silent_file *f)
{
	pid_t pid = fork();

	require(pid >= 0, "fork");
	if (pid > 0) {
		f->server = pid;
		return;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(f->mount);
	close(f->control[1]);
	serve(f);
	_exit(0);
}

static void forget(const struct silent_file *f)
{
	struct silent_file **at = &files;

	while (*at && *at != f)
		at = &(*at)->next;
	if (*at)
		*at = f->next;
}

static void remember(struct silent_file *f)
{
	static bool is_registered;

	if (!is_registered)
		require(atexit(silent_file_free_all) == 0, "atexit");
	is_registered = true;
	f->next = files;
	files = f;
}

struct silent_file *silent_file_new(void)
{
	struct silent_file *f =
		mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (geteuid() != 0)
		return NULL;
	require(f != MAP_FAILED, "mmap");
	f->device = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	require(f->device >= 0, "/dev/fuse");
	f->mount = mount_device(f->device);
	require(f->mount >= 0, "mount fuse");
	require(pipe2(f->control, O_CLOEXEC) == 0 && pipe2(f->said, O_CLOEXEC) == 0, "pipe");
	start_server(f);
	close(f->device);
	/* twice: the first close(2) finds out that nothing needs to be flushed */
	for (int i = 0; i < 2; i++) {
		if (i > 0)
			close(f->fd);
		f->fd = openat(f->mount, "file", O_RDONLY | O_CLOEXEC);
		require(f->fd >= 0, "open");
	}
	remember(f);
	return f;
}

void silent_file_free(struct silent_file *f)
{
	if (!f)
		return;
	forget(f);
	/* before close(2), which could wait for the server */
	kill(f->server, SIGKILL);
	waitpid(f->server, NULL, 0);
	close(f->fd);
	close(f->mount);
	for (int i = 0; i < 2; i++) {
		close(f->control[i]);
		close(f->said[i]);
	}
	munmap(f, sizeof(*f));
}

void silent_file_free_all(void)
{
	while (files)
		silent_file_free(files);
}

static void ask(const struct silent_file *f, const char *what)
{
	char byte;

	require(write(f->control[1], what, 1) == 1 && read(f->said[0], &byte, 1) == 1,
		"silent_file");
}

void silent_file_silence(struct silent_file *f)
{
	ask(f, "s");
}

void silent_file_answer(struct silent_file *f)
{
	ask(f, "a");
}

void silent_file_swallow(struct silent_file *f)
{
	ask(f, "e");
}

bool silent_file_is_waited_for(const struct silent_file *f)
{
	return f->is_waited_for;
}
