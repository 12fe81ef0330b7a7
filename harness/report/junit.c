// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/junit.h"

#include <inttypes.h>
#include <string.h>

#include "harness/base/printable.h"
#include "harness/model/causes/causes.h"

/* Returns the number of bytes of the character at @s, or 0 if it must be replaced by U+FFFD,
 * because XML 1.0 cannot contain it or a terminal obeys it. */
static unsigned int measure_character(const unsigned char *s)
{
	unsigned int length = *s == '\t' || *s == '\n' ? 1 : jp_printable_length((const char *)s);

	/* U+FFFE and U+FFFF */
	return length == 3 && s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe ? 0 : length;
}

static void put_text(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned int length;

	for (; *s; s += length ? length : 1) {
		length = measure_character(s);
		if (!length)
			fputs("\xef\xbf\xbd", out);
		else if (strchr("<>&\"", *s))
			fprintf(out, "&#%d;", *s);
		else
			fwrite(s, 1, length, out);
	}
}

/* Writes an attribute with the first line of @text, because readers turn a line feed in an
 * attribute into a blank. */
static void put_attribute(FILE *out, const char *name, const char *text)
{
	size_t length = strcspn(text, "\n");
	char line[2100];

	snprintf(line, sizeof(line), "%.*s", (int)length, text);
	fprintf(out, " %s=\"", name);
	put_text(out, line);
	fputc('"', out);
}

static const char *get_element(enum jp_outcome outcome)
{
	switch (outcome) {
	case JP_FAIL:
	case JP_XPASS:
		return "failure";
	case JP_SKIP:
	case JP_XFAIL:
		return "skipped";
	case JP_PASS:
		return NULL;
	default:
		return "error";
	}
}

static void put_exceptions(FILE *out, const struct jp_findings *findings)
{
	for (size_t i = 0; i < findings->nr_exceptions; i++) {
		const struct jp_exception *exception = &findings->exceptions[i];
		char cause[80];

		fputc('\n', out);
		put_text(out, exception->metric);
		fprintf(out, ": %" PRIu64 " with cause ", exception->count);
		put_text(out,
			 jp_cause_text(exception->metric, exception->cause, cause, sizeof(cause)));
		fputs(", the first:\n  ", out);
		put_text(out, exception->example);
	}
}

static void put_case(FILE *out, const struct jp_result *result)
{
	const char *element = get_element(result->outcome);
	const char *reason = result->outcome == JP_XFAIL && result->cas->xfail ? result->cas->xfail
									       : result->reasons;

	fputs("    <testcase", out);
	put_attribute(out, "classname", result->cas->study);
	put_attribute(out, "name", result->cas->name + strlen(result->cas->study) + 1);
	fprintf(out, " time=\"%.3f\"", result->seconds);
	if (!element) {
		fputs("/>\n", out);
		return;
	}
	fprintf(out, ">\n      <%s", element);
	put_attribute(out, "type", jp_outcome_text(result->outcome));
	put_attribute(out, "message", reason[0] ? reason : jp_outcome_text(result->outcome));
	fputc('>', out);
	put_text(out, result->reasons);
	put_exceptions(out, &result->findings);
	fprintf(out, "</%s>\n    </testcase>\n", element);
}

/* Writes the number of @results by outcome as attributes. */
static void put_counts(FILE *out, const struct jp_result *results, size_t count)
{
	size_t failures = 0, errors = 0, skipped = 0;
	double seconds = 0;

	for (size_t i = 0; i < count; i++) {
		const char *element = get_element(results[i].outcome);

		seconds += results[i].seconds;
		failures += element && strcmp(element, "failure") == 0;
		errors += element && strcmp(element, "error") == 0;
		skipped += element && strcmp(element, "skipped") == 0;
	}
	fprintf(out,
		" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\">\n",
		count, failures, errors, skipped, seconds);
}

void jp_junit_write(FILE *out, const struct jp_result *results, size_t count)
{
	size_t next;

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"jitproof\"", out);
	put_counts(out, results, count);
	for (size_t i = 0; i < count; i = next) {
		const char *study = results[i].cas->study;

		for (next = i; next < count && strcmp(results[next].cas->study, study) == 0;)
			next++;
		fputs("  <testsuite", out);
		put_attribute(out, "name", study);
		put_counts(out, results + i, next - i);
		for (size_t k = i; k < next; k++)
			put_case(out, &results[k]);
		fputs("  </testsuite>\n", out);
	}
	fputs("</testsuites>\n", out);
}
