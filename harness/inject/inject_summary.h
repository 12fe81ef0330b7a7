/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* What came of jitdumps and of the records of a capture. */
struct jp_inject_summary {
	uint64_t jitdumps, loads, moves, bad_records;
	uint64_t refused; /* jitdumps that the capture leads to, and nothing was taken of */
	uint64_t anon_before, anon_after; /* anonymous executable mapping records */
	uint64_t elf_files, elf_bytes;
};
