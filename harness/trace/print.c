// SPDX-License-Identifier: GPL-2.0-only
#include "harness/trace/print.h"

#include <inttypes.h>

static const char *const place_words[JP_PLACES] = {"entry", "body", "call", "exit"};
static const char *const caller_words[JP_CALLERS] = {"none", "right", "skipped", "wrong"};
static const char *const name_words[JP_NAMES] = {"none", "right", "missing",
						 "late", "wrong", "stale"};
static const char *const source_words[JP_SOURCES] = {"map", "dump"};

static double compute_percent(uint64_t part, uint64_t total)
{
	return total ? 100.0 * (double)part / (double)total : 0;
}

static void print_counts(FILE *out, const char *title, const uint64_t *counts, int count)
{
	fprintf(out, "  %-26s", title);
	for (int i = 0; i < count; i++)
		fprintf(out, "%10" PRIu64, counts[i]);
	fputc('\n', out);
}

static void print_head(FILE *out, const char *title, const char *const *words, int count)
{
	fprintf(out, "%-28s", title);
	for (int i = 0; i < count; i++)
		fprintf(out, "%10s", words[i]);
	fputc('\n', out);
}

static void print_callers(FILE *out, const char *title, uint64_t counts[JP_PLACES][JP_CALLERS])
{
	print_head(out, title, caller_words, JP_CALLERS);
	for (int place = 0; place < JP_PLACES; place++)
		print_counts(out, place_words[place], counts[place], JP_CALLERS);
}

void jp_tally_print(const struct jp_tally *tally, FILE *out)
{
	struct jp_tally copy = *tally;

	fprintf(out,
		"%" PRIu64 " bursts, %" PRIu64 " instructions, %" PRIu64
		" of emitted code; of these "
		"the caller is known for %" PRIu64 " (%.1f %%), uncertain for %" PRIu64
		" (%.1f %%)\n%" PRIu64 " calls, %" PRIu64 " returns",
		tally->bursts, tally->steps, tally->emitted, tally->nr_known,
		compute_percent(tally->nr_known, tally->emitted), tally->uncertain,
		compute_percent(tally->uncertain, tally->emitted), tally->calls, tally->returns);
	for (int event = 1; event < JP_SHADOW_EVENTS; event++)
		if (tally->events[event])
			fprintf(out, ", %" PRIu64 " %s", tally->events[event],
				jp_shadow_event_text(event));
	fputc('\n', out);
	print_head(out, "names, by instruction", name_words, JP_NAMES);
	print_counts(out, "perf map", copy.names[JP_SOURCE_MAP], JP_NAMES);
	print_counts(out, "jitdump", copy.names[JP_SOURCE_DUMP], JP_NAMES);
	print_head(out, "names, by sample", name_words, JP_NAMES);
	print_counts(out, "perf map", copy.samples[JP_SOURCE_MAP], JP_NAMES);
	print_counts(out, "jitdump", copy.samples[JP_SOURCE_DUMP], JP_NAMES);
	print_callers(out, "caller by frame pointer", copy.by_fp);
	print_callers(out, "caller by the jitdump", copy.by_dump);
	fprintf(out,
		"functions of the jitdump that ran: %" PRIu64 ", with other bytes: %" PRIu64
		"\nrecords of the jitdump: %" PRIu64 ", later than now: %" PRIu64
		", earlier than the launch: %" PRIu64 ", out of order: %" PRIu64 "\n",
		tally->nr_functions, tally->nr_differing, tally->loads, tally->future, tally->early,
		tally->disorder);
}

static void write_counts(struct jp_json *json, const char *key, const uint64_t *counts,
			 const char *const *words, int count)
{
	jp_json_object(json, key);
	for (int i = 0; i < count; i++)
		jp_json_u64(json, words[i], counts[i]);
	jp_json_end(json);
}

void jp_tally_json(const struct jp_tally *tally, struct jp_json *json)
{
	const struct {
		const char *key;
		uint64_t count;
	} counts[] = {
		{"bursts", tally->bursts},
		{"refused", tally->refused},
		{"steps", tally->steps},
		{"emitted", tally->emitted},
		{"known", tally->nr_known},
		{"uncertain", tally->uncertain},
		{"calls", tally->calls},
		{"returns", tally->returns},
		{"functions", tally->nr_functions},
		{"differ", tally->nr_differing},
		{"loads", tally->loads},
		{"future", tally->future},
		{"early", tally->early},
		{"disorder", tally->disorder},
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		jp_json_u64(json, counts[i].key, counts[i].count);
	jp_json_object(json, "events");
	for (int event = 1; event < JP_SHADOW_EVENTS; event++)
		jp_json_u64(json, jp_shadow_event_word(event), tally->events[event]);
	jp_json_end(json);
	jp_json_object(json, "names");
	for (int i = 0; i < JP_SOURCES; i++)
		write_counts(json, source_words[i], tally->names[i], name_words, JP_NAMES);
	jp_json_end(json);
	jp_json_object(json, "samples");
	for (int i = 0; i < JP_SOURCES; i++)
		write_counts(json, source_words[i], tally->samples[i], name_words, JP_NAMES);
	jp_json_end(json);
	jp_json_object(json, "by_fp");
	for (int i = 0; i < JP_PLACES; i++)
		write_counts(json, place_words[i], tally->by_fp[i], caller_words, JP_CALLERS);
	jp_json_end(json);
	jp_json_object(json, "by_dump");
	for (int i = 0; i < JP_PLACES; i++)
		write_counts(json, place_words[i], tally->by_dump[i], caller_words, JP_CALLERS);
	jp_json_end(json);
}

static void write_known_frame(const struct jp_trace_insn *insn, struct jp_json *json)
{
	jp_json_u64(json, "at", insn->ret_addr);
	jp_json_u64(json, "return", insn->ret);
	jp_json_u64(json, "start", insn->start);
	jp_json_string(json, "place", place_words[insn->place]);
	if (!insn->emitted)
		return;
	jp_json_string(json, "by_fp", caller_words[insn->by_fp]);
	jp_json_string(json, "by_dump", caller_words[insn->by_dump]);
}

void jp_trace_insn_json(const struct jp_trace_insn *insn, struct jp_json *json)
{
	jp_json_object(json, NULL);
	jp_json_u64(json, "burst", insn->burst);
	jp_json_u64(json, "pid", insn->pid);
	jp_json_u64(json, "tid", insn->tid);
	jp_json_u64(json, "time", insn->time);
	jp_json_u64(json, "ip", insn->ip);
	jp_json_u64(json, "sp", insn->sp);
	jp_json_u64(json, "fp", insn->fp);
	if (insn->is_known)
		write_known_frame(insn, json);
	for (int source = 0; insn->emitted && source < JP_SOURCES; source++) {
		if (insn->name[source] == JP_NAME_NONE)
			continue;
		jp_json_object(json, source_words[source]);
		jp_json_string(json, "name", insn->names[source]);
		jp_json_string(json, "is", name_words[insn->name[source]]);
		jp_json_end(json);
	}
	jp_json_end(json);
}
