// SPDX-License-Identifier: GPL-2.0-only
/* Collects the answer and the picture of each case, and joins all of them to the JSON object of a
 * page. */
#include "harness/report/page_data.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/base/shortage.h"
#include "harness/report/explain_report.h"
#include "harness/report/results.h"

/* Size in bytes of all pictures, beyond which cases that passed get no picture. */
enum { PASSING_BYTES = 4 << 20 };

int jp_page_data_begin(struct jp_page_data *page, size_t cases)
{
	page->cases = cases;
	page->listener = jp_picture_listener(&page->picture);
	page->answers = open_memstream(&page->answers_text, &page->answers_size);
	page->pictures = open_memstream(&page->pictures_text, &page->pictures_size);
	if (!page->answers || !page->pictures)
		return -ENOMEM;
	jp_json_begin(&page->answers_json, page->answers);
	jp_json_begin(&page->pictures_json, page->pictures);
	jp_json_array(&page->pictures_json, NULL);
	if (cases)
		jp_json_array(&page->answers_json, NULL);
	return 0;
}

/* Drops samples from the picture of a passed case, so that a page of many cases has room for all of
 * them. Half of the page's rows are reserved for failed cases. Returns 0 or -ENOMEM. */
static int share_page(struct jp_page_data *page, const struct jp_result *result)
{
	return result->outcome == JP_PASS
		       ? jp_picture_drop_every_second(&page->picture,
						      JP_PICTURE_ROWS / 2 / page->cases)
		       : 0;
}

int jp_page_data_add_case(struct jp_page_data *page, const struct jp_result *result)
{
	int failed = 0;

	jp_results_write_into(&page->answers_json, result);
	fflush(page->pictures);
	if (!page->picture.samples ||
	    (result->outcome == JP_PASS && page->pictures_size > PASSING_BYTES))
		page->left_out++;
	else
		failed = share_page(page, result)
				 ?: jp_picture_write(&page->picture, result->cas->name,
						     &page->pictures_json);
	jp_picture_free(&page->picture);
	return failed;
}

int jp_page_data_add_file(struct jp_page_data *page, const struct jp_explanation *explanation,
			  const char *path)
{
	jp_explain_report_write(&page->answers_json, explanation, path);
	return jp_picture_write(&page->picture, path, &page->pictures_json);
}

static int end_stream(FILE **stream, char *const *text)
{
	FILE *ended = *stream;

	*stream = NULL;
	return jp_shortage_close(ended, text);
}

char *jp_page_data_join(struct jp_page_data *page, const char *source)
{
	struct jp_json json;
	char *text = NULL;
	size_t size;
	FILE *out;

	if (page->cases)
		jp_json_end(&page->answers_json);
	jp_json_end(&page->pictures_json);
	if (end_stream(&page->answers, &page->answers_text) ||
	    end_stream(&page->pictures, &page->pictures_text))
		return NULL;
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	jp_json_begin(&json, out);
	jp_json_object(&json, NULL);
	jp_json_string(&json, "format", "jitproof-report");
	jp_json_u64(&json, "version", 2);
	jp_json_string(&json, "source", source);
	jp_json_u64(&json, "without_picture", page->left_out);
	fprintf(out, ",\"%s\":%s,\"pictures\":%s", page->cases ? "cases" : "explain",
		page->answers_text, page->pictures_text);
	jp_json_end(&json);
	if (!jp_shortage_close(out, &text))
		return text;
	free(text);
	return NULL;
}

void jp_page_data_free(struct jp_page_data *page)
{
	if (page->answers)
		fclose(page->answers);
	if (page->pictures)
		fclose(page->pictures);
	free(page->answers_text);
	free(page->pictures_text);
	jp_picture_free(&page->picture);
	*page = (struct jp_page_data){0};
}
