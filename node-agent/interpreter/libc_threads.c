#include "node-agent/interpreter/libc_threads.h"

#include <elf.h>
#include <errno.h>

#include "common/elf/elf_exports.h"

enum name {
	SIZEOF_PTHREAD,
	PTHREAD_SPECIFIC,
	SIZEOF_KEY_DATA,
	KEY_DATA,
	PTHREAD_DTVP,
	DTV_ENTRIES,
	DTV_POINTER,
	GETSPECIFIC,
	NAMES,
};

static const char *const names[NAMES] = {
	[SIZEOF_PTHREAD] = "_thread_db_sizeof_pthread",
	[PTHREAD_SPECIFIC] = "_thread_db_pthread_specific",
	[SIZEOF_KEY_DATA] = "_thread_db_sizeof_pthread_key_data",
	[KEY_DATA] = "_thread_db_pthread_key_data_data",
	[PTHREAD_DTVP] = "_thread_db_pthread_dtvp",
	[DTV_ENTRIES] = "_thread_db_dtv_dtv",
	[DTV_POINTER] = "_thread_db_dtv_t_pointer_val",
	[GETSPECIFIC] = "pthread_getspecific",
};

/* Of libthread_db: the size of an element in bits, how many there are, and where. */
struct description {
	uint32_t bits;
	uint32_t n;
	uint32_t offset;
};

#define PTHREAD_MAX_BYTES 65536u /* struct pthread has some 2300 */
#define GLIBC_BLOCK_SHIFT 5      /* PTHREAD_KEY_2NDLEVEL_SIZE; has been 32 since there are blocks */
#define NO_BLOCKS 31

static int read_at(const struct elf_layout *layout, const struct byte_source *src, uint64_t vaddr,
		   void *to, size_t n)
{
	uint64_t offset;
	int r = vaddr ? elf_layout_offset(layout, vaddr, &offset) : -ENOENT;

	return r == 0 ? byte_source_read(src, offset, to, n) : r;
}

/* ---- glibc ---- */

static bool is_sane(uint32_t pthread_bytes, const struct description *d)
{
	return d->offset < pthread_bytes && d->offset % 8 == 0;
}

static int find_glibc(const struct elf_layout *layout, const struct byte_source *src,
		      const uint64_t vaddrs[NAMES], struct libc_threads *ret)
{
	struct description specific = {0}, key = {0}, dtvp = {0}, entries = {0}, pointer = {0};
	uint32_t pthread_bytes = 0, entry_bytes = 0;
	int32_t base;
	int r = read_at(layout, src, vaddrs[SIZEOF_PTHREAD], &pthread_bytes, sizeof(pthread_bytes));

	if (r == 0)
		r = read_at(layout, src, vaddrs[PTHREAD_SPECIFIC], &specific, sizeof(specific));
	if (r == 0)
		r = read_at(layout, src, vaddrs[SIZEOF_KEY_DATA], &entry_bytes,
			    sizeof(entry_bytes));
	if (r == 0)
		r = read_at(layout, src, vaddrs[KEY_DATA], &key, sizeof(key));
	if (r == 0)
		r = read_at(layout, src, vaddrs[PTHREAD_DTVP], &dtvp, sizeof(dtvp));
	if (r == 0)
		r = read_at(layout, src, vaddrs[DTV_ENTRIES], &entries, sizeof(entries));
	if (r == 0)
		r = read_at(layout, src, vaddrs[DTV_POINTER], &pointer, sizeof(pointer));
	if (r < 0)
		return r;
	if (pthread_bytes > PTHREAD_MAX_BYTES || !is_sane(pthread_bytes, &specific) ||
	    entry_bytes > 64 || key.offset >= entry_bytes || entries.bits > 512 ||
	    pointer.offset >= 64)
		return -ENOENT;
	/* on x86-64 the thread pointer is that of the struct, elsewhere that of its end */
	base = layout->machine == EM_X86_64 ? 0 : -(int32_t)pthread_bytes;
	ret->keys = (struct chain_table){
		.blocks = base + (int32_t)specific.offset,
		.block_shift = GLIBC_BLOCK_SHIFT,
		.stride = (uint8_t)entry_bytes,
		.value = (uint8_t)key.offset,
	};
	/* dtvp is the word that the thread pointer leads to on arm64, which has a header there */
	ret->modules = (struct chain_table){
		.blocks = layout->machine == EM_X86_64 ? (int32_t)dtvp.offset : 0,
		.block_shift = NO_BLOCKS,
		.stride = (uint8_t)(entries.bits / 8),
		.value = (uint8_t)pointer.offset,
	};
	return 0;
}

