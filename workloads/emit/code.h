/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "workloads/emit/arch.h"

/* A function whose code is being written. @state: its frame before the next instruction. */
struct jp_code {
	unsigned char *out; /* NULL: only measure the size */
	size_t capacity;
	struct jp_emitted *emitted;
	struct jp_truth_insn state;
	uint32_t loads_word; /* offset of the end of the instruction that loads the word */
};

/* Appends one instruction. The caller updates code->now afterwards. */
void jp_code_append_insn(struct jp_code *code, const void *bytes, uint32_t count);
#define JP_INSN(code, bytes) jp_code_append_insn(code, bytes, sizeof(bytes) - 1)
/* Appends an instruction that lowers the stack pointer by @by bytes (raises it if negative). */
void jp_code_lower(struct jp_code *code, const void *bytes, uint32_t count, int32_t by);
/* Overwrites @count bytes at offset @offset. */
void jp_code_patch(struct jp_code *code, uint32_t offset, const void *bytes, uint32_t count);
/* Appends the function's word (workloads/emit/arch.h) to the code, aligned to 8 with bytes of value
 * @padding. Returns its distance from the end of the instruction that loads the word. */
int32_t jp_code_append_word(struct jp_code *code, uint8_t padding);
