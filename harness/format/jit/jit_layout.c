// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/jit/jit_layout.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/load.h"
#include "harness/base/round.h"
#include "harness/base/sort.h"
#include "harness/format/elf/cfi_check.h"

enum {
	TEXT = 0x1000,    /* offset of the code in a file, after the headers */
	ALONE = 0x40,     /* offset in a file with a single function, after the ELF header */
	PAGE = 0x1000,    /* address and offset are equal modulo this, as in a real mapping */
	ALIGN = 16,       /* alignment of packed functions */
	GAP = 1 << 14,    /* largest gap within a file, bytes */
	GENERATIONS = 64, /* number of files to which functions can be appended at the same time */
	FILES = 4096,     /* largest number of files, not counting the packed one */
	PACK_MOST = 1 << 30 /* bytes in a file, at most: its tables have 32-bit distances */
};

/* A file to which functions can still be appended. It holds the code of [start, end) so far. */
struct generation {
	uint64_t start, end;
	uint32_t file;
};

/* Of functions at equal addresses, the jitdump's order decides. */
JP_ORDER(compare_by_addr, struct jp_jit_function *,
	 jp_compare((*a)->addr, (*b)->addr) ?: jp_compare(*a, *b));

/* Returns the file (generation) whose code ends closest below @function and has room for it, or
 * NULL. */
static struct generation *find_generation(struct generation *generations, unsigned int count,
					  const struct jp_jit_function *function)
{
	struct generation *oldest_generation = NULL;

	for (unsigned int i = 0; i < count; i++)
		if (generations[i].end <= function->addr &&
		    function->addr - generations[i].end <= GAP &&
		    function->addr + function->size - generations[i].start <= PACK_MOST &&
		    (!oldest_generation || generations[i].end > oldest_generation->end))
			oldest_generation = &generations[i];
	return oldest_generation;
}

/* Returns an unused generation, or else the one with the lowest end, to be replaced. Returns NULL
 * if that end is not more than GAP below @addr: then code from @addr on may still extend any
 * generation. */
static struct generation *start_generation(struct generation *generations, unsigned int *count,
					   uint64_t addr)
{
	struct generation *oldest = &generations[0];

	if (*count < GENERATIONS)
		return &generations[(*count)++];
	for (unsigned int i = 1; i < GENERATIONS; i++)
		if (generations[i].end < oldest->end)
			oldest = &generations[i];
	return oldest->end <= addr && addr - oldest->end > GAP ? oldest : NULL;
}

/* Assigns files in the order of addresses. Functions that get no file keep offset 0. Returns the
 * number of files. */
static uint32_t assign_files(struct jp_jit_function **sorted, size_t count)
{
	struct generation generations[GENERATIONS], *generation;
	unsigned int growing = 0;
	uint32_t files = 0;

	for (size_t i = 0; i < count; i++) {
		struct jp_jit_function *function = sorted[i];

		if (function->tables && files < FILES) {
			function->file = files++;
			function->offset = ALONE;
			continue;
		}
		generation = find_generation(generations, growing, function);
		if (!generation && files < FILES && function->size < PACK_MOST) {
			generation = start_generation(generations, &growing, function->addr);
			if (generation)
				*generation = (struct generation){function->addr, function->addr,
								  files++};
		}
		if (!generation)
			continue;
		function->file = generation->file;
		function->offset =
			TEXT + generation->start % PAGE + (function->addr - generation->start);
		generation->end = function->addr + function->size;
	}
	return files;
}

int jp_jit_layout(struct jp_jit_function *functions, size_t count)
{
	struct jp_jit_function **sorted = malloc((count ?: 1) * sizeof(*sorted));
	uint64_t packed = PACK_MOST;
	bool in_order = true;
	uint32_t files;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		functions[i].offset = 0;
		sorted[i] = &functions[i];
		in_order &= !i || compare_by_addr(&sorted[i - 1], &sorted[i]) <= 0;
	}
	if (!in_order)
		jp_sort(sorted, count, compare_by_addr);
	files = assign_files(sorted, count);
	free(sorted);
	for (size_t i = 0; i < count; i++) {
		if (functions[i].offset)
			continue;
		if (packed > PACK_MOST || functions[i].size > PACK_MOST - packed) {
			files++;
			packed = TEXT;
		}
		functions[i].file = files - 1;
		functions[i].offset = packed;
		packed = (packed + functions[i].size + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
	}
	return (int)files;
}

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

JP_ORDER(compare_frames_by_addr, struct jp_jit_fde, jp_compare(a->addr, b->addr));

void jp_jit_frames_end(struct jp_jit_frames *frames, uint64_t addr, uint64_t index_addr)
{
	struct jp_bytes *index = &frames->index;

	jp_bytes_add32(&frames->frame, 0);
	jp_sort(frames->fdes, frames->count, compare_frames_by_addr);
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
