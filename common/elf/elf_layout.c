/*
 * Everything that is read from ELF files begins here, so this is where hostile files meet
 * their limits: sections beyond the end of the file, and segments and sections whose sums
 * overflow, are left out, so that later code can add their fields without checking again.
 *
 * Sections are a convenience of linkers that running a program does not need. They may be
 * missing, or their headers be damaged; the file then simply has none, and lookups do with
 * segments. The build id is taken from the note segments, which stripping keeps.
 */
#include "common/elf/elf_layout.h"

#include <elf.h>
#include <errno.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define PAGE_BYTES UINT64_C(4096)
#define HEADERS_AT_ONCE 32u
/* Build ids have 8 to 83 bytes and come first; the rest of a note segment is not read. */
#define NOTES_READ_BYTES 2048u
#define SECTION_NAME_BYTES 32u
#define NAMES_BYTES 1024u /* of all sections; mostly they have some 300 */

static int read_ehdr(Elf64_Ehdr *eh, const struct byte_source *src)
{
	int r;

	r = byte_source_read(src, 0, eh, sizeof(*eh));
	if (r == -ENODATA)
		return -ENOEXEC;
	if (r < 0)
		return r;
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 || eh->e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh->e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	if (eh->e_type != ET_EXEC && eh->e_type != ET_DYN)
		return -ENOEXEC;
	return 0;
}

/* Whether a note is a build id, of GNU or of Go. */
static bool is_build_id(const Elf64_Nhdr *nh, const uint8_t *name, bool *is_go)
{
	if (nh->n_namesz != 4 || nh->n_descsz == 0)
		return false;
	*is_go = memcmp(name, "Go\0", 4) == 0 && nh->n_type == 4;
	return *is_go || (memcmp(name, "GNU", 4) == 0 && nh->n_type == NT_GNU_BUILD_ID);
}

static void parse_notes(struct elf_layout *l, const uint8_t *notes, size_t len)
{
	size_t pos = 0;

	while (len - pos >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr nh;
		uint64_t name, desc;
		bool is_go = false;

		memcpy(&nh, notes + pos, sizeof(nh));
		name = pos + sizeof(nh);
		desc = name + (((uint64_t)nh.n_namesz + 3) & ~UINT64_C(3));
		if (desc > len || nh.n_descsz > len - desc)
			return;
		if (is_build_id(&nh, notes + name, &is_go)) {
			XXH128_hash_t h = XXH3_128bits(notes + desc, nh.n_descsz);

			l->is_go |= is_go;
			if (!is_go && nh.n_descsz <= sizeof(l->gnu_build_id)) {
				memcpy(l->gnu_build_id, notes + desc, nh.n_descsz);
				l->gnu_build_id_bytes = (uint8_t)nh.n_descsz;
			}
			if (!is_go || !l->has_build_id) { /* GNU's is preferred */
				l->build_id[0] = h.low64;
				l->build_id[1] = h.high64;
				l->has_build_id = true;
			}
		}
		pos = (size_t)(desc + (((uint64_t)nh.n_descsz + 3) & ~UINT64_C(3)));
		if (pos > len)
			return;
	}
}

static int read_notes(struct elf_layout *l, const struct byte_source *src, uint64_t offset,
		      uint64_t size_bytes)
{
	uint8_t notes[NOTES_READ_BYTES];
	size_t len = size_bytes < sizeof(notes) ? (size_t)size_bytes : sizeof(notes);
	int r;

	if (offset > src->size_bytes || len > src->size_bytes - offset)
		return 0;
	r = byte_source_read(src, offset, notes, len);
	if (r < 0)
		return r;
	parse_notes(l, notes, len);
	return 0;
}

/* What is wanted of a file. */
enum parse_mode {
	PARSE_FILE,
	PARSE_DEBUG, /* may have no segments */
	PARSE_CODE,  /* code may have no bytes */
};

