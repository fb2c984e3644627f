/*
 * libdw opens the other half of a split unit by its path, which the process that this runs in
 * cannot, and reads packages from release 0.191 on only. So it gets a file that exists in memory
 * only, with one unit that is whole: its sections are parts of the package's and of the program's.
 * libelf lets us make it like a file that is to be written. A section's data is where we say, and
 * nothing is copied but the unit itself, its abbreviations and its addresses.
 *
 * The unit's own entry is replaced. It has nothing that we need, and lacks the address that ranges
 * of the unit are relative to, which the program has. So its abbreviation, which is the first one,
 * becomes another, and the address is put behind those of the unit.
 */
#include "node-agent/lines/split_units.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>

#include "node-agent/lines/dwp_index.h"

#define UNIT_MAX_BYTES ((size_t)24 * 1024 * 1024)
#define ADDRESSES_MAX_BYTES ((size_t)8 * 1024 * 1024)
#define ADDRESS_BYTES 8u
#define ADDRESS_HEADER_BYTES 8u /* of DWARF 5, before the base */
#define TYPE_AT 6u              /* in the head of a unit of DWARF 5 */
#define NUMBER_BYTES 3u         /* of an address's number, in LEB128 as long as we want it */
#define FILLER_MAX 64u
/* A number, a tag, a flag, the address, what fills, and the end. */
#define OWN_ABBREV_MAX_BYTES (3u + 2u + 1u + 4u + 4u * FILLER_MAX + 2u)
#define NAMES_MAX_BYTES 128u

struct bytes {
	uint8_t *data; /* NULL: there are none */
	size_t len;
};

/* One unit as a file of its own. */
struct image {
	Elf *elf;
	Dwarf *dwarf;
	uint8_t *info;
	uint8_t *abbrev;
	uint8_t *addresses;
	char names[NAMES_MAX_BYTES];
	size_t names_len;
};

struct split_units {
	int fd;
	Elf *elf;
	struct bytes index, texts;
	struct bytes sections[DWP_SECTIONS];
	uint64_t id; /* of the unit in image */
	struct image image;
};

/* ---- sections ---- */

static struct bytes data_of(Elf_Scn *scn)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	struct bytes none = {.data = NULL};
	GElf_Shdr head;

	if (!data || !data->d_buf || !gelf_getshdr(scn, &head) || (head.sh_flags & SHF_COMPRESSED))
		return none;
	return (struct bytes){data->d_buf, data->d_size};
}

static struct bytes find_section(Elf *elf, const char *name)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr head;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return (struct bytes){.data = NULL};
	while ((scn = elf_nextscn(elf, scn))) {
		const char *own =
			gelf_getshdr(scn, &head) ? elf_strptr(elf, names, head.sh_name) : NULL;

		if (own && strcmp(own, name) == 0)
			return data_of(scn);
	}
	return (struct bytes){.data = NULL};
}

/* A part of a section; one that leads beyond it is none. */
static struct bytes part_of(struct bytes all, uint64_t offset, uint64_t len)
{
	if (!all.data || offset > all.len || len > all.len - offset)
		return (struct bytes){.data = NULL};
	return (struct bytes){all.data + offset, (size_t)len};
}

static struct bytes rest_of(struct bytes all, uint64_t offset)
{
	return part_of(all, offset, offset < all.len ? all.len - offset : 0);
}

int split_units_new(struct split_units **ret, int fd)
{
	static const char *const names[DWP_SECTIONS] = {
		[DWP_INFO] = ".debug_info.dwo",
		[DWP_ABBREV] = ".debug_abbrev.dwo",
		[DWP_STR_OFFSETS] = ".debug_str_offsets.dwo",
		[DWP_RNGLISTS] = ".debug_rnglists.dwo",
	};
	struct split_units *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->fd = fd;
	s->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (s->elf) {
		s->index = find_section(s->elf, ".debug_cu_index");
		s->texts = find_section(s->elf, ".debug_str.dwo");
		for (size_t i = 0; i < DWP_SECTIONS; i++)
			s->sections[i] = find_section(s->elf, names[i]);
	}
	if (!s->index.data) {
		split_units_free(s);
		return -ENOENT;
	}
	*ret = s;
	return 0;
}

