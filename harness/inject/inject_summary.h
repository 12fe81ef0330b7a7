/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* Counts of an injection. */
struct jp_inject_summary {
	uint64_t jitdumps, loads, moves, bad_records;
	uint64_t refused;                 /* jitdumps of the capture that were not used */
	uint64_t anon_before, anon_after; /* anonymous executable mapping records */
	uint64_t elf_files, elf_bytes;
};