/* Returns whether there is room for one more: code takes the place of data. */
static bool make_room(struct elf_layout *l, bool executable)
{
	uint32_t i = l->n_segments;

	if (i < ELF_LAYOUT_SEGMENTS_MAX)
		return true;
	l->has_more_segments = true;
	while (executable && i > 0) {
		if (l->segments[--i].executable)
			continue;
		l->n_segments--;
		memmove(&l->segments[i], &l->segments[i + 1],
			(l->n_segments - i) * sizeof(l->segments[0]));
		return true;
	}
	l->lacks_code |= executable;
	return false;
}

static void add_segment(struct elf_layout *l, const Elf64_Phdr *ph)
{
	uint64_t end, file_end;

	if (ph->p_filesz == 0)
		return;
	if (__builtin_add_overflow(ph->p_vaddr, ph->p_filesz, &end) ||
	    __builtin_add_overflow(ph->p_offset, ph->p_filesz, &file_end))
		return;
	if (!make_room(l, ph->p_flags & PF_X))
		return;
	l->segments[l->n_segments++] = (struct elf_segment){
		.vaddr = ph->p_vaddr,
		.offset = ph->p_offset,
		.file_bytes = ph->p_filesz,
		.memory_bytes = ph->p_memsz > ph->p_filesz ? ph->p_memsz : ph->p_filesz,
		.executable = ph->p_flags & PF_X,
		.writable = ph->p_flags & PF_W,
	};
	if (!(ph->p_flags & PF_X))
		return;
	if (l->text_end == 0 || ph->p_vaddr < l->text_start)
		l->text_start = ph->p_vaddr;
	if (end > l->text_end)
		l->text_end = end;
}

static int read_segment(struct elf_layout *l, const struct byte_source *src, const Elf64_Phdr *ph,
			enum parse_mode mode)
{
	Elf64_Phdr loaded = *ph;

	switch (ph->p_type) {
	case PT_LOAD:
		if (mode == PARSE_CODE && ph->p_flags & PF_X && ph->p_memsz > ph->p_filesz)
			loaded.p_filesz = ph->p_memsz;
		add_segment(l, &loaded);
		break;
	case PT_NOTE:
		return read_notes(l, src, ph->p_offset, ph->p_filesz);
	case PT_GNU_EH_FRAME:
		l->eh_frame_hdr = ph->p_vaddr;
		l->eh_frame_hdr_bytes = ph->p_filesz;
		break;
	case PT_INTERP:
		l->has_interpreter = true;
		break;
	case PT_GNU_RELRO:
		if (!__builtin_add_overflow(ph->p_vaddr, ph->p_memsz, &l->relro_end))
			l->relro_start = ph->p_vaddr;
		break;
	default:
		break;
	}
	return 0;
}

static int read_segments(struct elf_layout *l, const struct byte_source *src, const Elf64_Ehdr *eh,
			 enum parse_mode mode)
{
	Elf64_Phdr ph[HEADERS_AT_ONCE];

