// SPDX-License-Identifier: GPL-2.0-only
#include "harness/judge/evidence_gate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/format/perfdata/read.h"
#include "harness/model/space/replay.h"

const char *jp_left_out_text(enum jp_left_out left_out)
{
	static const char *const texts[] = {"nothing", "pathless", "snapshot", "window", "gate"};

	return texts[left_out];
}

/* What the policy skipped of a snapshot. */
static enum jp_left_out skipped(const struct jp_evidence *evidence, const struct jp_procmap *map)
{
	if (!(map->prot & JP_PROT_EXEC))
		return JP_LEFT_NOTHING;
	if (strcmp(evidence->info.policy, "none") == 0)
		return JP_LEFT_SNAPSHOT;
	if (strcmp(evidence->info.policy, "paths") == 0 && !*map->name)
		return JP_LEFT_PATHLESS;
	return JP_LEFT_NOTHING;
}

/* Whether @act made memory executable after the snapshot was begun and before the events were on:
 * nobody saw it. */
static bool in_window(const struct jp_evidence *evidence, const struct jp_event *act)
{
	bool executable = (act->type == JP_EVENT_MAP || act->type == JP_EVENT_PROTECT) &&
			  (act->map.prot & JP_PROT_EXEC);

	if (!executable && act->type != JP_EVENT_REMAP)
		return false;
	for (size_t i = 0; i < evidence->nr_snapshots; i++)
		if (evidence->snapshots[i].pid == act->pid)
			return act->after >= evidence->snapshots[i].before &&
			       act->before <= evidence->info.enabled;
	return false;
}

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

/* What the capture left out that covers @ip of @pid, where @last gave it its mapping; its text in
 * @what. */
