// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/figures.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/search.h"
#include "harness/base/terminal.h"
#include "harness/outcome/expect.h"

static int compare_by_count(const void *a, const void *b)
{
	const struct jp_book_class *one = a, *other = b;

	return jp_compare(other->count, one->count) ?: strcmp(one->name, other->name);
}

void jp_books_print(FILE *out, const struct jp_books *books, const char *mark, unsigned int width)
{
	for (size_t i = 0; i < books->count; i++) {
		struct jp_book *book = &books->books[i];
		unsigned int column;

		if (!book->nr_classes)
			continue;
		qsort(book->classes, book->nr_classes, sizeof(*book->classes), compare_by_count);
		column = (unsigned int)fprintf(out, "%sbooks: %s:", mark, book->name);
		for (size_t class = 0; class <= book->nr_classes; class ++) {
			const bool all = class == book->nr_classes;
			char text[80];
			const unsigned int length = (unsigned int)snprintf(
				text, sizeof(text), "%s %" PRIu64 "%s%s",
				all     ? " ="
				: class ? " +"
					: "",
				all ? jp_book_sum(book) : book->classes[class].count,
				all ? "" : " ", all ? "" : book->classes[class].name);

			if (width && column + length > width)
				column = (unsigned int)fprintf(out, "\n%s ", mark) - 1;
			fputs(text, out);
			column += length;
		}
		fputc('\n', out);
	}
}

void jp_figures_print(FILE *out, const struct jp_result *result, const char *mark,
		      unsigned int width)
{
	for (size_t i = 0; i < result->findings.nr_metrics; i++) {
		const struct jp_metric *metric = &result->findings.metrics[i];
		const struct jp_expectation *of = jp_expect_find_range(result, metric->name);
		char range[80], line[512], shown[1024];
		int used;

		if (!metric->k && !metric->n && !of)
			continue;
		used = snprintf(line, sizeof(line), "%s%-21s %" PRIu64, mark, metric->name,
				metric->k);
		if (metric->rate)
			used += snprintf(line + used, sizeof(line) - (size_t)used,
					 " of %" PRIu64 " (%.2f to %.2f %%)", metric->n,
					 100 * metric->lo, 100 * metric->hi);
		if (of)
			snprintf(line + used, sizeof(line) - (size_t)used, "; expected %s",
				 jp_expect_range(of, range, sizeof(range)));
		fprintf(out, "%s\n",
			width ? jp_terminal_shorten(line, width, JP_CUT_END, shown, sizeof(shown))
			      : line);
	}
}