	if (eh->e_phnum > 0 && eh->e_phentsize != sizeof(*ph))
		return -EBADMSG;
	for (uint32_t i = 0; i < eh->e_phnum; i += HEADERS_AT_ONCE) {
		uint32_t n = eh->e_phnum - i < HEADERS_AT_ONCE ? eh->e_phnum - i : HEADERS_AT_ONCE;
		uint64_t at;
		int r;

		if (__builtin_add_overflow(eh->e_phoff, (uint64_t)i * sizeof(*ph), &at))
			return -EBADMSG;
		r = byte_source_read(src, at, ph, n * sizeof(*ph));
		if (r < 0)
			return r == -ENODATA ? -EBADMSG : r;
		for (uint32_t j = 0; r == 0 && j < n; j++)
			r = read_segment(l, src, &ph[j], mode);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Those up to the build info of Go are a part of the loaded program, the others are not. */
static const struct {
	const char *name;
	enum elf_section_kind kind;
} named_sections[] = {
	{".text", ELF_SECTION_TEXT},
	{".rodata", ELF_SECTION_RODATA},
	{".data.rel.ro", ELF_SECTION_DATA_REL_RO},
	{".rela.plt", ELF_SECTION_RELA_PLT},
	{".rela.dyn", ELF_SECTION_RELA_DYN},
	{".gopclntab", ELF_SECTION_GOPCLNTAB},
	{".data.rel.ro.gopclntab", ELF_SECTION_GOPCLNTAB},
	{".go.module", ELF_SECTION_GO_MODULE},
	{".data.rel.ro.go.module", ELF_SECTION_GO_MODULE},
	{".eh_frame", ELF_SECTION_EH_FRAME},
	{".plt", ELF_SECTION_PLT},
	{".AsyncioDebug", ELF_SECTION_ASYNCIO},
	{".go.buildinfo", ELF_SECTION_GO_BUILDINFO},
	{".gnu_debuglink", ELF_SECTION_DEBUG_LINK},
	{".gnu_debugdata", ELF_SECTION_DEBUG_DATA},
	{".debug_info", ELF_SECTION_DEBUG_INFO},
	{".zdebug_info", ELF_SECTION_DEBUG_INFO}, /* as binutils compressed it before 2.26 */
	{".debug_frame", ELF_SECTION_DEBUG_FRAME},
};

/* The section headers of a file, while they are read. */
struct section_table {
	enum parse_mode mode;
	const struct byte_source *src;
	uint64_t offset;
	uint32_t n;
	struct byte_source names; /* text, or src if there are more … */
	uint64_t names_offset;    /* … where they lie in it */
	uint64_t names_end;
	char text[NAMES_BYTES];
};

static bool within_file(const struct byte_source *src, const Elf64_Shdr *sh)
{
	return sh->sh_offset <= src->size_bytes && sh->sh_size <= src->size_bytes - sh->sh_offset;
}

static struct elf_section section_of(const Elf64_Shdr *sh, uint32_t index)
{
	return (struct elf_section){
		.vaddr = sh->sh_addr,
		.offset = sh->sh_offset,
		.size_bytes = sh->sh_size,
		.index = index,
		.compressed = sh->sh_flags & SHF_COMPRESSED,
	};
}

static int read_shdr(const struct section_table *t, uint32_t index, Elf64_Shdr *ret)
{
	if (index >= t->n)
		return -EBADMSG;
	return byte_source_read(t->src, t->offset + (uint64_t)index * sizeof(*ret), ret,
				sizeof(*ret));
}

static void add_symbols(struct elf_layout *l, const struct section_table *t, const Elf64_Shdr *sh,
			uint32_t index)
{
	enum elf_section_kind kind =
		sh->sh_type == SHT_SYMTAB ? ELF_SECTION_SYMTAB : ELF_SECTION_DYNSYM;
	Elf64_Shdr strings;

	if (sh->sh_entsize != sizeof(Elf64_Sym) || read_shdr(t, sh->sh_link, &strings) < 0)
		return;
	if (strings.sh_type != SHT_STRTAB || !within_file(t->src, &strings))
		return;
	l->sections[kind] = section_of(sh, index);
	l->sections[kind + 1] = section_of(&strings, sh->sh_link);
}

static void add_named(struct elf_layout *l, const struct section_table *t, const Elf64_Shdr *sh,
		      uint32_t index)
{
	bool loaded = sh->sh_flags & SHF_ALLOC;
	char name[SECTION_NAME_BYTES];

	if (byte_source_read_string(&t->names, t->names_offset + sh->sh_name, t->names_end, name,
				    sizeof(name)) < 0)
		return;
	/* the first two can be left out or removed; .noptrdata is there however a file is linked */
	if (loaded && (strcmp(name, ".go.buildinfo") == 0 ||
		       strcmp(name, ".note.go.buildid") == 0 || strcmp(name, ".noptrdata") == 0))
		l->is_go = true;
	for (size_t i = 0; i < ARRAY_SIZE(named_sections); i++) {
		if (loaded == (named_sections[i].kind <= ELF_SECTION_GO_BUILDINFO) &&
		    strcmp(name, named_sections[i].name) == 0)
			l->sections[named_sections[i].kind] = section_of(sh, index);
	}
}

static void add_section(struct elf_layout *l, const struct section_table *t, const Elf64_Shdr *sh,
			uint32_t index)
{
	uint64_t end;

	if (t->mode == PARSE_CODE && sh->sh_type == SHT_NOBITS && sh->sh_flags & SHF_EXECINSTR &&
	    !__builtin_add_overflow(sh->sh_addr, sh->sh_size, &end) &&
	    l->n_texts < ELF_LAYOUT_TEXTS_MAX)
		l->texts[l->n_texts++] = section_of(sh, index);
	/* sections of a separate debug file have addresses but no bytes */
	if (sh->sh_type == SHT_NULL || sh->sh_type == SHT_NOBITS || sh->sh_size == 0 ||
	    !within_file(t->src, sh) || __builtin_add_overflow(sh->sh_addr, sh->sh_size, &end))
		return;
	if (sh->sh_type == SHT_SYMTAB || sh->sh_type == SHT_DYNSYM) {
		add_symbols(l, t, sh, index);
		return;
	}
	if (sh->sh_flags & SHF_ALLOC && sh->sh_flags & SHF_EXECINSTR &&
	    l->n_texts < ELF_LAYOUT_TEXTS_MAX)
		l->texts[l->n_texts++] = section_of(sh, index);
	add_named(l, t, sh, index);
}

/* A read of a slow file costs as much as the whole parsing, so there is one for all names. */
static void set_names(struct section_table *t, const Elf64_Shdr *names)
{
	t->names = *t->src;
	t->names_offset = names->sh_offset;
	t->names_end = names->sh_offset + names->sh_size;
	if (names->sh_size > sizeof(t->text) ||
	    byte_source_read(t->src, names->sh_offset, t->text, (size_t)names->sh_size) < 0)
		return;
	byte_source_from_memory(&t->names, t->text, (size_t)names->sh_size);
	t->names_offset = 0;
	t->names_end = names->sh_size;
}

/* Numbers that do not fit into the header, of sections and of their names, are in section 0. */
static int open_sections(struct section_table *t, const struct byte_source *src,
			 const Elf64_Ehdr *eh)
{
	Elf64_Shdr first, names;
	uint32_t names_index = eh->e_shstrndx;
	uint64_t n = eh->e_shnum;
	int r;

	t->src = src;
	t->offset = eh->e_shoff;
	t->n = 1;
	if (eh->e_shentsize != sizeof(Elf64_Shdr) || eh->e_shoff > src->size_bytes)
		return -EBADMSG;
	r = read_shdr(t, 0, &first);
	if (r < 0)
		return r;
	if (n == 0)
		n = first.sh_size;
	if (names_index == SHN_XINDEX)
		names_index = first.sh_link;
	if (n > ELF_LAYOUT_SECTIONS_MAX)
		return -EBADMSG;
	t->n = (uint32_t)n;
	r = read_shdr(t, names_index, &names);
	if (r < 0)
		return r;
	if (!within_file(src, &names))
		return -EBADMSG;
	set_names(t, &names);
	return 0;
}

static int read_sections(struct elf_layout *l, const struct byte_source *src, const Elf64_Ehdr *eh,
			 enum parse_mode mode)
{
	struct section_table t;
	Elf64_Shdr sh[HEADERS_AT_ONCE];
	int r;

	if (eh->e_shoff == 0)
		return 0;
	r = open_sections(&t, src, eh);
	if (r < 0)
		return r;
	t.mode = mode;
	for (uint32_t i = 0; i < t.n; i += HEADERS_AT_ONCE) {
		uint32_t n = t.n - i < HEADERS_AT_ONCE ? t.n - i : HEADERS_AT_ONCE;

		r = byte_source_read(src, t.offset + (uint64_t)i * sizeof(*sh), sh,
				     n * sizeof(*sh));
		if (r < 0)
			return r;
		for (uint32_t j = 0; j < n; j++)
			add_section(l, &t, &sh[j], i + j);
	}
	return 0;
}

static int parse(struct elf_layout *ret, const struct byte_source *src, enum parse_mode mode)
{
	Elf64_Ehdr eh;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = read_ehdr(&eh, src);
	if (r < 0)
		return r;
	ret->machine = eh.e_machine;
	ret->entry = eh.e_entry;
	ret->relocatable = eh.e_type == ET_DYN;
	r = read_segments(ret, src, &eh, mode);
	if (r < 0)
		return r;
	if (mode == PARSE_FILE && ret->n_segments == 0)
		return -EBADMSG;
	r = read_sections(ret, src, &eh, mode);
	/* tools that remove the section headers often leave their offset in the header */
	return r == -ENODATA || r == -EBADMSG ? 0 : r;
}

int elf_layout_parse(struct elf_layout *ret, const struct byte_source *src)
{
	return parse(ret, src, PARSE_FILE);
}

int elf_layout_parse_debug(struct elf_layout *ret, const struct byte_source *src)
{
	return parse(ret, src, PARSE_DEBUG);
}

int elf_layout_parse_code(struct elf_layout *ret, const struct byte_source *src)
{
	return parse(ret, src, PARSE_CODE);
}

void elf_layout_build_id_text(const struct elf_layout *layout,
			      char ret[static 2 * ELF_BUILD_ID_MAX_BYTES + 1])
{
	ret[0] = '\0';
	for (size_t i = 0; i < layout->gnu_build_id_bytes; i++)
		snprintf(ret + 2 * i, 3, "%02x", layout->gnu_build_id[i]);
}

int elf_layout_address(const struct elf_layout *layout, uint64_t file_offset, uint64_t *ret_vaddr)
{
	const struct elf_segment *best = NULL;
	int best_rank = 0;

	for (uint32_t i = 0; i < layout->n_segments; i++) {
		const struct elf_segment *s = &layout->segments[i];
		uint64_t first_page = s->offset & ~(PAGE_BYTES - 1);
		uint64_t end = s->offset + s->file_bytes;
		uint64_t padding = -end & (PAGE_BYTES - 1);
		int rank;

		if (file_offset < first_page ||
		    file_offset - first_page >= end - first_page + padding)
			continue;
		rank = 1 + 2 * s->executable;
		rank += file_offset >= s->offset && file_offset < end;
		if (rank > best_rank) {
			best = s;
			best_rank = rank;
		}
	}
	if (!best)
		return -ENOENT;
	*ret_vaddr = best->vaddr + (file_offset - best->offset);
	return 0;
}

int elf_layout_offset(const struct elf_layout *layout, uint64_t vaddr, uint64_t *ret_file_offset)
{
	for (uint32_t i = 0; i < layout->n_segments; i++) {
		const struct elf_segment *s = &layout->segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->file_bytes) {
			*ret_file_offset = s->offset + (vaddr - s->vaddr);
			return 0;
		}
	}
	return -ENOENT;
}

bool elf_layout_is_mapped(const struct elf_layout *layout, uint64_t vaddr, size_t len,
			  uint64_t page_bytes)
{
	uint64_t first = vaddr / page_bytes, last = (vaddr + (len > 0 ? len - 1 : 0)) / page_bytes;

	if (layout->has_more_segments)
		return true;
	for (uint32_t i = 0; i < layout->n_segments; i++) {
		const struct elf_segment *s = &layout->segments[i];

		if (last >= s->vaddr / page_bytes &&
		    first <= (s->vaddr + s->file_bytes - 1) / page_bytes)
			return true;
	}
	return false;
}

bool elf_layout_is_text(const struct elf_layout *layout, uint64_t vaddr)
{
	for (uint32_t i = 0; i < layout->n_segments; i++) {
		const struct elf_segment *s = &layout->segments[i];

		if (s->executable && vaddr >= s->vaddr && vaddr - s->vaddr < s->file_bytes)
			return true;
	}
	return false;
}
