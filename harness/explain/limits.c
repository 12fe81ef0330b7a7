// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <string.h>

#include "harness/base/order.h"
#include "harness/explain/emitter.h"
#include "harness/explain/explainer.h"
#include "harness/explain/recorder.h"
#include "harness/explain/remapped.h"
#include "harness/format/perfdata/format.h"
#include "harness/model/files/file_finder.h"
#include "harness/model/space/mapping_name.h"

/* The file, on the machine that explains, in which the walk of a stack ended. */
struct present_file {
	bool found;
	bool identified; /* the recording has its build id */
	struct jp_elf_tables tables;
};

static struct present_file find_file(const struct jp_explain_view *view, const struct jp_end *end)
{
	struct jp_wanted_file wanted = {.path = end->file, .pid = end->image->pid};
	struct present_file file = {.found = false};
	const struct jp_build_id *headed;

	if (!end->file || *end->file != '/')
		return file;
	headed = jp_file_finder_build_id(view->finder, end->file);
	if (headed)
		wanted.id = *headed;
	file.identified = wanted.id.size;
	file.found = jp_code_read_tables(view->finder, &wanted, &file.tables);
	return file;
}

/* Returns whether the file at @end, which has no call frame information, exists. If it does not, it
 * may be a heap image with emitted code instead of an ELF file. */
static bool file_exists(const struct jp_explain_view *view, const struct jp_end *end)
{
	const struct present_file file = find_file(view, end);

	/* Recordings of perf 7.3, and files that inject made, have no build id to search for. */
	return file.found &&
	       (!file.tables.elf || (!file.tables.cut_short && (file.identified || !end->changed)));
}

/* Returns whether the file at @end has its call frame information in .debug_frame, as Go's programs
 * do. perf with libdw, as Debian's 7.2 and 7.3, reads that; explain and perf with libunwind do
 * not. */
static bool has_debug_frame(const struct jp_explain_view *view, const struct jp_end *end)
{
	return (end->kind == JP_END_NO_CFI || end->kind == JP_END_NO_FILE) &&
	       end->code != JP_CODE_EMITTED && find_file(view, end).tables.debug_frame;
}

/* Returns whether @end lost its stack because of missing call frame information. In files, such an
 * end may also be the complete stack of a coroutine, which has no caller; then no walk goes on. */
static bool lacks_cfi(const struct jp_explain_view *view, const struct jp_end *end)
{
	return end->code == JP_CODE_EMITTED || jp_is_return_probe(end->addr) || end->remapped ||
	       ((end->code == JP_CODE_FILE || end->code == JP_CODE_PROGRAM) &&
		(end->nr_frames == end->samples || end->skips || has_debug_frame(view, end)));
}

/* Returns whether the file at @end has call frame information without an index. perf with libdw
 * reads that; perf with libunwind does not. */
static bool lacks_index(const struct jp_explain_view *view, const struct jp_end *end)
{
	const struct present_file file = find_file(view, end);

	return end->code != JP_CODE_EMITTED && file.tables.eh_frame && !file.tables.frame_index;
}

/* Returns whether perf looks up the code at @end at wrong addresses in its file's call frame
 * information. */
static bool is_misplaced(const struct jp_explain_view *view, const struct jp_end *end)
{
	const struct present_file file = find_file(view, end);

	return end->kind == JP_END_NO_FILE && end->code != JP_CODE_EMITTED && file.tables.elf &&
	       jp_recorder_misplaces(view->summary, &file.tables);
}

/* Returns whether @end is in a program or library that was loaded from a memfd. */
static bool is_loaded_from_memory(const struct jp_end *end)
{
	return end->code != JP_CODE_EMITTED && end->file &&
	       jp_mapping_backing(end->file) == JP_BACKING_MEMFD;
}

/* Returns whether @end is in a program or library that was in /dev/shm. */
static bool is_gone_from_memory(const struct jp_explain_view *view, const struct jp_end *end)
{
	return end->code != JP_CODE_EMITTED && end->file &&
	       jp_mapping_backing(end->file) == JP_BACKING_SHM && !find_file(view, end).found;
}

/* Returns the cause id for walks that end at a limit of the recording or at missing unwinding
 * information, or NULL. */
