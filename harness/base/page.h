/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Smallest and largest page of the supported machines, in bytes (arm64: CONFIG_ARM64_4K_PAGES,
 * CONFIG_ARM64_64K_PAGES). Recorded files do not state the page size of their machine, so
 * conclusions from them must hold for all these sizes. */
enum { JP_PAGE_SMALLEST = 4096, JP_PAGE_LARGEST = 65536 };
