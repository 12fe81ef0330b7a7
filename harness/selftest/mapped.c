// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mapping goes on with zeros up to the page: reading past the end of what is in it is seen by
 * nobody. In fuzz targets a mapped file, or room for one, is on the heap, to the byte (linked with
 * --wrap).
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 1 << 20 }; /* a fuzz input has no more */

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

	if (addr || at < 0 || size > MOST ||
	    (flags != MAP_PRIVATE && flags != (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)))
		return __real_mmap(addr, size, prot, flags, fd, offset);
	if (posix_memalign(&copy, 4096, size))
		return MAP_FAILED;
	if (flags & MAP_ANONYMOUS)
		memset(copy, 0, size);
	else if (pread(fd, copy, size, offset) != (ssize_t)size)
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
