/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>

/* The jitdump file as perf defines it (tools/perf/Documentation/jitdump-specification.txt): a
 * header, then records, in the byte order of the machine that wrote it. Shared by the writer and
 * the reader. */
#define JP_JITDUMP_MAGIC   0x4a695444 /* "JiTD" */
#define JP_JITDUMP_VERSION 1

#define JP_JITDUMP_ARCH_TIMESTAMP ((uint64_t)1) /* flag: times are CPU counter values, not ns */

struct jp_jitdump_header {
	uint32_t magic, version;
	uint32_t total_size; /* bytes of the header: 40, or more in later versions */
	uint32_t elf_mach;
	uint32_t pad1;
	uint32_t pid; /* pid of the writing process in its own pid namespace */
	uint64_t timestamp;
	uint64_t flags;
};

enum jp_jitdump_type {
	JP_JITDUMP_LOAD,
	JP_JITDUMP_MOVE,
	JP_JITDUMP_DEBUG_INFO, /* written before the LOAD of the same code */
	JP_JITDUMP_CLOSE,
	JP_JITDUMP_UNWINDING_INFO, /* written before the LOAD of the same code */
	JP_JITDUMP_TYPES
};

struct jp_jitdump_prefix {
	uint32_t id; /* enum jp_jitdump_type */
	uint32_t total_size;
	uint64_t timestamp;
};

struct jp_jitdump_load { /* then the name with its NUL, then code_size bytes of code */
	struct jp_jitdump_prefix prefix;
	uint32_t pid, tid;
	uint64_t vma, code_addr, code_size, code_index;
};

struct jp_jitdump_move {
	struct jp_jitdump_prefix prefix;
	uint32_t pid, tid;
	uint64_t vma, old_code_addr, new_code_addr, code_size, code_index;
};

struct jp_jitdump_debug { /* then nr_entry entries, each with its name */
	struct jp_jitdump_prefix prefix;
	uint64_t code_addr, nr_entry;
};
struct jp_jitdump_debug_entry { /* then the name with its NUL; "\xff": same as the previous one */
	uint64_t addr;
	int32_t line, discrim;
};

struct jp_jitdump_unwinding { /* then .eh_frame and .eh_frame_hdr, unwinding_size bytes */
	struct jp_jitdump_prefix prefix;
	uint64_t unwinding_size, eh_frame_hdr_size, mapped_size;
};

_Static_assert(sizeof(struct jp_jitdump_header) == 40, "as perf writes it");
_Static_assert(sizeof(struct jp_jitdump_load) == 56, "as perf writes it");
_Static_assert(sizeof(struct jp_jitdump_move) == 64, "as perf writes it");
