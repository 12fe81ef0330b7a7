// SPDX-License-Identifier: GPL-2.0-only
/* Tests the order of records without a time in a folder of files: perf record --switch-output
 * states the running tasks again in each file. */
#include <sys/stat.h>

#include "harness/format/perfdata/read.h"
#include "harness/selftest/support/made_perf_data.h"

static struct perf_file file;
static char order[64];

static int note_name(void *context, const struct jp_event *event)
{
	strncat(order, event->comm.name, sizeof(order) - strlen(order) - 1);
	return 0;
}

static void put_name(char name, uint64_t time)
{
	const uint32_t ids[] = {7, 7};
	unsigned char body[24] = {0};

	memcpy(body, ids, sizeof(ids));
	body[8] = name;
	memcpy(body + 16, &time, sizeof(time));
	perf_file_record(&file, JP_PERF_RECORD_COMM, 0, body, sizeof(body));
}

TEST(folder_order)
{
	const struct jp_perf_attr attr = {.type = 1,
					  .size = 120,
					  .sample_type = JP_PERF_SAMPLE_TIME,
					  .flags = JP_PERF_ATTR_COMM | JP_PERF_ATTR_SAMPLE_ID_ALL};
	const char *folder = scratch_make("folder");
	struct jp_error err = {""};

	if (mkdir(folder, 0700))
		exit(99);
	perf_file_begin(&file, &attr);
	put_name('a', 0);
	put_name('c', 100);
	perf_file_end_data(&file);
	perf_file_store(&file, "folder/data");
	file.size = 0;
	put_name('d', 0);
	put_name('b', 50);
	put_name('f', 120);
	perf_file_store(&file, "folder/data.0");
	file.size = 0;
	put_name('g', 0);
	put_name('e', 110);
	perf_file_store(&file, "folder/data.1");
	check(!jp_perfdata_read(folder, note_name, NULL, NULL, &err) &&
		      strcmp(order, "abcdefg") == 0,
	      "a record without a time follows the records of the files before: %s %s", order,
	      err.text);
}
