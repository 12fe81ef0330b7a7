// SPDX-License-Identifier: GPL-2.0-only
#include "harness/score/score.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/base/printable.h"
#include "harness/base/sort.h"
#include "harness/base/terminal.h"

enum { WORST = 10, LABEL = 17, CPU_WIDTH = 6 };

static bool was_row_judged(const struct jp_score_row *row)
{
	return row->cells[JP_SCORE_WHOLE].is_known || row->cells[JP_SCORE_SEEN].is_known;
}

static bool is_good(const struct jp_score_row *row, enum jp_score_column column)
{
	const double share = jp_score_rate_cell(row, column);

	return share < 0 || share >= 1;
}

static void format_cell(const struct jp_score_row *row, enum jp_score_column column, char *text,
			size_t size)
{
	const struct jp_score_cell *cell = &row->cells[column];

	if (!cell->is_known)
		snprintf(text, size, "-");
	else if (jp_score_column_is_bad(column))
		snprintf(text, size, "%" PRIu64, cell->k);
	else
		snprintf(text, size, "%.4g%%", 100 * (double)cell->k / (double)(cell->n ?: 1));
}

/* Returns the number of characters of a cell in @column, without the cell's mark. All columns fit
 * into a line of 80 characters. */
static int get_column_width(enum jp_score_column column)
{
	const int name = (int)strlen(jp_score_column_text(column));
	const int value = (int)strlen(jp_score_column_is_bad(column) ? "99999" : "99.99%");

	return name > value ? name : value;
}

static void print_cell(FILE *out, const struct jp_score_row *row, enum jp_score_column column)
{
	char text[32];

	format_cell(row, column, text, sizeof(text));
	fprintf(out, "%*s%c", get_column_width(column), text, is_good(row, column) ? ' ' : '!');
}

void jp_score_print_line(FILE *out, const struct jp_score_row *row)
{
	char text[32];

	for (enum jp_score_column column = 0; column < JP_SCORE_COLUMNS; column++) {
		format_cell(row, column, text, sizeof(text));
		fprintf(out, "%s%s %s%s", column ? ", " : "", jp_score_column_text(column), text,
			is_good(row, column) ? "" : "!");
	}
	fputc('\n', out);
}

bool jp_score_failed(const struct jp_score *score)
{
	bool failed = false;

	for (size_t i = 0; i < score->nr_rows; i++) {
		const enum jp_outcome outcome = score->rows[i].result.outcome;

		if (was_row_judged(&score->rows[i]))
			return false;
		failed |= outcome == JP_ERROR || outcome == JP_TIMEOUT || outcome == JP_CRASH;
	}
	return failed;
}

static void print_outcome(FILE *out, const struct jp_result *result)
{
	char text[sizeof(result->reasons)], *line = text, *tail;

	snprintf(text, sizeof(text), "%s", result->reasons);
	jp_printable(text);
	tail = text + strcspn(text, "\n");
	fprintf(out, " %s: %.*s\n", jp_outcome_text(result->outcome), (int)(tail - line), line);
	while (*tail) {
		line = tail + 1;
		tail = line + strcspn(line, "\n");
		fprintf(out, "%-*s %.*s\n", LABEL, "", (int)(tail - line), line);
	}
}

static void print_row(FILE *out, const char *label, const struct jp_score_row *row)
{
	fprintf(out, "%-*s", LABEL, label);
	if (!was_row_judged(row)) {
		print_outcome(out, &row->result);
		return;
	}
	for (enum jp_score_column column = 0; column < JP_SCORE_COLUMNS; column++)
		print_cell(out, row, column);
	if (row->cpu == UINT64_MAX || !row->watch)
		fprintf(out, "%*s\n", CPU_WIDTH, "-");
	else
		fprintf(out, "%*.1f%%\n", CPU_WIDTH - 1,
			100 * (double)row->cpu / (double)row->watch);
}

