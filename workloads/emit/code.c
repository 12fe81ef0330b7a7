// SPDX-License-Identifier: GPL-2.0-only
#include "workloads/emit/code.h"

#include <string.h>

void jp_code_patch(struct jp_code *code, uint32_t offset, const void *bytes, uint32_t count)
{
	if (code->out && offset + count <= code->capacity)
		memcpy(code->out + offset, bytes, count);
}

void jp_code_append_insn(struct jp_code *code, const void *bytes, uint32_t count)
{
	struct jp_emitted *emitted = code->emitted;

	code->state.offset = emitted->size;
	emitted->insns[emitted->nr_insns++] = code->state;
	jp_code_patch(code, emitted->size, bytes, count);
	emitted->size += count;
}

void jp_code_lower(struct jp_code *code, const void *bytes, uint32_t count, int32_t by)
{
	jp_code_append_insn(code, bytes, count);
	if (code->state.align)
		code->state.post += by;
	else
		code->state.pre += by;
}

int32_t jp_code_append_word(struct jp_code *code, uint8_t padding)
{
	struct jp_emitted *emitted = code->emitted;
	uint32_t offset = (emitted->size + 7) & -8;

	while (emitted->size < offset)
		jp_code_patch(code, emitted->size++, &padding, 1);
	jp_code_patch(code, offset, "\0\0\0\0\0\0\0", 8);
	emitted->word = offset;
	emitted->size = offset + 8;
	return (int32_t)(offset - code->loads_word);
}
