// SPDX-License-Identifier: GPL-2.0-only
#include "harness/inject/inject_dumps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/base/map.h"
#include "harness/base/untrusted_file.h"
#include "harness/format/jit/jitdump_read.h"
#include "harness/format/perfdata/machine.h"
#include "harness/inject/inject_files.h"

enum {
	PENDING = 16,    /* largest number of DEBUG_INFO records whose LOAD has not come yet */
	MOST_GAPS = 8,   /* number of damaged places of a jitdump that are reported one by one */
	V8_SHIFT = 0x40, /* size of an ELF header, see attach_line_table() */
};

#define ANY UINT32_MAX /* value for @pid that selects the latest function of any process */

/* Contents of an UNWINDING_INFO record, which belongs to the next LOAD record. */
struct dump_tables {
	const unsigned char *eh_frame;
	uint64_t size, mapped_size;
};

/* State while one jitdump is read. */
struct dump_reading {
	const struct jp_inject_read *output;
	struct jp_inject_dumps *dumps;
	uint32_t marker;
	const char *path;
	struct jp_jitdump *file;
	struct jp_jit_function *functions; /* one for each of the dump's codes */
	uint64_t *indices;                 /* code_index of each function */
	/* @first_code: index of this jitdump's first code in dumps->codes. */
	size_t count, capacity, indices_capacity, first_code;
	/* Lookup of the function that a MOVE moves, filled from the first MOVE on. @numbers:
	 * code_index -> a small number; @places: (that number, pid) -> 1 + the latest function.
	 * Both contain the first @placed functions. */
	struct jp_map numbers, places;
	size_t placed;
	/* DEBUG_INFO records whose LOAD has not come yet. */
	struct jp_jitdump_record pending[PENDING];
	unsigned int next_pending;
	struct dump_tables tables; /* tables of the next LOAD */
	uint64_t unmapped_pids, unloaded, unused;
	uint64_t gaps, nr_skipped; /* @gaps: number of places with invalid bytes; @nr_skipped:
				   number of these bytes */
};

/* Converts a time as perf does (util/tsc.c, tsc_to_perf_time()). Returns the marker's place in a
 * capture without times: perf reads such a file in its order and inserts the code at the marker. */
static uint64_t convert_to_capture_time(const struct dump_reading *dump, uint64_t time)
{
	const struct jp_time_conv *conv = &dump->output->conv;
	uint64_t low;

	if (dump->dumps->timeless)
		return dump->dumps->markers[dump->marker].nth;
	if (!(jp_jitdump_header(dump->file)->flags & JP_JITDUMP_ARCH_TIMESTAMP))
		return time;
	low = time & ((UINT64_C(1) << conv->shift) - 1);
	return conv->zero + (time >> conv->shift) * conv->mult + (low * conv->mult >> conv->shift);
}

/*
 * Finds the pid in the capture for a record's pid: the dump's writer, or a child that continues its
 * parent's file. Returns false for a child in a pid namespace, whose outer pid is unknown.
 */
static bool find_process(struct dump_reading *dump, uint32_t pid, uint32_t *outer_pid)
{
	const struct jp_marker *marker = &dump->dumps->markers[dump->marker];
	uint32_t inner_pid = jp_jitdump_header(dump->file)->pid;

	*outer_pid = pid == inner_pid ? marker->pid : pid;
	if (pid == inner_pid || inner_pid == marker->pid)
		return true;
	dump->unmapped_pids++;
	return false;
}

static struct jp_jit_function *add_code(struct dump_reading *dump,
					const struct jp_loaded_code *code, uint64_t index)
{
	struct jp_inject_dumps *dumps = dump->dumps;
	size_t nth = dumps->nr_codes;
	struct jp_loaded_code *added;

	if (!jp_array_reserve(&dump->functions, &dump->capacity, dump->count + 1) ||
	    !jp_array_reserve(&dump->indices, &dump->indices_capacity, dump->count + 1))
		return NULL;
	added = jp_array_push(&dumps->codes, &dumps->nr_codes, &dumps->capacity);
	if (!added)
		return NULL;
	*added = *code;
	added->marker = dump->marker;
	added->nth = nth;
	dump->indices[dump->count] = index;
	return &dump->functions[dump->count++];
}

