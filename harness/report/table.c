// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/table.h"

#include <inttypes.h>
#include <string.h>

#include "harness/base/order.h"
#include "harness/base/terminal.h"
#include "harness/model/unwind/methods.h"

enum { CELL = 160, MAX_RULES = 32, STACKED = 6 };

/* Methods that have a table of broken stacks. */
static const enum jp_method methods[] = {JP_DUMP, JP_CHAIN};

/* Verdicts that make a stack broken. */
static const enum jp_verdict broken[] = {JP_UNMAPPED, JP_SINGLE, JP_SHORT, JP_HOLE};
enum { BROKEN = sizeof(broken) / sizeof(*broken) };

static const struct jp_result *find_result(const struct jp_result *results, size_t count,
					   const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(results[i].cas->name, name) == 0)
			return &results[i];
	return NULL;
}

/* Returns the most frequent verdict that makes a stack broken. */
static enum jp_verdict find_dominant(const uint64_t verdicts[JP_VERDICTS])
{
	enum jp_verdict best = broken[0];

	for (size_t i = 1; i < BROKEN; i++)
		if (verdicts[broken[i]] > verdicts[best])
			best = broken[i];
	return best;
}

static void fill_broken(char *cell, const struct jp_result *result, enum jp_method method)
{
	const uint64_t *verdicts = result->findings.verdicts[method];
	uint64_t nr_bad = 0, judged = 0, predicted = result->findings.nr_predicted[method];
	int length;

	for (size_t i = 0; i < BROKEN; i++)
		nr_bad += verdicts[broken[i]];
	for (int verdict = JP_UNJUDGED + 1; verdict < JP_VERDICTS; verdict++)
		judged += verdicts[verdict];
	if (!judged) {
		if (result->outcome != JP_PASS)
			snprintf(cell, CELL, "%s", jp_outcome_text(result->outcome));
		return;
	}
	length = snprintf(cell, CELL, "%.1f %% broken (%" PRIu64 " of %" PRIu64 ")",
			  100 * (double)nr_bad / (double)judged, nr_bad, judged);
	/* Frames of an unmapped stack may be correct: the kernel can walk through unmapped code. */
	if (nr_bad)
		length += snprintf(cell + length, CELL - (size_t)length,
				   " %s, %.1f %% walked as predicted",
				   jp_verdict_text(find_dominant(verdicts)),
				   100 * (double)predicted / (double)judged);
	if (result->outcome != JP_PASS)
		snprintf(cell + length, CELL - (size_t)length, " %s",
			 jp_outcome_text(result->outcome));
}

/* Returns the last part of a metric's name "name.of.metric", which distinguishes the metric from
 * the others in the cell. */
static const char *find_last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

/* Appends a metric: "hidden (12 of 40)"; "98.1 % (40 of 41)" or "12" if it is alone; "right 98.1 %"
 * or "after 12" beside others. */
static size_t put_metric(char *text, size_t size, const struct jp_table_metric *row,
			 const struct jp_metric *metric, bool is_alone)
{
	double percent = metric->n ? 100 * (double)metric->k / (double)metric->n : 0;
	const char *word = metric->k ? row->some : row->none;

	if (word && metric->rate)
		return (size_t)snprintf(text, size, "%s (%" PRIu64 " of %" PRIu64 ")", word,
					metric->k, metric->n);
	if (word)
		return (size_t)snprintf(text, size, "%s (%" PRIu64 ")", word, metric->k);
	if (!is_alone && metric->rate)
		return (size_t)snprintf(text, size, "%s %.1f %%", find_last_part(row->name),
					percent);
	if (!is_alone)
		return (size_t)snprintf(text, size, "%s %" PRIu64, find_last_part(row->name),
					metric->k);
	if (metric->rate)
		return (size_t)snprintf(text, size, "%.1f %% (%" PRIu64 " of %" PRIu64 ")", percent,
					metric->k, metric->n);
	return (size_t)snprintf(text, size, "%" PRIu64, metric->k);
}

/* Fills a cell with the table's metrics. Shares usually have the same total, which is printed after
 * the last of them. */