static const char *find_cause(const struct jp_explain_view *view, const struct jp_end *end)
{
	switch (end->kind) {
	case JP_END_FULL:
		return "depth-limit";
	case JP_END_ODD:
		return end->code == JP_CODE_EMITTED ? NULL : "dump-too-small";
	case JP_END_DUMP:
		return "dump-too-small";
	case JP_END_EMPTY:
		return "empty-dump";
	case JP_END_NO_CFI:
		if (is_loaded_from_memory(end) || is_gone_from_memory(view, end))
			return "missing-file";
		return lacks_cfi(view, end) ? "no-cfi-for-jit" : NULL;
	case JP_END_NO_FILE:
		return file_exists(view, end) ? "no-cfi-for-jit" : "missing-file";
	default:
		return NULL;
	}
}

/* Recommends a larger depth. How deep the stacks really are is unknown, because all stored stacks
 * were truncated. */
static void describe_larger_depth(const struct jp_end *end, struct jp_blame *blame)
{
	/* TIMES: factor by which to increase the depth. MOST: largest number of addresses in a
	 * record, whose size is a 16-bit number and includes the other fields. */
	enum { TIMES = 8, MOST = UINT16_MAX / sizeof(uint64_t) - 91 };

	if (end->frames >= MOST)
		jp_blame_remedy(blame, "no max-stack helps: a record has at most 64 kB; make the "
				       "recursion less deep");
	else if (end->limit)
		jp_blame_remedy(blame, "record without the event's max-stack=%u", end->limit);
	else
		jp_blame_remedy(blame,
				"before recording: sysctl kernel.perf_event_max_stack=%" PRIu64 " "
				"(no event may be open then); repeat with a larger number if "
				"chains still end at the limit",
				jp_min(end->frames * TIMES, MOST));
}

static void describe_depth(struct jp_explain_view *view, const struct jp_end *end,
			   struct jp_blame *blame)
{
	if (end->limit)
		jp_blame_evidence(blame,
				  "the event asks for no more than %u addresses (max-stack): perf "
				  "evlist -v -i %s | grep sample_max_stack",
				  end->limit, view->path);
	else
		jp_blame_evidence(blame,
				  "the chain has as many user addresses as the kernel stores "
				  "(sysctl kernel.perf_event_max_stack): %" PRIu64,
				  end->frames);
	jp_blame_evidence(blame,
			  "the chain lacks the thread's first function: perf script -i %s --tid %u",
			  view->path, end->tid);
	describe_larger_depth(end, blame);
}

static void describe_circle(struct jp_explain_view *view, const struct jp_end *end,
			    struct jp_blame *blame)
{
	jp_blame_evidence(blame,
			  "the chain repeats %" PRIx64 " to the end, and no sample shows the start "
			  "of such a recursion: a frame pointer leads to itself, or the cause is "
			  "depth-limit",
			  end->addr);
	jp_blame_evidence(blame,
			  "perf record --call-graph dwarf,65528 shows which of these; see perf "
			  "script -i %s --tid %u",
			  view->path, end->tid);
	jp_blame_remedy(blame,
			"the runtime must keep the frame pointer, or publish unwind information "
			"for perf record -k mono --call-graph dwarf");
}

static const char another_stack[] =
	"record by frame pointers (perf record -g): the callers are on another stack, which the "
	"dumps do not hold";

/* Largest size of a sample without its dump, of the JP_PERF_RECORD_MOST bytes that the kernel gives
 * to both: registers and two chains of the default length take about half of it. */
enum { OTHER_FIELDS = 4096 };

static void describe_dump(struct jp_explain_view *view, const struct jp_end *end,
			  struct jp_blame *blame)
{
	if (end->kind == JP_END_ODD) {
		jp_blame_evidence(
			blame, "the walk leads to memory outside of the dumped stack: perhaps to "
			       "the own stack of a fiber or a signal handler (sigaltstack)");
		jp_blame_evidence(blame, "see where stacks end: perf script -i %s --pid %u",
				  view->path, end->image->pid);
		jp_blame_remedy(blame, "%s", another_stack);
		return;
	}
	jp_blame_evidence(blame,
			  "the dump holds all %" PRIu64 " requested bytes, and the walk needs more",
			  end->dump);
	jp_blame_evidence(blame,
			  "the requested size: perf evlist -v -i %s | grep sample_stack_user",
			  view->path);
	if (end->dump + OTHER_FIELDS > JP_PERF_RECORD_MOST)
		jp_blame_remedy(blame, "record by frame pointers (perf record -g): no dump can be "
				       "larger");
	else
		jp_blame_remedy(blame,
				"perf record --call-graph dwarf,%u (at most 65528), or frame "
				"pointers (-g)",
				(unsigned)jp_min(end->dump * 4, UINT64_C(65528)));
}