/* Returns where dump->places stores the latest function of @pid with code index @index, or NULL
 * without memory. */
static size_t *find_place(struct dump_reading *dump, uint32_t pid, uint64_t index)
{
	uint64_t *number = jp_map_at(&dump->numbers, index, sizeof(*number));

	if (!number)
		return NULL;
	if (!*number)
		*number = dump->numbers.count;
	return jp_map_at(&dump->places, *number << 32 | pid, sizeof(size_t));
}

static bool note_function(struct dump_reading *dump, uint32_t pid, uint64_t index, size_t function)
{
	size_t *place = find_place(dump, pid, index);

	if (place)
		*place = function + 1;
	return place;
}

/* Returns 1 + the latest function of @pid with code index @index. If @pid has none, returns that of
 * any process, since a child may move code that its ancestor loaded. Returns 0 if no process has
 * one, or -ENOMEM. */
static int64_t find_latest_function(struct dump_reading *dump, uint32_t pid, uint64_t index)
{
	const size_t *place;

	for (; dump->placed < dump->count; dump->placed++) {
		uint64_t latest = dump->indices[dump->placed];
		uint32_t owner = dump->dumps->codes[dump->first_code + dump->placed].pid;

		if (!note_function(dump, owner, latest, dump->placed) ||
		    !note_function(dump, ANY, latest, dump->placed))
			return -ENOMEM;
	}
	place = find_place(dump, pid, index);
	if (place && !*place)
		place = find_place(dump, ANY, index);
	return place ? (int64_t)*place : -ENOMEM;
}

/* Gives @function the line table of the last pending DEBUG_INFO record for @addr. */
static void attach_line_table(struct dump_reading *dump, uint64_t addr,
			      struct jp_jit_function *function)
{
	for (unsigned int i = 1; i <= PENDING; i++) {
		struct jp_jitdump_record *debug =
			&dump->pending[(dump->next_pending + PENDING - i) % PENDING];

		if (!debug->debug.count || debug->debug.addr != addr)
			continue;
		if (!function->lines) {
			function->lines = debug->debug.entries;
			function->lines_size = debug->debug.size;
			function->nr_lines = debug->debug.count;
		}
		debug->debug.count = 0;
	}
	/* V8 adds to the addresses in DEBUG_INFO the size of the ELF header that perf once put
	 * before the code (kElfHeaderSize in its perf-jit.cc). Only V8 writes this value of
	 * pad1. */
	function->lines_base = addr;
	if (jp_jitdump_header(dump->file)->pad1 == 0xdeadbeef)
		function->lines_base += V8_SHIFT;
}

static int add_load(struct dump_reading *dump, const struct jp_jitdump_record *record)
{
	const struct dump_tables tables = dump->tables;
	struct jp_loaded_code code = {
		.time = convert_to_capture_time(dump, record->time),
		.addr = record->load.addr,
		.size = record->load.size,
	};
	struct jp_jit_function *function;

	dump->tables = (struct dump_tables){0};
	if (!find_process(dump, record->pid, &code.pid))
		return 0;
	if (!code.size) {
		dump->output->summary->bad_records++;
		return 0;
	}
	function = add_code(dump, &code, record->load.index);
	if (!function)
		return -ENOMEM;
	*function = (struct jp_jit_function){
		.name = record->load.name,
		.code = record->load.code,
		.addr = code.addr,
		.size = code.size,
		.eh_frame = tables.eh_frame,
		.eh_frame_size = tables.size,
		.tables = tables.mapped_size ? (-code.size & 7) + tables.mapped_size : 0,
	};
	attach_line_table(dump, code.addr, function);
	dump->output->summary->loads++;
	return 0;
}