static void image_fini(struct image *i)
{
	dwarf_end(i->dwarf);
	elf_end(i->elf);
	free(i->info);
	free(i->abbrev);
	free(i->addresses);
	*i = (struct image){.elf = NULL};
}

void split_units_free(struct split_units *s)
{
	if (!s)
		return;
	image_fini(&s->image);
	elf_end(s->elf);
	free(s);
}

/* ---- what the program has of a unit ---- */

struct skeleton {
	uint64_t id;
	unsigned version;
	uint64_t low; /* that ranges are relative to */
	struct bytes addresses;
	struct bytes ranges; /* of DWARF 4 */
};

static uint64_t offset_of(Dwarf_Die *die, unsigned name, unsigned gnu_name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if ((dwarf_attr(die, name, &attribute) || dwarf_attr(die, gnu_name, &attribute)) &&
	    dwarf_formudata(&attribute, &value) == 0)
		return value;
	return 0;
}

/* Up to the end of those of the unit, if that is known. */
static struct bytes addresses_of(unsigned version, struct bytes all, uint64_t base)
{
	const struct bytes none = {.data = NULL};
	uint32_t len = 0;

	if (version < 5 || base < ADDRESS_HEADER_BYTES || base > all.len)
		return rest_of(all, base);
	/* the length is of what follows it: four bytes of the head, and the addresses */
	memcpy(&len, all.data + base - ADDRESS_HEADER_BYTES, sizeof(len));
	return len < 4 ? none : part_of(all, base, len - 4);
}

static bool read_skeleton(Dwarf_Die *die, struct skeleton *ret)
{
	Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(die->cu));
	Dwarf_Half version;
	uint64_t base;
	uint8_t type;

	*ret = (struct skeleton){.id = 0};
	if (dwarf_cu_info(die->cu, &version, &type, NULL, NULL, &ret->id, NULL, NULL) != 0 ||
	    type != DW_UT_skeleton)
		return false;
	ret->version = version;
	if (dwarf_lowpc(die, &ret->low) != 0)
		ret->low = 0;
	base = offset_of(die, DW_AT_addr_base, DW_AT_GNU_addr_base);
	ret->addresses = addresses_of(version, find_section(elf, ".debug_addr"), base);
	if (version < 5) {
		base = offset_of(die, DW_AT_GNU_ranges_base, DW_AT_GNU_ranges_base);
		ret->ranges = rest_of(find_section(elf, ".debug_ranges"), base);
	}
	return ret->addresses.len <= ADDRESSES_MAX_BYTES;
}

/* ---- the file in memory ---- */

static bool add_section(struct image *i, const char *name, unsigned type, struct bytes bytes)
{
	size_t len = strlen(name) + 1;
	Elf_Scn *scn = elf_newscn(i->elf);
	Elf_Data *data = scn ? elf_newdata(scn) : NULL;
	GElf_Shdr head;

	if (!data || !gelf_getshdr(scn, &head) || len > sizeof(i->names) - i->names_len)
		return false;
	memcpy(i->names + i->names_len, name, len);
	head.sh_name = (Elf64_Word)i->names_len;
	head.sh_type = type;
	head.sh_size = bytes.len;
	i->names_len += len;
	data->d_buf = bytes.data;
	data->d_size = bytes.len;
	data->d_type = ELF_T_BYTE;
	data->d_align = 1;
	return gelf_update_shdr(scn, &head) != 0;
}

/* The names of all sections, which are added before. */
static bool add_names(struct image *i, Elf64_Ehdr *head)
{
	size_t n;

	if (elf_getshdrnum(i->elf, &n) < 0)
		return false;
	head->e_shstrndx = (Elf64_Half)n;
	/* its own name is in it */
	return add_section(i, ".shstrtab", SHT_STRTAB,
			   (struct bytes){(uint8_t *)i->names, sizeof(i->names)});
}

