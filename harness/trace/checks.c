// SPDX-License-Identifier: GPL-2.0-only
#include "harness/trace/checks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/trace/memory.h"

/* The names that the files of the process give to an address, looked up once in a burst. */
struct named {
	struct jp_published_name found[JP_SOURCES];
};

/* The first byte of an instruction when line number @entry of a perf map was first seen to name
 * it. */
struct first {
	size_t entry;
	unsigned char byte;
};

/* How often an instruction ran while the process's file named it (@named), while the file had no
 * entry for it (@missing), and while there was no file (@absent). An entry or file may still be
 * written later. */
struct ran {
	struct jp_runs named, missing, absent;
};

typedef void find_name(const struct jp_published_files *published, uint64_t addr,
		       struct jp_published_name *name);
static find_name *const find[JP_SOURCES] = {
	[JP_SOURCE_MAP] = jp_published_in_map,
	[JP_SOURCE_DUMP] = jp_published_in_dump,
};

static struct jp_checked_process *find_process(struct jp_checks *checks, uint32_t pid,
					       uint32_t execs)
{
	struct jp_checked_process *added;

	for (size_t i = 0; i < checks->nr_processes; i++)
		if (checks->processes[i].pid == pid && checks->processes[i].execs == execs)
			return &checks->processes[i];
	added = jp_array_push(&checks->processes, &checks->nr_processes, &checks->capacity);
	if (added) {
		added->pid = pid;
		added->execs = execs;
	}
	return added;
}

/* Moves @runs in @tally from the count of @old_name to that of @new_name, and sets @runs to 0. */
static void move_counts_between_names(struct jp_tally *tally, enum jp_trace_source source,
				      struct jp_runs *runs, enum jp_trace_name old_name,
				      enum jp_trace_name new_name)
{
	tally->names[source][old_name] -= runs->insns;
	tally->names[source][new_name] += runs->insns;
	tally->samples[source][old_name] -= runs->samples;
	tally->samples[source][new_name] += runs->samples;
	tally->forked[source][old_name] -= runs->forked;
	tally->forked[source][new_name] += runs->forked;
	*runs = (struct jp_runs){0};
}

static void add_runs(struct jp_runs *to, const struct jp_runs *runs)
{
	to->insns += runs->insns;
	to->samples += runs->samples;
	to->forked += runs->forked;
}

static bool has_file(const struct jp_checks *checks, enum jp_trace_source source)
{
	return source == JP_SOURCE_MAP ? checks->published->has_map : checks->published->has_dump;
}

/* Counts as late the names of @source that were missing when the code ran and that the file
 * contains now. */
static void count_late_names(struct jp_checks *checks, enum jp_trace_source source)
{
	struct jp_published_name name;
	struct ran *instruction;
	size_t cursor = 0;
	uint64_t ip;

	while (has_file(checks, source) &&
	       (instruction = jp_map_next(&checks->current->ran[source], &cursor, &ip))) {
		add_runs(&instruction->missing, &instruction->absent);
		move_counts_between_names(checks->tally, source, &instruction->absent, JP_NAME_NONE,
					  JP_NAME_MISSING);
		find[source](checks->published, ip, &name);
		if (!instruction->missing.insns || !name.name)
			continue;
		add_runs(&instruction->named, &instruction->missing);
		move_counts_between_names(checks->tally, source, &instruction->missing,
					  JP_NAME_MISSING, JP_NAME_LATE);
	}
}

/* Counts the records of the jitdumps, and those with a wrong time. */
static int count_times(struct jp_checks *checks)
{
	const struct jp_code_loads *loads = &checks->published->loads;
	struct jp_checked_process *process = checks->current;
	jp_cleanup_free uint64_t *times = calloc(loads->count + 1, sizeof(*times));
	const uint64_t now = jp_clock_now();

	if (!times)
		return -ENOMEM;
	process->loads = loads->count;
	process->future = process->early = process->disorder = 0;
	for (size_t i = 0; i < loads->count; i++)
		times[loads->loads[i].order] = loads->loads[i].time;
	for (size_t i = 0; i < loads->count; i++) {
		process->future += times[i] > now;
		process->early += times[i] < checks->launched;
		process->disorder += i && times[i] < times[i - 1];
	}
	return 0;
}

