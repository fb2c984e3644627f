/*
 * Which files share a table, and what walks find a file by: copies of this program, of which some
 * are changed.
 */
#include "node-agent/unwind/code_files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/system/clock.h"
#include "test/lib/unit.h"
#include "test/lib/unwind_plain.h"

#define TABLE 7u

struct fixture {
	struct unwind_plain plain;
	struct deadline_caller *caller;
	struct code_files *files;
	struct elf_layout layout; /* of this program */
};

/* A copy of this program, which has no name any more. */
struct copy {
	int fd;
	struct mapped_file *file;
	struct process_mapping mapping; /* of its code */
};

static struct fixture *begin(void)
{
	static struct fixture f;
	struct code_files_config cfg = {.memory = &f.plain.memory};
	AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct byte_source src;
	struct stat st;

	unwind_plain_init(&f.plain);
	assert_int_equal(deadline_caller_new(&f.caller, 60 * NS_PER_S, NS_PER_S), 0);
	cfg.caller = f.caller;
	assert_int_equal(code_files_new(&f.files, &cfg), 0);
	assert_int_equal(fstat(fd, &st), 0);
	byte_source_from_fd(&src, fd, (uint64_t)st.st_size);
	assert_int_equal(elf_layout_parse(&f.layout, &src), 0);
	assert_true(f.layout.has_build_id);
	return &f;
}

static void end(struct fixture *f)
{
	code_files_free(f->files);
	assert_int_equal(f->plain.n_files, 0);
	deadline_caller_free(f->caller);
}

static void make_copy(const struct fixture *f, struct copy *ret)
{
	char path[] = "/tmp/test_code_files.XXXXXX";
	AUTO_CLOSE int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;

	*ret = (struct copy){.fd = mkostemp(path, O_CLOEXEC)};
	assert_true(from >= 0 && ret->fd >= 0 && fstat(from, &st) == 0);
	for (off_t done = 0; done < st.st_size;)
		assert_true(sendfile(ret->fd, from, &done, (size_t)(st.st_size - done)) > 0);
	assert_int_equal(unlink(path), 0);
	ret->mapping = (struct process_mapping){.kind = PROCESS_MAPPING_FILE, .start = 1 << 30};
	for (uint32_t i = 0; i < f->layout.n_segments; i++) {
		if (f->layout.segments[i].executable)
			ret->mapping.file_offset = f->layout.segments[i].offset & ~UINT64_C(4095);
	}
}

/* As the registry of files has it. */
static void register_copy(struct copy *c)
{
	struct file_version version;
	int fd = dup(c->fd);

	assert_int_equal(file_version_read(c->fd, "", &version, NULL), 0);
	assert_int_equal(mapped_file_new(&c->file, &version.id, fd, "", 0), 0);
	c->mapping.file = c->file;
	c->mapping.map_dev = version.id.dev;
	c->mapping.map_ino = version.id.ino;
}

static void free_copy(struct copy *c)
{
	mapped_file_unref(c->file);
	close(c->fd);
}

static void flip_byte(const struct copy *c, uint64_t offset)
{
	uint8_t byte;

	assert_int_equal(pread(c->fd, &byte, 1, (off_t)offset), 1);
	byte ^= 1;
	assert_int_equal(pwrite(c->fd, &byte, 1, (off_t)offset), 1);
}

/* As others do who want to go unnoticed. */
static void flip_byte_secretly(const struct copy *c, uint64_t offset)
{
	struct stat st;

	assert_int_equal(fstat(c->fd, &st), 0);
	flip_byte(c, offset);
	assert_int_equal(futimens(c->fd, (struct timespec[]){st.st_atim, st.st_mtim}), 0);
}

static struct code_file *get(struct fixture *f, const struct copy *c)
{
	uint64_t bias;
	struct code_file *file = code_files_get(f->files, &c->mapping, &bias);

	assert_non_null(file);
	return file;
}

/* Forgets all files. */
static void renew(struct fixture *f)
{
	const struct code_files_config cfg = {.memory = &f->plain.memory, .caller = f->caller};

	code_files_free(f->files);
	assert_int_equal(code_files_new(&f->files, &cfg), 0);
}

