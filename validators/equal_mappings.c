// SPDX-License-Identifier: GPL-2.0-only
/*
 * Equal mappings: at each moment at which a process told all its executable mappings, and at the
 * borders of the time in which it was watched, the capture's executable bytes must be the same, and
 * each record in between must tell of something that was there.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/map.h"
#include "harness/base/order.h"
#include "harness/base/search.h"
#include "harness/judge/unmapped.h"
#include "harness/judge/validator.h"
#include "validators/mapping_compare.h"

/* What is above is the kernel's: its [vsyscall] page is in all maps, and no record of its own. */
#define USER_END (UINT64_C(1) << 63)

struct point {
	uint64_t time;
	uint32_t pid;
	bool mark;
};

/* A mapping record of perf.data, by which injected.data's own are told from it. */
struct captured {
	uint64_t time, start, end;
	uint32_t pid;
};

struct equal {
	struct jp_view *view;
	struct jp_replay *spaces; /* of the file that is read */
	bool injected;            /* it is injected.data */
	struct captured *captured;
	size_t nr_captured, captured_capacity;
	uint64_t code_records, no_code, taken, taken_files;
	const struct jp_evidence *evidence;
	struct jp_executables truth;
	struct point *points; /* by time */
	size_t nr_points, points_capacity, next;
	struct jp_map threads; /* by process and thread: those of which the truth tells */
	struct jp_map listed;  /* what is an exception already: it counts once, not at each point */
	const struct jp_executable **now; /* what may be there at a point, in the order of starts */
	size_t nr_now, now_capacity;
	uint64_t *edges;
	size_t nr_edges, edges_capacity;
	bool nothing; /* at this point the capture knows no mapping of the process at all */
	uint64_t marks, equal, compared, unjudged; /* bytes, but for the marks */
	uint64_t missing, extra, different;
	uint64_t records, invented, unknown;
};

/* A place of the capture that differs from the truth. */
struct difference {
	const char *metric, *cause;
	uint64_t start, end;
	const struct jp_executable *truth; /* NULL: nothing is there */
	const struct jp_executable *last;  /* that was there, then */
	const struct jp_mapping *known;    /* NULL: the capture has nothing */
};

static bool surely(const struct equal *equal, const struct jp_executable *one, uint64_t time)
{
	const uint64_t slack = equal->evidence->info.slack;

	return one->open_after + slack <= time &&
	       (one->close_before == UINT64_MAX || time + slack <= one->close_before);
}

/* At any time of [@from, @to]. */
static bool possibly(const struct equal *equal, const struct jp_executable *one, uint64_t from,
		     uint64_t to)
{
	const uint64_t slack = equal->evidence->info.slack;

	return one->open_before <= to + slack &&
	       (one->close_after == UINT64_MAX || from <= one->close_after + slack);
}

static const struct jp_memory *memory_of(const struct equal *equal, const struct jp_executable *one)
{
	return &equal->truth.memories[one->memory];
}

/* The stretch over @addr of @pid that ended last by @time; NULL: none did. */
static const struct jp_executable *last_at(const struct equal *equal, uint32_t pid, uint64_t addr,
					   uint64_t time)
{
	const uint64_t slack = equal->evidence->info.slack;
	const struct jp_executable *one, *last = NULL;
	size_t at = SIZE_MAX;

	while ((one = jp_executables_next(&equal->truth, pid, addr, addr + 1, &at)))
		if (one->close_after <= time + slack &&
		    (!last || one->close_after > last->close_after))
			last = one;
	return last;
}

/* Why the capture still holds @last; "invented": it never was. */
static const char *why_extra(const struct equal *equal, const struct jp_executable *last,
			     const struct jp_mapping *known, uint64_t time)
{
	const struct jp_control *control;

	if (!last || known->since > last->close_after + equal->evidence->info.slack)
		return "invented";
	control = jp_left_out_exec(equal->evidence, last->pid, last->close_before, time);
	if (control)
		return control->name;
	switch (last->closed_by) {
	case JP_EVENT_MAPS: /* no act told of it: it came and went with a library */
		return "dlclose";
	case JP_EVENT_UNMAP:
		return "munmap";
	case JP_EVENT_REMAP:
		return "mremap";
	case JP_EVENT_PROTECT:
		return "mprotect";
	case JP_EVENT_MAP: /* of what is not executable */
		return "not-executable";
	default:
		return "stale";
	}
}