static enum jp_left_out left_out(const struct jp_evidence *evidence, uint32_t pid, uint64_t ip,
				 const struct jp_event *last, char *what, size_t size)
{
	for (size_t i = 0; i < evidence->nr_snapshots; i++) {
		const struct jp_snapshot *snapshot = &evidence->snapshots[i];

		/* What came after the snapshot, no policy left out of it. */
		if (snapshot->pid != pid || (last && last->before > snapshot->after))
			continue;
		for (size_t j = 0; j < snapshot->count; j++) {
			const struct jp_procmap *map = &snapshot->maps[j];
			enum jp_left_out why = skipped(evidence, map);

			if (why == JP_LEFT_NOTHING || ip < map->start || ip >= map->end)
				continue;
			snprintf(what, size,
				 "%" PRIx64 "-%" PRIx64
				 " %s of pid %u is older than the capture, and "
				 "policy %s skipped it",
				 map->start, map->end, *map->name ? map->name : "(no path)", pid,
				 evidence->info.policy);
			return why;
		}
	}
	if (!last || !in_window(evidence, last))
		return JP_LEFT_NOTHING;
	snprintf(what, size,
		 "%" PRIx64 " of pid %u was mapped at %" PRIu64
		 ", after the snapshot and before the events were enabled",
		 ip, pid, last->before);
	return JP_LEFT_WINDOW;
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

const char *jp_evidence_unmapped(const struct jp_evidence *evidence, uint32_t pid, uint64_t ip,
				 uint64_t time, char *what, size_t size)
{
	const struct jp_event *last = last_act(evidence->truth, pid, ip, time);
	enum jp_left_out why =
		jp_evidence_gated(evidence)
			? jp_evidence_gate_left_out(evidence, pid, ip, time, last, what, size)
			: left_out(evidence, pid, ip, last, what, size);
	uint32_t other;

	if (why != JP_LEFT_NOTHING)
		return jp_left_out_text(why);
	if (last && last->type == JP_EVENT_REMAP) {
		snprintf(what, size,
			 "%" PRIx64 " came there by mremap at %" PRIu64
			 ", of which the kernel makes no record",
			 ip, last->before);
		return "mremap";
	}
	other = last ? 0 : sharer(evidence->truth, pid, ip, time);
	if (other) {
		snprintf(what, size,
			 "%" PRIx64 " was mapped by pid %u, which has the same address space: the "
			 "kernel's record has that pid alone",
			 ip, other);
		return "shared-mm";
	}
	snprintf(what, size, "%" PRIx64 " is in no mapping record", ip);
	return "no-record";
}

const char *jp_evidence_ended(const struct jp_evidence *evidence, uint32_t pid, uint64_t addr,
			      uint64_t before, uint64_t time)
{
	if (jp_evidence_untold_exec(evidence, pid, before, time))
		return jp_left_out_text(JP_LEFT_GATE);
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

/* A walk with what was left out put back at its time. */
struct walk {
	const struct jp_evidence *evidence;
	jp_event_visit visit;
	void *context;
	struct jp_event *extras; /* by time */
	size_t nr_extras, next;
	struct jp_replay *names; /* keeps the extras' names */
};

static int visit_with_extras(void *context, const struct jp_event *event)
{
	struct walk *walk = context;
	int stop;

	while (walk->next < walk->nr_extras && walk->extras[walk->next].time <= event->time) {
		stop = walk->visit(walk->context, &walk->extras[walk->next++]);
		if (stop)
			return stop;
	}
	return walk->visit(walk->context, event);
}

static int add_extra(void *context, struct jp_event extra)
{
	struct walk *walk = context;
	struct jp_event *bigger =
		realloc(walk->extras, (walk->nr_extras + 1) * sizeof(*walk->extras));
	size_t i;

	if (!bigger)
		return -ENOMEM;
	walk->extras = bigger;
	for (i = walk->nr_extras++; i > 0 && bigger[i - 1].time > extra.time; i--)
		bigger[i] = bigger[i - 1];
	bigger[i] = extra;
	return 0;
}

struct jp_event jp_snapshot_event(const struct jp_snapshot *snapshot, const struct jp_procmap *map)
{
	return (struct jp_event){
		.type = JP_EVENT_MAP,
		.time = snapshot->before,
		.pid = snapshot->pid,
		.tid = snapshot->pid,
		.map = {.addr = map->start,
			.len = map->end - map->start,
			.pgoff = *map->name ? map->offset : map->start,
			.maj = map->maj,
			.min = map->min,
			.ino = map->ino,
			.has_identity = true,
			.prot = map->prot,
			.name = *map->name ? map->name : "//anon"},
	};
}

static int collect_skipped(struct walk *walk, enum jp_left_out add_back)
{
	const struct jp_evidence *evidence = walk->evidence;

	for (size_t i = 0; i < evidence->nr_snapshots; i++) {
		const struct jp_snapshot *snapshot = &evidence->snapshots[i];

		for (size_t j = 0; j < snapshot->count; j++)
			if (skipped(evidence, &snapshot->maps[j]) == add_back &&
			    add_extra(walk, jp_snapshot_event(snapshot, &snapshot->maps[j])))
				return -ENOMEM;
	}
	return 0;
}

/* What the truth had mapped in the window and still had when the events were enabled. */
static int collect_window(struct walk *walk)
{
	const struct jp_truth *truth = walk->evidence->truth;
	struct jp_replay *replay = jp_replay_new();
	int failed = replay ? 0 : -ENOMEM;

	for (size_t i = 0; !failed && i < truth->nr_acts; i++)
		if (truth->acts[i].before <= walk->evidence->info.enabled)
			failed = jp_replay_apply(replay, &truth->acts[i]);
	for (size_t i = 0; !failed && i < truth->nr_acts; i++) {
		const struct jp_event *act = &truth->acts[i];
		bool moved = act->type == JP_EVENT_REMAP;
		const struct jp_mapping *map;
		struct jp_event extra = {.type = JP_EVENT_MAP, .time = act->after};

		if (!in_window(walk->evidence, act))
			continue;
		map = jp_replay_find(replay, act->pid, moved ? act->map.to : act->map.addr);
		if (!map || !(map->prot & JP_PROT_EXEC))
			continue;
		extra.pid = extra.tid = act->pid;
		extra.map.addr = map->start;
		extra.map.len = map->end - map->start;
		extra.map.pgoff = map->pgoff;
		extra.map.prot = map->prot;
		extra.map.name = map->name;
		failed = add_extra(walk, extra);
	}
	walk->names = replay;
	return failed;
}

static int walk_file(const struct jp_evidence *evidence, const char *file,
		     enum jp_left_out add_back, jp_event_visit visit, void *context,
		     struct jp_error *err)
{
	struct walk walk = {.evidence = evidence, .visit = visit, .context = context};
	struct jp_perfdata_summary summary;
	char path[4096];
	int failed = 0;

	if (add_back == JP_LEFT_WINDOW)
		failed = collect_window(&walk);
	else if (add_back == JP_LEFT_GATE)
		failed = (walk.names = jp_replay_new())
				 ? jp_evidence_gate_extras(evidence, walk.names, add_extra, &walk)
				 : -ENOMEM;
	else if (add_back != JP_LEFT_NOTHING)
		failed = collect_skipped(&walk, add_back);
	if (failed)
		jp_fail(err, ENOMEM, "%s: no memory", evidence->dir);
	snprintf(path, sizeof(path), "%s/%s", evidence->dir, file);
	if (!failed)
		failed = jp_perfdata_read(path, visit_with_extras, &walk, &summary, err);
	free(walk.extras);
	jp_replay_free(walk.names);
	return failed;
}

int jp_evidence_walk(const struct jp_evidence *evidence, enum jp_left_out add_back,
		     jp_event_visit visit, void *context, struct jp_error *err)
{
	return walk_file(evidence, "perf.data", add_back, visit, context, err);
}

int jp_evidence_walk_injected(const struct jp_evidence *evidence, enum jp_left_out add_back,
			      jp_event_visit visit, void *context, struct jp_error *err)
{
	return walk_file(evidence, "injected.data", add_back, visit, context, err);
}