static void describe_short_dump(struct jp_explain_view *view, const struct jp_end *end,
				struct jp_blame *blame)
{
	jp_blame_evidence(blame,
			  "the dump holds %" PRIu64 " bytes, fewer than requested: the kernel "
			  "stops at a page that was never touched or is swapped out",
			  end->dump);
	jp_blame_evidence(blame, "see the sizes: perf script -i %s -D | grep 'ustack: size'",
			  view->path);
	jp_blame_remedy(blame, "record by frame pointers (perf record -g); or have the program "
			       "touch its stack (MAP_POPULATE)");
}

static void describe_no_cfi(struct jp_explain_view *view, const struct jp_end *end,
			    struct jp_blame *blame)
{
	const char *caller;
	const struct jp_runtime *runtime = jp_emitter_find(view->ends, end->image->pid, end->file,
							   end->image->process, &caller);
	const char *frames = runtime ? runtime->frames : NULL,
		   *unwinding = runtime ? runtime->unwinding : NULL;
	const struct present_file file = find_file(view, end);
	const bool image = file.found && !file.tables.elf;

	if (jp_is_return_probe(end->addr)) {
		jp_blame_evidence(blame,
				  "a return probe of the function there replaced its return "
				  "address on the stack: cat /sys/kernel/tracing/uprobe_events");
		jp_blame_evidence(blame, "see where stacks end: perf script -i %s --pid %u",
				  view->path, end->image->pid);
		jp_blame_remedy(blame, "record without return probes (perf probe -d, bpftrace "
				       "without uretprobe); or by frame pointers (perf record -g) "
				       "from Linux 6.11 on");
		return;
	}
	if (end->remapped)
		jp_blame_evidence(blame,
				  "anonymous memory replaced the text of %s: no mapping leads to "
				  "the file's call frame information",
				  end->file);
	else if (jp_mapping_injected(end->file))
		jp_blame_evidence(blame,
				  "inject made %s from a jitdump without unwind information: "
				  "readelf -S %s",
				  end->file, end->file);
	else if (end->code == JP_CODE_EMITTED)
		jp_blame_evidence(
			blame,
			"no ELF file belongs to the mapping %s, and no jitdump with unwind "
			"information was injected for it",
			end->file);
	else if (image)
		jp_blame_evidence(blame,
				  "%s is no ELF file; it contains runtime code without call frame "
				  "information: file %s",
				  end->file, end->file);
	else if (is_misplaced(view, end))
		jp_blame_evidence(blame,
				  "in %s, address minus file offset differs between the text and "
				  "the first segment, as lld links: perf with libdw, and perf "
				  "before 6.0, look up wrong addresses: readelf -lW %s",
				  end->file, end->file);
	else if (lacks_index(view, end))
		jp_blame_evidence(blame,
				  "%s has call frame information, but not the index .eh_frame_hdr, "
				  "which perf with libunwind needs: readelf -S %s",
				  end->file, end->file);
	else
		jp_blame_evidence(
			blame, "%s has no call frame information for %" PRIx64 "%s: readelf -wF %s",
			end->file, end->vaddr,
			has_debug_frame(view, end) ? " except in .debug_frame" : "", end->file);
	jp_blame_evidence(blame, "see where stacks end: perf script -i %s --pid %u", view->path,
			  end->image->pid);
	if (end->remapped)
		jp_blame_remedy(blame, "%s", jp_remapped_remedy);
	else if (end->switched && has_debug_frame(view, end))
		jp_blame_remedy(blame, "%s", another_stack);
	else if (is_misplaced(view, end))
		jp_blame_remedy(blame,
				"report with a perf from 6.0 on that uses libunwind, such as "
				"Debian's 6.1 and 6.12; or link %s with GNU ld (-fuse-ld=bfd); or "
				"record by frame pointers (perf record -g)",
				end->file);
	else if (has_debug_frame(view, end) || lacks_index(view, end))
		jp_blame_remedy(blame, "record and report with a perf that uses libdw, such as "
				       "Debian's 7.2, which reads it; or record by frame pointers "
				       "(perf record -g)");
	else if (end->code == JP_CODE_EMITTED || image)
		jp_blame_remedy(blame,
				"record by frame pointers (perf record -g) if the runtime keeps "
				"them%s%s%s; or let it write a jitdump with unwind information"
				"%s%s%s, record with -k mono, then perf inject --jit",
				frames ? " (" : "", frames ?: "", frames ? ")" : "",
				unwinding ? " (" : "", unwinding ?: "", unwinding ? ")" : "");
	else
		jp_blame_remedy(
			blame,
			"%sbuild %s with -fasynchronous-unwind-tables, its assembly with .cfi "
			"directives",
			end->skips ? "" : "record by frame pointers (perf record -g), or ",
			end->file);
}

