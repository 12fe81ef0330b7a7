// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "harness/base/boxes.h"
#include "harness/base/search.h"
#include "harness/model/oracle/collect.h"

/* Returns the index of the first of codes[..high) that sorts after (@pid, @addr, @time). */
static size_t find_code_after(const struct jp_truth *truth, size_t high, uint32_t pid,
			      uint64_t addr, uint64_t time)
{
	const struct jp_truth_code *codes = truth->codes;
	size_t i;

	jp_search(i, high,
		  codes[i].pid != pid     ? codes[i].pid < pid
		  : codes[i].addr != addr ? codes[i].addr < addr
					  : codes[i].loaded <= time);
	return i;
}

const struct jp_truth_code *jp_truth_code_at(const struct jp_truth *truth, uint32_t pid,
					     uint64_t ip, uint64_t time)
{
	size_t index = find_code_after(truth, truth->nr_codes, pid, ip, UINT64_MAX);

	/* Search downwards from the nearest start below @ip while any code there extends to @ip. Of
	 * several codes with the same start, take the one loaded last until @time. */
	while (index && truth->codes[index - 1].pid == pid && truth->code_reach[index - 1] > ip) {
		uint64_t addr = truth->codes[index - 1].addr;
		size_t later = find_code_after(truth, index, pid, addr, time);

		if (later) {
			const struct jp_truth_code *code = &truth->codes[later - 1];

			if (code->pid == pid && code->addr == addr && ip - addr < code->size &&
			    time <= code->unloaded)
				return code;
		}
		index = addr ? find_code_after(truth, index, pid, addr - 1, UINT64_MAX) : 0;
	}
	return NULL;
}

/* Returns whether a function called @name (NULL: any name) was ever at @ip; @in_file: considers
 * only code in files. */
static bool has_code_ever(const struct jp_truth *truth, uint32_t pid, uint64_t ip, const char *name,
			  bool in_file)
{
	size_t i = find_code_after(truth, truth->nr_codes, pid, ip, UINT64_MAX);

	for (; i && truth->codes[i - 1].pid == pid && truth->code_reach[i - 1] > ip; i--) {
		const struct jp_truth_code *code = &truth->codes[i - 1];

		if (ip - code->addr < code->size && (code->in_file || !in_file) &&
		    (!name || strcmp(code->name, name) == 0))
			return true;
	}
	return false;
}

bool jp_truth_was_code_at(const struct jp_truth *truth, uint32_t pid, uint64_t ip, const char *name)
{
	return has_code_ever(truth, pid, ip, name, false);
}

bool jp_truth_was_file_code_at(const struct jp_truth *truth, uint32_t pid, uint64_t ip)
{
	return has_code_ever(truth, pid, ip, NULL, true);
}

/* Returns 1 if code stays loaded in the memory that @act removed, 0 if not, or -E2BIG. */
static int unmaps_live_code(struct jp_truth_collector *collector, const struct jp_event *act)
{
	const struct jp_truth *truth = collector->truth;
	uint64_t addr = act->map.addr + act->map.len;
	size_t index =
		addr ? find_code_after(truth, truth->nr_codes, act->pid, addr - 1, UINT64_MAX) : 0;

	while (index && truth->codes[index - 1].pid == act->pid &&
	       truth->code_reach[index - 1] > act->map.addr) {
		const struct jp_truth_code *code;
		size_t later;

		if (++collector->steps > JP_TRUTH_MOST_STEPS)
			return -E2BIG;
		addr = truth->codes[index - 1].addr;
		later = find_code_after(truth, index, act->pid, addr, act->before);
		code = later ? &truth->codes[later - 1] : NULL;
		if (code && code->pid == act->pid && code->addr == addr &&
		    addr + code->size > act->map.addr && code->ready < act->before &&
		    code->ending > act->after)
			return 1;
		index = addr ? find_code_after(truth, index, act->pid, addr - 1, UINT64_MAX) : 0;
	}
	return 0;
}

static bool removes_memory(const struct jp_event *act)
{
	return act->type == JP_EVENT_UNMAP ||
	       (act->type == JP_EVENT_REMAP && act->map.new_addr != act->map.addr);
}

/* Returns the addresses and times at which @code was loaded for certain. */
static struct jp_box get_certain_box(const struct jp_truth_code *code)
{
	return (struct jp_box){code->addr, code->addr + code->size, code->ready, code->ending - 1};
}

static bool is_certain(const struct jp_truth_code *code)
{
	return code->size && code->ready < code->ending;
}

/* Counts a contradiction for each of @codes[from..to) that its process itself loaded while other
 * code was at the same place. All are of one process. Returns 0 or -ENOMEM. */
static int check_overwritten(struct jp_truth *truth, size_t from, size_t to)
{
	struct jp_boxes boxes = {0};
	int failed = 0;

	for (size_t i = from; i < to && !failed; i++) {
		const struct jp_box box = get_certain_box(&truth->codes[i]);

		if (is_certain(&truth->codes[i]))
			failed = jp_boxes_add(&boxes, 0, &box, i);
	}
	jp_boxes_build(&boxes);
	for (size_t i = from; i < to && !failed; i++) {
		const struct jp_truth_code *code = &truth->codes[i];
		const struct jp_box box = get_certain_box(code);
		size_t cursor = 0, other_code;

		if (code->by_pid == code->pid && is_certain(code))
			while (jp_boxes_find_next(&boxes, 0, &box, &cursor, &other_code))
				if (other_code < i ||
				    truth->codes[other_code].by_pid != code->pid) {
					jp_truth_count_contradiction(truth);
					break;
				}
	}
	jp_boxes_free(&boxes);
	return failed;
}

/* Checks each process that loaded code itself. A fork's inherited code was checked in its
 * parent. */
static int check_all_overwritten(struct jp_truth *truth)
{
	int failed = 0;

	for (size_t i = 0, next; i < truth->nr_codes && !failed; i = next) {
		const uint32_t pid = truth->codes[i].pid;
		bool by_itself = false;

		for (next = i; next < truth->nr_codes && truth->codes[next].pid == pid; next++)
			by_itself |= truth->codes[next].by_pid == pid;
		failed = by_itself ? check_overwritten(truth, i, next) : 0;
	}
	return failed;
}

int jp_truth_check_code_is_mapped(struct jp_truth_collector *collector)
{
	struct jp_truth *truth = collector->truth;
	int ret = check_all_overwritten(truth);

	for (size_t i = 0; ret >= 0 && i < truth->nr_acts; i++) {
		ret = removes_memory(&truth->acts[i]) ? unmaps_live_code(collector, &truth->acts[i])
						      : 0;
		if (ret > 0)
			jp_truth_count_contradiction(truth);
	}
	return ret < 0 ? ret : 0;
}
