/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

#include "harness/format/jit/jitdump_format.h"
#include "harness/selftest/support/scratch.h"

/* Builds a jitdump file record by record. */
struct jitdump_made {
	unsigned char bytes[16384];
	size_t size;
	size_t record; /* offset of the last record */
	uint32_t pid;  /* pid in all records, whose tid is pid + 1 */
};

static void jitdump_made_put(struct jitdump_made *made, const void *bytes, size_t size)
{
	if (size)
		memcpy(made->bytes + made->size, bytes, size);
	made->size += size;
}

static void jitdump_made_header(struct jitdump_made *made, uint32_t pid)
{
	const struct jp_jitdump_header header = {.magic = JP_JITDUMP_MAGIC,
						 .version = JP_JITDUMP_VERSION,
						 .total_size = sizeof(header),
						 .elf_mach = 62,
						 .pid = pid};

	jitdump_made_put(made, &header, sizeof(header));
	made->pid = pid;
}

/* Appends a record of @head, which begins with a prefix, and @body; sets the prefix's size. */
static void jitdump_made_record(struct jitdump_made *made, const void *head, size_t head_size,
				const void *body, size_t body_size)
{
	const uint32_t total = head_size + body_size;

	made->record = made->size;
	jitdump_made_put(made, head, head_size);
	jitdump_made_put(made, body, body_size);
	memcpy(made->bytes + made->record + offsetof(struct jp_jitdump_prefix, total_size), &total,
	       sizeof(total));
}

/* Appends a JIT_CODE_LOAD of five bytes of code. */
static void jitdump_made_load(struct jitdump_made *made, uint64_t addr, uint64_t index,
			      const char *name, uint64_t time)
{
	const struct jp_jitdump_load load = {.prefix = {JP_JITDUMP_LOAD, 0, time},
					     .pid = made->pid,
					     .tid = made->pid + 1,
					     .vma = addr,
					     .code_addr = addr,
					     .code_size = 5,
					     .code_index = index};
	char body[64];

	snprintf(body, sizeof(body), "%s%cCODE!", name, 0);
	jitdump_made_record(made, &load, sizeof(load), body, strlen(name) + 1 + 5);
}

__attribute__((unused)) static void jitdump_made_move(struct jitdump_made *made, uint64_t to,
						      uint64_t size, uint64_t index, uint64_t time)
{
	const struct jp_jitdump_move move = {.prefix = {JP_JITDUMP_MOVE, 0, time},
					     .pid = made->pid,
					     .tid = made->pid + 1,
					     .vma = to,
					     .old_code_addr = 0x1000,
					     .new_code_addr = to,
					     .code_size = size,
					     .code_index = index};

	jitdump_made_record(made, &move, sizeof(move), NULL, 0);
}

static void jitdump_made_store(const struct jitdump_made *made, const char *path)
{
	if (!scratch_write(path, made->bytes, made->size))
		exit(99);
}
