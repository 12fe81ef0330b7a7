// SPDX-License-Identifier: GPL-2.0-only
#include "harness/repro/portable_program.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/path.h"
#include "harness/format/elf/elf_file.h"

/* New paths of the interpreter (the dynamic loader) and of the libraries. They are relative, so
 * kernel and loader start at the working directory. Both are stored in the space of the old
 * interpreter's path. */
static const char places[] = "./loader\0libraries";
enum { LIBRARIES_AT = sizeof("./loader"), MAX_PROGRAM = 256 << 20 };

static int fail_unportable(struct jp_error *err, const char *problem)
{
	return jp_fail(err, EINVAL, "this program cannot be packed: %s", problem);
}

static const ElfW(Phdr) * find_segment(const unsigned char *image, size_t size, uint32_t type)
{
	const ElfW(Ehdr) *head = (const void *)image;
	const ElfW(Phdr) *segments = (const void *)(image + head->e_phoff);

	for (size_t i = 0; i < head->e_phnum; i++)
		if (segments[i].p_type == type && segments[i].p_offset <= size &&
		    segments[i].p_filesz <= size - segments[i].p_offset)
			return &segments[i];
	return NULL;
}

static bool has_head(const unsigned char *image, size_t size)
{
	const ElfW(Ehdr) *head = (const void *)image;

	return size >= sizeof(*head) && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
	       head->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
	       head->e_phentsize == sizeof(ElfW(Phdr)) && head->e_phoff % 8 == 0 &&
	       head->e_phoff <= size &&
	       head->e_phnum <= (size - head->e_phoff) / sizeof(ElfW(Phdr));
}

/* Sets DT_RPATH, which also applies to libraries that other libraries need. Its value is the
 * distance of its text from the string table and may be negative. Uses one of the empty entries
 * that linkers leave at the end. */
static int set_library_path(ElfW(Dyn) * entries, size_t count, uint64_t text, struct jp_error *err)
{
	ElfW(Dyn) *strings = NULL, *run_path = NULL;

	for (size_t i = 0; i < count; i++) {
		if (entries[i].d_tag == DT_STRTAB)
			strings = &entries[i];
		if (entries[i].d_tag == DT_RPATH || entries[i].d_tag == DT_RUNPATH)
			run_path = &entries[i];
		if (entries[i].d_tag != DT_NULL)
			continue;
		if (!run_path && i + 1 < count && entries[i + 1].d_tag == DT_NULL)
			run_path = &entries[i];
		break;
	}
	if (!strings || !run_path)
		return fail_unportable(err, "its dynamic section has no space for a library path");
	run_path->d_tag = DT_RPATH;
	run_path->d_un.d_val = text - strings->d_un.d_ptr;
	return 0;
}

/* Sets interpreter and library path in the ELF image of @size bytes at @image. The image keeps its
 * size. Stores in *@interpreter the old interpreter, allocated; NULL: the image has none, and is
 * unchanged. Returns 0, or -EINVAL and the reason if @image is not such an image or has no space.
 */
static int patch_image(unsigned char *image, size_t size, char **interpreter, struct jp_error *err)
{
	const ElfW(Phdr) * path, *dynamic;

	*interpreter = NULL;
	if (!has_head(image, size))
		return fail_unportable(err, "it is no ELF file of this machine");
	path = find_segment(image, size, PT_INTERP);
	if (!path)
		return 0;
	dynamic = find_segment(image, size, PT_DYNAMIC);
	if (!path->p_filesz || image[path->p_offset + path->p_filesz - 1])
		return fail_unportable(err, "the path of its loader is not terminated");
	if (path->p_filesz < sizeof(places))
		return fail_unportable(err, "the path of its loader is shorter than the new path");
	if (!dynamic || dynamic->p_offset % 8)
		return fail_unportable(err, "it has no dynamic section");
	*interpreter = strdup((char *)image + path->p_offset);
	if (!*interpreter)
		return jp_fail(err, ENOMEM, "out of memory");
	memset(image + path->p_offset, 0, path->p_filesz);
	memcpy(image + path->p_offset, places, sizeof(places));
	return set_library_path((void *)(image + dynamic->p_offset),
				dynamic->p_filesz / sizeof(ElfW(Dyn)), path->p_vaddr + LIBRARIES_AT,
				err);
}

static int read_self(struct jp_portable *portable, struct jp_error *err)
{
	struct jp_build_id id = {0};
	char *program = jp_file_read("/proc/self/exe", MAX_PROGRAM, &portable->size, err);

	if (!program)
		return -EIO;
	portable->program = (unsigned char *)program;
	if (!jp_elf_build_id(-1, program, portable->size, &id, NULL))
		jp_build_id_text(&id, portable->build_id);
	return 0;
}

struct listing {
	struct jp_portable *portable;
	struct jp_error *err;
};

/* A callback for dl_iterate_phdr(): lists a library. Skips the program itself, which has no name
 * here, and the vDSO, whose name has no folder. */
static int list_library(struct dl_phdr_info *info, size_t size, void *context)
{
	struct listing *listing = context;
	struct jp_portable *portable = listing->portable;
	const char *name = info->dlpi_name;

	if (!strchr(name, '/') || strcmp(name, portable->loader) == 0)
		return 0;
	for (size_t i = 0; i < portable->libraries.count; i++)
		if (strcmp(jp_path_base(name), jp_path_base(portable->libraries.words[i])) == 0)
			return jp_fail(listing->err, EINVAL,
				       "%s and %s: two libraries with the same name", name,
				       portable->libraries.words[i]);
	if (jp_word_set_add(&portable->libraries, name, strlen(name)))
		return jp_fail(listing->err, ENOMEM, "out of memory");
	return 0;
}

/* Finds our own loader and libraries, and resolves their links. */
static int find_files(struct jp_portable *portable, struct jp_error *err)
{
	const size_t count = portable->libraries.count;

	portable->files = calloc(count + 1, sizeof(*portable->files));
	if (!portable->files)
		return jp_fail(err, ENOMEM, "out of memory");
	for (size_t i = 0; i <= count; i++) {
		const char *path = i < count ? portable->libraries.words[i] : portable->loader;

		portable->files[i] = realpath(path, NULL);
		if (!portable->files[i])
			return jp_fail(err, errno, "%s: %s", path, strerror(errno));
		portable->nr_files++;
	}
	return 0;
}

int jp_portable_make(struct jp_portable *portable, struct jp_error *err)
{
	struct listing listing = {portable, err};
	int ret;

	*portable = (struct jp_portable){.build_id = "none"};
	ret = read_self(portable, err);
	if (!ret)
		ret = patch_image(portable->program, portable->size, &portable->loader, err);
	if (!ret && portable->loader)
		ret = dl_iterate_phdr(list_library, &listing) ?: find_files(portable, err);
	if (ret)
		jp_portable_free(portable);
	return ret;
}

void jp_portable_free(struct jp_portable *portable)
{
	free(portable->program);
	free(portable->loader);
	jp_word_set_free(&portable->libraries);
	for (size_t i = 0; i < portable->nr_files; i++)
		free(portable->files[i]);
	free(portable->files);
	*portable = (struct jp_portable){0};
}