static void describe_missing_file(struct jp_explain_view *view, const struct jp_end *end,
				  struct jp_blame *blame)
{
	jp_blame_evidence(blame,
			  "%s cannot be opened, or is not the file that was recorded: perf "
			  "buildid-list -i %s",
			  end->file, view->path);
	jp_blame_evidence(blame,
			  "unwinding beyond %" PRIx64 " needs the call frame information of the "
			  "file",
			  end->addr);
	if (is_loaded_from_memory(end)) {
		jp_blame_remedy(blame, "%s", jp_code_memory_remedy);
		return;
	}
	jp_blame_remedy(blame,
			"explain on the recorded machine, or with the recorded files: jitproof "
			"explain --elf DIR %s",
			view->path);
}

static void describe_cause(struct jp_explain_view *view, const struct jp_end *end,
			   struct jp_blame *blame)
{
	static const struct {
		const char *id;
		void (*describe)(struct jp_explain_view *view, const struct jp_end *end,
				 struct jp_blame *blame);
	} causes[] = {
		{"depth-limit", describe_depth},         {"dump-too-small", describe_dump},
		{"empty-dump", describe_short_dump},     {"no-cfi-for-jit", describe_no_cfi},
		{"missing-file", describe_missing_file}, {"jit-no-frame-pointer", describe_circle},
	};

	if (blame->nr_evidence)
		return;
	jp_blame_evidence(blame,
			  "first at time %" PRIu64 ".%09" PRIu64 ", tid %u: %" PRIu64
			  " frames, the last at %" PRIx64 " in %s",
			  end->time / 1000000000, end->time % 1000000000, end->tid, end->frames,
			  end->addr, end->file ? end->file : "no mapping");
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		if (strcmp(blame->cause->id, causes[i].id) == 0)
			causes[i].describe(view, end, blame);
}

static struct jp_blame *blame_end(struct jp_explain_view *view, const struct jp_end *end,
				  const char *id, const char *file, uint64_t samples)
{
	struct jp_blame *blame =
		jp_blame(view->blames, id, end->image->pid, end->image->process, file, 0);

	blame->stacks += samples;
	jp_blame_range(blame, end->start, end->end);
	describe_cause(view, end, blame);
	return blame;
}

/* Blames a second cause for the stacks at @end: even with call frame information for the emitted
 * code, their dumps would end too early. */
static void blame_second_cause(struct jp_explain_view *view, const struct jp_end *end)
{
	if (end->circles && !end->image->recursion)
		blame_end(view, end, "jit-no-frame-pointer", NULL, end->circles);
	if (end->cut)
		blame_end(view, end, "dump-too-small", NULL, end->cut)->seconds += end->cut;
	if (end->hollow)
		blame_end(view, end, "empty-dump", NULL, end->hollow)->seconds += end->hollow;
}

/* Returns the number of samples at @end whose stacks are broken. Does not count samples of exiting
 * processes, which no longer have a stack for the kernel to dump. */
static uint64_t count_lost(const struct jp_end *end)
{
	return end->kind == JP_END_EMPTY && !end->image->hollow ? end->samples - end->blank
								: end->samples;
}

static int blame_limits(struct jp_explain_view *view, struct jp_error *err)
{
	for (size_t i = 0; i < view->ends->count; i++) {
		const struct jp_end *end = &view->ends->list[i];
		const char *id = find_cause(view, end);
		const bool file = end->kind == JP_END_NO_FILE || end->kind == JP_END_NO_CFI;
		bool unread;

		if (!id || !count_lost(end))
			continue;
		/* Blame no samples (a note) if perf goes on where explain cannot. */
		unread = has_debug_frame(view, end) && !end->switched &&
			 jp_recorder_since(view->summary, JP_PERF_VERSION(7, 0));
		blame_end(view, end, id, file ? end->file : NULL, unread ? 0 : count_lost(end));
		if (!unread)
			blame_second_cause(view, end);
	}
	return 0;
}

JP_DEFINE(explainer, walk_limits) = {
	.name = "limits",
	.end = blame_limits,
};
