#include "node-agent/unwind/unwind_memory.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#define SLAB_BYTES ((size_t)UNWIND_SLAB_BLOCKS * UNWIND_BLOCK_BYTES)
#define TABLES_BYTES (UNWIND_TABLES * sizeof(struct unwind_table))
#define USED_BYTES (UNWIND_TABLES * sizeof(uint64_t))

struct unwind_maps {
	struct unwind_memory memory;
	int slabs_fd, processes_fd, files_fd;
	int slab_fds[UNWIND_SLABS]; /* of each that was made */
};

/* The memory of an array map with BPF_F_MMAPABLE, which begins with its first element. */
static int map_array(int fd, size_t bytes, void **ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t len = (bytes + page - 1) / page * page;
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	*ret = p;
	return 0;
}

static int map_slab(void *ctx, unsigned slab, void **ret)
{
	const struct unwind_maps *m = ctx;

	return map_array(m->slab_fds[slab], SLAB_BYTES, ret);
}

static void unmap_slab(void *ctx, void *memory)
{
	(void)ctx;
	(void)munmap(memory, SLAB_BYTES);
}

/* The attributes are those of the inner map in user_walk.bpf.h, as the kernel requires. */
static int make_slab(void *ctx, unsigned slab, void **ret)
{
	struct unwind_maps *m = ctx;
	const struct bpf_map_create_opts opts = {.sz = sizeof(opts), .map_flags = BPF_F_MMAPABLE};
	AUTO_CLOSE int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_slab", sizeof(uint32_t),
					   UNWIND_BLOCK_BYTES, UNWIND_SLAB_BLOCKS, &opts);
	uint32_t key = slab;
	void *memory;
	int r;

	if (fd < 0)
		return -errno;
	r = map_array(fd, SLAB_BYTES, &memory);
	if (r < 0)
		return r;
	if (bpf_map_update_elem(m->slabs_fd, &key, &fd, BPF_ANY) < 0) {
		r = -errno;
		unmap_slab(m, memory);
		return r;
	}
	m->slab_fds[slab] = TAKE_FD(fd);
	*ret = memory;
	return 0;
}

static void free_slab(void *ctx, unsigned slab, void *memory)
{
	struct unwind_maps *m = ctx;

	if (memory)
		unmap_slab(m, memory);
	close(m->slab_fds[slab]);
}

static int put_process(void *ctx, pid_t pid, const struct unwind_ref *ref)
{
	const struct unwind_maps *m = ctx;
	uint32_t key = (uint32_t)pid;

	return bpf_map_update_elem(m->processes_fd, &key, ref, BPF_ANY) < 0 ? -errno : 0;
}

static int get_process(void *ctx, pid_t pid, struct unwind_ref *ret)
{
	const struct unwind_maps *m = ctx;
	uint32_t key = (uint32_t)pid;

	return bpf_map_lookup_elem(m->processes_fd, &key, ret) < 0 ? -errno : 0;
}

static int remove_process(void *ctx, pid_t pid)
{
	const struct unwind_maps *m = ctx;
	uint32_t key = (uint32_t)pid;

	return bpf_map_delete_elem(m->processes_fd, &key) < 0 ? -errno : 0;
}

static int put_file(void *ctx, const struct event_file *key, const struct unwind_file *file)
{
	const struct unwind_maps *m = ctx;

	return bpf_map_update_elem(m->files_fd, key, file, BPF_ANY) < 0 ? -errno : 0;
}

static int remove_file(void *ctx, const struct event_file *key)
{
	const struct unwind_maps *m = ctx;

	return bpf_map_delete_elem(m->files_fd, key) < 0 ? -errno : 0;
}

int unwind_maps_new(struct unwind_maps **ret, const struct unwind_map_fds *fds)
{
	CLEANUP(unwind_maps_freep) struct unwind_maps *m = calloc(1, sizeof(*m));
	void *tables, *used;
	int r;

	if (!m)
		return -ENOMEM;
	m->memory = (struct unwind_memory){
		.make_slab = make_slab,
		.free_slab = free_slab,
		.map_slab = map_slab,
		.unmap_slab = unmap_slab,
		.put_process = put_process,
		.get_process = get_process,
		.remove_process = remove_process,
		.put_file = put_file,
		.remove_file = remove_file,
		.ctx = m,
	};
	m->processes_fd = m->files_fd = -1;
	m->slabs_fd = fcntl(fds->slabs, F_DUPFD_CLOEXEC, 0);
	if (m->slabs_fd >= 0)
		m->processes_fd = fcntl(fds->processes, F_DUPFD_CLOEXEC, 0);
	if (m->processes_fd >= 0)
		m->files_fd = fcntl(fds->files, F_DUPFD_CLOEXEC, 0);
	if (m->files_fd < 0)
		return -errno;
	r = map_array(fds->tables, TABLES_BYTES, &tables);
	if (r < 0)
		return r;
	m->memory.tables = tables;
	r = map_array(fds->used, USED_BYTES, &used);
	if (r < 0)
		return r;
	m->memory.used = used;
	*ret = TAKE_PTR(m);
	return 0;
}

void unwind_maps_free(struct unwind_maps *m)
{
	if (!m)
		return;
	if (m->memory.tables)
		(void)munmap(m->memory.tables, TABLES_BYTES);
	if (m->memory.used)
		(void)munmap(m->memory.used, USED_BYTES);
	closep(&m->slabs_fd);
	closep(&m->processes_fd);
	closep(&m->files_fd);
	free(m);
}

const struct unwind_memory *unwind_maps_memory(const struct unwind_maps *m)
{
	return &m->memory;
}
