// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mapped file ends in zeros up to the page: reading on past its end is seen by nobody. In fuzz
 * targets such a mapping is a copy on the heap, to the byte (linked with --wrap).
 */
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void *copies[64];

void *__real_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *addr, size_t size);
int __real_madvise(void *addr, size_t size, int advice);
void *__wrap_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *addr, size_t size);
int __wrap_madvise(void *addr, size_t size, int advice);

/* Its place in copies[], or -1. */
static int find(const void *addr)
{
	for (int i = 0; i < (int)(sizeof(copies) / sizeof(*copies)); i++)
		if (copies[i] == addr)
			return i;
	return -1;
}

void *__wrap_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	int at = find(NULL);
	void *copy;

	if (fd < 0 || addr || prot != PROT_READ || flags != MAP_PRIVATE || at < 0)
		return __real_mmap(addr, size, prot, flags, fd, offset);
	if (posix_memalign(&copy, 4096, size))
		return MAP_FAILED;
	if (pread(fd, copy, size, offset) != (ssize_t)size)
		abort();
	return copies[at] = copy;
}

int __wrap_munmap(void *addr, size_t size)
{
	int at = addr ? find(addr) : -1;

	if (at < 0)
		return __real_munmap(addr, size);
	copies[at] = NULL;
	free(addr);
	return 0;
}

int __wrap_madvise(void *addr, size_t size, int advice)
{
	for (int i = 0; i < (int)(sizeof(copies) / sizeof(*copies)); i++)
		if (copies[i] && (char *)addr >= (char *)copies[i] &&
		    (char *)addr < (char *)copies[i] + malloc_usable_size(copies[i]))
			return 0;
	return __real_madvise(addr, size, advice);
}
