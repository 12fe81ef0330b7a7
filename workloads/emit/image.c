// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/format/truth/write.h"

enum { BUILD_ID = 20 };

int jp_image_program(char path[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (length < 0)
		return -errno;
	path[length] = '\0';
	return 0;
}

int jp_image_record(uint64_t addr, const char *name, const char *build_id)
{
	/* /proc/self/maps is empty once the main thread has exited. */
	FILE *maps = fopen("/proc/thread-self/maps", "re");
	uint64_t start = 0, end = 0, inode = 0;
	unsigned major = 0, minor = 0;
	char *line = NULL, *text;
	size_t capacity = 0;
	int result = -ENOENT;

	if (!maps)
		return -errno;
	while (result && getline(&line, &capacity, maps) > 0)
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*x %x:%x %" SCNu64, &start, &end,
			   &major, &minor, &inode) == 5 &&
		    addr >= start && addr < end)
			result = 0;
	free(line);
	fclose(maps);
	if (result)
		return result;
	if (asprintf(&text, "%s %s", *build_id ? build_id : "-", name) < 0)
		return -ENOMEM;
	jp_truth_file(start, end - start, inode, major, minor, text);
	free(text);
	return 0;
}

struct program {
	uint64_t text;
	char build_id[2 * BUILD_ID + 1];
};

static void read_notes(const unsigned char *pos, size_t size, struct program *program)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)pos;
		size_t name = (note->n_namesz + 3u) & -4u;
		size_t note_size = sizeof(*note) + name + ((note->n_descsz + 3u) & -4u);

		if (note_size > size)
			return;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz <= BUILD_ID &&
		    note->n_namesz == 4 && !memcmp(note + 1, "GNU", 4))
			for (unsigned i = 0; i < note->n_descsz; i++)
				sprintf(program->build_id + 2 * i, "%02x",
					((const unsigned char *)(note + 1))[name + i]);
		pos += note_size;
		size -= note_size;
	}
}

/* A callback for dl_iterate_phdr(): reads the first object, which is the program. Returns 1, so
 * that the iteration ends. */
static int read_image(struct dl_phdr_info *info, size_t size, void *context)
{
	struct program *program = context;

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uint64_t addr = info->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_LOAD && header->p_flags & PF_X)
			program->text = addr;
		if (header->p_type == PT_NOTE)
			read_notes((const void *)(uintptr_t)addr, header->p_memsz, program);
	}
	return 1;
}

int jp_image_record_program(void)
{
	struct program program = {0};
	char name[PATH_MAX];
	int ret = jp_image_program(name);

	if (ret)
		return ret;
	dl_iterate_phdr(read_image, &program);
	return jp_image_record(program.text, name, program.build_id);
}

int jp_image_check_open(void)
{
	DIR *folder = opendir("/proc/self/map_files");
	struct dirent *entry;
	int ret = folder ? -ENOENT : -errno;

	while (ret == -ENOENT && (entry = readdir(folder))) {
		int fd;

		if (*entry->d_name == '.')
			continue;
		fd = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC);
		ret = fd < 0 ? -errno : 0;
		if (fd >= 0)
			close(fd);
	}
	if (folder)
		closedir(folder);
	return ret;
}