/* Counts the instructions with a name of @source, and those for which a profiler that attaches now
 * finds none. */
static void count_names_for_attached(struct jp_checks *checks, enum jp_trace_source source)
{
	const bool has_source = source == JP_SOURCE_MAP || checks->published->has_marker;
	struct jp_attached *attached = &checks->attached[source];
	struct jp_published_name name;
	const struct ran *instruction;
	size_t cursor = 0;
	uint64_t ip;

	*attached = (struct jp_attached){0};
	if (source == JP_SOURCE_DUMP && !checks->current->has_marker)
		return;
	while ((instruction = jp_map_next(&checks->current->ran[source], &cursor, &ip))) {
		if (!instruction->named.insns || !jp_published_is_emitted(checks->published, ip))
			continue;
		find[source](checks->published, ip, &name);
		attached->nr_attached += instruction->named.insns;
		attached->nr_detached += has_source && name.name ? 0 : instruction->named.insns;
	}
}

/* Notes whether perf finds the jitdump by a mapping of its process. */
static void note_marker(struct jp_checks *checks, struct jp_checked_process *process)
{
	const uint64_t *dump = jp_map_find(&checks->announced.dumps, process->pid);

	process->has_marker |= checks->published->has_marker ||
			       (dump && *dump == checks->published->process.own_pid);
}

/* Counts late names and wrong times in the files of @process. */
static int count_process(struct jp_checks *checks, struct jp_checked_process *process)
{
	checks->current = process;
	checks->published = &process->published;
	for (int source = 0; source < JP_SOURCES; source++)
		count_late_names(checks, source);
	return count_times(checks);
}

int jp_checks_begin(struct jp_checks *checks, uint32_t pid, uint32_t execs, struct jp_error *err)
{
	struct jp_checked_process *process = find_process(checks, pid, execs);
	int failed;

	jp_map_free(&checks->names);
	jp_map_free(&checks->compared);
	if (!process)
		return jp_fail(err, ENOMEM, "trace: out of memory");
	jp_published_free(&process->published);
	failed = jp_published_read(pid, checks->launched, &process->published, err);
	if (failed)
		return failed;
	jp_announcements_update(&checks->announced);
	if (count_process(checks, process))
		return jp_fail(err, ENOMEM, "trace: out of memory");
	note_marker(checks, process);
	for (int source = 0; source < JP_SOURCES; source++)
		count_names_for_attached(checks, source);
	return 0;
}

/* Returns the names of @addr, or NULL without memory. */
static const struct named *find_names(struct jp_checks *checks, uint64_t addr)
{
	struct named *names = jp_map_find(&checks->names, addr);

	if (names)
		return names;
	names = jp_map_at(&checks->names, addr, sizeof(*names));
	for (int source = 0; names && source < JP_SOURCES; source++)
		find[source](checks->published, addr, &names->found[source]);
	return names;
}

size_t jp_checks_function(struct jp_checks *checks, uint64_t addr)
{
	const struct named *names = find_names(checks, addr);

	return names ? names->found[JP_SOURCE_DUMP].entry ?: names->found[JP_SOURCE_MAP].entry : 0;
}

/* Returns whether the instruction at @ip, which line @entry of the perf map names, has another
 * first byte than when that line was first seen. */
static bool is_stale_line(struct jp_checks *checks, uint64_t ip, unsigned char byte, size_t entry)
{
	struct first *first = jp_map_at(&checks->current->first_bytes, ip, sizeof(*first));

	if (!first || first->entry == entry)
		return first && first->byte != byte;
	*first = (struct first){entry, byte};
	return false;
}

/* Returns whether the jitdump has another byte at @ip than the memory has. Relocation changes only
 * operands, so the first byte of an instruction shows whether the code is the same. */
static bool is_stale_load(const struct jp_code_load *load, uint64_t ip, unsigned char byte)
{
	return load->code && load->code[ip - load->addr] != byte;
}

