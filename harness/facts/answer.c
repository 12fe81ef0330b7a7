// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/facts/fact.h"

static struct jp_answer_item *add_item(struct jp_answer *answer)
{
	if (answer->count == JP_ANSWER_ITEMS) {
		answer->overflow = true;
		return NULL;
	}
	return &answer->items[answer->count++];
}

void jp_answer_text(struct jp_answer *answer, const char *fmt, ...)
{
	struct jp_answer_item *item = add_item(answer);
	va_list args;

	if (!item)
		return;
	va_start(args, fmt);
	if (vsnprintf(item->text, sizeof(item->text), fmt, args) >= (int)sizeof(item->text))
		answer->overflow = true;
	va_end(args);
}

void jp_answer_number(struct jp_answer *answer, uint64_t number)
{
	struct jp_answer_item *item = add_item(answer);

	if (item) {
		item->is_number = true;
		item->number = number;
	}
}

void jp_answer_call(struct jp_answer *answer, const char *call, bool failed)
{
	jp_answer_text(answer, "%s%s%s", call, *call ? " " : "",
		       jp_answer_errno(failed ? errno : 0));
}

void jp_answer_list(struct jp_answer *answer)
{
	answer->is_list = true;
}

void jp_answer_missing(struct jp_answer *answer, const char *fmt, ...)
{
	size_t length = strlen(answer->missing);
	char text[JP_ANSWER_MISSING];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	/* Report each reason once. */
	if (strstr(answer->missing, text))
		return;
	snprintf(answer->missing + length, sizeof(answer->missing) - length, "%s%s",
		 length ? ", " : "", text);
}

void jp_answer_failed(struct jp_answer *answer, const char *call)
{
	jp_answer_missing(answer, "%s: %s", call, jp_answer_errno(errno));
}

const char *jp_answer_errno(int error)
{
	/* ENOTSUPP, an error number that the kernel should not return to programs */
	enum { NOT_SUPPORTED = 524 };
	const char *name = error ? strerrorname_np(error) : "ok";

	if (error == NOT_SUPPORTED)
		return "ENOTSUPP";

	return name ? name : "?";
}
