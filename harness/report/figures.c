// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/figures.h"

#include <inttypes.h>
#include <string.h>

#include "harness/base/registry.h"
#include "harness/base/sort.h"
#include "harness/base/terminal.h"
#include "harness/outcome/expect.h"

enum { MOST_TEXTS = 64 }; /* more than all classes that have a text */

JP_ORDER(compare_by_count, struct jp_account_class,
	 jp_compare(b->count, a->count) ?: strcmp(a->name, b->name));

void jp_accounts_print(FILE *out, const struct jp_accounts *accounts, const char *mark,
		       unsigned int width)
{
	for (size_t i = 0; i < accounts->count; i++) {
		struct jp_account *account = &accounts->accounts[i];
		unsigned int column;

		if (!account->nr_classes)
			continue;
		jp_sort(account->classes, account->nr_classes, compare_by_count);
		column = (unsigned int)fprintf(out, "%s%s by class:", mark, account->name);
		for (size_t class = 0; class <= account->nr_classes; class ++) {
			const bool is_total = class == account->nr_classes;
			char text[80];
			const unsigned int length = (unsigned int)snprintf(
				text, sizeof(text), "%s %" PRIu64 "%s%s",
				is_total ? " ="
				: class  ? " +"
					 : "",
				is_total ? jp_account_sum(account) : account->classes[class].count,
				is_total ? "" : " ", is_total ? "" : account->classes[class].name);

			if (width && column + length > width)
				column = (unsigned int)fprintf(out, "\n%s ", mark) - 1;
			fputs(text, out);
			column += length;
		}
		fputc('\n', out);
	}
}

/* Returns what the class @name of @account contains, or NULL. The account "injected samples" has
 * the classes of "samples", "stacks.chain" those of "stacks"; "mmap2.kernel" is a class "kernel".
 */
static const struct jp_metric_text *find_class_text(const struct jp_account *account,
						    const char *name)
{
	const char *space = strrchr(account->name, ' '), *dot = strrchr(name, '.');
	const char *stem = space ? space + 1 : account->name;
	char metric[sizeof(account->name) + sizeof(account->classes->name)];

	snprintf(metric, sizeof(metric), "%.*s.%s", (int)strcspn(stem, "."), stem,
		 dot ? dot + 1 : name);
	return jp_registry_find(JP_METRIC_TEXT, metric);
}

void jp_accounts_explain(FILE *out, const struct jp_accounts *accounts, const char *mark,
			 unsigned int width)
{
	const struct jp_metric_text *text, *printed[MOST_TEXTS];
	size_t count = 0;
	char line[200], short_text[1024];

	for (size_t i = 0; i < accounts->count; i++)
		for (size_t class = 0; class < accounts->accounts[i].nr_classes; class ++) {
			bool is_known = false;

			text = find_class_text(&accounts->accounts[i],
					       accounts->accounts[i].classes[class].name);
			for (size_t j = 0; j < count; j++)
				is_known |= printed[j] == text;
			if (!text || is_known || count == MOST_TEXTS)
				continue;
			printed[count++] = text;
			snprintf(line, sizeof(line), "%sclass %s: %s", mark,
				 strchr(text->name, '.') + 1, text->text);
			fprintf(out, "%s\n",
				width ? jp_terminal_shorten(line, width, JP_CUT_END, short_text,
							    sizeof(short_text))
				      : line);
		}
}

const char *jp_figures_text(const char *metric)
{
	const size_t number = strcspn(metric, "0123456789");
	const size_t digits = strspn(metric + number, "0123456789");
	char stem[sizeof(((struct jp_metric *)NULL)->name)];
	const struct jp_metric_text *metric_text;
	char *dot;

	snprintf(stem, sizeof(stem), "%.*s%s%s", (int)number, metric, digits ? "N" : "",
		 metric + number + digits);
	metric_text = jp_registry_find(JP_METRIC_TEXT, stem);
	dot = strrchr(stem, '.');
	if (!metric_text && dot) {
		*dot = '\0';
		metric_text = jp_registry_find(JP_METRIC_TEXT, stem);
	}
	return metric_text ? metric_text->text : "";
}

void jp_figures_print(FILE *out, const struct jp_result *result, const char *mark,
		      unsigned int width)
{
	for (size_t i = 0; i < result->findings.nr_metrics; i++) {
		const struct jp_metric *metric = &result->findings.metrics[i];
		const struct jp_expectation *expectation =
			jp_expect_find_range(result, metric->name);
		const char *text = jp_figures_text(metric->name);
		char range[80], line[512];
		unsigned int column;
		int length;

		if (!metric->k && !metric->n && !expectation)
			continue;
		length = snprintf(line, sizeof(line), "%" PRIu64, metric->k);
		if (metric->rate)
			length += snprintf(line + length, sizeof(line) - (size_t)length,
					   " of %" PRIu64, metric->n);
		if (expectation)
			length += snprintf(line + length, sizeof(line) - (size_t)length,
					   "; expected %s",
					   jp_expect_range(expectation, range, sizeof(range)));
		length += snprintf(line + length, sizeof(line) - (size_t)length, "%s%s",
				   *text ? ": " : "", text);
		if (metric->rate)
			snprintf(line + length, sizeof(line) - (size_t)length, " (%.2f to %.2f %%)",
				 100 * metric->lo, 100 * metric->hi);
		column = (unsigned int)fprintf(out, "%s%-21s ", mark, metric->name);
		if (width)
			jp_terminal_put_words(out, line, column, width);
		else
			fprintf(out, "%s\n", line);
	}
}