static bool add_sections(struct image *i, Elf64_Ehdr *head, const struct split_units *s,
			 const struct skeleton *k, const struct bytes unit[static DWP_SECTIONS],
			 size_t abbrev_bytes)
{
	const struct {
		const char *name;
		struct bytes bytes;
	} sections[] = {
		{".debug_info", {i->info, unit[DWP_INFO].len}},
		{".debug_abbrev", {i->abbrev, abbrev_bytes}},
		{".debug_str", s->texts},
		{".debug_str_offsets", unit[DWP_STR_OFFSETS]},
		{".debug_addr", {i->addresses, k->addresses.len + ADDRESS_BYTES}},
		{".debug_rnglists", unit[DWP_RNGLISTS]},
		{".debug_ranges", k->ranges},
	};

	for (size_t n = 0; n < ARRAY_SIZE(sections); n++) {
		if (sections[n].bytes.data &&
		    !add_section(i, sections[n].name, SHT_PROGBITS, sections[n].bytes))
			return false;
	}
	return add_names(i, head);
}

/* Opens the file anew: libdw remembers what it has read. */
static bool open_image(struct split_units *s, const struct skeleton *k,
		       const struct bytes unit[static DWP_SECTIONS], size_t abbrev_bytes)
{
	struct image *i = &s->image;
	Elf64_Ehdr *head;

	dwarf_end(TAKE_PTR(i->dwarf));
	elf_end(TAKE_PTR(i->elf));
	i->elf = elf_begin(s->fd, ELF_C_WRITE, NULL);
	head = i->elf ? elf64_newehdr(i->elf) : NULL;
	if (!head)
		return false;
	head->e_ident[EI_CLASS] = ELFCLASS64;
	head->e_ident[EI_DATA] = ELFDATA2LSB;
	head->e_type = ET_EXEC;
	head->e_machine = EM_X86_64; /* as good as any other */
	head->e_version = EV_CURRENT;
	memset(i->names, 0, sizeof(i->names));
	i->names_len = 1;
	if (!add_sections(i, head, s, k, unit, abbrev_bytes))
		return false;
	i->dwarf = dwarf_begin_elf(i->elf, DWARF_C_READ, NULL);
	return i->dwarf != NULL;
}

/* The entry of the unit. */
static bool first_entry(Dwarf *dwarf, Dwarf_Die *ret)
{
	Dwarf_Off next;
	size_t head_bytes;

	return dwarf && dwarf_nextcu(dwarf, 0, &next, &head_bytes, NULL, NULL, NULL) == 0 &&
	       dwarf_offdie(dwarf, head_bytes, ret);
}

/* ---- the unit's own entry ---- */

struct own_abbrev {
	uint8_t bytes[OWN_ABBREV_MAX_BYTES];
	size_t len;
};

static void put(struct own_abbrev *a, unsigned number)
{
	do {
		a->bytes[a->len++] = (uint8_t)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
		number >>= 7;
	} while (number > 0);
}

/* An address, and as many bytes that nobody reads. The number of the abbreviation is there. */
static void make_abbrev(struct own_abbrev *a, unsigned version, size_t filler)
{
	put(a, DW_TAG_compile_unit);
	put(a, DW_CHILDREN_yes);
	put(a, DW_AT_low_pc);
	put(a, version < 5 ? DW_FORM_GNU_addr_index : DW_FORM_addrx);
	for (size_t n = 0; n < filler; n++) {
		put(a, DW_AT_hi_user);
		put(a, DW_FORM_data1);
	}
	put(a, 0);
	put(a, 0);
}

/* How long a number in LEB128 is that is not long; 0: it is. */
static size_t number_bytes(const uint8_t *at, size_t room)
{
	for (size_t len = 1; len <= room && len <= 3; len++) {
		if (!(at[len - 1] & 0x80))
			return len;
	}
	return 0;
}

static uint8_t *copy(struct bytes from, size_t before, size_t behind)
{
	uint8_t *to = calloc(1, before + from.len + behind);

	if (to && from.len > 0)
		memcpy(to + before, from.data, from.len);
	return to;
}

