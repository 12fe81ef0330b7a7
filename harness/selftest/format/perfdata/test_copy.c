// SPDX-License-Identifier: GPL-2.0-only
/* Tests copying a perf.data: attrs, ids, features and their places. */
#include "harness/format/perfdata/copy.h"
#include "harness/format/perfdata/read.h"
#include "harness/selftest/support/made_perf_data.h"

enum { TYPE = JP_PERF_SAMPLE_IDENTIFIER | JP_PERF_SAMPLE_IP };

static struct perf_file file;

static struct {
	struct jp_perf_reader reader;
	struct jp_output *output;
	struct jp_perf_copy *copy;
} copying;

static int begin_copy(void *context)
{
	copying.copy = jp_perf_copy_begin(&copying.reader, copying.output, copying.reader.err);
	return copying.copy ? 0 : -EINVAL;
}

static int put_other(void *context, const unsigned char *bytes, uint64_t size)
{
	return jp_perf_copy_other(copying.copy, bytes, size);
}

static int put_record(void *context, const struct jp_event *event)
{
	const struct jp_perf_record *record = event->record;

	jp_output_put(copying.output, record, record->size);
	return 0;
}

static int copy_path(const char *path, struct jp_error *err)
{
	struct jp_perfdata_summary summary;
	int ret;

	copying.copy = NULL;
	copying.output = jp_output_create(scratch_path("copy"), err);
	copying.reader = (struct jp_perf_reader){.visit = put_record,
						 .opened = begin_copy,
						 .handle_other = put_other,
						 .summary = &summary,
						 .err = err};
	if (!copying.output)
		exit(99);
	ret = jp_perf_reader_run(&copying.reader, path) ?: jp_perf_copy_end(copying.copy);
	jp_perf_copy_free(copying.copy);
	return jp_output_close(copying.output, NULL) ?: ret;
}

/* What reading the copy back found: address and attr of each sample, and the whole file. */
static struct {
	uint64_t ips[8];
	uint32_t attrs[8];
	unsigned int count;
	struct jp_perfdata_summary summary;
	unsigned char *bytes;
	size_t size;
	struct jp_perf_file_header header;
} found;

static int store_sample(void *context, const struct jp_event *event)
{
	if (event->type == JP_EVENT_SAMPLE && found.count < 8) {
		found.ips[found.count] = event->sample.ip;
		found.attrs[found.count++] = event->attr;
	}
	return 0;
}

/* Copies the made file and reads the copy. */
static bool copy_file(const char *label)
{
	struct jp_error err = {""};
	int ret = copy_path(perf_file_store(&file, "perf.data"), &err);

	free(found.bytes);
	memset(&found, 0, sizeof(found));
	ret = ret
		      ?: jp_perfdata_read(scratch_path("copy"), store_sample, NULL, &found.summary,
					  &err);
	found.bytes = (void *)jp_file_read(scratch_path("copy"), PERF_FILE_MOST, &found.size, NULL);
	if (found.bytes)
		memcpy(&found.header, found.bytes, sizeof(found.header));
	return check(!ret && found.bytes && !found.summary.pipe && found.header.size == 104,
		     "%s: %s", label, err.text);
}

/* Returns attr @index of the copy, and the place of its ids. */
static const struct jp_perf_attr *get_copied_attr(unsigned int index, struct jp_perf_section *ids)
{
	const unsigned char *entry =
		found.bytes + found.header.attrs.offset + index * found.header.attr_size;

	memcpy(ids, entry + found.header.attr_size - sizeof(*ids), sizeof(*ids));
	return (const void *)entry;
}

/* Returns the payload of feature @number of the copy, or NULL. */
static const unsigned char *find_feature(unsigned int number, uint64_t *size)
{
	const unsigned char *pos = found.bytes + found.header.data.offset + found.header.data.size;
	struct jp_perf_section section;

	if (!jp_perf_has_feature(&found.header, number))
		return NULL;
	for (unsigned int i = 0; i < number; i++)
		pos += jp_perf_has_feature(&found.header, i) ? sizeof(section) : 0;
	memcpy(&section, pos, sizeof(section));
	*size = section.size;
	return found.bytes + section.offset;
}