/*
 * Whether @different is listed now for the first time. What follows from one act counts once, as
 * the bounds of expectations count acts; what no act told, each stretch, but a process of which
 * nothing is known, once; the rest, each record.
 */
static int list(struct equal *equal, uint32_t pid, const struct difference *different, bool *first)
{
	const struct jp_executable *truth = different->truth, *last = different->last;
	const bool extra = !truth && last && strcmp(different->cause, "invented") != 0;
	uint64_t what = extra            ? last->close_before
			: equal->nothing ? 0
			: truth && !different->known
				? (equal->truth.memories[truth->memory].act
					   ? truth->open_before
					   : (uint64_t)(truth - equal->truth.list))
				: different->known->at;
	uint64_t kind = !truth ? 0 : different->known ? 1 : equal->nothing ? 3 : 2;
	uint64_t key = (uint64_t)(extra ? last->pid : pid) << 42 ^ what << 2 ^ kind;
	uint64_t *listed = jp_map_at(&equal->listed, key, sizeof(*listed));

	if (!listed)
		return -ENOMEM;
	*first = !*listed;
	*listed = 1;
	return 0;
}

static const char *name_of(const struct equal *equal, const struct jp_executable *one)
{
	const struct jp_memory *memory = memory_of(equal, one);

	return memory->line && *memory->line->name     ? memory->line->name
	       : memory->act && *memory->act->map.name ? memory->act->map.name
						       : "(no name)";
}

static int except(struct equal *equal, const struct point *point,
		  const struct difference *different, uint64_t *count)
{
	const struct jp_executable *truth = different->truth;
	const struct jp_mapping *known = different->known;
	const struct jp_procmap *line = truth ? memory_of(equal, truth)->line : NULL;
	char there[128] = "nothing", told[128] = "nothing";
	bool first;
	int failed = list(equal, point->pid, different, &first);

	if (failed || !first)
		return failed;
	++*count;
	if (truth)
		snprintf(there, sizeof(there),
			 "%" PRIx64 "-%" PRIx64 " prot %u %c inode %" PRIu64 " %.60s", truth->start,
			 truth->end, truth->prot, line ? line->shared : '?', line ? line->ino : 0,
			 name_of(equal, truth));
	if (known)
		snprintf(told, sizeof(told),
			 "%" PRIx64 "-%" PRIx64 " prot %u flags %x inode %" PRIu64
			 " %.60s of %" PRIu64,
			 known->start, known->end, known->prot, known->flags, known->ino,
			 known->name, known->since);
	return jp_findings_except(
		&equal->view->findings, different->metric, different->cause,
		"pid %u, %" PRIx64 "-%" PRIx64 " at %" PRIu64 ": there is %s; the capture has %s",
		point->pid, different->start, different->end, point->time, there, told);
}

/* Whether the capture can know of @truth: the kernel's own page by a snapshot alone, which a gate
 * leaves to what knows the kernel's pages anyway. */
static bool is_told(const struct equal *equal, const struct jp_executable *truth, uint64_t time)
{
	const struct jp_snapshots *snapshots = &equal->evidence->snapshots;

	for (size_t i = 0; truth->start >= USER_END && !jp_evidence_gated(equal->evidence) &&
			   i < snapshots->count;
	     i++)
		if (snapshots->list[i].pid == truth->pid &&
		    snapshots->list[i].before >= truth->open_after &&
		    snapshots->list[i].after <= time)
			return true;
	return truth->start < USER_END;
}

/* What injecting took away: of emitted code's memory it may leave the code alone, of a file
 * nothing. What perf.data lacks too is listed already. */
static int judge_taken(struct equal *equal, const struct point *point,
		       const struct difference *different)
{
	const struct jp_memory *memory = memory_of(equal, different->truth);

	equal->taken += different->end - different->start;
	if (memory->act || !memory->line || *memory->line->name != '/')
		return 0;
	return except(equal, point, different, &equal->taken_files);
}

