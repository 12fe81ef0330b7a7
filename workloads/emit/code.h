/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "workloads/emit/arch.h"

/* One function being written, and the frame as the next instruction will find it. */
struct jp_code {
	unsigned char *out; /* NULL: measure */
	size_t capacity;
	struct jp_emitted *emitted;
	struct jp_truth_insn now;
	uint32_t loads_word; /* end of the instruction that loads the word */
};

/* Appends one instruction; the caller changes code->now after it. */
void jp_code_insn(struct jp_code *code, const void *bytes, uint32_t count);
#define JP_INSN(code, bytes) jp_code_insn(code, bytes, sizeof(bytes) - 1)
/* The same of an instruction that moves the stack pointer down by @by bytes (up when negative). */
void jp_code_lower(struct jp_code *code, const void *bytes, uint32_t count, int32_t by);
/* Writes over the @count bytes at @at. */
void jp_code_patch(struct jp_code *code, uint32_t at, const void *bytes, uint32_t count);
/* Behind the code, where nothing runs: the word, after bytes of @padding. Returns its distance from
 * the end of the instruction that loads it. */
int32_t jp_code_word(struct jp_code *code, uint8_t padding);

/* Writes the code of @shape to @out (@capacity bytes; NULL: only measure). 0 or -ENOSPC. */
int jp_shape_emit(enum jp_shape shape, unsigned char *out, size_t capacity,
		  struct jp_emitted *emitted);