/* The key once the last change of the file is long enough ago. */
static struct table_key settled_key(struct fixture *f, const struct copy *c)
{
	struct table_key key;

	for (unsigned i = 0; i < 60000; i++) {
		renew(f);
		key = *code_file_key(get(f, c));
		if (table_key_is_of_build(&key))
			return key;
		usleep(1000);
	}
	fail_msg("it never settled");
	return key;
}

TEST(equal_builds_share_a_table_only_with_equal_unwinding_information)
{
	static const enum elf_section_kind kinds[] = {ELF_SECTION_EH_FRAME, ELF_SECTION_PLT};
	struct fixture *f = begin();
	struct table_key key, other;
	struct copy a, b;

	make_copy(f, &a);
	register_copy(&a);
	key = settled_key(f, &a);
	make_copy(f, &b);
	register_copy(&b);
	other = settled_key(f, &b);
	assert_memory_equal(&key, &other, sizeof(key));
	free_copy(&b);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct elf_section *s = &f->layout.sections[kinds[i]];

		if (s->size_bytes == 0)
			continue;
		make_copy(f, &b);
		flip_byte(&b, s->offset + s->size_bytes / 2);
		register_copy(&b);
		other = settled_key(f, &b);
		assert_memory_equal(key.id, other.id, sizeof(key.id)); /* the same build id */
		assert_memory_not_equal(key.sum, other.sum, sizeof(key.sum));
		free_copy(&b);
	}
	/* the index of functions */
	make_copy(f, &b);
	{
		uint64_t offset;

		assert_int_equal(elf_layout_offset(&f->layout, f->layout.eh_frame_hdr, &offset), 0);
		flip_byte(&b, offset + f->layout.eh_frame_hdr_bytes - 1);
	}
	register_copy(&b);
	other = settled_key(f, &b);
	assert_memory_not_equal(key.sum, other.sum, sizeof(key.sum));
	free_copy(&b);
	free_copy(&a);
	end(f);
}

static bool knows_it(void *ctx, const uint64_t id[2])
{
	return memcmp(ctx, id, 2 * sizeof(id[0])) == 0;
}

/* Of a file with many functions. */
TEST(a_digest_that_takes_long_is_made_later)
{
	struct fixture *f = begin();
	struct code_files_config cfg = {
		.memory = &f->plain.memory, .caller = f->caller, .late_functions = 10};
	struct table_key key, late = {.id = {0, 0}};
	struct copy c;

	make_copy(f, &c);
	register_copy(&c);
	key = settled_key(f, &c);
	code_files_free(f->files);
	assert_int_equal(code_files_new(&f->files, &cfg), 0);
	assert_false(table_key_is_of_build(code_file_key(get(f, &c))));
	assert_int_equal(code_files_settle(f->files, c.file, &late), 0);
	assert_memory_equal(&late, &key, sizeof(key));
	assert_memory_equal(code_file_key(get(f, &c)), &key, sizeof(key));
	assert_int_equal(code_files_settle(f->files, c.file, &late), -ENOENT);
	/* at once if there is a table like it */
	code_files_free(f->files);
	cfg.knows_build = knows_it;
	cfg.ctx = key.id;
	assert_int_equal(code_files_new(&f->files, &cfg), 0);
	assert_memory_equal(code_file_key(get(f, &c)), &key, sizeof(key));
	free_copy(&c);
	end(f);
}

TEST(a_file_that_changes_before_its_digest_is_made_shares_nothing)
{
	struct fixture *f = begin();
	const struct code_files_config cfg = {
		.memory = &f->plain.memory, .caller = f->caller, .late_functions = 10};
	struct table_key key;
	struct copy c;

	make_copy(f, &c);
	register_copy(&c);
	(void)settled_key(f, &c);
	code_files_free(f->files);
	assert_int_equal(code_files_new(&f->files, &cfg), 0);
	(void)get(f, &c);
	flip_byte_secretly(&c, f->layout.sections[ELF_SECTION_EH_FRAME].offset + 100);
	assert_int_equal(code_files_settle(f->files, c.file, &key), -ESTALE);
	free_copy(&c);
	end(f);
}