static void fill_metrics(char *cell, const struct jp_result *result, const struct jp_table *table)
{
	bool is_alone = table->nr_metrics == 1;
	uint64_t total = 0;
	size_t length = 0;

	for (size_t i = 0; i < table->nr_metrics && length < CELL; i++) {
		const struct jp_table_metric *row = &table->metrics[i];
		const struct jp_metric *metric =
			jp_findings_find_metric(&result->findings, row->name);

		if (!metric)
			continue;
		if (length)
			length += (size_t)snprintf(cell + length, CELL - length, ", ");
		if (length < CELL)
			length += put_metric(cell + length, CELL - length, row, metric, is_alone);
		total = metric->n;
	}
	if (!is_alone && total && length < CELL)
		length += (size_t)snprintf(cell + length, CELL - length, " of %" PRIu64, total);
	if (result->outcome != JP_PASS && length < CELL)
		snprintf(cell + length, CELL - length, "%s%s", length ? " " : "",
			 jp_outcome_text(result->outcome));
}

/* Returns the number, starting with 1, of the footnote with @rule; 0: there is no room for it. */
static size_t number_footnote(const char **rules, const char *rule)
{
	for (size_t i = 0; i < MAX_RULES; i++) {
		if (!rules[i])
			rules[i] = rule;
		if (strcmp(rules[i], rule) == 0)
			return i + 1;
	}
	return 0;
}

struct print {
	const struct jp_table *table;
	const struct jp_result *results;
	size_t count;
	size_t method;                /* tables of stack methods: index in @methods */
	const char *rules[MAX_RULES]; /* in order of appearance */
	const char *mark;             /* printed before every line */
	unsigned int width;           /* largest width of a line */
};

static void fill_cell(char *text, struct print *print, size_t row, size_t column)
{
	const struct jp_table_cell *cell = &print->table->rows[row].cells[column];
	const struct jp_result *result = find_result(print->results, print->count, cell->name);
	bool is_impossible = strcmp(cell->name, "impossible") == 0;
	size_t length;

	snprintf(text, CELL, "%s", is_impossible ? cell->name : "-");
	if (result && print->table->nr_metrics)
		fill_metrics(text, result, print->table);
	else if (result)
		fill_broken(text, result, methods[print->method]);
	length = strlen(text);
	if (cell->rule && (result || is_impossible))
		snprintf(text + length, CELL - length, " [%zu]",
			 number_footnote(print->rules, cell->rule));
}

/* Returns whether a row has a case that ran; a row without results states why. */
static bool is_shown(const struct print *print, size_t row)
{
	bool is_labelled = false;

	for (size_t c = 0; c < print->table->nr_columns; c++) {
		const char *name = print->table->rows[row].cells[c].name;

		if (find_result(print->results, print->count, name))
			return true;
		is_labelled |= strcmp(name, "-") != 0 && strcmp(name, "impossible") != 0;
	}
	return !is_labelled;
}

static void widen_column(size_t *width, const char *text)
{
	size_t length = strlen(text);

	if (length > *width)
		*width = length;
}

static void put_rule(FILE *out, const char *mark, size_t label, const size_t *widths, size_t from,
		     size_t to)
{
	fprintf(out, "%s  ", mark);
	for (size_t i = 0; i < label; i++)
		fputc('-', out);
	for (size_t c = from; c < to; c++) {
		fputs("  ", out);
		for (size_t i = 0; i < widths[c]; i++)
			fputc('-', out);
	}
	fputc('\n', out);
}

static void put_label(FILE *out, const char *mark, const char *label, size_t label_width)
{
	fprintf(out, "%s  %-*s", mark, (int)label_width, label);
}

/* Prints the table as a list: for each row, a line for each cell. */
static void put_stacked(FILE *out, struct print *print)
{
	const struct jp_table *table = print->table;
	const unsigned int mark = (unsigned int)strlen(print->mark);
	char cell[CELL];
	size_t longest = 0;

	for (size_t c = 0; c < table->nr_columns; c++)
		widen_column(&longest, table->columns[c]);
	for (size_t r = 0; r < table->nr_rows; r++) {
		if (!is_shown(print, r))
			continue;
		put_label(out, print->mark, "", 0);
		jp_terminal_put_marked(out, print->mark, table->rows[r].label, mark + 2,
				       print->width);
		for (size_t c = 0; c < table->nr_columns; c++) {
			fill_cell(cell, print, r, c);
			if (strcmp(cell, "-") == 0)
				continue;
			fprintf(out, "%s%*s%-*s  ", print->mark, STACKED, "", (int)longest,
				table->columns[c]);
			jp_terminal_put_marked(out, print->mark, cell,
					       mark + STACKED + (unsigned int)longest + 2,
					       print->width);
		}
	}
}

