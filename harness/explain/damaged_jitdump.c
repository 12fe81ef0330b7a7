// SPDX-License-Identifier: GPL-2.0-only
/* Losses of names by a jitdump that exists, but that perf refuses or that names nothing. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/path.h"
#include "harness/explain/name_causes.h"
#include "harness/explain/recorder.h"
#include "harness/format/elf/elf_symbols.h"
#include "harness/format/jit/jitdump_read.h"
#include "harness/model/space/mapping_name.h"

struct dump_health {
	uint64_t loads, sized;      /* number of LOAD records; of LOAD records with code */
	uint64_t timed;             /* number of LOAD records that have a time */
	uint64_t first, last;       /* times of the first and last of these LOAD records */
	uint64_t gaps, skipped;     /* places without a record, and their bytes */
	struct jp_jitdump_gap gap;  /* the first gap */
	bool counter;               /* the header states that times come from a CPU counter */
	struct jp_error why;        /* the first defect */
	size_t covers, perf_covers; /* number of the loss's addresses that are in loads; in loads
				       before @gap */
};

static void note_load(struct dump_health *health, const struct jp_name_loss *loss,
		      const struct jp_jitdump_record *record, bool covered[])
{
	if (!health->loads++ || record->time < health->first)
		health->first = record->time;
	if (record->time > health->last)
		health->last = record->time;
	health->sized += record->load.size != 0;
	health->timed += record->time != 0;
	for (size_t i = 0; i < loss->nr_addrs; i++) {
		if (covered[i] || loss->addrs[i] - record->load.addr >= record->load.size)
			continue;
		covered[i] = true;
		health->covers++;
		health->perf_covers += !health->gaps;
	}
}

/* Reads all valid records, and skips invalid bytes between them. */
static void read_health(const struct jp_name_loss *loss, struct jp_jitdump *dump,
			struct dump_health *health)
{
	bool covered[JP_LOSS_ADDRS] = {false};
	struct jp_jitdump_record record;
	struct jp_jitdump_gap gap;
	struct jp_error why;
	int ret;

	health->counter = jp_jitdump_header(dump)->flags & JP_JITDUMP_ARCH_TIMESTAMP;
	while ((ret = jp_jitdump_next(dump, &record, &why))) {
		if (ret > 0 && record.type == JP_JITDUMP_LOAD)
			note_load(health, loss, &record, covered);
		if (ret > 0)
			continue;
		if (ret != -EINVAL || jp_jitdump_skip(dump, &gap, NULL))
			return;
		health->skipped += gap.size;
		if (health->gaps++)
			continue;
		health->gap = gap;
		health->why = why;
	}
}

static struct jp_blame *blame_dump(const struct jp_name_case *name_case, const char *id)
{
	const struct jp_name_process *process = name_case->process;
	struct jp_blame *blame = jp_blame_names(name_case, id, process->marker);

	jp_blame_evidence(blame,
			  "pid %" PRIu32 " mapped the jitdump executable: `perf script -i %s "
			  "--show-mmap-events | grep jit-`; broken rules: `jitproof lint %s`",
			  process->pid, name_case->view->path, process->marker);
	return blame;
}

static bool blame_empty(const struct jp_name_case *name_case, uint64_t size)
{
	struct jp_blame *blame = blame_dump(name_case, "empty-jitdump");

	jp_blame_evidence(
		blame, "the file has %" PRIu64 " bytes and no LOAD record; a header has 40", size);
	jp_blame_evidence(blame, "a process that ends by _exit() or by a signal, as forked "
				 "children do, loses what its stdio buffer holds");
	jp_blame_remedy(blame,
			"let the process end by exit(), or let the runtime flush the jitdump after "
			"each record; injecting this file changes nothing. Or use a perf map: %s",
			jp_name_option(name_case, (char[JP_OPTION_TEXT]){0}));
	return true;
}

static bool blame_damaged(const struct jp_name_case *name_case, const char *why, const char *rule,
			  const char *remedy)
{
	struct jp_blame *blame = blame_dump(name_case, "damaged-jitdump");

	jp_blame_evidence(blame, "%.400s", why);
	jp_blame_evidence(blame, "rule %s of `jitproof lint --rules`", rule);
	jp_blame_remedy(blame, "%s; perf inject does not help. How the runtime publishes: %s",
			remedy, jp_name_option(name_case, (char[JP_OPTION_TEXT]){0}));
	return true;
}

/* Blames invalid bytes between records, or a file that was truncated before most of the names. */
static bool blame_gap(const struct jp_name_case *name_case, const struct dump_health *health)
{
	const struct jp_name_loss *loss = name_case->loss;
	struct jp_blame *blame = blame_dump(name_case, "damaged-jitdump");

	jp_blame_evidence(blame,
			  "%.400s; from offset %" PRIu64 " on %" PRIu64 " bytes are invalid; in "
			  "all %" PRIu64 " bytes in %" PRIu64 " places",
			  health->why.text, health->gap.offset, health->gap.size, health->skipped,
			  health->gaps);
	jp_blame_evidence(blame,
			  "it names %zu of %zu addresses without a name, %zu before the damage, "
			  "where perf stops",
			  health->covers, loss->nr_addrs, health->perf_covers);
	if (health->covers && !health->gap.end)
		jp_blame_remedy(
			blame,
			"jitproof inject -i %s -o injected.data goes on behind the damage; the "
			"runtime must flush the jitdump before it forks, or write each record at "
			"once",
			name_case->view->path);
	else
		jp_blame_remedy(
			blame,
			"record again%s, and let the process end by exit(), so that the runtime "
			"writes whole records; injecting this file cannot name the remaining code",
			health->counter || name_case->view->summary->monotonic ? ""
									       : " with -k mono");
	return true;
}

