// SPDX-License-Identifier: GPL-2.0-only
/* Snapshots: a capture's reading of a process's maps decides when it can know of a mapping. Each
 * must show what was executable during the reading, and nothing else; none may be missing; and each
 * executable line must have a record. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/digest.h"
#include "harness/base/map.h"
#include "harness/judge/validator.h"
#include "harness/model/oracle/executable_load.h"
#include "validators/mapping_compare.h"

struct shown {
	struct jp_view *view;
	struct jp_executables truth;
	struct jp_map told; /* digest of a line -> 1: it has a record */
	uint64_t stretches, missing, lines, invented;
	bool all_told; /* the capture is ours, with records of all that it read */
};

/* Returns whether @one existed while @snapshot was read: all the time (@surely), or possibly at
 * some time. */
static bool was_there(const struct shown *shown, const struct jp_executable *one,
		      const struct jp_snapshot *snapshot, bool surely)
{
	const uint64_t slack = shown->view->evidence->info.slack;
	const uint64_t opened = surely ? one->open_after : one->open_before;
	const uint64_t closed = surely ? one->close_before : one->close_after;
	const uint64_t from = surely ? snapshot->before : snapshot->after + slack;
	const uint64_t to = surely ? snapshot->after + slack : snapshot->before;

	return opened + (surely ? slack : 0) <= from &&
	       (closed == UINT64_MAX || to <= closed + (surely ? 0 : slack));
}

/* Returns whether @line describes @one as the process's own maps do. */
static bool is_same(const struct shown *shown, const struct jp_executable *one,
		    const struct jp_procmap *line)
{
	const struct jp_procmap *own = shown->truth.memories[one->memory].line;

	return line->prot == one->prot && (!own || own->shared == line->shared);
}

/* Returns the address up to which the lines of @snapshot show @one, from its start on. */
static uint64_t shown_until(const struct shown *shown, const struct jp_snapshot *snapshot,
			    const struct jp_executable *one)
{
	const struct jp_procmap *line;
	uint64_t at = one->start;

	while (at < one->end && (line = jp_snapshot_executable(snapshot, at)) &&
	       is_same(shown, one, line))
		at = line->end;
	return at;
}

/* Returns the address up to which something may be there, from @line's start on. */
static uint64_t true_until(const struct shown *shown, const struct jp_snapshot *snapshot,
			   const struct jp_procmap *line)
{
	const struct jp_executable *one;
	uint64_t reached = line->start;
	size_t at = SIZE_MAX;

	while ((one = jp_executables_next(&shown->truth, snapshot->pid, line->start, line->end,
					  &at)))
		if (one->start <= reached && one->end > reached && is_same(shown, one, line) &&
		    was_there(shown, one, snapshot, false))
			reached = one->end;
	return reached;
}

/* Returns the digest of a record made from a line. Memory without a name is "//anon". */
static uint64_t digest_of(uint32_t pid, uint64_t start, uint64_t end, uint64_t offset,
			  uint64_t prot, bool shared, uint64_t maj, uint64_t min, uint64_t ino,
			  const char *name)
{
	const uint64_t words[] = {pid, start, end, offset, prot, shared, maj, min, ino};

	return jp_digest(jp_digest(0, words, sizeof(words)), name, strlen(name));
}

/* A record made from a line has no time, or the reading's time, and no generation: no line states
 * it. */
static int see(struct jp_view *view, const struct jp_event *event)
{
	struct shown *shown = view->state;

	if (event->type != JP_EVENT_MAP || event->map.gen || !event->map.has_identity ||
	    (event->time &&
	     !jp_snapshots_cover_time(&view->evidence->snapshots, event->pid, event->time)))
		return 0;
	return jp_map_at(&shown->told,
			 digest_of(event->pid, event->map.addr, event->map.addr + event->map.len,
				   event->map.pgoff, event->map.prot,
				   jp_mapping_is_shared(event->map.flags), event->map.maj,
				   event->map.min, event->map.ino, event->map.name),
			 sizeof(uint64_t))
		       ? 0
		       : -ENOMEM;
}

static bool is_told(const struct shown *shown, const struct jp_snapshot *snapshot,
		    const struct jp_procmap *line)
{
	const bool paths =
		strcmp(shown->view->evidence->info.policy, jp_synth_text(JP_SYNTH_PATHS)) == 0;

	return !shown->all_told || (paths && !*line->name) ||
	       jp_map_find(&shown->told,
			   digest_of(snapshot->pid, line->start, line->end, line->offset,
				     line->prot, line->shared == 's', line->maj, line->min,
				     line->ino, *line->name ? line->name : "//anon"));
}

