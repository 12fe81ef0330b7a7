// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/files/own_vdso.h"

#include <elf.h>
#include <errno.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { MAX_IMAGE = 1 << 20 };

const void *jp_get_own_vdso(size_t *size, struct jp_error *err)
{
	const unsigned char *image = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
	const Elf64_Phdr *segment;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t sections;

	*size = 0;
	if (!image || head->e_ident[EI_CLASS] != ELFCLASS64) {
		jp_fail(err, ENOENT, "this process has no vDSO");
		return NULL;
	}
	segment = (const Elf64_Phdr *)(image + head->e_phoff);
	for (size_t i = 0; i < head->e_phnum; i++)
		if (segment[i].p_type == PT_LOAD &&
		    segment[i].p_offset + segment[i].p_filesz > *size)
			*size = segment[i].p_offset + segment[i].p_filesz;
	/* Section headers follow the segment, in its last page. */
	sections = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
	if (sections > *size && sections <= ((*size + page - 1) & -page))
		*size = sections;
	if (*size > MAX_IMAGE) {
		jp_fail(err, EINVAL, "this process's vDSO states a size of %zu bytes", *size);
		return NULL;
	}
	return image;
}
