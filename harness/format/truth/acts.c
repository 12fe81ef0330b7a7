// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/truth/tables.h"

#include <errno.h>

/* Mapping and process acts go to the public table as they are. */
int jp_truth_add_act(struct jp_truth *truth, size_t *capacity, const struct jp_truth_record *record)
{
	const uint64_t *a = record->a;
	struct jp_truth_act act = {.type = record->type,
				   .pid = record->pid,
				   .tid = record->tid,
				   .before = record->before,
				   .after = record->after,
				   .name = ""};

	switch (record->type) {
	case JP_TRUTH_PROCESS_START:
		act.parent = a[0];
		act.how = a[1];
		if (a[1] >= JP_HOWS)
			goto bad;
		break;
	case JP_TRUTH_MAP:
		act.prot = a[2] & 0xff;
		act.backing = a[2] >> 8 & 0xff;
		act.offset = a[3];
		act.name = jp_truth_text_of(truth, a[2] >> 32);
		if (!act.name || act.backing > JP_BACKING_FILE)
			goto bad;
		break;
	case JP_TRUTH_PROTECT:
		act.prot = a[2];
		break;
	case JP_TRUTH_REMAP:
		act.new_addr = a[2];
		act.new_len = a[3];
		if (act.new_addr + act.new_len < act.new_addr)
			goto bad;
		break;
	case JP_TRUTH_MARK:
		act.name = jp_truth_text_of(truth, a[0]);
		act.offset = a[1];
		if (!act.name || a[0] > UINT32_MAX)
			goto bad;
		break;
	case JP_TRUTH_WAIT:
		act.offset = a[0];
		break;
	default:
		break;
	}
	if (record->type >= JP_TRUTH_MAP && record->type <= JP_TRUTH_UNMAP) {
		act.addr = a[0];
		act.len = a[1];
		if (act.addr + act.len < act.addr || !act.len)
			goto bad;
	}
	if (!jp_truth_grow((void **)&truth->acts, capacity, truth->nr_acts, sizeof(act)))
		return -ENOMEM;
	truth->acts[truth->nr_acts++] = act;
	return 0;
bad:
	jp_truth_mark_corrupt(truth);
	return 0;
}
