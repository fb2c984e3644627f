#include "node-agent/java/attach/jvm_library.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <sys/stat.h>

#include "common/system/fs.h"

#define LIBRARY_MAX_BYTES (16u << 20) /* async-profiler 4 has 0.9 MB */
#define ENTRY_POINT "Agent_OnAttach"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
/* cppcheck-suppress preprocessorErrorDirective */
#error "say what ELF files call this machine"
#endif

/* Whoever may write the file has code run in all JVMs. */
static int check_file(int fd, const char *path, struct err *err)
{
	struct stat st, own = {0};

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%s is not a regular file", path);
	(void)stat("/proc/self/exe", &own); /* who may write it may do the same, and more */
	if ((st.st_uid != 0 && st.st_uid != own.st_uid) || (st.st_mode & 022))
		return err_set(err, -EPERM, "%s may be written by others than the agent's owner",
			       path);
	return 0;
}

static int check_content(const struct buf *b, const char *path, struct err *err)
{
	Elf64_Ehdr header;

	if (b->len < sizeof(header))
		return err_set(err, -ENOEXEC, "%s is not a library", path);
	memcpy(&header, b->data, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN)
		return err_set(err, -ENOEXEC, "%s is not a library", path);
	if (header.e_machine != OWN_MACHINE)
		return err_set(err, -ENOEXEC, "%s is for another kind of machine", path);
	/* with its NUL: the name of a symbol */
	if (!memmem(b->data, b->len, ENTRY_POINT, sizeof(ENTRY_POINT)))
		return err_set(err, -ENOEXEC, "%s has no " ENTRY_POINT, path);
	return 0;
}

static int hash(struct jvm_library *lib)
{
	size_t len;

	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, lib->bytes.data, lib->bytes.len, lib->sha256) < 0)
		return -ENOMEM;
	len = (size_t)snprintf(lib->name, sizeof(lib->name), JVM_LIBRARY_PREFIX);
	for (size_t i = 0; i < JVM_LIBRARY_HASH_DIGITS / 2; i++)
		len += (size_t)snprintf(lib->name + len, sizeof(lib->name) - len, "%02x",
					lib->sha256[i]);
	snprintf(lib->name + len, sizeof(lib->name) - len, JVM_LIBRARY_SUFFIX);
	return 0;
}

int jvm_library_load(struct jvm_library *ret, const char *path, struct err *err)
{
	CLEANUP(jvm_library_fini) struct jvm_library lib = {0};
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int r;

	buf_init(&lib.bytes, LIBRARY_MAX_BYTES);
	if (fd < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	r = check_file(fd, path, err);
	if (r < 0)
		return r;
	r = fs_read_fd(fd, &lib.bytes);
	if (r < 0)
		return err_set(err, r, "%s: %s", path, strerror(-r));
	r = check_content(&lib.bytes, path, err);
	if (r < 0)
		return r;
	r = hash(&lib);
	if (r < 0)
		return err_set(err, r, "%s cannot be hashed", path);
	*ret = lib;
	buf_init(&lib.bytes, 0); /* the storage is the caller's */
	return 0;
}

void jvm_library_fini(struct jvm_library *lib)
{
	buf_fini(&lib->bytes);
}