static void note_run(struct jp_checks *checks, enum jp_trace_source source,
		     const struct jp_trace_insn *insn, bool is_sample, bool is_named)
{
	const struct jp_runs run = {1, is_sample, insn->is_forked};
	struct ran *instruction =
		jp_map_at(&checks->current->ran[source], insn->ip, sizeof(struct ran));

	if (instruction)
		add_runs(is_named                   ? &instruction->named
			 : has_file(checks, source) ? &instruction->missing
						    : &instruction->absent,
			 &run);
}

static enum jp_trace_name judge_name(struct jp_checks *checks, enum jp_trace_source source,
				     const struct jp_published_name *name,
				     const struct jp_trace_insn *insn,
				     const struct jp_checks_step *step)
{
	note_run(checks, source, insn, step->sample, name->name);
	if (!has_file(checks, source))
		return JP_NAME_NONE;
	if (!name->name)
		return JP_NAME_MISSING;
	if (strcmp(name->name, name->newest) != 0)
		return JP_NAME_WRONG;
	if (name->load ? is_stale_load(name->load, insn->ip, step->first_byte)
		       : is_stale_line(checks, insn->ip, step->first_byte, name->entry))
		return JP_NAME_STALE;
	return JP_NAME_RIGHT;
}

/* Compares the bytes of the function in the jitdump with memory, once in a burst for each
 * function. */
static void compare_bytes(struct jp_checks *checks, const struct jp_published_name *name,
			  uint32_t tid)
{
	const struct jp_code_load *load = name->load;
	jp_cleanup_free unsigned char *bytes = NULL;
	bool *compared;

	if (!load || !load->code)
		return;
	compared = jp_map_at(&checks->compared, name->entry, sizeof(*compared));
	bytes = malloc(load->size);
	if (!compared || *compared || !bytes)
		return;
	*compared = true;
	checks->tally->nr_functions++;
	if (jp_memory_read((pid_t)tid, load->addr, bytes, load->size) != load->size ||
	    memcmp(bytes, load->code, load->size) != 0)
		checks->tally->nr_differing++;
}

/* Returns whether @regs, after a step of an unwinder, are those of the true caller of @insn. */
static bool is_caller(const struct jp_regs *regs, const struct jp_trace_insn *insn)
{
	const struct jp_machine *machine = regs->machine;

	return regs->r[machine->ip] == insn->ret &&
	       regs->r[machine->sp] == insn->ret_addr + machine->frames->pushed;
}

static enum jp_trace_caller judge_frame_pointer(const struct jp_checks *checks,
						const struct jp_trace_insn *insn,
						const struct jp_checks_step *step)
{
	struct jp_regs regs = *step->regs;
	pid_t tid = (pid_t)insn->tid;

	if (jp_machine_step(&regs, jp_memory_load, &tid) == JP_FRAME_STEPPED &&
	    is_caller(&regs, insn))
		return JP_CALLER_RIGHT;
	return insn->fp == step->fp ? JP_CALLER_SKIPPED : JP_CALLER_WRONG;
}

static enum jp_trace_caller judge_unwinding(const struct jp_checks *checks,
					    const struct jp_published_name *name,
					    const struct jp_trace_insn *insn,
					    const struct jp_checks_step *step)
{
	struct jp_regs regs = *step->regs;
	pid_t tid = (pid_t)insn->tid;
	struct jp_jit_cfi *cfi = checks->published->cfi;

	if (!name->load || !jp_jit_cfi_has_tables(cfi, name->load))
		return JP_CALLER_NONE;
	return jp_jit_cfi_step(cfi, name->load, step->found_at, &regs, jp_memory_load, &tid) ==
				       JP_CFI_STEPPED &&
			       is_caller(&regs, insn)
		       ? JP_CALLER_RIGHT
		       : JP_CALLER_WRONG;
}

static void judge_caller(struct jp_checks *checks, const struct named *names,
			 struct jp_trace_insn *insn, const struct jp_checks_step *step)
{
	insn->by_fp = judge_frame_pointer(checks, insn, step);
	insn->by_dump = judge_unwinding(checks, &names->found[JP_SOURCE_DUMP], insn, step);
	checks->tally->by_fp[insn->place][insn->by_fp]++;
	checks->tally->by_dump[insn->place][insn->by_dump]++;
}

