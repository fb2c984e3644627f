#include "common/system/code_pages.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

static void *pointer_to(uintptr_t address)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	return (void *)address;
}

/* The dynamic linker has changed its code: what the file has instead would be wrong. */
static bool has_text_relocations(const struct dl_phdr_info *info, const ElfW(Phdr) * dynamic)
{
	const ElfW(Dyn) *d = pointer_to(info->dlpi_addr + dynamic->p_vaddr);

	for (; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_TEXTREL ||
		    (d->d_tag == DT_FLAGS && (d->d_un.d_val & DF_TEXTREL)))
			return true;
	}
	return false;
}

static bool is_unchanged(const struct dl_phdr_info *info)
{
	/* of no file */
	if (info->dlpi_addr == getauxval(AT_SYSINFO_EHDR))
		return false;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			return !has_text_relocations(info, &info->dlpi_phdr[i]);
	}
	return true;
}

static int release_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)size;
	(void)ctx;
	if (!is_unchanged(info))
		return 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = (info->dlpi_addr + p->p_vaddr) & ~(page - 1);
		uintptr_t end = info->dlpi_addr + p->p_vaddr + p->p_filesz;

		if (p->p_type == PT_LOAD && !(p->p_flags & PF_W))
			(void)madvise(pointer_to(start), end - start, MADV_DONTNEED);
	}
	return 0;
}

void code_pages_release(void)
{
	(void)dl_iterate_phdr(release_object, NULL);
}
