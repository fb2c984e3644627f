#include "node-agent/java/vm/jvm_reader.h"

#include <errno.h>
#include <fcntl.h>

#include "common/elf/elf_exports.h"
#include "common/system/clock.h"
#include "node-agent/files/loaded_library.h"
#include "node-agent/java/vm/perf_memory.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/target/page_cache.h"

#define READ_TIMEOUT_NS (500 * NS_PER_MS)
#define HUNG_PAUSE_NS (60 * NS_PER_S)
/* What only the library of OpenJ9 exports that has the VM in it (libj9vm*.so). */
#define OPENJ9_EXPORT "J9_CreateJavaVM"
#define HOTSPOT_EXPORT vm_variable_names[VM_STRUCTS]

struct jvm_reader {
	int root_fd;
	struct program_target_files files; /* owned */
};

int jvm_reader_new(struct jvm_reader **ret, const char *proc_root)
{
	CLEANUP(jvm_reader_freep) struct jvm_reader *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return -ENOMEM;
	r->root_fd = open(proc_root ? proc_root : "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->root_fd < 0)
		return -errno;
	e = deadline_caller_new(&r->files.caller, READ_TIMEOUT_NS, HUNG_PAUSE_NS);
	if (e == 0)
		e = program_file_cache_new(&r->files.cache);
	if (e < 0)
		return e;
	*ret = TAKE_PTR(r);
	return 0;
}

void jvm_reader_free(struct jvm_reader *r)
{
	if (!r)
		return;
	program_file_cache_free(r->files.cache);
	deadline_caller_free(r->files.caller);
	closep(&r->root_fd);
	free(r);
}

int jvm_reader_root(const struct jvm_reader *r)
{
	return r->root_fd;
}

/* Of most files that is all that is asked. Returns an enum jvm_kind or -errno. */
static int find_kind(const struct program_target *t)
{
	const char *const exports[] = {HOTSPOT_EXPORT, OPENJ9_EXPORT};
	uint64_t addresses[ARRAY_SIZE(exports)];
	int r = elf_exports_find(&t->layout, &t->file, exports, addresses, ARRAY_SIZE(exports));

	if (r < 0)
		return r;
	return addresses[0] != 0 ? JVM_HOTSPOT : addresses[1] != 0 ? JVM_OPENJ9 : JVM_NONE;
}

/* Addresses are as in the file. Returns 0 or -errno. */
static int find_variables(const struct program_target *t, struct vm_variables *ret)
{
	int r = elf_exports_find(&t->layout, &t->file, vm_variable_names, ret->at, VM_VARIABLES);

	return r < 0 ? r : 0;
}

int jvm_reader_detect(struct jvm_reader *r, const struct program_id *id)
{
	struct program_target t;
	int e;

	e = program_target_open_file(&t, r->root_fd, id, &r->files);
	if (e == -ENOEXEC || e == -EBADMSG)
		return JVM_NONE;
	if (e < 0)
		return e;
	e = find_kind(&t);
	program_target_close(&t);
	/* a file that is cut, or has more symbols than any library */
	return e == -ENODATA || e == -EFBIG ? JVM_NONE : e;
}

int jvm_reader_libraries(struct jvm_reader *r, const struct program_id *id, struct file_id *ids,
			 size_t max)
{
	AUTO_CLOSE int fd = procfs_open_process(r->root_fd, id->pid);

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	return loaded_library_list(fd, &id->exe, r->files.caller, ids, max);
}

int jvm_reader_open(struct jvm_reader *r, const struct program_id *id, struct jvm_opened **ret)
{
	struct jvm_opened *o = calloc(1, sizeof(*o));
	int e;

	if (!o)
		return -ENOMEM;
	e = program_target_open(&o->target, r->root_fd, id, &r->files);
	if (e < 0) {
		free(o);
		return e;
	}
	e = find_kind(&o->target);
	o->kind = e > 0 ? (enum jvm_kind)e : JVM_NONE;
	if (e == JVM_NONE)
		e = -ENOEXEC;
	if (e > 0)
		e = find_variables(&o->target, &o->variables);
	if (e < 0) {
		jvm_opened_close(o);
		return e;
	}
	o->id = *id;
	for (size_t i = 0; i < VM_VARIABLES; i++) {
		if (o->variables.at[i] != 0)
			o->variables.at[i] += o->target.bias;
	}
	*ret = o;
	return 0;
}

void jvm_opened_close(struct jvm_opened *o)
{
	if (!o)
		return;
	program_target_close(&o->target);
	free(o);
}

/* For the many small reads of the VM's tables; not for what changes. */
static int cache_memory(struct jvm_opened *o, struct page_cache **pages, struct byte_source *ret)
{
	int r;

	if (o->kind != JVM_HOTSPOT)
		return -ENOTSUP;
	r = page_cache_new(pages, &o->target.memory);
	if (r == 0)
		byte_source_from_pages(ret, *pages);
	return r;
}

int jvm_opened_flags(struct jvm_opened *o, struct jvm_flags *ret)
{
	CLEANUP(page_cache_freep) struct page_cache *pages = NULL;
	struct byte_source memory;
	int r = cache_memory(o, &pages, &memory);

	if (r == 0)
		r = jvm_flags_read(&memory, &o->variables, ret);
	return r < 0 ? program_target_reason(&o->target, &o->id, r) : 0;
}

int jvm_opened_perf(struct jvm_opened *o, struct hsperfdata *ret)
{
	CLEANUP(page_cache_freep) struct page_cache *pages = NULL;
	struct byte_source memory;
	int r = cache_memory(o, &pages, &memory);

	if (r == 0)
		r = perf_memory_read(&memory, &o->variables, ret);
	return r < 0 ? program_target_reason(&o->target, &o->id, r) : 0;
}