/* Judges [@start, @end), which all that is there holds whole or not at all. */
static int judge_piece(struct equal *equal, const struct point *point, size_t first, uint64_t start,
		       uint64_t end)
{
	const struct jp_evidence *evidence = equal->evidence;
	const struct jp_mapping *known = jp_replay_find(equal->spaces, point->pid, start);
	const struct jp_executable *truth = NULL;
	struct difference different = {.start = start, .end = end};
	bool possible = false;

	for (size_t i = first; i < equal->nr_now && equal->now[i]->start <= start; i++) {
		if (equal->now[i]->end <= start)
			continue;
		possible = true;
		if (surely(equal, equal->now[i], point->time))
			truth = equal->now[i];
	}
	if (known && !(known->prot & JP_PROT_EXEC))
		known = NULL;
	if ((!truth && !known) || (!known && !is_told(equal, truth, point->time)))
		return 0;
	if (!truth && possible) {
		equal->unjudged += equal->injected ? 0 : end - start;
		return 0;
	}
	different.truth = truth;
	different.known = known;
	different.metric = "injected.missing";
	different.cause = "taken";
	if (equal->injected)
		return known ? 0 : judge_taken(equal, point, &different);
	equal->compared += end - start;
	if (!truth) {
		different.metric = "mappings.extra";
		different.last = last_at(equal, point->pid, start, point->time);
		/* It was gone in the parent already, and nobody knew. */
		if (!different.last)
			different.last = last_at(equal, known->pid, start, point->time);
		different.cause = why_extra(equal, different.last, known, point->time);
		return except(equal, point, &different, &equal->extra);
	}
	if (known)
		different.cause = jp_mapping_differs(memory_of(equal, truth), truth, known, start);
	if (known && !different.cause) {
		equal->equal += end - start;
		return 0;
	}
	/* Of what came last there is no record, and what was there before lies on. */
	if (!known || known->since + evidence->info.slack < truth->open_before)
		different.cause =
			jp_unmapped(evidence, equal->view->known, point->pid, start, point->time)
				.cause;
	if (known) {
		different.metric = "mappings.differs";
		return except(equal, point, &different, &equal->different);
	}
	different.metric = "mappings.missing";
	return except(equal, point, &different, &equal->missing);
}

static int add_edges(struct equal *equal, uint64_t start, uint64_t end)
{
	if (!jp_array_reserve(&equal->edges, &equal->edges_capacity, equal->nr_edges + 2))
		return -ENOMEM;
	equal->edges[equal->nr_edges++] = start;
	equal->edges[equal->nr_edges++] = end;
	return 0;
}

/* What the truth and the capture have at @point, and where any of it begins or ends. */
static int gather(struct equal *equal, const struct point *point)
{
	const struct jp_executable *one;
	const struct jp_mapping *known;
	size_t at = SIZE_MAX;
	int failed = 0;

	equal->nr_now = equal->nr_edges = 0;
	equal->nothing = true;
	while (!failed &&
	       (one = jp_executables_next(&equal->truth, point->pid, 0, UINT64_MAX, &at))) {
		if (!possibly(equal, one, point->time, point->time))
			continue;
		if (!jp_array_reserve(&equal->now, &equal->now_capacity, equal->nr_now + 1))
			return -ENOMEM;
		equal->now[equal->nr_now++] = one;
		failed = add_edges(equal, one->start, one->end);
	}
	for (known = jp_replay_from(equal->spaces, point->pid, 0); !failed && known;
	     known = jp_replay_from(equal->spaces, point->pid, known->end))
		if (known->prot & JP_PROT_EXEC) {
			equal->nothing = false;
			failed = add_edges(equal, known->start, known->end);
		}
	if (equal->nr_edges)
		qsort(equal->edges, equal->nr_edges, sizeof(*equal->edges), jp_by_value);
	return failed;
}

