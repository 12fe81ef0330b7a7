/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JP_EVIDENCE_H
#define JP_EVIDENCE_H

#include "harness/base/error.h"
#include "harness/format/event.h"
#include "harness/format/rundir/capture_info.h"
#include "harness/format/rundir/intervals.h"
#include "harness/format/procmaps/procmaps.h"
#include "harness/model/oracle/truth.h"

/*
 * What a run directory holds of one case, for validators: the truth, and the capture as a stream
 * that can be walked again and again. Reading it needs nothing else of the machine.
 */
struct jp_snapshot { /* one process's maps, as the capture read them */
	uint32_t pid;
	uint64_t before, after; /* ns around the reads */
	struct jp_procmap *maps;
	size_t count;
};

/* What a control leaves out of its capture on purpose. */
enum jp_left_out {
	JP_LEFT_NOTHING,
	JP_LEFT_PATHLESS, /* executable snapshot entries that policy `paths` skipped: no path */
	JP_LEFT_SNAPSHOT, /* every executable snapshot entry: policy `none` */
	JP_LEFT_WINDOW,   /* mappings made between snapshot and enable (from the truth) */
	JP_LEFT_GATE,     /* names and mappings from before an interval, with the events disabled */
};
/* "nothing", "pathless", "snapshot", "window", "gate": also the cause of what breaks for it. */
const char *jp_left_out_text(enum jp_left_out left_out);

struct jp_evidence {
	const char *dir;
	struct jp_truth *truth;
	struct jp_snapshot *snapshots;
	size_t nr_snapshots;
	struct jp_capture_info info;
	struct jp_intervals intervals; /* of a gated capture */
	/* What the case asked for; the run directory then holds it, or it is missing. */
	bool names_asked;  /* names are published, or injected: validators of names speak */
	bool inject_asked; /* injected.data is what the names are judged by */
	/* The ways of walking a stack that are judged, a bit each; 0: chain and dump. */
	uint32_t methods;
};

/* What a live record of this entry of @snapshot would have said. */
struct jp_event jp_snapshot_event(const struct jp_snapshot *snapshot, const struct jp_procmap *map);

/* Loads @dir (truth, perf.data, maps, capture; intervals where it is there). NULL and a message
 * where one is missing or bad. */
struct jp_evidence *jp_evidence_load(const char *dir, struct jp_error *err);
void jp_evidence_free(struct jp_evidence *evidence);

/* Walks the capture in time order. @add_back: give also what the capture left out, as MAP events at
 * the time at which they held. */
int jp_evidence_walk(const struct jp_evidence *evidence, enum jp_left_out add_back,
		     jp_event_visit visit, void *context, struct jp_error *err);
/* The same through injected.data: the capture with a jitdump merged in. */
int jp_evidence_walk_injected(const struct jp_evidence *evidence, enum jp_left_out add_back,
			      jp_event_visit visit, void *context, struct jp_error *err);
/*
 * Why the capture knows no mapping for @ip of @pid at @time, as a word, and a sentence in @what:
 * the text of what it left out on purpose; else "mremap", where the memory came there by a remap,
 * of which the kernel makes no record; else "no-record".
 */
const char *jp_evidence_unmapped(const struct jp_evidence *evidence, uint32_t pid, uint64_t ip,
				 uint64_t time, char *what, size_t size);
/*
 * Why the capture still holds as executable what ended at @addr of @pid with an act that began at
 * @before, at @time: "gate" where an exec ended it, if nothing else did, that was not told because
 * the events were disabled; else "munmap", "mremap" or "mprotect" (of none does the kernel make a
 * record), else "stale".
 */
const char *jp_evidence_ended(const struct jp_evidence *evidence, uint32_t pid, uint64_t addr,
			      uint64_t before, uint64_t time);

#endif
