// SPDX-License-Identifier: GPL-2.0-only
/*
 * ASan cannot detect reads past the end of a mapping or of a record if other bytes follow. Fuzz
 * targets, linked with --wrap, therefore copy mapped files and records under decoding to heap
 * blocks of their exact size.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/format/perfdata/decode.h"

enum { MOST = 1 << 20 }; /* largest fuzz input, in bytes */

static void *copies[64];

void *__real_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *addr, size_t size);
int __real_madvise(void *addr, size_t size, int advice);
void *__wrap_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *addr, size_t size);
int __wrap_madvise(void *addr, size_t size, int advice);

/* Returns the index of @addr in copies[], or -1. */
static int find_copy(const void *addr)
{
	for (int i = 0; i < (int)(sizeof(copies) / sizeof(*copies)); i++)
		if (copies[i] == addr)
			return i;
	return -1;
}

void *__wrap_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	int index = find_copy(NULL);
	void *copy;

	if (addr || index < 0 || size > MOST ||
	    (flags != MAP_PRIVATE && flags != (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)))
		return __real_mmap(addr, size, prot, flags, fd, offset);
	if (posix_memalign(&copy, 4096, size))
		return MAP_FAILED;
	if (flags & MAP_ANONYMOUS)
		memset(copy, 0, size);
	else if (pread(fd, copy, size, offset) != (ssize_t)size)
		abort();
	return copies[index] = copy;
}

int __wrap_munmap(void *addr, size_t size)
{
	int index = addr ? find_copy(addr) : -1;

	if (index < 0)
		return __real_munmap(addr, size);
	copies[index] = NULL;
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

const char *__real_jp_perf_decode(const struct jp_perf_layout *layout,
				  const struct jp_perf_record *record, struct jp_event *event,
				  struct jp_regs *regs);
const char *__wrap_jp_perf_decode(const struct jp_perf_layout *layout,
				  const struct jp_perf_record *record, struct jp_event *event,
				  struct jp_regs *regs);

/* The event points into the copy, which therefore lives until the next call. */
const char *__wrap_jp_perf_decode(const struct jp_perf_layout *layout,
				  const struct jp_perf_record *record, struct jp_event *event,
				  struct jp_regs *regs)
{
	static struct jp_perf_record *last;

	free(last);
	last = malloc(record->size);
	if (!last)
		abort();
	memcpy(last, record, record->size);
	return __real_jp_perf_decode(layout, last, event, regs);
}