static int judge_point(struct equal *equal, const struct point *point)
{
	int failed = gather(equal, point);
	size_t first = 0;

	equal->marks += point->mark && !equal->injected;
	for (size_t i = 0; !failed && i + 1 < equal->nr_edges; i++) {
		while (first < equal->nr_now && equal->now[first]->end <= equal->edges[i])
			first++;
		if (equal->edges[i] < equal->edges[i + 1])
			failed = judge_piece(equal, point, first, equal->edges[i],
					     equal->edges[i + 1]);
	}
	return failed;
}

/* When what @record tells of was so: at its time, or when a snapshot of it was read. False: a
 * record of no snapshot, from before the events were on. */
static bool told_of(const struct equal *equal, const struct jp_event *record, uint64_t *from,
		    uint64_t *to)
{
	const struct jp_evidence *evidence = equal->evidence;

	/* What a control left out comes from no file, and has the time of its act. */
	bool possible = !record->record ||
			record->time + evidence->info.slack >= evidence->info.first_enabled;

	*from = *to = record->time;
	if (!record->time)
		*to = evidence->info.enabled;
	for (size_t i = 0; i < evidence->snapshots.count; i++) {
		const struct jp_snapshot *snapshot = &evidence->snapshots.list[i];

		if (snapshot->pid != record->pid || record->time > snapshot->after ||
		    (record->time && record->time < snapshot->before))
			continue;
		*from = jp_min(*from, snapshot->before);
		*to = jp_max(*to, snapshot->after);
		possible = true;
	}
	return possible;
}

/* How far from @addr on @record tells the truth. *@cause: what it tells wrong there, if anything is
 * there. */
static uint64_t true_until(const struct equal *equal, const struct jp_event *record, uint64_t addr,
			   const char **cause)
{
	const struct jp_executable *one;
	size_t at = SIZE_MAX;
	uint64_t from, to;

	if (!told_of(equal, record, &from, &to)) {
		*cause = "time";
		return addr;
	}
	while ((one = jp_executables_next(&equal->truth, record->pid, addr, addr + 1, &at))) {
		const char *differs;

		if (!possibly(equal, one, from, to))
			continue;
		differs = jp_mapping_record_differs(memory_of(equal, one), one, record, addr);
		if (!differs)
			return one->end;
		*cause = differs;
	}
	return addr;
}

static bool is_watched(const struct equal *equal, uint32_t pid)
{
	const struct jp_truth *truth = equal->evidence->truth;
	size_t i;

	jp_search(i, truth->nr_incarnations, truth->incarnations[i].pid < pid);
	return i < truth->nr_incarnations && truth->incarnations[i].pid == pid;
}

