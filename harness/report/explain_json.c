// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/explain_report.h"

#include <inttypes.h>

#include "harness/base/json.h"

static void write_place(struct jp_json *json, const struct jp_blame *blame)
{
	jp_json_u64(json, "pid", blame->pid);
	jp_json_string(json, "process", blame->process);
	jp_json_string(json, "file", blame->file);
	jp_json_array(json, "ranges");
	for (size_t i = 0; i < blame->nr_ranges; i++) {
		char text[40];

		snprintf(text, sizeof(text), "%" PRIx64 "-%" PRIx64, blame->ranges[i].start,
			 blame->ranges[i].end);
		jp_json_string(json, NULL, text);
	}
	jp_json_end(json);
}

static void write_cause(struct jp_json *json, const struct jp_blamed *cause)
{
	const struct jp_blame *main_place = cause->places[0];

	jp_json_object(json, NULL);
	jp_json_string(json, "id", cause->cause->id);
	jp_json_string(json, "text", cause->cause->text);
	jp_json_double(json, "share", cause->share);
	jp_json_u64(json, "samples", cause->samples);
	write_place(json, main_place);
	jp_json_array(json, "evidence");
	for (size_t i = 0; i < main_place->nr_evidence; i++)
		jp_json_string(json, NULL, main_place->evidence[i]);
	jp_json_end(json);
	jp_json_string(json, "remedy", main_place->remedy);
	jp_json_string(json, "study", cause->cause->study);
	jp_json_array(json, "places");
	for (size_t i = 0; i < cause->nr_places; i++) {
		jp_json_object(json, NULL);
		jp_json_u64(json, "samples", cause->places[i]->samples);
		write_place(json, cause->places[i]);
		jp_json_end(json);
	}
	jp_json_end(json);
	jp_json_end(json);
}

static void write_answers(struct jp_json *json, const struct jp_explanation *explanation,
			  const char *name, enum jp_question question)
{
	const struct jp_answers *answers = &explanation->answers[question];

	jp_json_array(json, name);
	for (size_t i = 0; i < answers->count; i++) {
		const struct jp_blamed *cause = answers->causes[i];
		const uint64_t cost = jp_answers_cost(cause, question),
			       nr_samples = explanation->summary.samples + cause->absent;

		jp_json_object(json, NULL);
		jp_json_string(json, "id", cause->cause->id);
		jp_json_double(json, "share", (double)cost / nr_samples);
		jp_json_u64(json, "samples", cost);
		jp_json_string(json, "consequence_of", cause->below ? cause->below->id : NULL);
		jp_json_end(json);
	}
	jp_json_end(json);
}

void jp_explain_report_write(struct jp_json *json, const struct jp_explanation *explanation,
			     const char *file)
{
	jp_json_object(json, NULL);
	jp_json_string(json, "file", file);
	jp_json_bool(json, "healthy", jp_explain_healthy(explanation));
	jp_json_u64(json, "samples", explanation->summary.samples);
	if (explanation->summary.cut_short)
		jp_json_bool(json, "cut_short", true);
	jp_json_u64(json, "unknown_stacks", explanation->unknown_stacks);
	write_answers(json, explanation, "stacks", JP_WHY_STACKS_END);
	write_answers(json, explanation, "names", JP_WHY_NAMES_LACK);
	write_answers(json, explanation, "losses", JP_WHY_SAMPLES_LACK);
	jp_json_array(json, "causes");
	for (size_t i = 0; i < explanation->nr_accused; i++)
		write_cause(json, &explanation->causes[i]);
	jp_json_end(json);
	jp_json_array(json, "notes");
	for (size_t i = explanation->nr_accused; i < explanation->nr_causes; i++)
		write_cause(json, &explanation->causes[i]);
	jp_json_end(json);
	jp_json_end(json);
}

void jp_explain_report_json(const struct jp_explanation *explanation, const char *file)
{
	struct jp_json json;

	jp_json_begin(&json, stdout);
	jp_explain_report_write(&json, explanation, file);
}
