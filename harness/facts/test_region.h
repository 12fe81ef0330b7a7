/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <sys/mman.h>

#include "harness/facts/fact.h"

/*
 * The test region: an address range far from all other mappings, so that merges of mappings there
 * do not depend on the C library. @page: a number of pages from the region's middle. A failed
 * system call is noted as missing in @answer; the probe may continue.
 */
enum { JP_RWX = PROT_READ | PROT_WRITE | PROT_EXEC };
enum { JP_RX = PROT_READ | PROT_EXEC, JP_RW = PROT_READ | PROT_WRITE };

size_t jp_test_region_page(void);
unsigned char *jp_test_region_at(int page);
/* Maps @pages private anonymous pages at @page. */
void jp_test_region_map(struct jp_answer *answer, int page, int pages, int prot);
/* Maps @pages pages of the file @fd at @page. @flags: of mmap(), without MAP_FIXED; @offset in
 * pages. */
void jp_test_region_map_file(struct jp_answer *answer, int page, int pages, int prot, int flags,
			     int fd, int offset);
void jp_test_region_protect(struct jp_answer *answer, int page, int pages, int prot);
/* Writes to each of @pages pages, so that the kernel allocates them. */
void jp_test_region_write(int page, int pages);
