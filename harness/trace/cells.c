// SPDX-License-Identifier: GPL-2.0-only
#include "harness/trace/cells.h"

static void add_cell(struct jp_cells *cells, const char *name, const char *question,
		     uint64_t nr_bad, uint64_t total)
{
	if (cells->count < JP_CELLS)
		cells->list[cells->count++] = (struct jp_cell){name, question, nr_bad, total};
}

/* Returns the number of instructions whose process has a file of this kind. */
static uint64_t count_with_file(const uint64_t names[JP_NAMES])
{
	uint64_t sum = 0;

	for (int name = 0; name < JP_NAMES; name++)
		sum += name == JP_NAME_NONE ? 0 : names[name];
	return sum;
}

/* Returns the number of instructions that had a name when they ran. */
static uint64_t count_named_instructions(const uint64_t names[JP_NAMES])
{
	return names[JP_NAME_RIGHT] + names[JP_NAME_WRONG] + names[JP_NAME_STALE];
}

/* Adds the cell of late names. Entries that are still missing at the end could come late, so
 * without late ones they leave the cell empty. */
static void add_late_cell(struct jp_cells *cells, const char *name, const char *question,
			  const uint64_t names[JP_NAMES])
{
	const uint64_t late = names[JP_NAME_LATE];

	add_cell(cells, name, question, late,
		 late || !names[JP_NAME_MISSING] ? count_with_file(names) : 0);
}

static void add_map(struct jp_cells *cells, const struct jp_tally *tally)
{
	const uint64_t *names = tally->names[JP_SOURCE_MAP],
		       nr_named = count_named_instructions(names);

	add_cell(cells, "map.missing", "running code is in no line of the perf map",
		 names[JP_NAME_MISSING], count_with_file(names));
	add_late_cell(cells, "map.late", "code runs before its line is in the perf map", names);
	add_cell(cells, "map.wrong", "an older line of the perf map hides the last one",
		 names[JP_NAME_WRONG], nr_named);
	add_cell(cells, "map.stale", "the code under a line of the perf map changed",
		 names[JP_NAME_STALE], nr_named);
	add_cell(cells, "map.gone", "a line that was in the perf map is not there at the end",
		 tally->nr_gone[JP_SOURCE_MAP], tally->nr_named[JP_SOURCE_MAP]);
	add_cell(cells, "attach.map",
		 "a profiler that starts late finds no line for code that had one",
		 tally->detached[JP_SOURCE_MAP], tally->attached[JP_SOURCE_MAP]);
}

static void add_dump(struct jp_cells *cells, const struct jp_tally *tally,
		     const struct jp_tally *total)
{
	const uint64_t *names = tally->names[JP_SOURCE_DUMP],
		       nr_named = count_named_instructions(names);

	add_cell(cells, "dump.missing", "running code is in no record of the jitdump",
		 names[JP_NAME_MISSING], count_with_file(names));
	add_late_cell(cells, "dump.late", "code runs before its record is in the jitdump", names);
	add_cell(cells, "dump.wrong", "an older record of the jitdump hides the last one",
		 names[JP_NAME_WRONG], nr_named);
	add_cell(cells, "dump.stale", "the jitdump holds other instructions than memory",
		 names[JP_NAME_STALE], nr_named);
	add_cell(cells, "dump.gone", "a record that was in the jitdump is not there at the end",
		 tally->nr_gone[JP_SOURCE_DUMP], tally->nr_named[JP_SOURCE_DUMP]);
	add_cell(cells, "dump.marker",
		 "perf does not find the jitdump: no record of an executable jit-PID.dump",
		 tally->nr_hidden, tally->nr_dumped);
	add_cell(cells, "attach.dump",
		 "a profiler that starts late finds no record of code that had one, or no mapped "
		 "jit-PID.dump",
		 tally->detached[JP_SOURCE_DUMP], tally->attached[JP_SOURCE_DUMP]);
	add_cell(cells, "dump.bytes", "a function of the jitdump differs from memory",
		 total->nr_differing, total->nr_functions);
	add_cell(cells, "dump.clock", "a record is later than now, or earlier than the launch",
		 total->future + total->early, total->loads);
	add_cell(cells, "dump.order", "a record is earlier than the one before", total->disorder,
		 total->loads);
}

static void add_unwinding(struct jp_cells *cells, const struct jp_tally *tally)
{
	static const char *const names[JP_PLACES] = {
		[JP_PLACE_ENTRY] = "unwind.entry",
		[JP_PLACE_BODY] = "unwind.body",
		[JP_PLACE_CALL] = "unwind.call",
		[JP_PLACE_EXIT] = "unwind.exit",
	};

	for (int place = 0; place < JP_PLACES; place++) {
		const uint64_t *callers = tally->by_dump[place];

		add_cell(cells, names[place],
			 "the jitdump's unwinding information gives a wrong caller",
			 callers[JP_CALLER_WRONG],
			 callers[JP_CALLER_WRONG] + callers[JP_CALLER_RIGHT]);
	}
}