/*
 * Replaces the entry of a unit, which has `len` bytes, if its abbreviation is the first one.
 * Returns the length of all abbreviations then, or 0 if it has not replaced it.
 */
static size_t replace_entry(struct image *i, const struct skeleton *k, struct bytes abbrev,
			    Dwarf_Die *entry, size_t len)
{
	uint8_t *at = i->info + dwarf_dieoffset(entry), *longer;
	size_t code = number_bytes(at, len), n = k->addresses.len / ADDRESS_BYTES, old = 0;
	struct own_abbrev own = {.len = code};

	if (k->low == 0 || code == 0 || code > abbrev.len || len < code + NUMBER_BYTES ||
	    len - code - NUMBER_BYTES > FILLER_MAX || memcmp(i->abbrev, at, code) != 0 ||
	    !dwarf_getabbrev(entry, 0, &old) || old > abbrev.len)
		return 0;
	memcpy(own.bytes, at, code);
	make_abbrev(&own, k->version, len - code - NUMBER_BYTES);
	longer = copy(rest_of(abbrev, old), own.len, 0);
	if (!longer)
		return 0;
	memcpy(longer, own.bytes, own.len);
	free(i->abbrev);
	i->abbrev = longer;
	memcpy(i->addresses + n * ADDRESS_BYTES, &k->low, ADDRESS_BYTES);
	at += code;
	memset(at, 0, len - code);
	at[0] = (uint8_t)(n & 0x7f) | 0x80;
	at[1] = (uint8_t)((n >> 7) & 0x7f) | 0x80;
	at[2] = (uint8_t)(n >> 14);
	return own.len + abbrev.len - old;
}

/* ---- a unit ---- */

static bool find_parts(const struct split_units *s, uint64_t id,
		       struct bytes ret[static DWP_SECTIONS])
{
	struct dwp_part parts[DWP_SECTIONS];

	if (dwp_index_find(s->index.data, s->index.len, id, parts) < 0)
		return false;
	for (size_t i = 0; i < DWP_SECTIONS; i++)
		ret[i] = part_of(s->sections[i], parts[i].offset, parts[i].bytes);
	return ret[DWP_INFO].len > TYPE_AT && ret[DWP_INFO].len <= UNIT_MAX_BYTES &&
	       ret[DWP_ABBREV].len > 0 && ret[DWP_ABBREV].len <= UNIT_MAX_BYTES;
}

static bool make_image(struct split_units *s, const struct skeleton *k)
{
	struct bytes unit[DWP_SECTIONS];
	struct image *i = &s->image;
	Dwarf_Die entry, child;
	size_t abbrev_bytes;

	image_fini(i);
	if (!find_parts(s, k->id, unit))
		return false;
	i->info = copy(unit[DWP_INFO], 0, 0);
	i->abbrev = copy(unit[DWP_ABBREV], 0, 0);
	i->addresses = copy(k->addresses, 0, ADDRESS_BYTES);
	if (!i->info || !i->abbrev || !i->addresses)
		return false;
	/* a unit that is whole has another head, but that of a skeleton has the same length */
	if (k->version >= 5 && i->info[TYPE_AT] == DW_UT_split_compile)
		i->info[TYPE_AT] = DW_UT_skeleton;
	if (!open_image(s, k, unit, unit[DWP_ABBREV].len) || !first_entry(i->dwarf, &entry) ||
	    dwarf_child(&entry, &child) != 0)
		return false;
	abbrev_bytes = replace_entry(i, k, unit[DWP_ABBREV], &entry,
				     dwarf_dieoffset(&child) - dwarf_dieoffset(&entry));
	return abbrev_bytes == 0 || open_image(s, k, unit, abbrev_bytes);
}

bool split_units_get(struct split_units *s, Dwarf_Die *skeleton, Dwarf_Die *ret)
{
	struct skeleton k;

	if (!read_skeleton(skeleton, &k))
		return false;
	if (k.id != s->id || !s->image.dwarf) {
		s->id = k.id;
		if (!make_image(s, &k))
			image_fini(&s->image);
	}
	return first_entry(s->image.dwarf, ret);
}