static void put_sample(uint64_t id, uint64_t ip)
{
	const uint64_t body[] = {id, ip};

	perf_file_record(&file, JP_PERF_RECORD_SAMPLE, JP_PERF_MISC_USER, body, sizeof(body));
}

/* Puts a HEADER_ATTR of @size bytes, the last 0xee, with ids from @id on. */
static void put_attr(uint32_t size, uint64_t config, uint64_t id, uint64_t nr_ids)
{
	struct jp_perf_attr attr = {.size = size, .config = config, .sample_type = TYPE};
	unsigned char body[256];
	size_t length = size;

	memset(body, 0, sizeof(body));
	memcpy(body, &attr, size < sizeof(attr) ? size : sizeof(attr));
	body[size - 1] = 0xee;
	for (uint64_t i = id; i < id + nr_ids; i++, length += sizeof(i))
		memcpy(body + length, &i, sizeof(i));
	perf_file_record(&file, JP_PERF_RECORD_HEADER_ATTR, 0, body, length);
}

static void put_feature(uint64_t number, const char *text)
{
	unsigned char body[64] = {0};
	uint32_t length = 16;

	memcpy(body, &number, sizeof(number));
	memcpy(body + 8, &length, sizeof(length));
	memcpy(body + 12, text, strlen(text));
	perf_file_record(&file, JP_PERF_RECORD_HEADER_FEATURE, 0, body, *text ? 28 : 8);
}

static void begin_stream(void)
{
	const struct jp_perf_pipe_header header = {JP_PERF_MAGIC, sizeof(header)};

	file.size = 0;
	perf_file_put(&file, &header, sizeof(header));
}

static void begin_file(void)
{
	perf_file_begin(&file, &(struct jp_perf_attr){.size = 120, .sample_type = TYPE});
}

/* perf steps to the next entry by the attr's own size (read_attr(), tools/perf/util/header.c). */
TEST(attr_sizes)
{
	static const struct {
		uint32_t size;
		uint64_t config, id, nr_ids;
	} attrs[] = {{64, 11, 1, 1}, {136, 12, 2, 3}, {72, 13, 5, 0}};
	unsigned int nr_good = 0;

	begin_stream();
	for (int i = 0; i < 3; i++)
		put_attr(attrs[i].size, attrs[i].config, attrs[i].id, attrs[i].nr_ids);
	put_sample(1, 0x1000);
	put_sample(4, 0x2000);
	if (!copy_file("a stream of attrs of three sizes"))
		return;
	check(found.header.attr_size == 136 + 16 && found.header.attrs.size == 3 * (136 + 16),
	      "all attrs get the size of the longest");
	for (unsigned int i = 0; i < 3; i++) {
		struct jp_perf_section ids;
		const struct jp_perf_attr *attr = get_copied_attr(i, &ids);
		const unsigned char *bytes = (const void *)attr;
		unsigned int put_other = 0;

		for (uint32_t offset = attrs[i].size; offset < 136; offset++)
			put_other += bytes[offset] != 0;
		nr_good += attr->size == 136 && attr->config == attrs[i].config && !put_other &&
			   bytes[attrs[i].size - 1] == 0xee && ids.size == 8 * attrs[i].nr_ids &&
			   (!ids.size || found.bytes[ids.offset] == attrs[i].id);
	}
	check(nr_good == 3, "%u of 3 attrs have that size, zero padding and their ids", nr_good);
	check(found.count == 2 && found.ips[0] == 0x1000 && found.attrs[0] == 0 &&
		      found.ips[1] == 0x2000 && found.attrs[1] == 1,
	      "samples keep their events");
}

TEST(stream_features)
{
	uint64_t size;
	const unsigned char *text;

	begin_stream();
	put_attr(120, 0, 1, 1);
	put_feature(JP_PERF_FEATURE_VERSION, "first");
	put_feature(JP_PERF_FEATURE_VERSION, "second");
	put_feature(JP_PERF_FEATURE_OSRELEASE, "");
	put_feature(JP_PERF_FEATURES, "of another perf");
	put_sample(1, 0x1000);
	if (!copy_file("a stream's features"))
		return;
	text = find_feature(JP_PERF_FEATURE_VERSION, &size);
	check(text && size == 20 && !strcmp((const char *)text + 4, "second"),
	      "the last of two equal features is kept");
	check(!find_feature(JP_PERF_FEATURE_OSRELEASE, &size), "an empty feature is dropped");
	check(!strcmp(found.summary.version, "second") && !found.header.features[1],
	      "unknown features are dropped");
}

