// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/swap.h"

#include <string.h>

#include "harness/format/perfdata/rest.h"

static void store_word(unsigned char *pos, uint64_t value)
{
	memcpy(pos, &value, sizeof(value));
}

/* Swaps the words from @pos to @end; a second call restores them. */
static void swap_words(unsigned char *pos, const unsigned char *end)
{
	for (; end - pos >= (ptrdiff_t)sizeof(uint64_t); pos += sizeof(uint64_t))
		store_word(pos, __builtin_bswap64(jp_load64(pos)));
}

/* Exchanges the halves of a swapped word that is a pair of 32-bit fields. */
static void swap_halves(unsigned char *pos)
{
	uint64_t word = jp_load64(pos);

	store_word(pos, word << 32 | word >> 32);
}

void jp_perf_swap_record_header(struct jp_perf_record *header)
{
	header->type = __builtin_bswap32(header->type);
	header->misc = __builtin_bswap16(header->misc);
	header->size = __builtin_bswap16(header->size);
}

void jp_perf_swap_file_header(struct jp_perf_file_header *header)
{
	enum { HOSTNAME = 3 }; /* number of the bit for this feature, which every file has */
	struct jp_perf_file_header longs;

	swap_words((unsigned char *)header, (unsigned char *)(header + 1));
	/* The bitmap of features consists of longs: on a 32-bit machine the halves are
	 * exchanged. */
	longs = *header;
	for (size_t i = 0; i < sizeof(header->features) / sizeof(*header->features); i++)
		swap_halves((unsigned char *)&longs.features[i]);
	if (!jp_perf_has_feature(header, HOSTNAME) && jp_perf_has_feature(&longs, HOSTNAME))
		*header = longs;
}

/* Reverses the bits in each byte, as bit fields do between byte orders. */
static uint64_t swap_bits(uint64_t flags)
{
	flags = (flags >> 1 & 0x5555555555555555) | (flags & 0x5555555555555555) << 1;
	flags = (flags >> 2 & 0x3333333333333333) | (flags & 0x3333333333333333) << 2;
	return (flags >> 4 & 0x0f0f0f0f0f0f0f0f) | (flags & 0x0f0f0f0f0f0f0f0f) << 4;
}

void jp_perf_swap_attr(struct jp_perf_attr *attr)
{
	uint64_t flags = attr->flags;
	uint16_t max_stack;

	swap_words((unsigned char *)attr, (unsigned char *)(attr + 1));
	attr->flags = swap_bits(flags);
	swap_halves((unsigned char *)&attr->type);
	swap_halves((unsigned char *)&attr->wakeup_events);
	swap_halves((unsigned char *)&attr->sample_stack_user);
	swap_halves((unsigned char *)&attr->aux_watermark);
	max_stack = attr->reserved_2;
	attr->reserved_2 = attr->sample_max_stack;
	attr->sample_max_stack = max_stack;
	swap_halves((unsigned char *)&attr->aux_sample_size);
}

void jp_perf_swap_words(struct jp_perf_record *record)
{
	unsigned char *bytes = (unsigned char *)record;

	jp_perf_swap_record_header(record);
	swap_words(bytes + sizeof(*record), bytes + record->size);
}

/* Swaps the 32-bit size of raw data; its bytes, up to the next word, stay. */
static bool swap_raw_data(struct jp_perf_rest *remaining_bytes)
{
	unsigned char *raw = remaining_bytes->pos;
	uint32_t size;

	if (!jp_perf_skip_words(remaining_bytes, 1, sizeof(uint64_t)))
		return false;
	swap_words(raw, remaining_bytes->pos);
	memcpy(&size, raw, sizeof(size));
	size = __builtin_bswap32(size);
	memcpy(raw, &size, sizeof(size));
	raw = remaining_bytes->pos;
	if (size > 4 &&
	    !jp_perf_skip_words(remaining_bytes, ((uint64_t)size - 4 + 7) / 8, sizeof(uint64_t)))
		return false;
	swap_words(raw, remaining_bytes->pos);
	return true;
}

/* Swaps the fields of a sample. Stops at a size that exceeds the sample; the decoder reports
 * that. */
