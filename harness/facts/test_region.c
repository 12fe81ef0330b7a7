// SPDX-License-Identifier: GPL-2.0-only
#include "harness/facts/test_region.h"

#include <unistd.h>

/* The region's middle, at 64 GiB: above programs linked at fixed addresses, below addresses that
 * the kernel chooses. */
static const uintptr_t MIDDLE = UINT64_C(0x1000000000);

size_t jp_test_region_page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

unsigned char *jp_test_region_at(int page)
{
	intptr_t from = (intptr_t)page * (intptr_t)jp_test_region_page();

	return (unsigned char *)(MIDDLE + (uintptr_t)from);
}

void jp_test_region_map_file(struct jp_answer *answer, int page, int pages, int prot, int flags,
			     int fd, int offset)
{
	void *mapped = mmap(jp_test_region_at(page), (size_t)pages * jp_test_region_page(), prot,
			    flags | MAP_FIXED, fd, (off_t)offset * (off_t)jp_test_region_page());

	if (mapped == MAP_FAILED)
		jp_answer_failed(answer, "mmap");
}

void jp_test_region_map(struct jp_answer *answer, int page, int pages, int prot)
{
	jp_test_region_map_file(answer, page, pages, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void jp_test_region_protect(struct jp_answer *answer, int page, int pages, int prot)
{
	if (mprotect(jp_test_region_at(page), (size_t)pages * jp_test_region_page(), prot))
		jp_answer_failed(answer, "mprotect");
}

void jp_test_region_write(int page, int pages)
{
	for (int i = 0; i < pages; i++)
		*(volatile unsigned char *)jp_test_region_at(page + i) = 0xc3;
}
