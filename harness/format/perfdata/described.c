// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/perfdata/described.h"

#include <stdio.h>
#include <string.h>

#include "harness/format/perfdata/swap.h"

/* The unread rest of a feature. Sizes in it are untrusted. */
struct feature_rest {
	const unsigned char *pos;
	uint64_t size;
};

static const unsigned char *take_bytes(struct feature_rest *remaining_bytes, uint64_t size)
{
	const unsigned char *pos = remaining_bytes->pos;

	if (size > remaining_bytes->size)
		return NULL;
	remaining_bytes->pos += size;
	remaining_bytes->size -= size;
	return pos;
}

static bool read_word(bool is_swapped, struct feature_rest *remaining_bytes, uint32_t *word)
{
	const unsigned char *pos = take_bytes(remaining_bytes, sizeof(*word));

	if (!pos)
		return false;
	memcpy(word, pos, sizeof(*word));
	*word = is_swapped ? __builtin_bswap32(*word) : *word;
	return true;
}

/* Returns whether @bytes contain @attr. The wakeup setting, which affects no record, and the size,
 * which depends on the writer, may differ. */
static bool is_same_attr(const struct jp_perf_attrs *attrs, const unsigned char *bytes,
			 uint32_t size, const struct jp_perf_attr *attr)
{
	struct jp_perf_attr described = {0}, attr_copy = *attr;

	memcpy(&described, bytes, size < sizeof(described) ? size : sizeof(described));
	if (attrs->swapped)
		jp_perf_swap_attr(&described);
	described.size = attr_copy.size;
	described.wakeup_events = attr_copy.wakeup_events;
	return memcmp(&described, &attr_copy, sizeof(attr_copy)) == 0;
}

/* Returns whether @name is the name that this project's captures, like perf, give the event: with
 * ":u" if no event samples the kernel. */
static bool is_own_name(const struct jp_perf_attrs *attrs, const char *name, uint32_t size,
			const struct jp_perf_attr *attr)
{
	static const char *const software[] = {[JP_PERF_SW_CPU_CLOCK] = "cpu-clock",
					       [JP_PERF_SW_TASK_CLOCK] = "task-clock",
					       [JP_PERF_SW_DUMMY] = "dummy"};
	const bool is_user = attrs->list[0].attr.flags & JP_PERF_ATTR_EXCLUDE_KERNEL;
	const char *event_name =
		attr->type == JP_PERF_TYPE_BREAKPOINT ? "breakpoint"
		: attr->type == JP_PERF_TYPE_SOFTWARE && attr->config <= JP_PERF_SW_DUMMY
			? software[attr->config]
			: NULL;
	char expected[32];

	snprintf(expected, sizeof(expected), "%s%s", event_name ?: "", is_user ? ":u" : "");
	return event_name && strnlen(name, size) < size && strcmp(name, expected) == 0;
}

enum jp_described jp_perf_compare_event_desc(const struct jp_perf_attrs *attrs,
					     const unsigned char *bytes, uint64_t size)
{
	struct feature_rest remaining_bytes = {bytes, size};
	enum jp_described difference = JP_DESCRIBED_ALIKE;
	uint32_t count, attr_index, ids, length;

	if (!read_word(attrs->swapped, &remaining_bytes, &count) ||
	    !read_word(attrs->swapped, &remaining_bytes, &attr_index) || count != attrs->count)
		return JP_DESCRIBED_OTHER;
	for (uint32_t i = 0; i < count; i++) {
		const struct jp_perf_attr *attr = &attrs->list[i].attr;
		const unsigned char *own_attr = take_bytes(&remaining_bytes, attr_index), *name;

		if (!own_attr || !is_same_attr(attrs, own_attr, attr_index, attr) ||
		    !read_word(attrs->swapped, &remaining_bytes, &ids) ||
		    !read_word(attrs->swapped, &remaining_bytes, &length))
			return JP_DESCRIBED_OTHER;
		name = take_bytes(&remaining_bytes, length);
		if (!name || !take_bytes(&remaining_bytes, ids * sizeof(uint64_t)))
			return JP_DESCRIBED_OTHER;
		if (!is_own_name(attrs, (const char *)name, length, attr))
			difference = JP_DESCRIBED_OTHER_NAME;
	}
	return remaining_bytes.size ? JP_DESCRIBED_OTHER : difference;
}