/* ---- musl ---- */

#define CODE_BYTES 64u

/* mov disp(%rax),%rax: the last one before the value itself is loaded. */
static bool decode_x86(const uint8_t *code, int32_t *ret)
{
	for (size_t i = 0; i + 7 <= CODE_BYTES; i++) {
		if (code[i] != 0x48 || code[i + 1] != 0x8b)
			continue;
		if (code[i + 2] == 0x80) {
			memcpy(ret, code + i + 3, sizeof(*ret));
			return true;
		}
		if (code[i + 2] == 0x40) {
			*ret = (int32_t)code[i + 3] - (code[i + 3] & 0x80) * 2;
			return true;
		}
	}
	return false;
}

/* mrs xN, tpidr_el0, and then ldur xM, [xN, #offset]. */
static bool decode_arm64(const uint8_t *code, int32_t *ret)
{
	uint32_t thread = 32;

	for (size_t i = 0; i + 4 <= CODE_BYTES; i += 4) {
		uint32_t word;

		memcpy(&word, code + i, sizeof(word));
		if ((word & 0xffffffe0) == 0xd53bd040)
			thread = word & 31;
		if ((word & 0xffe00c00) != 0xf8400000 || (word >> 5 & 31) != thread)
			continue;
		*ret = (int32_t)(word << 11) >> 23;
		return true;
	}
	return false;
}

static int find_musl(const struct elf_layout *layout, const struct byte_source *src, uint64_t vaddr,
		     struct libc_threads *ret)
{
	bool x86 = layout->machine == EM_X86_64;
	uint8_t code[CODE_BYTES] = {0};
	int32_t blocks;
	int r = read_at(layout, src, vaddr, code, sizeof(code));

	if (r < 0)
		return r;
	if (x86 ? !decode_x86(code, &blocks) : !decode_arm64(code, &blocks))
		return -ENOENT;
	ret->keys = (struct chain_table){
		.blocks = blocks, .block_shift = NO_BLOCKS, .stride = 8, .value = 0};
	ret->modules = (struct chain_table){
		.blocks = x86 ? 8 : -8, .block_shift = NO_BLOCKS, .stride = 8, .value = 0};
	return 0;
}

int libc_threads_find(const struct elf_layout *layout, const struct byte_source *src,
		      struct libc_threads *ret)
{
	uint64_t vaddrs[NAMES], local[NAMES] = {0};
	int r = elf_exports_find(layout, src, names, vaddrs, NAMES);

	*ret = (struct libc_threads){0};
	/* before 2.34 that of its threads has both, and the first of them is local */
	if (r > 0 && vaddrs[GETSPECIFIC] && !vaddrs[SIZEOF_PTHREAD])
		r = elf_names_find(layout, src, names, local, NAMES);
	if (r < 0)
		return r;
	if (local[SIZEOF_PTHREAD])
		return find_glibc(layout, src, local, ret);
	if (vaddrs[SIZEOF_PTHREAD])
		return find_glibc(layout, src, vaddrs, ret);
	if (vaddrs[GETSPECIFIC])
		return find_musl(layout, src, vaddrs[GETSPECIFIC], ret);
	return -ENOENT;
}
