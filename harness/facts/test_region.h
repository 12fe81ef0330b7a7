/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <sys/mman.h>

#include "harness/facts/fact.h"

/*
 * An address range far from all other mappings, in pages from its middle: merges there do not
 * depend on the C library. A failed step is stated as missing; the probe may continue.
 */
enum { JP_RWX = PROT_READ | PROT_WRITE | PROT_EXEC };
enum { JP_RX = PROT_READ | PROT_EXEC, JP_RW = PROT_READ | PROT_WRITE };

size_t jp_test_region_page(void);
unsigned char *jp_test_region_at(int page);
/* Maps private anonymous pages at the fixed address. */
void jp_test_region_map(struct jp_answer *answer, int page, int pages, int prot);
/* Maps pages at the fixed address: @flags without MAP_FIXED; @offset in pages. */
void jp_test_region_map_file(struct jp_answer *answer, int page, int pages, int prot, int flags,
			     int fd, int offset);
void jp_test_region_protect(struct jp_answer *answer, int page, int pages, int prot);
/* Writes to each page, so that the kernel allocates it. */
void jp_test_region_write(int page, int pages);
