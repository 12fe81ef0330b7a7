/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Smallest and largest page of the supported machines, in bytes (arm64: CONFIG_ARM64_4K_PAGES,
 * CONFIG_ARM64_64K_PAGES). For files of any machine, which do not state its page: what is true of
 * each page up to the largest one. */
enum { JP_PAGE_SMALLEST = 4096, JP_PAGE_LARGEST = 65536 };
