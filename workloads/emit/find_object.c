// SPDX-License-Identifier: GPL-2.0-only
/* For programs with another C library than glibc: if the compiler was built for glibc 2.35 or
 * later, its libgcc calls glibc's _dl_find_object() to find the call frame information of an
 * address. */
#include <link.h>
#include <stdint.h>

#ifndef __GLIBC__

/* The result of _dl_find_object(), with glibc's layout. */
struct dl_find_object {
	unsigned long long flags;
	void *start, *end;
	struct link_map *map;
	void *eh_frame; /* PT_GNU_EH_FRAME */
	unsigned long long reserved[7];
};

struct object_search {
	uintptr_t address;
	struct dl_find_object *found;
};

int _dl_find_object(void *address, struct dl_find_object *found);

static int check_image(struct dl_phdr_info *info, size_t size, void *context)
{
	struct object_search *search = context;
	struct dl_find_object found = {0};

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		const uintptr_t start = info->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_GNU_EH_FRAME)
			found.eh_frame = (void *)start;
		if (header->p_type != PT_LOAD || search->address - start >= header->p_memsz)
			continue;
		found.start = (void *)start;
		found.end = (void *)(start + header->p_memsz);
	}
	if (!found.start || !found.eh_frame)
		return 0;
	*search->found = found;
	return 1;
}

int _dl_find_object(void *address, struct dl_find_object *found)
{
	struct object_search search = {(uintptr_t)address, found};

	return dl_iterate_phdr(check_image, &search) ? 0 : -1;
}

#endif