static int add_move(struct dump_reading *dump, const struct jp_jitdump_record *record)
{
	struct jp_loaded_code code = {
		.time = convert_to_capture_time(dump, record->time),
		.addr = record->move.new_addr,
		.moved_from = record->move.old_addr,
	};
	struct jp_jit_function *function;
	int64_t moved_code;

	if (!find_process(dump, record->pid, &code.pid))
		return 0;
	moved_code = find_latest_function(dump, code.pid, record->move.index) - 1;
	if (moved_code < -1)
		return -ENOMEM;
	if (moved_code < 0 || !record->move.size) {
		dump->unloaded++;
		return 0;
	}
	code.size = dump->functions[moved_code].size;
	if (code.size > record->move.size)
		code.size = record->move.size;
	function = add_code(dump, &code, record->move.index);
	if (!function)
		return -ENOMEM;
	*function = dump->functions[moved_code];
	function->addr = code.addr;
	function->size = code.size;
	/* The unwinding tables state the size of the old code. They are wrong if the moved code is
	 * shorter. */
	if (code.size < dump->functions[moved_code].size)
		function->eh_frame_size = function->tables = 0;
	dump->output->summary->moves++;
	return 0;
}

static struct dump_tables parse_tables(const struct jp_jitdump_record *record)
{
	struct dump_tables tables = {.eh_frame = record->unwinding.eh_frame,
				     .size = record->unwinding.size - record->unwinding.hdr_size};

	if (tables.size && record->unwinding.mapped_size == record->unwinding.size)
		tables.mapped_size = record->unwinding.mapped_size;
	return tables;
}

static int read_record(struct dump_reading *dump, const struct jp_jitdump_record *record)
{
	struct jp_jitdump_record *pending;

	switch (record->type) {
	case JP_JITDUMP_LOAD:
		return add_load(dump, record);
	case JP_JITDUMP_MOVE:
		return add_move(dump, record);
	case JP_JITDUMP_DEBUG_INFO:
		pending = &dump->pending[dump->next_pending++ % PENDING];
		dump->unused += pending->debug.count != 0;
		*pending = *record;
		break;
	case JP_JITDUMP_UNWINDING_INFO:
		dump->tables = parse_tables(record);
		break;
	default:
		break;
	}
	return 0;
}

/* Returns NULL if the dump's times are comparable with the capture's, else the reason. */
static const char *check_clock(const struct dump_reading *dump)
{
	if (dump->dumps->timeless)
		return NULL;
	if (jp_jitdump_header(dump->file)->flags & JP_JITDUMP_ARCH_TIMESTAMP)
		return dump->output->conv.is_known && dump->output->conv.shift < 64
			       ? NULL
			       : "the jitdump's times are the CPU's counter, and the capture has "
				 "no TIME_CONV record to convert them";
	return dump->output->monotonic ? NULL
				       : "the jitdump's times are CLOCK_MONOTONIC and the "
					 "capture's are not: record with -k mono";
}

/* Continues after invalid bytes, for the reason @reason. Returns 0, or -errno if the file is
 * unreadable. */
static int skip_gap(struct dump_reading *dump, const struct jp_error *reason)
{
	struct jp_jitdump_gap gap;
	struct jp_error unreadable;
	int ret = jp_jitdump_skip(dump->file, &gap, &unreadable);

	if (ret) {
		jp_inject_report(dump->output, "%s: the records before it are used",
				 unreadable.text);
		return ret;
	}
	/* Line and unwinding tables before the invalid bytes belong to a LOAD that was lost. */
	dump->tables = (struct dump_tables){0};
	dump->nr_skipped += gap.size;
	if (dump->gaps++ >= MOST_GAPS)
		return 0;
	if (gap.end)
		jp_inject_report(dump->output,
				 "%s: %" PRIu64 " bytes skipped from offset %" PRIu64
				 " to the end; the records before are used",
				 reason->text, gap.size, gap.offset);
	else if (gap.size)
		jp_inject_report(dump->output,
				 "%s: %" PRIu64 " bytes skipped from offset %" PRIu64
				 " to the next valid record",
				 reason->text, gap.size, gap.offset);
	else
		jp_inject_report(dump->output,
				 "%s: bytes are missing; the record before contains later records, "
				 "which are used",
				 reason->text);
	return 0;
}

