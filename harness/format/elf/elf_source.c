// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/elf/elf_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/shortage.h"

enum { MAX_SEGMENTS = 4096 };

int jp_elf_source_open(struct jp_elf_source *source, int fd, const void *image, size_t size,
		       struct jp_error *err)
{
	memset(source, 0, sizeof(*source));
	errno = 0; /* lets jp_elf_source_close() record that libelf ran out of memory */
	elf_version(EV_CURRENT);
	source->elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : elf_memory((char *)image, size);
	if (!source->elf || elf_kind(source->elf) != ELF_K_ELF ||
	    !gelf_getehdr(source->elf, &source->parts.head))
		return jp_fail(err, EINVAL, "not an ELF file");
	if (elf_getphdrnum(source->elf, &source->parts.nr_segments))
		return jp_fail(err, EINVAL, "ELF file without readable program headers: %s",
			       elf_errmsg(-1));
	if (source->parts.nr_segments > MAX_SEGMENTS)
		return jp_fail(err, EINVAL,
			       "ELF file with %zu program headers; at most %d are read",
			       source->parts.nr_segments, MAX_SEGMENTS);
	source->parts.segments =
		calloc(source->parts.nr_segments + 1, sizeof(*source->parts.segments));
	if (!source->parts.segments)
		return jp_fail(err, ENOMEM, "out of memory for program headers");
	for (size_t i = 0; i < source->parts.nr_segments; i++)
		if (!gelf_getphdr(source->elf, i, &source->parts.segments[i]))
			return jp_fail(err, EINVAL, "ELF program header %zu: %s", i,
				       elf_errmsg(-1));
	return 0;
}

int jp_elf_source_check_class(const struct jp_elf_source *source, struct jp_error *err)
{
	const unsigned char *ident = source->parts.head.e_ident;

	if ((ident[EI_CLASS] == ELFCLASS64 || ident[EI_CLASS] == ELFCLASS32) &&
	    ident[EI_DATA] == ELFDATA2LSB)
		return 0;
	return jp_fail(err, EINVAL,
		       "an ELF file of class %d and byte order %d; only little endian is read",
		       ident[EI_CLASS], ident[EI_DATA]);
}

void jp_elf_source_add_segment(struct jp_elf_source *source)
{
	Elf_Scn *section = NULL;
	GElf_Shdr head;
	size_t count = 0;

	while ((section = elf_nextscn(source->elf, section)) && count++ < JP_ELF_MAX_SECTIONS &&
	       !source->parts.nr_segments)
		if (gelf_getshdr(section, &head) && head.sh_type == SHT_PROGBITS &&
		    head.sh_flags & SHF_EXECINSTR) /* jp_elf_source_open() allocates room for this
						      segment */
			source->parts.segments[source->parts.nr_segments++] = (GElf_Phdr){
				.p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_offset = head.sh_offset,
				.p_vaddr = head.sh_addr,
				.p_paddr = head.sh_addr,
				.p_filesz = head.sh_size,
				.p_memsz = head.sh_size,
				.p_align = 1,
			};
}

void jp_elf_source_close(struct jp_elf_source *source)
{
	jp_shortage_note(errno);
	free(source->parts.segments);
	elf_end(source->elf);
}

Elf_Scn *jp_elf_section(const struct jp_elf_source *source, const char *wanted_name,
			GElf_Shdr *head)
{
	Elf_Scn *section = NULL;
	size_t strings, count = 0;

	if (elf_getshdrstrndx(source->elf, &strings) || !strings)
		return NULL;
	while ((section = elf_nextscn(source->elf, section)) && count++ < JP_ELF_MAX_SECTIONS) {
		const char *name = gelf_getshdr(section, head)
					   ? elf_strptr(source->elf, strings, head->sh_name)
					   : NULL;

		if (name && strcmp(name, wanted_name) == 0)
			return section;
	}
	return NULL;
}
