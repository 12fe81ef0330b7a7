// SPDX-License-Identifier: GPL-2.0-only
#include "harness/judge/unmapped.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The last act by @time that put something at @ip, or changed what is allowed there; or NULL. */
static const struct jp_event *last_act(const struct jp_truth *truth, uint32_t pid, uint64_t ip,
				       uint64_t time)
{
	const struct jp_event *last = NULL;

	for (size_t i = 0; i < truth->nr_acts; i++) {
		const struct jp_event *act = &truth->acts[i];
		bool moved = act->type == JP_EVENT_REMAP;

		if (act->pid == pid && act->before <= time &&
		    (moved || act->type == JP_EVENT_MAP || act->type == JP_EVENT_PROTECT) &&
		    ip - (moved ? act->map.to : act->map.addr) <
			    (moved ? act->map.to_len : act->map.len))
			last = act;
	}
	return last;
}

/* Another process in @pid's address space whose act gave @ip its mapping: 0, there is none. */
static uint32_t sharer(const struct jp_truth *truth, uint32_t pid, uint64_t ip, uint64_t time)
{
	for (size_t i = 0; i < truth->nr_acts; i++) {
		const struct jp_event *act = &truth->acts[i];
		uint32_t other = act->pid == pid ? act->task.ppid : act->pid;

		if (act->type == JP_EVENT_FORK && act->task.how == JP_HOW_SHARE &&
		    (act->pid == pid || act->task.ppid == pid) && act->before <= time &&
		    last_act(truth, other, ip, time))
			return other;
	}
	return 0;
}

/* Since when @ip of @pid has been what it is at @time, as far as the truth tells. */
static uint64_t since(const struct jp_evidence *evidence, const struct jp_event *last, uint32_t pid,
		      uint64_t time)
{
	const struct jp_truth *truth = evidence->truth;
	uint64_t start = last ? last->before : 0;

	for (size_t i = 0; i < truth->nr_incarnations && !last; i++)
		if (truth->incarnations[i].pid == pid && truth->incarnations[i].before <= time)
			start = truth->incarnations[i].before;
	return start < evidence->info.slack ? 0 : start - evidence->info.slack;
}

/* Whether a snapshot that was read after @act, and by @time, shows executable memory at @ip. */
static bool in_snapshot(const struct jp_evidence *evidence, const struct jp_event *act, uint64_t ip,
			uint64_t time)
{
	for (size_t i = 0; i < evidence->snapshots.count; i++) {
		const struct jp_snapshot *snapshot = &evidence->snapshots.list[i];

		if (snapshot->pid == act->pid && snapshot->before >= act->after &&
		    snapshot->after <= time && jp_snapshot_executable(snapshot, ip))
			return true;
	}
	return false;
}

struct jp_unmapped jp_unmapped(const struct jp_evidence *evidence, const struct jp_spans *known,
			       uint32_t pid, uint64_t ip, uint64_t time)
{
	const struct jp_event *last = last_act(evidence->truth, pid, ip, time);
	struct jp_unmapped found = {
		.cause = "no-record",
		.left_out = {.evidence = evidence, .pid = pid, .ip = ip, .act = last}};

	if (jp_spans_told(known, pid, ip, since(evidence, last, pid, time), time))
		return found;
	if (jp_left_out_mapping(&found.left_out, time)) {
		found.cause = found.left_out.control->name;
	} else if (last) {
		if (last->type == JP_EVENT_REMAP && !in_snapshot(evidence, last, ip, time))
			found.cause = "mremap";
	} else {
		found.sharer = sharer(evidence->truth, pid, ip, time);
		if (jp_spans_told(known, found.sharer, ip, 0, time))
			found.cause = "shared-mm";
	}
	return found;
}

const char *jp_unmapped_text(const struct jp_unmapped *unmapped, char *text, size_t size)
{
	const struct jp_left_out *left_out = &unmapped->left_out;

	if (left_out->control)
		left_out->control->describe(left_out, text, size);
	else if (strcmp(unmapped->cause, "shared-mm") == 0)
		snprintf(text, size,
			 "%" PRIx64 " was mapped by pid %u, which has the same address space: the "
			 "kernel's record has that pid alone",
			 left_out->ip, unmapped->sharer);
	else if (strcmp(unmapped->cause, "mremap") == 0)
		snprintf(text, size,
			 "%" PRIx64 " came there by mremap at %" PRIu64
			 ", of which the kernel makes no record",
			 left_out->ip, left_out->act->before);
	else
		snprintf(text, size, "%" PRIx64 " is in no mapping record that holds",
			 left_out->ip);
	return text;
}

const char *jp_unmapped_late(const struct jp_evidence *evidence, uint32_t pid, uint64_t addr,
			     uint64_t before, uint64_t time)
{
	const struct jp_control *control = jp_left_out_exec(evidence, pid, before, time);

	if (control)
		return control->name;
	for (size_t i = 0; i < evidence->truth->nr_acts; i++) {
		const struct jp_event *act = &evidence->truth->acts[i];

		if (act->pid != pid || act->before != before ||
		    addr - act->map.addr >= act->map.len)
			continue;
		if (act->type == JP_EVENT_UNMAP)
			return "munmap";
		if (act->type == JP_EVENT_REMAP)
			return "mremap";
		if (act->type == JP_EVENT_PROTECT)
			return "mprotect";
	}
	return "stale";
}
