// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/jit/jit_frames.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/load.h"
#include "harness/base/round.h"
#include "harness/base/sort.h"
#include "harness/format/elf/cfi_check.h"

enum {
	OMIT = 0xff,
	PCREL_SDATA4 = 0x1b,
	DATAREL_SDATA4 = 0x3b,
	UDATA4 = 0x03,
	CIES = 8, /* largest number of CIEs of one function */
};

struct jp_jit_fde {
	/* @addr: address of the code; @offset: address of its FDE in the new .eh_frame. */
	uint64_t addr, offset;
};

/* State while the records of one function are copied. */
struct walk {
	struct jp_jit_frames *frames;
	const struct jp_jit_function *function;
	uint64_t addr;       /* address of the new .eh_frame */
	uint64_t frame_addr; /* address of the old .eh_frame, if the function were at 0 */
	struct {
		size_t old_offset, new_offset; /* offsets in the old and in the new .eh_frame */
	} cies[CIES];
	unsigned int nr_cies;
};

static const unsigned char *skip_leb(const unsigned char *pos, const unsigned char *end)
{
	while (pos < end && *pos & 0x80)
		pos++;
	return pos < end ? pos + 1 : end;
}

/* Returns whether @cie, from its length field on, has the augmentation "zR" (or with S: a signal
 * frame) and pc-relative addresses of 32 bits. */
static bool is_usual_cie(const unsigned char *cie, size_t size)
{
	const unsigned char *end = cie + size, *pos = cie + 9, *text = pos, *operands;

	if (size < 12 || !(cie[8] == 1 || cie[8] == 3))
		return false;
	pos = memchr(pos, 0, end - pos);
	if (!pos || text[0] != 'z')
		return false;
	pos = skip_leb(skip_leb(pos + 1, end), end);
	pos = cie[8] == 1 ? pos + 1 : skip_leb(pos, end);
	if (pos >= end)
		return false;
	operands = skip_leb(pos, end);
	for (text++; *text; text++) {
		if (*text == 'S')
			continue;
		if ((*text != 'R' && *text != 'L') || operands >= end ||
		    *operands != (*text == 'R' ? PCREL_SDATA4 : OMIT))
			return false;
		operands++;
	}
	return memchr(cie + 9, 'R', text - (cie + 9));
}

/* Returns the offset of an equal CIE, or appends @cie. Compares only with the first CIE of the
 * file, as runtimes write the same one for each function. */
static size_t add_cie(struct jp_jit_frames *frames, const unsigned char *cie, size_t size)
{
	struct jp_bytes *frame = &frames->frame;
	size_t offset = frame->size;

	if (offset >= size && memcmp(frame->bytes, cie, size) == 0)
		return 0;
	jp_bytes_add(frame, cie, size);
	return offset;
}

static bool add_fde(struct walk *walk, const unsigned char *fde, size_t size, size_t offset)
{
	struct jp_jit_frames *frames = walk->frames;
	const struct jp_jit_function *function = walk->function;
	uint64_t start, new_at = frames->frame.size, new_addr = walk->addr + new_at;
	size_t cie = offset + 4 - jp_load32(fde + 4);
	uint32_t range;
	struct jp_jit_fde *added;
	unsigned int i;
	int64_t to;

	for (i = 0; i < walk->nr_cies && walk->cies[i].old_offset != cie; i++)
		;
	if (i == walk->nr_cies || size < 16)
		return false;
	start = walk->frame_addr + offset + 8 + (int64_t)(int32_t)jp_load32(fde + 8);
	range = jp_load32(fde + 12);
	if (start >= function->size || range > function->size - start)
		return false;
	to = (int64_t)(function->offset + start - (new_addr + 8));
	if (to != (int32_t)to || new_at + 4 - walk->cies[i].new_offset > INT32_MAX)
		return false;
	added = jp_array_push(&frames->fdes, &frames->count, &frames->capacity);
	if (!added) {
		frames->frame.failed = true;
		return false;
	}
	*added = (struct jp_jit_fde){function->offset + start, new_addr};
	jp_bytes_add(&frames->frame, fde, 4);
	jp_bytes_add32(&frames->frame, new_at + 4 - walk->cies[i].new_offset);
	jp_bytes_add32(&frames->frame, (uint32_t)to);
	jp_bytes_add(&frames->frame, fde + 12, size - 12);
	return true;
}

static bool add_records(struct walk *walk)
{
	const unsigned char *bytes = walk->function->eh_frame;
	size_t size = walk->function->eh_frame_size, record;

	for (size_t offset = 0; size - offset >= 8; offset += record) {
		record = 4 + (size_t)jp_load32(bytes + offset);
		if (record == 4)
			break;
		if (record > size - offset || record < 12)
			return false;
		if (jp_load32(bytes + offset + 4)) {
			if (!add_fde(walk, bytes + offset, record, offset))
				return false;
			continue;
		}
		if (walk->nr_cies == CIES || !is_usual_cie(bytes + offset, record))
			return false;
		walk->cies[walk->nr_cies].old_offset = offset;
		walk->cies[walk->nr_cies++].new_offset =
			add_cie(walk->frames, bytes + offset, record);
	}
	return true;
}

void jp_jit_frames_add(struct jp_jit_frames *frames, const struct jp_jit_function *function,
		       uint64_t addr)
{
	struct walk walk = {
		.frames = frames,
		.function = function,
		.addr = addr,
		.frame_addr = jp_round_up_to_words(function->size),
	};
	struct jp_cfi_section section = {function->eh_frame, function->eh_frame_size,
					 walk.frame_addr},
			      no_index = {0};
	size_t size = frames->frame.size, count = frames->count;
	struct jp_cfi_sound checked;

	if (!function->eh_frame_size)
		return;
	if (jp_cfi_check(&section, &no_index, &checked, NULL) == 0 && add_records(&walk) &&
	    frames->count > count)
		return;
	frames->nr_bad++;
	frames->frame.size = size;
	frames->count = count;
}

JP_ORDER(compare_by_addr, struct jp_jit_fde, jp_compare(a->addr, b->addr));

void jp_jit_frames_end(struct jp_jit_frames *frames, uint64_t addr, uint64_t index_addr)
{
	struct jp_bytes *index = &frames->index;

	jp_bytes_add32(&frames->frame, 0);
	jp_sort(frames->fdes, frames->count, compare_by_addr);
	jp_bytes_add8(index, 1);
	jp_bytes_add8(index, PCREL_SDATA4);
	jp_bytes_add8(index, UDATA4);
	jp_bytes_add8(index, DATAREL_SDATA4);
	jp_bytes_add32(index, addr - (index_addr + 4));
	jp_bytes_add32(index, frames->count);
	for (size_t i = 0; i < frames->count; i++) {
		jp_bytes_add32(index, frames->fdes[i].addr - index_addr);
		jp_bytes_add32(index, frames->fdes[i].offset - index_addr);
	}
}

void jp_jit_frames_free(struct jp_jit_frames *frames)
{
	jp_bytes_free(&frames->frame);
	jp_bytes_free(&frames->index);
	free(frames->fdes);
}