static int except(struct shown *shown, const char *metric, const char *cause,
		  const struct jp_snapshot *snapshot, uint64_t start, uint64_t end,
		  uint64_t reached)
{
	return jp_findings_except(&shown->view->findings, metric, cause,
				  "pid %u, read from %" PRIu64 " to %" PRIu64 ": %" PRIx64
				  "-%" PRIx64 " from %" PRIx64 " on",
				  snapshot->pid, snapshot->before, snapshot->after, start, end,
				  reached);
}

static int judge(struct shown *shown, const struct jp_snapshot *snapshot)
{
	const struct jp_executable *one;
	size_t at = SIZE_MAX;
	int failed = 0;

	while (!failed &&
	       (one = jp_executables_next(&shown->truth, snapshot->pid, 0, UINT64_MAX, &at))) {
		uint64_t reached = shown_until(shown, snapshot, one);

		if (!was_there(shown, one, snapshot, true))
			continue;
		shown->stretches++;
		if (reached >= one->end)
			continue;
		shown->missing++;
		failed = except(shown, "snapshots.missing", "not-shown", snapshot, one->start,
				one->end, reached);
	}
	for (size_t i = 0; !failed && i < snapshot->count; i++) {
		const struct jp_procmap *line = &snapshot->maps[i];
		uint64_t reached;

		if (!(line->prot & JP_PROT_EXEC))
			continue;
		shown->lines++;
		if (!is_told(shown, snapshot, line)) {
			shown->missing++;
			failed = except(shown, "snapshots.missing", "not-told", snapshot,
					line->start, line->end, line->start);
		}
		reached = true_until(shown, snapshot, line);
		if (failed || reached >= line->end)
			continue;
		shown->invented++;
		failed = except(shown, "snapshots.invented", "not-there", snapshot, line->start,
				line->end, reached);
	}
	return failed;
}

/* Returns whether the process stated its maps. The truth has nothing about others. */
static bool has_mark(const struct shown *shown, const struct jp_snapshot *snapshot)
{
	for (size_t i = 0; i < shown->truth.nr_marks; i++)
		if (shown->truth.marks[i].pid == snapshot->pid)
			return true;
	return false;
}

static int end(struct jp_view *view, struct jp_error *err)
{
	const struct jp_evidence *evidence = view->evidence;
	const struct jp_snapshots *snapshots = &evidence->snapshots;
	struct shown *shown = view->state;
	int failed = 0;

	/* Our captures state how many they read. */
	if (snapshots->count < evidence->info.snapshots) {
		shown->missing++;
		shown->stretches++;
		failed = jp_findings_except(&view->findings, "snapshots.missing", "no-snapshot",
					    "the capture read %" PRIu64
					    " snapshots of maps, the case has %zu",
					    evidence->info.snapshots, snapshots->count);
	}
	for (size_t i = 0; !failed && i < snapshots->count; i++)
		if (has_mark(shown, &snapshots->list[i]))
			failed = judge(shown, &snapshots->list[i]);
	jp_findings_add_rate(&view->findings, "snapshots.missing", shown->missing,
			     shown->stretches);
	jp_findings_add_rate(&view->findings, "snapshots.invented", shown->invented, shown->lines);
	return failed;
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	struct shown *shown;

	if (view->evidence->truth->version < JP_TRUTH_VERSION_MAPS)
		return 0;
	shown = view->state = calloc(1, sizeof(*shown));
	if (!shown)
		return -ENOMEM;
	shown->view = view;
	/* A gate's snapshot leaves out what is known already. */
	shown->all_told = view->evidence->info.first_enabled &&
			  !jp_evidence_gated(view->evidence) &&
			  strcmp(view->evidence->info.policy, jp_synth_text(JP_SYNTH_NONE)) != 0;
	return jp_executables_load(&shown->truth, view->evidence->truth, err);
}

static void free_shown(void *state)
{
	struct shown *shown = state;

	jp_executables_free(&shown->truth);
	jp_map_free(&shown->told);
	free(shown);
}

static const struct jp_validator snapshots_validator = {
	.name = "snapshots",
	.help = "does each reading of a process's maps show what was executable then?",
	.begin = begin,
	.see = see,
	.end = end,
	.free = free_shown,
};
JP_REGISTER(validator, snapshots_validator);
