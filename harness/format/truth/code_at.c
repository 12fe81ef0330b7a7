// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/truth/tables.h"

/* The first of codes[low..high) of @pid that lies behind (@addr, @time). */
static size_t code_after(const struct jp_truth *truth, size_t low, size_t high, uint32_t pid,
			 uint64_t addr, uint64_t time)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct jp_truth_code *code = &truth->codes[middle];
		bool behind = code->pid != pid     ? code->pid > pid
			      : code->addr != addr ? code->addr > addr
						   : code->loaded > time;

		if (behind)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct jp_truth_code *jp_truth_code_at(const struct jp_truth *truth, uint32_t pid,
					     uint64_t ip, uint64_t time)
{
	size_t at = code_after(truth, 0, truth->nr_codes, pid, ip, UINT64_MAX);

	/* From the nearest start below @ip downwards, as long as anything there reaches up to it.
	 * Of the codes with one start, the last one loaded by then. */
	while (at && truth->codes[at - 1].pid == pid && truth->tables->code_reach[at - 1] > ip) {
		uint64_t addr = truth->codes[at - 1].addr;
		size_t later = code_after(truth, 0, at, pid, addr, time);

		if (later) {
			const struct jp_truth_code *code = &truth->codes[later - 1];

			if (code->pid == pid && code->addr == addr && ip - addr < code->size &&
			    time <= code->unloaded)
				return code;
		}
		at = addr ? code_after(truth, 0, at, pid, addr - 1, UINT64_MAX) : 0;
	}
	return NULL;
}
