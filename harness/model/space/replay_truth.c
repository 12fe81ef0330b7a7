// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/space/replay_truth.h"

#include <stdio.h>
#include <string.h>

/* perf_event_mmap_event() (kernel/events/core.c) and shmem's own names. */
static void recorded_name(const struct jp_truth_act *act, char *name, size_t size)
{
	switch (act->backing) {
	case JP_BACKING_ANON:
		snprintf(name, size, "//anon");
		break;
	case JP_BACKING_MEMFD:
		snprintf(name, size, "/memfd:%s (deleted)", act->name);
		break;
	case JP_BACKING_ZERO:
		snprintf(name, size, "/dev/zero (deleted)");
		break;
	case JP_BACKING_HUGETLB:
		snprintf(name, size, "/anon_hugepage (deleted)");
		break;
	case JP_BACKING_HEAP:
		snprintf(name, size, "[heap]");
		break;
	default:
		snprintf(name, size, "%s", act->name);
	}
}

static int map(struct jp_replay *replay, const struct jp_truth_act *act, uint64_t addr,
	       uint64_t len, uint64_t offset, uint8_t prot, const char *name)
{
	struct jp_event event = {
		.type = JP_EVENT_MAP,
		.time = act->after,
		.pid = act->pid,
		.tid = act->tid,
		.map = {.addr = addr, .len = len, .pgoff = offset, .prot = prot, .name = name},
	};

	return jp_replay_apply(replay, &event);
}

static int protect(struct jp_replay *replay, const struct jp_truth_act *act)
{
	uint64_t end = act->addr + act->len, next;

	for (uint64_t addr = act->addr; addr < end; addr = next) {
		const struct jp_mapping *old = jp_replay_from(replay, act->pid, addr);
		int failed;

		if (!old || old->start >= end)
			break;
		if (addr < old->start) /* nothing of the truth's lies before it */
			addr = old->start;
		next = old->end < end ? old->end : end;
		failed = map(replay, act, addr, next - addr, old->pgoff + (addr - old->start),
			     act->prot, old->name);
		if (failed)
			return failed;
	}
	return 0;
}

static int remap(struct jp_replay *replay, const struct jp_truth_act *act)
{
	const struct jp_mapping *found = jp_replay_find(replay, act->pid, act->addr);
	struct jp_mapping old;
	int failed;

	if (!found)
		return 0;
	old = *found;
	failed = jp_replay_cut(replay, act->pid, act->addr, act->len);
	if (failed)
		return failed;
	return map(replay, act, act->new_addr, act->new_len, old.pgoff + (act->addr - old.start),
		   old.prot, old.name);
}

int jp_replay_truth(struct jp_replay *replay, const struct jp_truth_act *act)
{
	struct jp_event event = {.time = act->after, .pid = act->pid, .tid = act->tid};
	char name[4352];

	switch (act->type) {
	case JP_TRUTH_MAP:
		recorded_name(act, name, sizeof(name));
		/* An anonymous mapping's file offset is the address at which it was made. */
		return map(replay, act, act->addr, act->len,
			   act->backing == JP_BACKING_ANON ? act->addr : act->offset, act->prot,
			   name);
	case JP_TRUTH_PROTECT:
		return protect(replay, act);
	case JP_TRUTH_REMAP:
		return remap(replay, act);
	case JP_TRUTH_UNMAP:
		return jp_replay_cut(replay, act->pid, act->addr, act->len);
	case JP_TRUTH_PROCESS_EXIT:
		/* Those who share its space keep it. */
		return jp_replay_share(replay, act->pid, act->pid);
	case JP_TRUTH_PROCESS_START:
		if (act->how == JP_HOW_SHARE)
			return jp_replay_share(replay, act->pid, act->parent);
		if (act->how == JP_HOW_FORK || act->how == JP_HOW_VFORK) {
			event.type = JP_EVENT_FORK;
			event.task.ppid = act->parent;
		} else {
			event.type = JP_EVENT_COMM;
			event.comm.name = "";
			event.comm.exec = true;
		}
		return jp_replay_apply(replay, &event);
	default:
		return 0;
	}
}