/* Puts an AUXTRACE record followed by @payload bytes. */
static void put_aux(uint64_t payload)
{
	uint64_t body[5] = {payload};

	perf_file_record(&file, JP_PERF_RECORD_AUXTRACE, 0, body, sizeof(body));
	for (uint64_t i = 0; i < payload; i++)
		perf_file_put(&file, "A", 1);
}

TEST(aux_records)
{
	static const uint64_t stale[] = {1, 1, 1};
	static const struct perf_file_feature feature = {JP_PERF_FEATURE_AUXTRACE, stale,
							 sizeof(stale)};
	const unsigned char *table;
	uint64_t size = 0, words[5], nr_good = 0;

	for (int with_aux = 0; with_aux < 2; with_aux++) {
		begin_file();
		put_aux(64);
		put_sample(0, 0x1000);
		put_aux(8);
		perf_file_end_data(&file);
		if (with_aux)
			perf_file_add_features(&file, &feature, 1);
		if (!copy_file(with_aux ? "AUX data with a table" : "AUX data without one"))
			return;
		table = find_feature(JP_PERF_FEATURE_AUXTRACE, &size);
		check(!table == !with_aux, "%s",
		      with_aux ? "with a table, the copy has one" : "without a table, it has none");
	}
	if (!check(table && size == sizeof(words), "the table lists two records"))
		return;
	memcpy(words, table, sizeof(words));
	for (int i = 0; i < 2; i++) {
		struct jp_perf_record record;

		memcpy(&record, found.bytes + words[1 + 2 * i], sizeof(record));
		nr_good +=
			record.type == JP_PERF_RECORD_AUXTRACE && record.size == words[2 + 2 * i];
	}
	check(words[0] == 2 && nr_good == 2, "the table has the new places");
	check(found.count == 1 && found.bytes[words[3] + 48] == 'A', "the payload is copied");
}

/* Tests a file with the old header, which has no feature bits. */
TEST(old_header)
{
	begin_file();
	put_sample(0, 0x1000);
	perf_file_end_data(&file);
	perf_file_shorten_header(&file);
	check(copy_file("an old header") && found.count == 1 && found.ips[0] == 0x1000 &&
		      !found.header.features[0] && !found.header.features[1] &&
		      !found.header.features[2],
	      "a file with an old header gets no features");
}

TEST(cut_short)
{
	const struct jp_perf_section far = {UINT64_C(1) << 40, 16};
	struct jp_error err = {""};

	begin_file();
	put_sample(0, 0x1000);
	perf_file_end_data(&file);
	memcpy(file.bytes + PERF_FILE_DATA - sizeof(far), &far, sizeof(far));
	check(copy_path(perf_file_store(&file, "perf.data"), &err) &&
		      strstr(err.text, "cut short at offset"),
	      "ids behind the end are refused: %s", err.text);
}

TEST(refusals)
{
	const char *fifo = scratch_path("fifo");
	struct jp_error err = {""};
	jp_cleanup_close int fd = -1;
	uint64_t magic = JP_PERF_MAGIC_SWAPPED, size = __builtin_bswap64(16);

	begin_stream();
	check(!mkfifo(fifo, 0600) && (fd = open(fifo, O_RDWR | O_CLOEXEC)) >= 0 &&
		      write(fd, file.bytes, file.size) == (ssize_t)file.size &&
		      copy_path(fifo, &err) == -EINVAL &&
		      strstr(err.text, "fifo: expected a regular file"),
	      "a FIFO is refused: %s", err.text);
	memcpy(file.bytes, &magic, sizeof(magic));
	memcpy(file.bytes + 8, &size, sizeof(size));
	check(copy_path(perf_file_store(&file, "perf.data"), &err) == -EINVAL &&
		      strstr(err.text, "perf.data: expected a perf.data of this machine's byte"),
	      "the other byte order is refused: %s", err.text);
	jp_perf_copy_free(NULL);
	free(found.bytes);
}