void jp_checks_apply(struct jp_checks *checks, struct jp_trace_insn *insn,
		     const struct jp_checks_step *step)
{
	struct jp_tally *tally = checks->tally;
	const struct named *names = find_names(checks, insn->ip);

	insn->emitted = jp_published_is_emitted(checks->published, insn->ip);
	if (!insn->emitted || !names)
		return;
	tally->emitted++;
	tally->nr_known += insn->is_known;
	tally->announced += checks->announced.replay != NULL;
	tally->unannounced += checks->announced.replay &&
			      !jp_announcements_has_code(&checks->announced, insn->pid, insn->ip);
	checks->current->nr_dumped += checks->published->has_dump;
	/* Later bursts may hit the end of the process, which unmaps the jitdump. */
	memcpy(checks->current->attached, checks->attached, sizeof(checks->attached));
	for (int source = 0; source < JP_SOURCES; source++) {
		const struct jp_published_name *name = &names->found[source];

		insn->name[source] = judge_name(checks, source, name, insn, step);
		insn->names[source] = name->name;
		tally->names[source][insn->name[source]]++;
		tally->samples[source][insn->name[source]] += step->sample;
		tally->forked[source][insn->name[source]] += insn->is_forked;
	}
	compare_bytes(checks, &names->found[JP_SOURCE_DUMP], insn->tid);
	if (insn->is_known)
		judge_caller(checks, names, insn, step);
}

/* Returns whether @process called exec later, and was traced after that, too. */
static bool has_execed(const struct jp_checks *checks, const struct jp_checked_process *process)
{
	for (size_t i = 0; i < checks->nr_processes; i++)
		if (checks->processes[i].pid == process->pid &&
		    checks->processes[i].execs > process->execs)
			return true;
	return false;
}

/* Counts at the end of the trace the instructions whose names the files no longer contain or never
 * contained. */
static void count_names_gone_from_files(struct jp_checks *checks, enum jp_trace_source source)
{
	const bool execed = has_execed(checks, checks->current);
	struct jp_tally *tally = checks->tally;
	struct jp_published_name name;
	const struct ran *instruction;
	size_t cursor = 0;
	uint64_t ip;

	tally->attached[source] += checks->current->attached[source].nr_attached;
	tally->detached[source] += checks->current->attached[source].nr_detached;
	while ((instruction = jp_map_next(&checks->current->ran[source], &cursor, &ip))) {
		const uint64_t insns = instruction->named.insns + instruction->missing.insns;

		find[source](checks->published, ip, &name);
		tally->nr_named[source] += instruction->named.insns;
		tally->nr_gone[source] += name.name ? 0 : instruction->named.insns;
		tally->execed[source] += execed ? insns : 0;
		tally->execed_unnamed[source] += execed && !name.name ? insns : 0;
	}
}

void jp_checks_end(struct jp_checks *checks)
{
	struct jp_tally *tally = checks->tally;

	for (size_t i = 0; i < checks->nr_processes; i++) {
		struct jp_checked_process *process = &checks->processes[i];

		if (!jp_published_read_again(&process->published, NULL) &&
		    !count_process(checks, process))
			for (int source = 0; source < JP_SOURCES; source++)
				count_names_gone_from_files(checks, source);
		tally->loads += process->loads;
		tally->future += process->future;
		tally->early += process->early;
		tally->disorder += process->disorder;
		tally->nr_dumped += process->nr_dumped;
		tally->nr_hidden += process->has_marker ? 0 : process->nr_dumped;
	}
}

void jp_checks_free(struct jp_checks *checks)
{
	for (size_t i = 0; i < checks->nr_processes; i++) {
		struct jp_checked_process *process = &checks->processes[i];

		jp_published_free(&process->published);
		jp_map_free(&process->first_bytes);
		for (int source = 0; source < JP_SOURCES; source++)
			jp_map_free(&process->ran[source]);
	}
	jp_announcements_close(&checks->announced);
	jp_map_free(&checks->names);
	jp_map_free(&checks->compared);
	free(checks->processes);
}