/* Blames a recording with clock CLOCK_MONOTONIC: the kernel does not report how to convert the
 * times of a CPU counter, which the jitdump has, to this clock. */
static bool blame_counter(const struct jp_name_case *name_case, const struct dump_health *health)
{
	struct jp_blame *blame = blame_dump(name_case, "jitdump-wrong-clock");

	jp_blame_evidence(
		blame,
		"the jitdump's header states times of the processor's counter, from %" PRIu64
		" to %" PRIu64,
		health->first, health->last);
	jp_blame_evidence(blame, "the recording's clock is CLOCK_MONOTONIC (-k mono), for which "
				 "perf refuses such a jitdump");
	jp_blame_remedy(blame,
			"record without -k mono: perf record -g ...; or let the runtime write "
			"times of CLOCK_MONOTONIC (Java's agent: JITDUMP_USE_ARCH_TIMESTAMP=0); "
			"then perf inject --jit -i perf.data -o injected.data");
	return true;
}

/* Returns whether the times of the loads lie within the recording if they are taken as ns. */
static bool has_recorded_times(const struct jp_name_process *process,
			       const struct dump_health *health)
{
	return health->loads && health->first <= process->last && health->last >= process->marked &&
	       health->timed;
}

/* Returns whether perf ignores the file because its name has another pid than process and header,
 * or is not jit-PID.dump, as Bun's. In a container, the header has the pid of the name. */
static bool is_ignored(const struct jp_name_case *name_case, const struct jp_jitdump *dump)
{
	const struct jp_name_process *process = name_case->process;

	return jp_jitdump_header(dump)->pid == process->marker_pid &&
	       jp_mapping_jitdump_number(process->marker) != process->marker_pid &&
	       (strchr(jp_path_base(process->marker) + 4, '-') ||
		!jp_recorder_since(name_case->view->summary, JP_PERF_VERSION(7, 0)));
}

static bool blame_name(const struct jp_name_case *name_case)
{
	struct jp_blame *blame = blame_dump(name_case, "damaged-jitdump");

	jp_blame_evidence(blame,
			  "perf asks for jit-PID.dump with the pid of the process, as in the "
			  "header: perf 5.10 to 6.12 ignore another pid there, 7.2 while the "
			  "process runs; all ignore another form of the name");
	jp_blame_evidence(blame, "rules dump.pid and dump.file-name of `jitproof lint --rules`");
	jp_blame_remedy(blame,
			"jitproof inject -i %s -o injected.data; the runtime must call it "
			"jit-%" PRIu32 ".dump",
			name_case->view->path, name_case->process->marker_pid);
	return true;
}

static bool judge_records(const struct jp_name_case *name_case, const struct dump_health *health,
			  uint64_t size)
{
	const struct jp_name_process *process = name_case->process;

	if (!health->loads && !health->gaps)
		return blame_empty(name_case, size);
	if (health->gaps && (!health->gap.end || health->covers * 2 <= name_case->loss->nr_addrs))
		return blame_gap(name_case, health);
	if (!health->timed)
		return blame_damaged(name_case, "the times of all its loads are 0", "dump.clock",
				     "the runtime must write times of CLOCK_MONOTONIC in ns");
	if (!health->sized)
		return blame_damaged(name_case, "the sizes of all its loads are 0", "code.size",
				     "the runtime must write the size of its code");
	if (!health->covers && !health->counter && !process->injected && name_case->loss->nr_addrs)
		return blame_damaged(name_case, "no load holds an address without a name",
				     "code.unmapped",
				     has_recorded_times(process, health)
					     ? "the runtime must write a load for all code"
					     : "record again: the jitdump's loads have other times "
					       "than the recording, as if an earlier run wrote "
					       "them");
	if (!health->counter || !name_case->view->summary->monotonic)
		return false;
	if (has_recorded_times(process, health))
		return blame_damaged(
			name_case,
			"the jitdump's header states times of the processor's counter (flag 1 at "
			"offset 32), but its times are ns within the recording; perf refuses the "
			"file",
			"dump.arch-clock", "the runtime must leave out the flag ARCH_TIMESTAMP");
	return blame_counter(name_case, health);
}

/* Returns whether the whole header is of the other byte order, which perf inject reads. */
static bool is_of_other_order(const struct jp_found_file *found)
{
	uint32_t words[2];

	return !jp_file_read_at(found->fd, found->path, words, sizeof(words), 0, NULL) &&
	       words[0] == __builtin_bswap32(JP_JITDUMP_MAGIC) &&
	       words[1] == __builtin_bswap32(JP_JITDUMP_VERSION);
}

bool jp_blame_damaged_jitdump(const struct jp_name_case *name_case)
{
	const struct jp_wanted_file wanted = {.path = name_case->process->marker,
					      .pid = name_case->loss->pid};
	struct dump_health health = {0};
	struct jp_found_file found;
	struct jp_jitdump *dump;
	bool blamed, swapped;

	if (jp_file_find(name_case->view->finder, &wanted, JP_FILE_ITSELF, &found, NULL))
		return false;
	if (found.size < sizeof(struct jp_jitdump_header)) {
		jp_found_file_close(&found);
		return blame_empty(name_case, found.size);
	}
	swapped = is_of_other_order(&found);
	dump = jp_jitdump_adopt(found.fd, found.path, found.size, &health.why);
	if (!dump && swapped)
		return false;
	if (!dump)
		return blame_damaged(name_case, health.why.text, "of the header",
				     "the runtime must write a header that perf accepts");
	read_health(name_case->loss, dump, &health);
	blamed = judge_records(name_case, &health, found.size) ||
		 (is_ignored(name_case, dump) && blame_name(name_case));
	jp_jitdump_close(dump);
	return blamed;
}
