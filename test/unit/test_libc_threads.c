/* What is found about this machine's C library, tried on this program's own memory. */
#include "node-agent/interpreter/libc_threads.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/stat.h>

#include "test/lib/elf_builder.h"
#include "test/lib/unit.h"

#define KEYS 40

static __thread long variable = 77;

static int find_libc(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	snprintf(ctx, 4096, "%s", info->dlpi_name);
	return 1;
}

static int find(const char *path, struct libc_threads *ret)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_layout layout;
	struct byte_source src;
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	byte_source_from_fd(&src, fd, (uint64_t)st.st_size);
	assert_int_equal(elf_layout_parse(&layout, &src), 0);
	return libc_threads_find(&layout, &src, ret);
}

static void find_own(struct libc_threads *ret)
{
	char path[4096] = "";

	dl_iterate_phdr(find_libc, path);
	assert_int_equal(find(path, ret), 0);
}

/* As chain_value_of_key() in bpf/chain_walk.bpf.h. */
static const void *value_of(const struct chain_table *t, uint32_t key)
{
	const char *thread = __builtin_thread_pointer();
	const char *const *blocks = (const void *)(thread + t->blocks);
	const char *block = blocks[key >> t->block_shift];

	key &= (UINT32_C(1) << t->block_shift) - 1;
	return *(const void *const *)(const void *)(block + key * t->stride + t->value);
}

static void *check_keys(void *keys)
{
	const pthread_key_t *k = keys;
	struct libc_threads libc;

	find_own(&libc);
	for (int i = 0; i < KEYS; i++)
		assert_int_equal(pthread_setspecific(k[i], &k[i]), 0);
	for (int i = 0; i < KEYS; i++)
		assert_ptr_equal(value_of(&libc.keys, k[i]), &k[i]);
	return NULL;
}

