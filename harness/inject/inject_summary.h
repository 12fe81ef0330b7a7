/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* Counts of one run of inject. */
struct jp_inject_summary {
	uint64_t jitdumps, loads, moves, bad_records;
	uint64_t refused;                 /* number of the capture's jitdumps that were not used */
	uint64_t anon_before, anon_after; /* number of anonymous executable mapping records in the
					     input and in the output */
	uint64_t elf_files, elf_bytes;
};
