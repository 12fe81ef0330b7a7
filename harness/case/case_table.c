// SPDX-License-Identifier: GPL-2.0-only
/* The tables of results/expected/STUDY: docs/expected-format.md. */
#include "harness/case/case_parser.h"

#include <string.h>

/* Words "metric=METRIC[:WORD/WORD],..." at the end of a table's title. */
static int take_metrics(struct jp_case_parser *p, char *title, struct jp_table *table)
{
	char *words = strstr(title, " metric="), *save, *part;
	struct jp_table_metric *metrics;
	size_t count = 1;

	if (!words)
		return 0;
	*words = '\0';
	words += strlen(" metric=");
	for (const char *c = words; *c; c++)
		count += *c == ',';
	metrics = jp_case_store_alloc(p->store, count * sizeof(*metrics));
	if (!metrics)
		return jp_case_no_memory(p);
	for (part = strtok_r(words, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
		struct jp_table_metric *metric = &metrics[table->nr_metrics++];
		char *some = strchr(part, ':'), *none = some ? strchr(some, '/') : NULL;

		if (some)
			*some++ = '\0';
		if (none)
			*none++ = '\0';
		if (!jp_case_name_ok(part, false) || (some && (!none || !*some || !*none)))
			return jp_case_bad(p, "metric", part, "METRIC or METRIC:WORD/WORD");
		*metric = (struct jp_table_metric){part, some, none};
	}
	if (!table->nr_metrics)
		return jp_case_bad(p, "metric", "", "METRIC or METRIC:WORD/WORD");
	table->metrics = metrics;
	return 0;
}

/* table TITLE [metric=METRIC,...] | COLUMN... */
static int open_table(struct jp_case_parser *p, char **parts, size_t count)
{
	const char **columns = jp_case_store_alloc(p->store, (count - 1) * sizeof(*columns));

	p->table = columns ? jp_case_store_table(p->store) : NULL;
	if (!p->table)
		return jp_case_no_memory(p);
	memcpy(columns, parts + 1, (count - 1) * sizeof(*columns));
	p->table->study = p->study;
	p->table->title = parts[0];
	p->table->columns = columns;
	p->table->nr_columns = count - 1;
	return take_metrics(p, parts[0], p->table);
}

/* CASE[: RULE], "impossible: RULE" or "-" */
static int one_cell(struct jp_case_parser *p, char *text, struct jp_table_cell *cell)
{
	char *colon = strchr(text, ':');
	const char *rule = NULL;

	if (colon) {
		*colon = '\0';
		rule = jp_case_trim(colon + 1);
		if (!*rule)
			return jp_case_bad(p, "cell", text, "a rule after the colon");
	}
	text = jp_case_trim(text);
	*cell = (struct jp_table_cell){text, rule};
	if (strcmp(text, "impossible") == 0)
		return rule ? 0 : jp_case_bad(p, "cell", text, "impossible: RULE");
	if (strcmp(text, "-") == 0)
		return 0;
	if (!jp_case_name_ok(text, false))
		return jp_case_bad(p, "case", text, "a case of this study, or -");
	cell->name = jp_case_store_print(p->store, "%s/%s", p->study, text);
	return cell->name ? 0 : jp_case_no_memory(p);
}

/* row LABEL | CELL... */
static int add_row(struct jp_case_parser *p, char **parts, size_t count)
{
	struct jp_table_cell *cells;

	if (!p->table)
		return jp_case_bad(p, "row", parts[0], "a table line above it");
	if (count - 1 != p->table->nr_columns)
		return jp_case_bad(p, "row", parts[0], "as many cases as the table has columns");
	cells = jp_case_store_alloc(p->store, (count - 1) * sizeof(*cells));
	if (!cells)
		return jp_case_no_memory(p);
	for (size_t i = 0; i < count - 1; i++) {
		int ret = one_cell(p, parts[i + 1], &cells[i]);

		if (ret)
			return ret;
	}
	return jp_case_store_row(p->table, parts[0], cells) ? jp_case_no_memory(p) : 0;
}

int jp_case_table_line(struct jp_case_parser *p, char *text, bool row)
{
	char *parts[JP_CASE_WORDS], *save, *part;
	size_t count = 0;

	p->cas = NULL;
	if (!p->study)
		return jp_case_bad(p, "line", text, "only cases here");
	for (part = strtok_r(text, "|", &save); part; part = strtok_r(NULL, "|", &save)) {
		if (count == JP_CASE_WORDS)
			return jp_case_bad(p, "cell", part, "at most 64 cells");
		parts[count] = jp_case_trim(part);
		if (!parts[count++][0])
			return jp_case_bad(p, "cell", part, "text in each cell");
	}
	if (count < 2)
		return jp_case_bad(p, row ? "row" : "table", text,
				   row ? "row LABEL | CASE | CASE..."
				       : "table TITLE | COLUMN | COLUMN...");
	return row ? add_row(p, parts, count) : open_table(p, parts, count);
}