static int read_records(struct dump_reading *dump, struct jp_error *err)
{
	struct jp_inject_summary *summary = dump->output->summary;
	struct jp_jitdump_record record;
	struct jp_error reason;
	int ret;

	while ((ret = jp_jitdump_next(dump->file, &record, &reason))) {
		if (ret > 0 && read_record(dump, &record))
			return jp_fail(err, ENOMEM, "%s: out of memory", dump->path);
		if (ret == -EINVAL)
			ret = skip_gap(dump, &reason);
		else if (ret < 0)
			jp_inject_report(dump->output, "%s: the records before it are used",
					 reason.text);
		if (ret < 0)
			break;
	}
	summary->bad_records += dump->gaps + (ret < 0);
	if (dump->gaps > MOST_GAPS)
		jp_inject_report(dump->output,
				 "%s: invalid bytes in %" PRIu64 " more places; %" PRIu64 " bytes "
				 "skipped in all",
				 dump->path, dump->gaps - MOST_GAPS, dump->nr_skipped);
	for (int i = 0; i < PENDING; i++)
		dump->unused += dump->pending[i].debug.count != 0;
	summary->bad_records += dump->unloaded + dump->unmapped_pids + dump->unused;
	if (dump->unloaded)
		jp_inject_report(dump->output,
				 "%s: %" PRIu64 " MOVE records of code that was never loaded",
				 dump->path, dump->unloaded);
	if (dump->unmapped_pids)
		jp_inject_report(dump->output,
				 "%s: %" PRIu64
				 " records of pids of another namespace that the capture does not "
				 "tie to a process",
				 dump->path, dump->unmapped_pids);
	if (dump->unused)
		jp_inject_report(dump->output,
				 "%s: %" PRIu64 " DEBUG_INFO records of code that no LOAD follows",
				 dump->path, dump->unused);
	if (jp_jitdump_count_unknown(dump->file))
		jp_inject_report(dump->output, "%s: %" PRIu64 " records of unknown types skipped",
				 dump->path, jp_jitdump_count_unknown(dump->file));
	return 0;
}

int jp_inject_open(const struct jp_inject_read *reading, const char *path, int64_t owner,
		   uint64_t *size, struct jp_error *err)
{
	return reading->root < 0 ? jp_untrusted_open(path, owner, size, err)
				 : jp_untrusted_open_in(reading->root, path, owner, size, err);
}

/* Returns the machine of the code in a jitdump that states @stated. CPython 3.13 states 0; perf
 * never reads the field, and takes the recording's machine. */
static uint32_t find_machine(const struct jp_marker *marker, uint32_t stated)
{
	const struct jp_machine *recorded = marker->layout.machine,
				*machine = jp_machine_find(stated);

	if (!recorded || machine == recorded || (machine && machine->kernel == recorded->e_machine))
		return stated;
	return recorded->e_machine;
}

int jp_inject_read_dump(struct jp_inject_dumps *dumps, size_t marker, const char *path,
			uint32_t owner, const struct jp_inject_read *reading, struct jp_error *err)
{
	struct dump_reading dump = {.output = reading,
				    .dumps = dumps,
				    .marker = marker,
				    .path = path,
				    .first_code = dumps->nr_codes};
	struct jp_error reason;
	const char *trouble;
	uint64_t size;
	int ret, fd = jp_inject_open(reading, path, owner, &size, &reason);

	dump.file = fd < 0 ? NULL : jp_jitdump_adopt(fd, path, size, &reason);
	if (!dump.file) {
		jp_inject_report(reading, "%s", reason.text);
		return 0;
	}
	trouble = check_clock(&dump);
	if (trouble) {
		jp_inject_report(reading, "%s: %s", path, trouble);
		jp_jitdump_close(dump.file);
		return 0;
	}
	reading->summary->jitdumps++;
	ret = read_records(&dump, err);
	if (!ret)
		ret = jp_inject_write_files(
			&(struct jp_inject_code){
				.dumps = dumps,
				.marker = dump.marker,
				.path = path,
				.elf_mach = find_machine(&dumps->markers[dump.marker],
							 jp_jitdump_header(dump.file)->elf_mach),
				.functions = dump.functions,
				.count = dump.count,
				.first_code = dump.first_code},
			reading, err);
	jp_jitdump_close(dump.file);
	free(dump.functions);
	free(dump.indices);
	jp_map_free(&dump.numbers);
	jp_map_free(&dump.places);
	return ret;
}