static const char COLUMNS[] =
	"Columns: seen, mapped: samples that the profiler has, in memory that it knows; right, "
	"wrong: samples with the right and with another function name; whole, invented: stacks "
	"with all frames, with wrong frames; tasks: wrong or missing records of processes and "
	"threads; lost: lost samples and records. !: a fault; -: not reported.";

static void print_head(FILE *out, const char *label)
{
	fprintf(out, "%-*s", LABEL, label);
	for (enum jp_score_column column = 0; column < JP_SCORE_COLUMNS; column++)
		fprintf(out, "%*s ", get_column_width(column), jp_score_column_text(column));
	fprintf(out, "%*s\n", CPU_WIDTH, "CPU");
}

struct worst {
	const struct jp_score_row *row;
	const struct jp_exception *exception;
};

JP_ORDER(compare_by_count, struct worst,
	 jp_compare(b->exception->count, a->exception->count)
		 ?: strcmp(a->row->scene, b->row->scene));

/* Prints the most frequent faults of all workloads, each with its first sample. */
static void print_worst(FILE *out, const struct jp_score *score, unsigned int width)
{
	struct worst *worst;
	size_t count = 0;

	for (size_t i = 0; i < score->nr_rows; i++)
		count += score->rows[i].result.findings.nr_exceptions;
	worst = calloc(count + 1, sizeof(*worst));
	count = 0;
	for (size_t i = 0; worst && i < score->nr_rows; i++) {
		const struct jp_findings *findings = &score->rows[i].result.findings;

		for (size_t e = 0; e < findings->nr_exceptions; e++)
			worst[count++] = (struct worst){&score->rows[i], &findings->exceptions[e]};
	}
	jp_sort(worst, count, compare_by_count);
	if (count)
		fprintf(out,
			"\nMost frequent faults: workload, metric, cause, count, first fault\n");
	for (size_t i = 0; i < count && i < WORST; i++) {
		fprintf(out, "%-*s %s, %s, %" PRIu64 "\n    ", LABEL, worst[i].row->scene,
			worst[i].exception->metric, worst[i].exception->cause,
			worst[i].exception->count);
		jp_terminal_put_words(out, worst[i].exception->example, 4, width);
	}
	free(worst);
}

static void format_verdict(const struct jp_score *score, char *text, size_t size)
{
	size_t judged = 0, all_good = 0, nr_good[JP_SCORE_COLUMNS] = {0},
	       nr_known[JP_SCORE_COLUMNS] = {0};
	size_t length = 0;

	for (size_t i = 0; i < score->nr_rows; i++) {
		const struct jp_score_row *row = &score->rows[i];
		bool is_judged_row = was_row_judged(row);

		judged += is_judged_row;
		for (enum jp_score_column column = 0; column < JP_SCORE_COLUMNS; column++) {
			is_judged_row &= is_good(row, column);
			nr_known[column] += was_row_judged(row) && row->cells[column].is_known;
			nr_good[column] += was_row_judged(row) && row->cells[column].is_known &&
					   is_good(row, column);
		}
		all_good += is_judged_row;
	}
	length = (size_t)snprintf(text, size, "%s %s: %zu of %zu workloads without a fault;",
				  score->profiler, score->version, all_good, judged);
	for (enum jp_score_column column = 0; column < JP_SCORE_COLUMNS && length < size;
	     column++) {
		/* The verdict adds "nothing" to names such as "wrong", but not to "tasks". */
		const bool nothing = jp_score_column_is_bad(column) && column != JP_SCORE_TASKS;

		if (nr_known[column])
			length += (size_t)snprintf(text + length, size - length, "%s %s%s %zu/%zu",
						   length && text[length - 1] == ';' ? "" : ",",
						   nothing ? "nothing " : "",
						   jp_score_column_text(column), nr_good[column],
						   nr_known[column]);
	}
}

void jp_score_print(FILE *out, const struct jp_score *score)
{
	const unsigned int width = jp_terminal_width(fileno(out));
	char verdict[600];

	print_head(out, score->profiler);
	for (size_t i = 0; i < score->nr_rows; i++)
		print_row(out, score->rows[i].scene, &score->rows[i]);
	fputc('\n', out);
	jp_terminal_put_words(out, COLUMNS, 0, width);
	print_worst(out, score, width);
	format_verdict(score, verdict, sizeof(verdict));
	fputc('\n', out);
	jp_terminal_put_words(out, verdict, 0, width);
}