static void swap_sample(const struct jp_perf_layout *layout, struct jp_perf_record *record)
{
	unsigned char *bytes = (unsigned char *)record, *stack;
	struct jp_perf_rest remaining_bytes = {bytes + layout->fixed, bytes + record->size};
	uint64_t type = layout->sample_type, count;

	if (record->size < layout->fixed)
		return;
	if (layout->tid)
		swap_halves(bytes + layout->tid);
	if (layout->cpu)
		swap_halves(bytes + layout->cpu);
	if ((type & JP_PERF_SAMPLE_READ) &&
	    !jp_perf_skip_read(&remaining_bytes, layout->read_format))
		return;
	if ((type & JP_PERF_SAMPLE_CALLCHAIN) &&
	    (!jp_perf_take_word(&remaining_bytes, &count) ||
	     !jp_perf_skip_words(&remaining_bytes, count, sizeof(uint64_t))))
		return;
	if ((type & JP_PERF_SAMPLE_RAW) && !swap_raw_data(&remaining_bytes))
		return;
	if ((type & JP_PERF_SAMPLE_BRANCH_STACK) &&
	    !jp_perf_skip_branches(&remaining_bytes, layout->branch_type))
		return;
	if ((type & JP_PERF_SAMPLE_REGS_USER) &&
	    (!jp_perf_take_word(&remaining_bytes, &count) ||
	     (count &&
	      !jp_perf_skip_words(&remaining_bytes, __builtin_popcountll(layout->regs_mask),
				  sizeof(uint64_t)))))
		return;
	if (!(type & JP_PERF_SAMPLE_STACK_USER) || !jp_perf_take_word(&remaining_bytes, &count))
		return;
	stack = remaining_bytes.pos;
	if (jp_perf_skip_words(&remaining_bytes, count, 1))
		swap_words(stack, remaining_bytes.pos);
}

static void swap_mmap2(struct jp_perf_record *record, unsigned char *end)
{
	unsigned char *bytes = (unsigned char *)record;

	/* Undo the swap of the bytes from offset 40 on, then swap the single fields. */
	swap_words(bytes + 40, end);
	if (!jp_perf_has_build_id(record)) {
		swap_words(bytes + 40, bytes + 64);
		swap_halves(bytes + 40);
	}
	if (jp_perf_has_protection(record)) {
		swap_words(bytes + 64, bytes + 72);
		swap_halves(bytes + 64);
	}
}

/* Swaps the fields of a record that is no sample. @end: start of its sample id. */
static void swap_fields(struct jp_perf_record *record, unsigned char *end)
{
	static const uint8_t min_sizes[] = {
		[JP_PERF_RECORD_MMAP] = 40, [JP_PERF_RECORD_MMAP2] = 72,
		[JP_PERF_RECORD_COMM] = 16, [JP_PERF_RECORD_FORK] = 24,
		[JP_PERF_RECORD_EXIT] = 24, [JP_PERF_RECORD_NAMESPACES] = 16,
	};
	unsigned char *bytes = (unsigned char *)record;

	if (record->type >= sizeof(min_sizes) || !min_sizes[record->type] ||
	    end - bytes < min_sizes[record->type])
		return;
	swap_halves(bytes + 8); /* pid and tid */
	if (record->type == JP_PERF_RECORD_MMAP)
		swap_words(bytes + 40, end);
	else if (record->type == JP_PERF_RECORD_MMAP2)
		swap_mmap2(record, end);
	else if (record->type == JP_PERF_RECORD_COMM)
		swap_words(bytes + 16, end);
	else if (record->type != JP_PERF_RECORD_NAMESPACES)
		swap_halves(bytes + 16);
}

void jp_perf_swap_rest(const struct jp_perf_layout *layout, struct jp_perf_record *record)
{
	unsigned char *end = (unsigned char *)record + record->size;

	if (record->type == JP_PERF_RECORD_SAMPLE) {
		swap_sample(layout, record);
		return;
	}
	if (record->size < sizeof(*record) + layout->trailer)
		return;
	if (layout->end_tid)
		swap_halves(end - layout->end_tid);
	if (layout->end_cpu)
		swap_halves(end - layout->end_cpu);
	swap_fields(record, end - layout->trailer);
}