static void put_columns(FILE *out, struct print *print, size_t label, const size_t *widths,
			size_t from, size_t to)
{
	const struct jp_table *table = print->table;
	char cell[CELL];

	put_label(out, print->mark, "Scenario", label);
	for (size_t c = from; c < to; c++)
		fprintf(out, "  %-*s", c + 1 < to ? (int)widths[c] : 0, table->columns[c]);
	fputc('\n', out);
	put_rule(out, print->mark, label, widths, from, to);
	for (size_t r = 0; r < table->nr_rows; r++) {
		if (!is_shown(print, r))
			continue;
		put_label(out, print->mark, table->rows[r].label, label);
		for (size_t c = from; c < to; c++) {
			fill_cell(cell, print, r, c);
			fprintf(out, "  %-*s", c + 1 < to ? (int)widths[c] : 0, cell);
		}
		fputc('\n', out);
	}
}

static void put_footnotes(FILE *out, const struct print *print)
{
	char line[1024];

	for (size_t i = 0; i < MAX_RULES && print->rules[i]; i++) {
		snprintf(line, sizeof(line), "[%zu] %s", i + 1, print->rules[i]);
		put_label(out, print->mark, "", 0);
		jp_terminal_put_marked(out, print->mark, line,
				       (unsigned int)strlen(print->mark) + 2, print->width);
	}
}

/* Prints as many columns side by side as fit into the width, and the other columns below them. */
static void put_split(FILE *out, struct print *print, size_t label, const size_t *widths)
{
	const size_t columns = print->table->nr_columns, labels = strlen(print->mark) + 2 + label;

	for (size_t from = 0, to; from < columns; from = to) {
		size_t width = labels + 2 + widths[from];

		for (to = from + 1; to < columns && width + 2 + widths[to] <= print->width; to++)
			width += 2 + widths[to];
		if (from)
			fprintf(out, "%s\n", print->mark);
		put_columns(out, print, label, widths, from, to);
	}
}

static void put_title(FILE *out, const struct print *print, const char *kind, const char *text)
{
	const unsigned int length = (unsigned int)fprintf(out, "%s %s: ", print->mark, kind);

	jp_terminal_put_marked(out, print->mark, text, length, print->width);
}

static void print_table(FILE *out, struct print *print)
{
	const struct jp_table *table = print->table;
	size_t label = strlen("Scenario"), widths[64] = {0}, widest = 0;
	char cell[CELL];

	for (size_t c = 0; c < table->nr_columns; c++)
		widen_column(&widths[c], table->columns[c]);
	for (size_t r = 0; r < table->nr_rows; r++) {
		if (!is_shown(print, r))
			continue;
		widen_column(&label, table->rows[r].label);
		for (size_t c = 0; c < table->nr_columns; c++) {
			fill_cell(cell, print, r, c);
			widen_column(&widths[c], cell);
		}
	}
	fprintf(out, "%s\n", print->mark);
	put_title(out, print, table->study, table->title);
	if (!table->nr_metrics)
		put_title(out, print, "method", jp_method_text(methods[print->method]));
	for (size_t c = 0; c < table->nr_columns; c++)
		widest = jp_max(widest, widths[c]);
	if (strlen(print->mark) + 2 + label + 2 + widest > print->width)
		put_stacked(out, print);
	else
		put_split(out, print, label, widths);
	put_footnotes(out, print);
}

void jp_table_print(FILE *out, const struct jp_cases *cases, const struct jp_result *results,
		    size_t count, const char *mark, unsigned int width)
{
	for (size_t t = 0; t < cases->nr_tables; t++) {
		const struct jp_table *table = &cases->tables[t];
		size_t times = table->nr_metrics ? 1 : sizeof(methods) / sizeof(methods[0]);
		bool is_touched = false;

		for (size_t i = 0; i < table->nr_rows * table->nr_columns && !is_touched; i++)
			is_touched = find_result(results, count,
						 table->rows[i / table->nr_columns]
							 .cells[i % table->nr_columns]
							 .name);
		for (size_t table_index = 0; is_touched && table_index < times; table_index++) {
			struct print print = {table,  results, count, table_index,
					      {NULL}, mark,    width};

			print_table(out, &print);
		}
	}
}
