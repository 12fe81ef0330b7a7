// SPDX-License-Identifier: GPL-2.0-only
#include "harness/trace/memory.h"

#include <sys/uio.h>

uint64_t jp_memory_read(pid_t tid, uint64_t addr, void *bytes, uint64_t size)
{
	enum { PAGE = 4096 };
	/* Use one iovec for each page, because a transfer ends at the first iovec that is not
	 * readable as a whole. */
	const uint64_t first = PAGE - addr % PAGE;
	struct iovec local = {bytes, size},
		     remote[] = {
			     {(void *)(uintptr_t)addr, size < first ? size : first},
			     {(void *)(uintptr_t)(addr + first), size < first ? 0 : size - first}};
	const ssize_t nr_read = process_vm_readv(tid, &local, 1, remote, 2, 0);

	return nr_read < 0 ? 0 : (uint64_t)nr_read;
}

bool jp_memory_load(void *context, uint64_t addr, uint64_t *value)
{
	const pid_t *tid = context;

	return jp_memory_read(*tid, addr, value, sizeof(*value)) == sizeof(*value);
}
