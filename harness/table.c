// SPDX-License-Identifier: GPL-2.0-only
#include "harness/table.h"

#include <inttypes.h>
#include <string.h>

enum { CELL = 96 };

static const struct {
	const char *broken, *predicted, *name;
} methods[] = {
	{"broken.dump", "predicted.dump", "our unwinding of the stack dump"},
	{"broken.chain", "predicted.chain", "the kernel's callchain"},
};
static const enum jp_method method_of[] = {JP_DUMP, JP_CHAIN};

static const struct jp_result *result_of(const struct jp_result *results, size_t count,
					 const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(results[i].cas->name, name) == 0)
			return &results[i];
	return NULL;
}

/* Of the verdicts that make a stack broken, the most frequent. */
static enum jp_verdict dominant(const uint64_t verdicts[JP_VERDICTS])
{
	static const enum jp_verdict broken[] = {JP_UNMAPPED, JP_SINGLE, JP_SHORT, JP_HOLE};
	enum jp_verdict most = broken[0];

	for (size_t i = 1; i < sizeof(broken) / sizeof(broken[0]); i++)
		if (verdicts[broken[i]] > verdicts[most])
			most = broken[i];
	return most;
}

static void fill(char *cell, const struct jp_result *result, size_t which)
{
	const struct jp_metric *broken, *predicted;
	int used;

	snprintf(cell, CELL, "-");
	if (!result)
		return;
	broken = jp_findings_metric(&result->findings, methods[which].broken);
	if (!broken || !broken->n) {
		if (result->outcome != JP_PASS)
			snprintf(cell, CELL, "%s", jp_outcome_text(result->outcome));
		return;
	}
	used = snprintf(cell, CELL, "%.1f %% broken (%" PRIu64 " of %" PRIu64 ")",
			100 * (double)broken->k / (double)broken->n, broken->k, broken->n);
	if (broken->k)
		used += snprintf(
			cell + used, CELL - (size_t)used, " %s",
			jp_verdict_text(dominant(result->findings.verdicts[method_of[which]])));
	/* Unmapped is not unwalked: the kernel's walk asks for no mapping. */
	predicted = jp_findings_metric(&result->findings, methods[which].predicted);
	if (broken->k && predicted && predicted->n)
		used += snprintf(cell + used, CELL - (size_t)used, ", %.1f %% walked as predicted",
				 100 * (double)predicted->k / (double)predicted->n);
	if (result->outcome != JP_PASS)
		snprintf(cell + used, CELL - (size_t)used, " %s", jp_outcome_text(result->outcome));
}

static void widen(size_t *width, const char *text)
{
	size_t length = strlen(text);

	if (length > *width)
		*width = length;
}

static void rule(FILE *out, size_t label, const size_t *widths, size_t columns)
{
	fputs("#  ", out);
	for (size_t i = 0; i < label; i++)
		fputc('-', out);
	for (size_t c = 0; c < columns; c++) {
		fputs("  ", out);
		for (size_t i = 0; i < widths[c]; i++)
			fputc('-', out);
	}
	fputc('\n', out);
}

static void line(FILE *out, const char *label, size_t label_width)
{
	fprintf(out, "#  %-*s", (int)label_width, label);
}

static void print_method(FILE *out, const struct jp_table *table, const struct jp_result *results,
			 size_t count, size_t which)
{
	size_t label = strlen("Scenario"), widths[64] = {0};
	char cell[CELL];

	for (size_t c = 0; c < table->nr_columns; c++)
		widen(&widths[c], table->columns[c]);
	for (size_t r = 0; r < table->nr_rows; r++) {
		widen(&label, table->rows[r].label);
		for (size_t c = 0; c < table->nr_columns; c++) {
			fill(cell, result_of(results, count, table->rows[r].cases[c]), which);
			widen(&widths[c], cell);
		}
	}
	fprintf(out, "#\n# %s: %s\n# method: %s\n", table->study, table->title,
		methods[which].name);
	line(out, "Scenario", label);
	for (size_t c = 0; c < table->nr_columns; c++)
		fprintf(out, "  %-*s", c + 1 < table->nr_columns ? (int)widths[c] : 0,
			table->columns[c]);
	fputc('\n', out);
	rule(out, label, widths, table->nr_columns);
	for (size_t r = 0; r < table->nr_rows; r++) {
		line(out, table->rows[r].label, label);
		for (size_t c = 0; c < table->nr_columns; c++) {
			fill(cell, result_of(results, count, table->rows[r].cases[c]), which);
			fprintf(out, "  %-*s", c + 1 < table->nr_columns ? (int)widths[c] : 0,
				cell);
		}
		fputc('\n', out);
	}
}

void jp_table_print(FILE *out, const struct jp_cases *cases, const struct jp_result *results,
		    size_t count)
{
	for (size_t t = 0; t < cases->nr_tables; t++) {
		const struct jp_table *table = &cases->tables[t];
		bool touched = false;

		for (size_t i = 0; i < table->nr_rows * table->nr_columns && !touched; i++)
			touched = result_of(
				results, count,
				table->rows[i / table->nr_columns].cases[i % table->nr_columns]);
		for (size_t which = 0; touched && which < sizeof(methods) / sizeof(methods[0]);
		     which++)
			print_method(out, table, results, count, which);
	}
}