TEST(a_file_that_changed_just_now_shares_nothing)
{
	struct fixture *f = begin();
	struct copy c;
	bool shares;

	make_copy(f, &c);
	do {
		assert_int_equal(fchmod(c.fd, 0700), 0);
		if (!c.file)
			register_copy(&c);
		shares = table_key_is_of_build(code_file_key(get(f, &c)));
		renew(f);
	} while (shares); /* this thread may have had to wait for a CPU */
	free_copy(&c);
	end(f);
}

TEST(a_change_in_secret_is_noticed)
{
	struct fixture *f = begin();
	struct table_key key;
	struct copy c;

	make_copy(f, &c);
	register_copy(&c);
	key = settled_key(f, &c);
	assert_true(code_files_is_current(f->files, c.file, &key));
	assert_int_equal(fchmod(c.fd, 0500), 0); /* changes ctime, and nothing else */
	(void)settled_key(f, &c);
	assert_true(code_files_is_current(f->files, c.file, &key));
	flip_byte_secretly(&c, f->layout.sections[ELF_SECTION_EH_FRAME].offset + 100);
	assert_false(code_files_is_current(f->files, c.file, &key));
	free_copy(&c);
	end(f);
}

static struct event_file inode_of(const struct copy *c)
{
	struct file_version v;

	assert_int_equal(file_version_read(c->fd, "", &v, NULL), 0);
	return (struct event_file){
		.dev = (uint64_t)major(v.id.dev) << 20 | minor(v.id.dev),
		.ino = v.id.ino,
		.size_bytes = v.id.size_bytes,
		.mtime_ns = v.id.mtime_ns,
		.ctime_ns = v.ctime_ns,
	};
}

TEST(walks_find_a_file_until_its_table_has_no_index)
{
	const struct event_file vdso = {.ino = 0};
	struct fixture *f = begin();
	const struct unwind_file *shown;
	struct event_file inode;
	struct code_file *file;
	struct copy c;
	uint64_t bias;

	/* says that the map is filled */
	assert_non_null(unwind_plain_file(&f->plain, &vdso));
	make_copy(f, &c);
	register_copy(&c);
	inode = inode_of(&c);
	file = code_files_get(f->files, &c.mapping, &bias);
	assert_null(unwind_plain_file(&f->plain, &inode));
	code_files_show(f->files, file, &c.mapping, TABLE);
	shown = unwind_plain_file(&f->plain, &inode);
	assert_non_null(shown);
	assert_int_equal(shown->table, TABLE);
	assert_int_equal(shown->ino, inode.ino);
	assert_int_equal(shown->ctime_ns, inode.ctime_ns);
	assert_true(c.mapping.file_offset >= shown->segments[0].from &&
		    c.mapping.file_offset < shown->segments[0].end);
	assert_int_equal(c.mapping.start - c.mapping.file_offset - shown->segments[0].ahead, bias);
	code_files_hide(f->files, TABLE + 1);
	assert_non_null(unwind_plain_file(&f->plain, &inode));
	code_files_hide(f->files, TABLE);
	assert_null(unwind_plain_file(&f->plain, &inode));
	assert_non_null(unwind_plain_file(&f->plain, &vdso));
	free_copy(&c);
	end(f);
}

/* As the registry has a file of overlayfs. */
static void register_layered(struct copy *c)
{
	register_copy(c);
	c->file->may_hang = true;
	c->file->layered = true;
}

TEST(files_of_overlayfs_share_a_table_and_others_that_may_hang_do_not)
{
	struct fixture *f = begin();
	struct table_key key, other;
	struct copy a, b;

	make_copy(f, &a);
	register_layered(&a);
	key = settled_key(f, &a);
	make_copy(f, &b);
	register_layered(&b);
	other = settled_key(f, &b);
	assert_memory_equal(&key, &other, sizeof(key));
	b.file->layered = false;
	renew(f);
	assert_false(table_key_is_of_build(code_file_key(get(f, &b))));
	free_copy(&a);
	free_copy(&b);
	end(f);
}

