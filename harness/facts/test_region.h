/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <sys/mman.h>

#include "harness/facts/fact.h"

/*
 * A place in the address space that nothing else is near, counted in pages from its middle: what
 * merges there does not depend on the C library. A step that fails is told as missing, and the
 * probe may go on.
 */
enum { JP_RWX = PROT_READ | PROT_WRITE | PROT_EXEC };
enum { JP_RX = PROT_READ | PROT_EXEC, JP_RW = PROT_READ | PROT_WRITE };

size_t jp_test_region_page(void);
unsigned char *jp_test_region_at(int page);
/* Fixed, private and anonymous. */
void jp_test_region_map(struct jp_answer *answer, int page, int pages, int prot);
/* Fixed, of anything: @flags without MAP_FIXED; @offset in pages. */
void jp_test_region_map_file(struct jp_answer *answer, int page, int pages, int prot, int flags,
			     int fd, int offset);
void jp_test_region_protect(struct jp_answer *answer, int page, int pages, int prot);
/* Writes to each page, so that it is there. */
void jp_test_region_write(int page, int pages);
