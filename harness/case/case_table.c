// SPDX-License-Identifier: GPL-2.0-only
/* Parses the tables in a file of results/expected/ (docs/expected-format.md). */
#include <errno.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/case/case_parser.h"

/* Parses "metric=METRIC[:WORD/WORD],..." at the end of a table's title. */
static int parse_metrics(struct jp_case_parser *p, char *title, struct jp_table *table)
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
	metrics = jp_case_alloc(p->cases, count * sizeof(*metrics));
	if (!metrics)
		return jp_case_no_memory(p);
	for (part = strtok_r(words, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
		struct jp_table_metric *metric = &metrics[table->nr_metrics++];
		char *plural = strchr(part, ':'),
		     *absent_text = plural ? strchr(plural, '/') : NULL;

		if (plural)
			*plural++ = '\0';
		if (absent_text)
			*absent_text++ = '\0';
		if (!jp_case_name_ok(part, false) ||
		    (plural && (!absent_text || !*plural || !*absent_text)))
			return jp_case_refuse(p, "metric", part, "METRIC or METRIC:WORD/WORD");
		*metric = (struct jp_table_metric){part, plural, absent_text};
	}
	if (!table->nr_metrics)
		return jp_case_refuse(p, "metric", "", "METRIC or METRIC:WORD/WORD");
	table->metrics = metrics;
	return 0;
}

/* Cuts ": RULE" off @text. Returns false if there is a colon without a rule. */
static bool split_off_rule(char *text, const char **rule)
{
	char *colon = strchr(text, ':');

	*rule = NULL;
	if (!colon)
		return true;
	*colon = '\0';
	*rule = jp_case_trim(colon + 1);
	jp_case_trim(text);
	return **rule;
}

/* Parses "table TITLE [metric=METRIC,...] | COLUMN[: RULE]...". */
static int open_table(struct jp_case_parser *p, char **parts, size_t count)
{
	const char **columns = jp_case_alloc(p->cases, (count - 1) * sizeof(*columns));
	const char **rules = jp_case_alloc(p->cases, (count - 1) * sizeof(*rules));
	struct jp_table *table = columns && rules
					 ? jp_array_push(&p->cases->tables, &p->cases->nr_tables,
							 &p->cases->tables_capacity)
					 : NULL;

	if (!table)
		return jp_case_no_memory(p);
	if (!p->in_table || p->in_rows)
		p->first_table = p->cases->nr_tables - 1;
	else if (table[-1].nr_columns != count - 1)
		return jp_case_refuse(p, "table", parts[0],
				      "as many columns as the table above, whose rows it shares");
	p->in_table = true;
	p->in_rows = false;
	for (size_t i = 0; i < count - 1; i++) {
		columns[i] = parts[i + 1];
		if (!split_off_rule(parts[i + 1], &rules[i]))
			return jp_case_refuse(p, "column", columns[i], "a rule after the colon");
	}
	table->study = p->study;
	table->title = parts[0];
	table->columns = columns;
	table->rules = rules;
	table->nr_columns = count - 1;
	return parse_metrics(p, parts[0], table);
}

/* Parses "CASE[: RULE]", "impossible: RULE" or "-". */
static int parse_cell(struct jp_case_parser *p, char *text, struct jp_table_cell *cell)
{
	const char *rule;

	if (!split_off_rule(text, &rule))
		return jp_case_refuse(p, "cell", text, "a rule after the colon");
	*cell = (struct jp_table_cell){text, rule};
	if (strcmp(text, "impossible") == 0)
		return rule ? 0 : jp_case_refuse(p, "cell", text, "impossible: RULE");
	if (strcmp(text, "-") == 0)
		return 0;
	if (!jp_case_name_ok(text, false))
		return jp_case_refuse(p, "case", text, "a case of this study, or -");
	cell->name = jp_case_print(p->cases, "%s/%s", p->study, text);
	return cell->name ? 0 : jp_case_no_memory(p);
}

/* Adds a row to @table. Cells without a rule get the rule of their column. */
static int put_row(struct jp_case_parser *p, struct jp_table *table, const char *label,
		   const struct jp_table_cell *cells)
{
	size_t size = table->nr_columns * sizeof(*cells);
	struct jp_table_cell *own_cell = jp_case_alloc(p->cases, size);

	if (!own_cell)
		return jp_case_no_memory(p);
	memcpy(own_cell, cells, size);
	for (size_t i = 0; i < table->nr_columns; i++)
		if (!own_cell[i].rule && strcmp(own_cell[i].name, "-") != 0)
			own_cell[i].rule = table->rules[i];
	return jp_array_append(&table->rows, &table->nr_rows, &table->rows_capacity,
			       (struct jp_table_row){.label = label, .cells = own_cell})
		       ? jp_case_no_memory(p)
		       : 0;
}

/* Adds the row "row LABEL | CELL..." to each of the tables directly above its line. */
static int add_row(struct jp_case_parser *p, char **parts, size_t count)
{
	struct jp_cases *cases = p->cases;
	struct jp_table_cell cells[JP_CASE_WORDS];
	int ret = 0;

	if (!p->in_table)
		return jp_case_refuse(p, "row", parts[0], "a table line above it");
	if (count - 1 != cases->tables[p->first_table].nr_columns)
		return jp_case_refuse(p, "row", parts[0], "as many cases as the table has columns");
	p->in_rows = true;
	for (size_t i = 0; !ret && i < count - 1; i++)
		ret = parse_cell(p, parts[i + 1], &cells[i]);
	for (size_t i = p->first_table; !ret && i < cases->nr_tables; i++)
		ret = put_row(p, &cases->tables[i], parts[0], cells);
	return ret;
}

static int parse_line(struct jp_case_parser *p, char *text, bool is_row)
{
	char *parts[JP_CASE_WORDS], *save, *part;
	size_t count = 0;

	for (part = strtok_r(text, "|", &save); part; part = strtok_r(NULL, "|", &save)) {
		if (count == JP_CASE_WORDS)
			return jp_case_refuse(p, "cell", part, "at most 64 cells");
		parts[count] = jp_case_trim(part);
		if (!parts[count++][0])
			return jp_case_refuse(p, "cell", part, "text in each cell");
	}
	if (count < 2)
		return jp_case_refuse(p, is_row ? "row" : "table", text,
				      is_row ? "row LABEL | CASE | CASE..."
					     : "table TITLE | COLUMN | COLUMN...");
	return is_row ? add_row(p, parts, count) : open_table(p, parts, count);
}

int jp_case_parse_table(struct jp_case_parser *p, char *text, bool row)
{
	int ret = row ? jp_case_vary(p, text) : 0;

	if (ret || !row)
		return ret ? ret : parse_line(p, text, row);
	do {
		char *line = jp_case_replace_axes(p, text);

		ret = line ? parse_line(p, line, row) : -EINVAL;
	} while (!ret && jp_case_next_variant(p));
	return ret;
}