TEST(values_of_keys_are_found_in_each_thread)
{
	pthread_key_t keys[KEYS];
	pthread_t thread;

	for (int i = 0; i < KEYS; i++)
		assert_int_equal(pthread_key_create(&keys[i], NULL), 0);
	check_keys(keys);
	assert_int_equal(pthread_create(&thread, NULL, check_keys, keys), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (int i = 0; i < KEYS; i++)
		pthread_key_delete(keys[i]);
}

static void *check_modules(void *ctx)
{
	struct libc_threads libc;
	const char *first;

	(void)ctx;
	find_own(&libc);
	first = value_of(&libc.modules, 1); /* that of the program */
	assert_true((const char *)&variable >= first && (const char *)&variable < first + 65536);
	assert_int_equal(variable, 77);
	return NULL;
}

TEST(variables_of_the_program_are_found_in_each_thread)
{
	pthread_t thread;

	check_modules(NULL);
	assert_int_equal(pthread_create(&thread, NULL, check_modules, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

TEST(another_file_is_no_c_library)
{
	struct libc_threads libc;

	assert_int_equal(find("/proc/self/exe", &libc), -ENOENT);
	assert_int_equal(libc.keys.stride, 0);
}

/* ---- musl, which is not on each machine: the code of its function ---- */

struct image {
	Elf64_Sym symbols[2];
	char strings[32];
	uint8_t code[64];
};

static void check_musl(uint16_t machine, const void *code, size_t n, int32_t blocks, int32_t dtv)
{
	struct image i = {.symbols = {{0},
				      {.st_name = 1,
				       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				       .st_shndx = 1,
				       .st_value = offsetof(struct image, code)}},
			  .strings = "\0pthread_getspecific"};
	struct elf_layout layout = {
		.segments = {{.file_bytes = sizeof(i), .executable = true}},
		.n_segments = 1,
		.machine = machine,
		.sections =
			{
				[ELF_SECTION_DYNSYM] = {.offset = offsetof(struct image, symbols),
							.size_bytes = sizeof(i.symbols)},
				[ELF_SECTION_DYNSYM_STRINGS] = {.offset = offsetof(struct image,
										   strings),
								.size_bytes = sizeof(i.strings)},
			},
	};
	struct libc_threads libc;
	struct byte_source src;

	memcpy(i.code, code, n);
	byte_source_from_memory(&src, &i, sizeof(i));
	assert_int_equal(libc_threads_find(&layout, &src, &libc), 0);
	assert_int_equal(libc.keys.blocks, blocks);
	assert_int_equal(libc.keys.stride, 8);
	assert_int_equal(libc.modules.blocks, dtv);
}

TEST(musl_is_read_from_its_code)
{
	/* mov %fs:0,%rax; mov 0x80(%rax),%rax; mov %edi,%edi; mov (%rax,%rdi,8),%rax; ret */
	static const uint8_t x86[] = {0x64, 0x48, 0x8b, 0x04, 0x25, 0,    0,   0,
				      0,    0x48, 0x8b, 0x80, 0x80, 0,    0,   0,
				      0x89, 0xff, 0x48, 0x8b, 0x04, 0xf8, 0xc3};
	/* mrs x1, tpidr_el0; ldur x1, [x1, #-112]; ldr x0, [x1, w0, uxtw #3]; ret */
	static const uint32_t arm64[] = {0xd53bd041, 0xf8590021, 0xf8605820, 0xd65f03c0};

	check_musl(EM_X86_64, x86, sizeof(x86), 0x80, 8);
	check_musl(EM_AARCH64, arm64, sizeof(arm64), -112, -8);
}

/* ---- glibc before 2.34, whose file of threads has local symbols of what it keeps ---- */

static void add_words(struct elf_builder *b, const char *name, uint64_t data, unsigned at,
		      const uint32_t words[3])
{
	memcpy(b->data + data + at, words, 3 * sizeof(words[0]));
	elf_builder_symbol(b, name, STB_LOCAL, STT_OBJECT, data + at, 12);
}

/* The numbers are those of Debian's libpthread-2.31.so. */
TEST(local_symbols_describe_an_old_glibc)
{
	static struct elf_builder b;
	struct elf_layout layout;
	struct libc_threads libc;
	struct byte_source src;
	uint64_t data;

	elf_builder_init(&b, EM_X86_64);
	data = elf_builder_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, NULL,
				   256)
		       ->sh_offset;
	add_words(&b, "_thread_db_sizeof_pthread", data, 0, (const uint32_t[3]){2304});
	add_words(&b, "_thread_db_pthread_specific", data, 16, (const uint32_t[3]){2048, 1, 1296});
	add_words(&b, "_thread_db_sizeof_pthread_key_data", data, 32, (const uint32_t[3]){16});
	add_words(&b, "_thread_db_pthread_key_data_data", data, 48, (const uint32_t[3]){64, 1, 8});
	add_words(&b, "_thread_db_pthread_dtvp", data, 64, (const uint32_t[3]){64, 1, 8});
	add_words(&b, "_thread_db_dtv_dtv", data, 80, (const uint32_t[3]){128, 134217727, 0});
	add_words(&b, "_thread_db_dtv_t_pointer_val", data, 96, (const uint32_t[3]){64, 1, 0});
	elf_builder_symbol_table(&b, SHT_SYMTAB);
	elf_builder_symbol(&b, "pthread_getspecific", STB_GLOBAL, STT_FUNC, data + 128, 64);
	elf_builder_symbol_table(&b, SHT_DYNSYM);
	elf_builder_segment(&b, PT_LOAD, PF_R | PF_X, 0, 0, b.len);
	elf_builder_finish(&b);
	byte_source_from_memory(&src, b.data, b.len);
	assert_int_equal(elf_layout_parse(&layout, &src), 0);
	assert_int_equal(libc_threads_find(&layout, &src, &libc), 0);
	assert_int_equal(libc.keys.blocks, 1296);
	assert_int_equal(libc.keys.block_shift, 5);
	assert_int_equal(libc.keys.stride, 16);
	assert_int_equal(libc.keys.value, 8);
	assert_int_equal(libc.modules.blocks, 8);
	assert_int_equal(libc.modules.stride, 16);
}