static void write_causes(struct jp_json *json, const struct jp_findings *findings)
{
	jp_json_array(json, "exceptions");
	for (size_t i = 0; i < findings->nr_exceptions; i++) {
		jp_json_object(json, NULL);
		jp_json_string(json, "metric", findings->exceptions[i].metric);
		jp_json_string(json, "cause", findings->exceptions[i].cause);
		jp_json_u64(json, "count", findings->exceptions[i].count);
		jp_json_string(json, "first", findings->exceptions[i].example);
		jp_json_end(json);
	}
	jp_json_end(json);
	jp_json_object(json, "skipped");
	for (size_t i = 0; i < findings->nr_skipped; i++)
		jp_json_string(json, findings->skipped[i].validator, findings->skipped[i].lack);
	jp_json_end(json);
}

static void write_row(struct jp_json *json, const struct jp_score_row *row)
{
	jp_json_object(json, NULL);
	jp_json_string(json, "workload", row->scene);
	jp_json_string(json, "way", row->was_launched ? "launch" : "attach");
	jp_json_string(json, "outcome", jp_outcome_text(row->result.outcome));
	jp_json_string(json, "why", row->result.reasons);
	for (enum jp_score_column column = 0; column < JP_SCORE_COLUMNS; column++) {
		if (!row->cells[column].is_known)
			continue;
		jp_json_object(json, jp_score_column_text(column));
		jp_json_u64(json, "k", row->cells[column].k);
		jp_json_u64(json, "n", row->cells[column].n);
		jp_json_bool(json, "good", is_good(row, column));
		jp_json_end(json);
	}
	if (row->cpu != UINT64_MAX)
		jp_json_u64(json, "cpu_ns", row->cpu);
	jp_json_u64(json, "watched_ns", row->watch);
	write_causes(json, &row->result.findings);
	jp_json_end(json);
}

void jp_score_json(FILE *out, const struct jp_score *score)
{
	struct jp_json json;
	char verdict[600];

	jp_json_begin(&json, out);
	jp_json_object(&json, NULL);
	jp_json_string(&json, "profiler", score->profiler);
	jp_json_string(&json, "version", score->version);
	jp_json_string(&json, "way", score->launches ? "launch" : "attach");
	format_verdict(score, verdict, sizeof(verdict));
	jp_json_string(&json, "verdict", verdict);
	jp_json_array(&json, "workloads");
	for (size_t i = 0; i < score->nr_rows; i++)
		write_row(&json, &score->rows[i]);
	jp_json_end(&json);
	jp_json_end(&json);
}

void jp_score_compare(FILE *out, const struct jp_score *score, const struct jp_score *other_score)
{
	const unsigned int width = jp_terminal_width(fileno(out));
	char verdict[600];
	bool has_difference = false;

	for (size_t i = 0; i < score->nr_rows && i < other_score->nr_rows; i++) {
		const struct jp_score_row *a = &score->rows[i], *b = &other_score->rows[i];
		bool is_different = was_row_judged(a) != was_row_judged(b);

		for (enum jp_score_column column = 0; column < JP_SCORE_COLUMNS; column++)
			is_different |= is_good(a, column) != is_good(b, column) ||
					a->cells[column].is_known != b->cells[column].is_known;
		if (!is_different)
			continue;
		if (!has_difference)
			print_head(out, "workload");
		has_difference = true;
		fprintf(out, "%s\n", a->scene);
		print_row(out, score->profiler, a);
		print_row(out, other_score->profiler, b);
	}
	fputs(has_difference ? "\n" : "The two have the same faults.\n", out);
	format_verdict(score, verdict, sizeof(verdict));
	jp_terminal_put_words(out, verdict, 0, width);
	format_verdict(other_score, verdict, sizeof(verdict));
	jp_terminal_put_words(out, verdict, 0, width);
}