/* The file as a container has it, with another device than others: its ctime cannot be read. */
static struct process_mapping map_in_container(const struct copy *c, unsigned container)
{
	struct process_mapping m = c->mapping;
	struct file_id id = c->file->id;

	id.dev += container;
	assert_int_equal(mapped_file_new(&m.file, &id, dup(c->fd), "", 0), 0);
	m.file->may_hang = m.file->layered = true;
	m.map_dev = id.dev;
	return m;
}

static void show(struct fixture *f, const struct process_mapping *m, uint32_t table)
{
	uint64_t bias;

	code_files_show(f->files, code_files_get(f->files, m, &bias), m, table);
}

TEST(a_file_of_a_layer_is_found_as_long_as_one_container_shows_it)
{
	struct fixture *f = begin();
	struct event_file key;
	struct process_mapping one, two;
	struct copy c;

	make_copy(f, &c);
	register_copy(&c);
	one = map_in_container(&c, 1);
	two = map_in_container(&c, 2);
	key = inode_of(&c);
	key.ctime_ns = 0;
	key.dev = UNWIND_FILE_OF_LAYER;
	show(f, &one, TABLE);
	show(f, &two, TABLE + 1);
	assert_int_equal(unwind_plain_file(&f->plain, &key)->table, TABLE + 1);
	code_files_hide(f->files, TABLE + 1);
	assert_int_equal(unwind_plain_file(&f->plain, &key)->table, TABLE);
	code_files_hide(f->files, TABLE);
	assert_null(unwind_plain_file(&f->plain, &key));

	/* the highest bits of the number say which file system the layer is on */
	one.map_ino |= UINT64_C(1) << 62;
	key.ino = one.map_ino;
	show(f, &one, TABLE);
	assert_null(unwind_plain_file(&f->plain, &key));
	key.dev = (uint64_t)major(one.map_dev) << 20 | minor(one.map_dev);
	assert_non_null(unwind_plain_file(&f->plain, &key));
	mapped_file_unref(one.file);
	mapped_file_unref(two.file);
	free_copy(&c);
	end(f);
}

/* ---- many segments ---- */

static void make_of_segments(struct copy *ret, unsigned n)
{
	char path[] = "/tmp/test_code_files.XXXXXX";
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph[20];
	} file = {.eh = {
			  .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			  .e_type = ET_DYN,
			  .e_machine = EM_X86_64,
			  .e_phoff = sizeof(file.eh),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = (Elf64_Half)n,
		  }};

	for (unsigned i = 0; i < n; i++)
		file.ph[i] = (Elf64_Phdr){.p_type = PT_LOAD,
					  .p_flags = PF_R | PF_X,
					  .p_offset = 0x1000 * i,
					  .p_vaddr = 0x3000 * i,
					  .p_filesz = 0x1000,
					  .p_memsz = 0x1000};
	*ret = (struct copy){.fd = mkostemp(path, O_CLOEXEC)};
	assert_int_equal(pwrite(ret->fd, &file, sizeof(file), 0), sizeof(file));
	assert_int_equal(ftruncate(ret->fd, 0x1000 * n), 0);
	assert_int_equal(unlink(path), 0);
	ret->mapping = (struct process_mapping){
		.kind = PROCESS_MAPPING_FILE, .start = 1 << 30, .file_offset = 0x5000};
}

TEST(code_in_many_segments_is_known_and_in_too_many_is_counted)
{
	struct fixture *f = begin();
	struct code_files_stats stats;
	uint64_t bias;
	struct copy c;

	make_of_segments(&c, 6);
	register_copy(&c);
	assert_non_null(code_files_get(f->files, &c.mapping, &bias));
	assert_int_equal(bias, (1 << 30) - 0x3000 * 5);
	code_files_read_stats(f->files, &stats);
	assert_int_equal(stats.cut, 0);
	free_copy(&c);
	make_of_segments(&c, 20);
	register_copy(&c);
	assert_non_null(code_files_get(f->files, &c.mapping, &bias));
	code_files_read_stats(f->files, &stats);
	assert_int_equal(stats.cut, 1);
	free_copy(&c);
	end(f);
}