static void add_frame_pointers(struct jp_cells *cells, const struct jp_tally *tally)
{
	const uint64_t *calls = tally->by_fp[JP_PLACE_CALL];
	uint64_t nr_wrong = 0, total = 0;

	for (int place = 0; place < JP_PLACES; place++) {
		const uint64_t *callers = tally->by_fp[place];

		nr_wrong += callers[JP_CALLER_WRONG];
		total += callers[JP_CALLER_WRONG] + callers[JP_CALLER_RIGHT] +
			 callers[JP_CALLER_SKIPPED];
	}
	add_cell(cells, "fp.kept",
		 "the frame pointer leads neither to this frame nor to the caller's", nr_wrong,
		 total);
	add_cell(cells, "fp.calls", "a function calls without a frame of its own",
		 calls[JP_CALLER_SKIPPED] + calls[JP_CALLER_WRONG],
		 calls[JP_CALLER_SKIPPED] + calls[JP_CALLER_WRONG] + calls[JP_CALLER_RIGHT]);
}

/* Returns the number of instructions whose process has neither a perf map nor a jitdump. */
static uint64_t count_unpublished(const struct jp_tally *tally)
{
	const uint64_t map = tally->names[JP_SOURCE_MAP][JP_NAME_NONE],
		       dump = tally->names[JP_SOURCE_DUMP][JP_NAME_NONE];

	return map < dump ? map : dump;
}

static uint64_t count_unnamed_in_forks(const struct jp_tally *tally)
{
	uint64_t sum = 0;

	for (int name = 0; name < JP_NAMES; name++)
		sum += tally->forked[JP_SOURCE_MAP][name];
	return sum;
}

/* Returns the number of instructions in forked processes that neither a perf map nor a jitdump
 * names. */
static uint64_t count_forked_unnamed(const struct jp_tally *tally)
{
	uint64_t min = UINT64_MAX;

	for (int source = 0; source < JP_SOURCES; source++) {
		const uint64_t *names = tally->forked[source];
		const uint64_t sum = names[JP_NAME_NONE] + names[JP_NAME_MISSING];

		min = sum < min ? sum : min;
	}
	return min;
}

void jp_cells_add_run(struct jp_cells *cells, const struct jp_tally *tally,
		      const struct jp_tally *total)
{
	add_cell(cells, "published", "code runs, and the process publishes no names",
		 count_unpublished(tally), tally->emitted);
	add_cell(cells, "code.record", "code runs in memory that no mapping record announces",
		 tally->unannounced, tally->announced);
	add_map(cells, tally);
	add_dump(cells, tally, total);
	add_unwinding(cells, total);
	add_frame_pointers(cells, total);
	add_cell(cells, "fork.names", "code that runs in a forked child has no name",
		 count_forked_unnamed(tally), count_unnamed_in_forks(tally));
	add_cell(cells, "exec.map", "code that ran before an exec is in no line of the perf map",
		 tally->execed_unnamed[JP_SOURCE_MAP], tally->execed[JP_SOURCE_MAP]);
	add_cell(cells, "exec.dump", "code that ran before an exec is in no record of the jitdump",
		 tally->execed_unnamed[JP_SOURCE_DUMP], tally->execed[JP_SOURCE_DUMP]);
}

/* Adds a cell about the names of @source that are missing after a signal ended the program. */
static void add_killed_cell(struct jp_cells *cells, const struct jp_tally *tally,
			    const struct jp_tally *whole, enum jp_trace_source source,
			    const char *name, const char *question)
{
	const uint64_t *names = tally->names[source];
	const uint64_t absent = count_with_file(whole->names[source]) ? names[JP_NAME_NONE] : 0;

	add_cell(cells, name, question, absent + names[JP_NAME_MISSING] + tally->nr_gone[source],
		 absent + count_with_file(names));
}

void jp_cells_add_killed(struct jp_cells *cells, const struct jp_tally *tally,
			 const struct jp_tally *whole, const char *map_name, const char *dump_name)
{
	add_killed_cell(cells, tally, whole, JP_SOURCE_MAP, map_name,
			"after the process was killed, code that ran is in no line of the perf "
			"map");
	add_killed_cell(cells, tally, whole, JP_SOURCE_DUMP, dump_name,
			"after the process was killed, code that ran is in no record of the "
			"jitdump");
}

size_t jp_cells_count_red(const struct jp_cells *cells)
{
	size_t red = 0;

	for (size_t i = 0; i < cells->count; i++)
		red += cells->list[i].nr_bad > 0;
	return red;
}