static uint64_t thread_key(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

/* A process's own thread makes its mappings; what is synthesized has the first thread's number. */
static int find_threads(struct equal *equal)
{
	const struct jp_truth *truth = equal->evidence->truth;
	bool failed = false;

	for (size_t i = 0; i < truth->nr_acts; i++)
		failed |= !jp_map_at(&equal->threads,
				     thread_key(truth->acts[i].pid, truth->acts[i].tid),
				     sizeof(uint64_t));
	for (size_t i = 0; i < truth->nr_incarnations; i++)
		failed |= !jp_map_at(
			&equal->threads,
			thread_key(truth->incarnations[i].pid, truth->incarnations[i].pid),
			sizeof(uint64_t));
	return failed ? -ENOMEM : 0;
}

/* What @record cannot say of any mapping, or NULL. */
static const char *impossible(const struct equal *equal, const struct jp_event *record)
{
	if (!jp_map_find(&equal->threads, thread_key(record->pid, record->tid)))
		return "thread";
	if (record->kernel_map)
		return "mode";
	if (!record->map.len)
		return "length";
	if (!*record->map.name) /* "//anon" is for what has none */
		return "name";
	if (record->map.has_identity && record->map.gen && !record->map.ino)
		return "inode";
	return NULL;
}

static int judge_record(struct equal *equal, const struct jp_event *record)
{
	const uint64_t end = record->map.addr + record->map.len;
	uint64_t reached = record->map.addr, next = reached;
	const char *cause = "invented", *impossibly;

	if (!(record->map.prot & JP_PROT_EXEC) ||
	    (record->kernel_map && !is_watched(equal, record->pid)))
		return 0;
	if (!is_watched(equal, record->pid)) {
		equal->unknown++;
		return jp_findings_except(
			&equal->view->findings, "mappings.unknown", "unwatched",
			"pid %u, of which the truth has nothing: record of %" PRIu64 ": %" PRIx64
			"-%" PRIx64 " %.80s",
			record->pid, record->time, record->map.addr, end, record->map.name);
	}
	equal->records++;
	impossibly = impossible(equal, record);
	if (impossibly)
		cause = impossibly;
	while (!impossibly && reached < end &&
	       (next = true_until(equal, record, reached, &cause)) > reached)
		reached = next;
	if (!impossibly && reached >= end)
		return 0;
	equal->invented++;
	return jp_findings_except(
		&equal->view->findings, "mappings.invented", cause,
		"pid %u, record of %" PRIu64 ": %" PRIx64 "-%" PRIx64 " offset %" PRIx64
		" prot %u flags %x inode %" PRIu64 " %.80s: not so from %" PRIx64 " on",
		record->pid, record->time, record->map.addr, end, record->map.pgoff,
		record->map.prot, record->map.flags, record->map.ino, record->map.name, reached);
}

static int by_captured(const void *left, const void *right)
{
	const struct captured *a = left, *b = right;

	return jp_compare(a->time, b->time)
		       ?: jp_compare(a->pid, b->pid)
		       ?: jp_compare(a->start, b->start);
}

/* Whether @record is one of perf.data, or a piece of one. */
static bool is_captured(const struct equal *equal, const struct jp_event *record)
{
	const uint64_t end = record->map.addr + record->map.len;
	const struct captured *all = equal->captured;
	size_t i;

	jp_search(i, equal->nr_captured, all[i].time < record->time);
	for (; i < equal->nr_captured && all[i].time == record->time; i++)
		if (all[i].pid == record->pid && all[i].start <= record->map.addr &&
		    end <= all[i].end)
			return true;
	return false;
}

/* What @record tells wrong, that injecting added: it must tell of code that is loaded then. */
static const char *no_code(const struct equal *equal, const struct jp_event *record)
{
	const struct jp_truth *truth = equal->evidence->truth;
	const uint64_t slack = equal->evidence->info.slack;
	const struct jp_truth_code *codes = truth->codes;
	const char *cause = "no-code";
	size_t i;

	jp_search(i, truth->nr_codes,
		  codes[i].pid != record->pid ? codes[i].pid < record->pid
					      : codes[i].addr < record->map.addr);
	for (; i < truth->nr_codes && codes[i].pid == record->pid &&
	       codes[i].addr == record->map.addr;
	     i++) {
		if (record->time + slack < codes[i].loaded ||
		    (codes[i].unloaded != UINT64_MAX && record->time > codes[i].unloaded + slack))
			cause = "other-time";
		else if (record->map.len >= codes[i].size) /* its tables stand behind it */
			return NULL;
		else
			cause = "shorter";
	}
	return cause;
}

static int judge_added(struct equal *equal, const struct jp_event *record)
{
	const char *cause;

	if (record->kernel_map || !(record->map.prot & JP_PROT_EXEC) || is_captured(equal, record))
		return 0;
	equal->code_records++;
	cause = no_code(equal, record);
	if (!cause)
		return 0;
	equal->no_code++;
	return jp_findings_except(&equal->view->findings, "injected.mappings", cause,
				  "pid %u, injected record of %" PRIu64 ": %" PRIx64 "-%" PRIx64
				  " %.120s",
				  record->pid, record->time, record->map.addr,
				  record->map.addr + record->map.len, record->map.name);
}

static int note_captured(struct equal *equal, const struct jp_event *record)
{
	struct captured *one =
		jp_array_push(&equal->captured, &equal->nr_captured, &equal->captured_capacity);

	if (!one)
		return -ENOMEM;
	*one = (struct captured){.time = record->time,
				 .pid = record->pid,
				 .start = record->map.addr,
				 .end = record->map.addr + record->map.len};
	return 0;
}

static int add_point(struct equal *equal, uint32_t pid, uint64_t time, bool mark)
{
	struct point *point =
		jp_array_push(&equal->points, &equal->nr_points, &equal->points_capacity);

	if (!point)
		return -ENOMEM;
	*point = (struct point){time, pid, mark};
	return 0;
}

/* From when to when the capture can know of @image, in the @at-th of its windows. */
static bool window_of(const struct equal *equal, const struct jp_truth_incarnation *image,
		      size_t *at, uint64_t *from, uint64_t *to)
{
	const struct jp_evidence *evidence = equal->evidence;
	const uint64_t slack = evidence->info.slack;

	if (!jp_evidence_window(evidence, image->pid, at, from, to))
		return false;
	/* What is told is known from then on, whether samples are taken yet or not. */
	*from = jp_evidence_gated(evidence)
			? jp_max(*from, image->after + slack)
			: jp_evidence_told_from(evidence, image->pid, image->before, image->after);
	return true;
}

static int find_points(struct equal *equal, const struct jp_truth_incarnation *image)
{
	const uint64_t slack = equal->evidence->info.slack;
	uint64_t from, to;
	int failed = 0;

	for (size_t at = 0; !failed && window_of(equal, image, &at, &from, &to);) {
		const uint64_t end = jp_min(to, image->until);

		if (from >= end)
			continue;
		failed = add_point(equal, image->pid, from, false);
		for (size_t i = 0; !failed && i < equal->truth.nr_marks; i++) {
			const struct jp_mark *mark = &equal->truth.marks[i];

			if (mark->pid == image->pid && mark->after + slack > from &&
			    mark->after < end && mark->after + slack <= to)
				failed = add_point(equal, image->pid, mark->after + slack, true);
		}
		/* Of one that ended before, its last mark is the end. */
		if (!failed && image->until > to + slack)
			failed = add_point(equal, image->pid, to, false);
	}
	return failed;
}

/* Whether @image told its maps at all. */
static bool has_mark(const struct equal *equal, const struct jp_truth_incarnation *image)
{
	for (size_t i = 0; i < equal->truth.nr_marks; i++) {
		const struct jp_mark *mark = &equal->truth.marks[i];

		if (mark->pid == image->pid && mark->before >= image->before &&
		    mark->after <= image->until)
			return true;
	}
	return false;
}

/* Who ran code while it was watched has told its maps: else nothing is known of it. */
static int demand_marks(const struct equal *equal, struct jp_error *err)
{
	const struct jp_truth *truth = equal->evidence->truth;
	jp_cleanup_free bool *ran = calloc(truth->nr_incarnations + 1, sizeof(*ran));
	uint64_t from, to;

	if (!ran)
		return -ENOMEM;
	for (size_t i = 0; i < truth->nr_activations; i++) {
		const struct jp_truth_activation *one = &truth->activations[i];
		const struct jp_truth_incarnation *image = truth->incarnations;
		size_t n;

		jp_search(n, truth->nr_incarnations,
			  image[n].pid < one->pid ||
				  (image[n].pid == one->pid && image[n].before <= one->enter));
		if (!n || image[n - 1].pid != one->pid || ran[n - 1])
			continue;
		for (size_t at = 0; window_of(equal, &image[n - 1], &at, &from, &to);)
			ran[n - 1] |= one->enter < to && one->leave > from;
	}
	for (size_t i = 0; i < truth->nr_incarnations; i++) {
		const struct jp_truth_incarnation *image = &truth->incarnations[i];

		if (ran[i] && !has_mark(equal, image))
			return jp_fail(err, ENODATA,
				       "pid %u from %" PRIu64 " ran code while it was watched, and "
				       "the truth has no maps of it",
				       image->pid, image->after);
	}
	return 0;
}

static int by_time(const void *left, const void *right)
{
	const struct point *a = left, *b = right;

	return jp_compare(a->time, b->time) ?: jp_compare(a->pid, b->pid);
}

static int begin(struct jp_view *view, struct jp_error *err)
{
	const struct jp_truth *truth = view->evidence->truth;
	struct equal *equal;
	int failed;

	if (truth->version < JP_TRUTH_VERSION_MAPS)
		return 0;
	equal = view->state = calloc(1, sizeof(*equal));
	if (!equal)
		return -ENOMEM;
	equal->view = view;
	equal->evidence = view->evidence;
	equal->spaces = view->spaces;
	failed = jp_executables_load(&equal->truth, truth, err)
			 ?: demand_marks(equal, err)
			 ?: find_threads(equal);
	for (size_t i = 0; !failed && i < truth->nr_incarnations; i++)
		failed = find_points(equal, &truth->incarnations[i]);
	if (equal->nr_points)
		qsort(equal->points, equal->nr_points, sizeof(*equal->points), by_time);
	return failed;
}

static int judge_points(struct equal *equal, uint64_t time)
{
	int failed = 0;

	while (!failed && equal->next < equal->nr_points && equal->points[equal->next].time < time)
		failed = judge_point(equal, &equal->points[equal->next++]);
	return failed;
}

/* The first event of injected.data: perf.data is over, and all begins again. */
static int turn_over(struct equal *equal)
{
	int failed = judge_points(equal, UINT64_MAX);

	if (equal->nr_captured)
		qsort(equal->captured, equal->nr_captured, sizeof(*equal->captured), by_captured);
	equal->injected = true;
	equal->spaces = equal->view->spaces;
	equal->next = 0;
	return failed;
}

static int until(struct jp_view *view, uint64_t time)
{
	struct equal *equal = view->state;
	int failed = view->in_injected && !equal->injected ? turn_over(equal) : 0;

	return failed ?: judge_points(equal, time);
}

static int see(struct jp_view *view, const struct jp_event *event)
{
	struct equal *equal = view->state;

	if (event->type != JP_EVENT_MAP)
		return 0;
	if (equal->injected)
		return judge_added(equal, event);
	return judge_record(equal, event) ?: note_captured(equal, event);
}

static int end(struct jp_view *view, struct jp_error *err)
{
	struct equal *equal = view->state;
	struct jp_findings *findings = &view->findings;
	int failed = judge_points(equal, UINT64_MAX);

	if (failed)
		return failed;
	if (equal->nr_points && !equal->compared && equal->evidence->truth->nr_activations)
		return jp_fail(err, ENODATA, "no mapping was compared at any of %zu moments",
			       equal->nr_points);
	/* In KiB. */
	jp_findings_add(findings, jp_metric_rate("mappings.bytes", equal->equal >> 10,
						 equal->compared >> 10));
	jp_findings_add(findings, jp_metric_count("mappings.unjudged", equal->unjudged >> 10));
	jp_findings_add(findings, jp_metric_count("mappings.marks", equal->marks));
	jp_findings_add(findings, jp_metric_count("mappings.missing", equal->missing));
	jp_findings_add(findings, jp_metric_count("mappings.extra", equal->extra));
	jp_findings_add(findings, jp_metric_count("mappings.differs", equal->different));
	jp_findings_add(findings,
			jp_metric_rate("mappings.invented", equal->invented, equal->records));
	jp_findings_add(findings, jp_metric_count("mappings.unknown", equal->unknown));
	if (!equal->injected)
		return 0;
	jp_findings_add(findings,
			jp_metric_rate("injected.mappings", equal->no_code, equal->code_records));
	jp_findings_add(findings, jp_metric_count("injected.missing", equal->taken_files));
	jp_findings_add(findings, jp_metric_count("injected.taken", equal->taken));
	return 0;
}

static void free_equal(void *state)
{
	struct equal *equal = state;

	jp_executables_free(&equal->truth);
	jp_map_free(&equal->listed);
	jp_map_free(&equal->threads);
	free(equal->captured);
	free(equal->points);
	free(equal->now);
	free(equal->edges);
	free(equal);
}

static const struct jp_validator equal_mappings = {
	.name = "equal_mappings",
	.help = "are the capture's executable mappings those that each process truly had?",
	.traits = JP_WANTS_INJECTED | JP_LACKS_REGISTERS,
	.begin = begin,
	.until = until,
	.see = see,
	.end = end,
	.free = free_equal,
};
JP_REGISTER(validator, equal_mappings);
