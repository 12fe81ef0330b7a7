// SPDX-License-Identifier: GPL-2.0-only
/* Kernel records survive encoding and decoding. */
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/format/perfdata/encode.h"
#include "harness/format/perfdata/read.h"
#include "harness/format/perfdata/write.h"
#include "harness/selftest/support/check.h"

enum {
	IDS = JP_PERF_SAMPLE_IDENTIFIER | JP_PERF_SAMPLE_IP | JP_PERF_SAMPLE_TID |
	      JP_PERF_SAMPLE_TIME | JP_PERF_SAMPLE_CPU,
	ALL = IDS | JP_PERF_SAMPLE_ID | JP_PERF_SAMPLE_STREAM_ID | JP_PERF_SAMPLE_PERIOD |
	      JP_PERF_SAMPLE_CALLCHAIN | JP_PERF_SAMPLE_REGS_USER | JP_PERF_SAMPLE_STACK_USER,
	PID = 300,
	TID = 301,
	CPU = 3,
	TIME = 5000,
	ID = 77,
};

static const unsigned char build_id[JP_PERF_BUILD_ID_MOST] = {1, 2, 3, [19] = 20};
static const uint64_t ips[] = {0x1000, 0x2000, 0x3000};
static const unsigned char stack[] = "the stack, of which only a part was copied........";
static const struct jp_regs regs = {.mask = 1 << 7 | 1 << 16, .r = {[7] = 0x7000, [16] = 0x1000}};
static const char path[] = "/usr/lib/a"; /* 10 bytes, padded to 16 */

#define EVENT(kind, ...)                                                                           \
	{                                                                                          \
		.type = JP_EVENT_##kind, __VA_ARGS__                                               \
	}
#define RECORD(called, kind, size, event_kind, ...)                                                \
	{                                                                                          \
		called, JP_PERF_RECORD_##kind, size, EVENT(event_kind, __VA_ARGS__)                \
	}
enum { USER = JP_PERF_MISC_USER };

static const struct {
	const char *name;
	uint32_t record_type;
	size_t body; /* bytes before the sample id */
	struct jp_event event;
} records[] = {
	RECORD("MMAP2", MMAP2, 72 + 16, MAP, .misc = USER, .map.addr = 0x4000, .map.len = 0x3000,
	       .map.pgoff = 0x1000, .map.maj = 8, .map.min = 1, .map.ino = 12, .map.gen = 13,
	       .map.prot = PROT_READ | PROT_EXEC, .map.flags = 2, .map.has_identity = true,
	       .map.name = path),
	RECORD("MMAP2 of data", MMAP2, 72 + 8, MAP, .misc = USER, .map.addr = 0x4000,
	       .map.len = 0x3000, .map.prot = PROT_READ, .map.flags = 1, .map.has_identity = true,
	       .map.name = "//anon"),
	RECORD("MMAP2 with a build id", MMAP2, 72 + 16, MAP, .misc = USER, .map.addr = 0x4000,
	       .map.len = 0x3000, .map.prot = PROT_READ | PROT_EXEC, .map.build_id = build_id,
	       .map.build_id_size = sizeof(build_id), .map.name = path),
	RECORD("MMAP", MMAP, 40 + 16, MAP, .record_type = JP_PERF_RECORD_MMAP,
	       .misc = JP_PERF_MISC_KERNEL, .kernel_map = true,
	       .map.addr = UINT64_C(0xffffffff81000000), .map.len = UINT64_C(0xffffffff),
	       .map.pgoff = 5, .map.prot = PROT_EXEC, .map.name = path),
	RECORD("COMM", COMM, 16 + 8, COMM, .comm = {"shorter", false}),
	RECORD("COMM of an exec", COMM, 16 + 16, COMM, .comm = {"fullwidt", true}),
	RECORD("FORK", FORK, 32, FORK, .task.ppid = 200, .task.ptid = 201, .task.time = 4999),
	RECORD("EXIT", EXIT, 32, EXIT, .task.ppid = 200, .task.ptid = 201, .task.time = 4999),
	RECORD("LOST", LOST, 24, LOST, .lost = {9}),
	RECORD("LOST_SAMPLES", LOST_SAMPLES, 16, LOST_SAMPLES, .lost = {9}),
	RECORD("THROTTLE", THROTTLE, 32, THROTTLE),
	RECORD("CALLCHAIN_DEFERRED", CALLCHAIN_DEFERRED, 8 + 16 + sizeof(ips), DEFERRED,
	       .deferred = {99, 3, ips}),
	RECORD("SAMPLE", SAMPLE, 0, SAMPLE, .misc = USER, .sample.ip = 0x1000, .sample.user = true,
	       .sample.chain = ips, .sample.nr_chain = 3, .sample.regs = &regs,
	       .sample.regs_abi = 2, .sample.stack = stack, .sample.stack_size = 40,
	       .sample.stack_asked = 128, .sample.period = 17),
};
enum { RECORDS = sizeof(records) / sizeof(records[0]) };

static struct jp_perf_layout make_layout(uint64_t sample_type, bool sample_id)
{
	const struct jp_perf_attr attr = {
		.sample_type = sample_type,
		.flags = sample_id ? JP_PERF_ATTR_SAMPLE_ID_ALL : 0,
		.sample_regs_user = 1 << 7 | 1 << 8, /* sp, ip */
		.sample_stack_user = 128,
	};
	struct jp_perf_layout layout;

	jp_perf_compute_layout(&attr, EM_X86_64, &layout);
	return layout;
}

#define SAME(member) (a->member == b->member)

/* Registers are decoded only for a known machine. */
static bool are_regs_equal(const struct jp_event *a, const struct jp_event *b)
{
	return !b->sample.regs || (a->sample.regs->mask == b->sample.regs->mask &&
				   a->sample.regs->r[7] == b->sample.regs->r[7] &&
				   a->sample.regs->r[16] == b->sample.regs->r[16]);
}

/* Returns whether all fields but those of the sample id are equal. */
static bool is_same_event(const struct jp_event *a, const struct jp_event *b)
{
	if (a->type != b->type || a->kernel_map != b->kernel_map)
		return false;
	switch (a->type) {
	case JP_EVENT_SAMPLE:
		return SAME(sample.ip) && SAME(sample.user) && SAME(sample.period) &&
		       SAME(sample.nr_chain) &&
		       memcmp(a->sample.chain, b->sample.chain, a->sample.nr_chain * 8) == 0 &&
		       SAME(sample.regs_abi) && are_regs_equal(a, b) && SAME(sample.stack_size) &&
		       SAME(sample.stack_asked) &&
		       memcmp(a->sample.stack, b->sample.stack, a->sample.stack_size) == 0;
	case JP_EVENT_MAP:
		return SAME(map.addr) && SAME(map.len) && SAME(map.pgoff) && SAME(map.maj) &&
		       SAME(map.min) && SAME(map.ino) && SAME(map.gen) && SAME(map.prot) &&
		       SAME(map.flags) && SAME(map.has_identity) && SAME(map.build_id_size) &&
		       !a->map.build_id == !b->map.build_id &&
		       (!a->map.build_id ||
			memcmp(a->map.build_id, b->map.build_id, a->map.build_id_size) == 0) &&
		       !strcmp(a->map.name, b->map.name);
	case JP_EVENT_COMM:
		return !strcmp(a->comm.name, b->comm.name) && SAME(comm.exec);
	case JP_EVENT_FORK:
	case JP_EVENT_EXIT:
		return SAME(task.ppid) && SAME(task.ptid) && SAME(task.time);
	case JP_EVENT_LOST:
	case JP_EVENT_LOST_SAMPLES:
		return SAME(lost.lost);
	case JP_EVENT_DEFERRED:
		return SAME(deferred.cookie) && SAME(deferred.count) &&
		       memcmp(a->deferred.ips, b->deferred.ips, a->deferred.count * 8) == 0;
	default:
		return true;
	}
}

static struct jp_event make_event(size_t i)
{
	struct jp_event event = records[i].event;

	event.pid = PID;
	event.tid = TID;
	event.cpu = CPU;
	event.time = TIME;
	event.id = ID;
	return event;
}

/* Encodes and decodes record @i; the fields of its sample id must survive too. */
static void check_round_trip(size_t i, uint64_t sample_type, bool sample_id)
{
	const struct jp_perf_layout layout = make_layout(sample_type, sample_id);
	static uint64_t bytes[JP_PERF_RECORD_MOST / 8], encoded[JP_PERF_RECORD_MOST / 8];
	const struct jp_perf_record *record = (const void *)bytes;
	struct jp_event event = make_event(i), decoded;
	bool has_ids = sample_id || event.type == JP_EVENT_SAMPLE;
	size_t size = jp_perf_encode(&layout, &event, bytes, sizeof(bytes));
	const char *expected, *record_name = records[i].name;
	struct jp_regs decoded_regs;

	check(size && size == record->size && record->type == records[i].record_type &&
		      (!records[i].body || size == records[i].body + layout.trailer),
	      "%s, sample id %d, is encoded in %zu bytes", record_name, sample_id, size);
	memset(&decoded, 0xa5,
	       sizeof(decoded)); /* fill with garbage: decoding must set all fields */
	expected = jp_perf_decode(&layout, record, &decoded, &decoded_regs);
	if (!check(!expected, "%s is decoded %s", record_name, expected ? expected : ""))
		return;
	check(is_same_event(&event, &decoded) &&
		      (event.type != JP_EVENT_SAMPLE || decoded.sample.regs),
	      "%s: all fields survive", record_name);
	check(decoded.time == (has_ids ? TIME : 0) && decoded.id == (has_ids ? ID : 0) &&
		      decoded.cpu == (has_ids ? CPU : 0),
	      "%s: time, id and CPU survive", record_name);
	check(event.type == JP_EVENT_LOST || event.type == JP_EVENT_LOST_SAMPLES ||
			      event.type == JP_EVENT_THROTTLE || event.type == JP_EVENT_DEFERRED
		      ? decoded.tid == (has_ids ? TID : 0)
		      : decoded.pid == PID && decoded.tid == TID,
	      "%s: process and thread survive", record_name);
	check(jp_perf_record_tid(&layout, record) == (!has_ids                      ? 0
						      : event.type == JP_EVENT_FORK ? 201
										    : TID),
	      "%s: the tid that caused it is read", record_name);
	/* LOST and THROTTLE have an id before the sample id, which is not decoded. */
	check(jp_perf_encode(&layout, &decoded, encoded, sizeof(encoded)) == size &&
		      (memcmp(bytes, encoded, size) == 0 ||
		       (!has_ids &&
			(event.type == JP_EVENT_LOST || event.type == JP_EVENT_THROTTLE))),
	      "%s: encoding again gives the same bytes", record_name);
	check(!jp_perf_encode(&layout, &event, encoded, size - 8), "%s needs its whole size",
	      record_name);
}

TEST(unknown_records)
{
	const struct jp_perf_layout read = make_layout(IDS | JP_PERF_SAMPLE_READ, true);
	const struct jp_event other_event = {.type = JP_EVENT_OTHER};
	struct jp_event sample = make_event(RECORDS - 1);
	unsigned char bytes[4096];

	check(!jp_perf_encode(&read, &sample, bytes, sizeof(bytes)), "counts cannot be encoded");
	check(!jp_perf_encode(&read, &other_event, bytes, sizeof(bytes)),
	      "an unknown type is refused");
}

TEST(encode_range)
{
	const struct jp_perf_layout layout = make_layout(IDS, true);
	uint64_t bytes[64];
	struct jp_event event = make_event(0), decoded;
	struct jp_regs decoded_regs;

	jp_perf_encode(&layout, &event, bytes, sizeof(bytes));
	jp_perf_encode_range(bytes, 0x8000, 0x2000, 0x5000);
	event.map.addr = 0x8000;
	event.map.len = 0x2000;
	event.map.pgoff = 0x5000;
	check(!jp_perf_decode(&layout, (const void *)bytes, &decoded, &decoded_regs) &&
		      is_same_event(&event, &decoded) && decoded.time == TIME,
	      "only the range of a mapping record is changed");
}

struct visited {
	size_t count, nr_wrong;
};

static int check_event(void *context, const struct jp_event *event)
{
	const struct jp_event expected = make_event(((struct visited *)context)->count);
	struct visited *visited = context;

	visited->nr_wrong += !is_same_event(&expected, event) || event->id != ID ||
			     event->time != TIME || (uintptr_t)event->record % 8;
	visited->count++;
	return 0;
}

/* Reads a file in which a record of perf shifts all following by @shift bytes. */
static void test_misalignment(uint16_t shift)
{
	const struct jp_perf_attr attr = {
		.type = 1,
		.sample_type = ALL,
		.flags = JP_PERF_ATTR_SAMPLE_ID_ALL,
		.sample_regs_user = 1 << 7 | 1 << 8,
		.sample_stack_user = 128,
	};
	const struct jp_perf_layout layout = make_layout(ALL, true);
	const struct jp_perfdata_event events[] = {{&attr, "one"}};
	const struct jp_perf_record odd_record = {.type = JP_PERF_RECORD_SCHEDSTAT_DOMAIN,
						  .size = (uint16_t)(sizeof(odd_record) + shift)};
	char name[] = "/tmp/jitproof-records-XXXXXX";
	unsigned char bytes[4096] = {0};
	struct jp_perfdata_writer *writer;
	struct jp_error err = {""};
	struct visited visited = {0};
	int fd = mkstemp(name);

	if (fd >= 0)
		close(fd);
	writer = jp_perfdata_create(name, events, 1, &err);
	if (!check(writer, "a file is created %s", err.text))
		return;
	jp_perfdata_assign_id(writer, 0, ID);
	memcpy(bytes, &odd_record, sizeof(odd_record));
	jp_perfdata_put(writer, bytes, odd_record.size);
	for (size_t i = 0; i < RECORDS; i++) {
		struct jp_event event = make_event(i);

		jp_perfdata_put(writer, bytes,
				jp_perf_encode(&layout, &event, bytes, sizeof(bytes)));
	}
	check(!jp_perfdata_close(writer, 0, 0, &err) &&
		      !jp_perfdata_read(name, check_event, &visited, NULL, &err),
	      "the file is read %s", err.text);
	check(visited.count == RECORDS && !visited.nr_wrong,
	      "shifted by %u bytes, %zu records are read, %zu wrong", shift, visited.count,
	      visited.nr_wrong);
	unlink(name);
}

/* Kernels from 6.1 to 7.1 may set the build id bit wrongly: the size field must be plausible. */
TEST(stray_build_id_bit)
{
	static const struct {
		uint32_t maj;
		bool believed;
	} table[] = {{0, false}, {1, true}, {20, true}, {21, false}, {253, false}, {256, false}};
	const struct jp_perf_layout layout = make_layout(0, false);

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		uint64_t words[10] = {0};
		struct jp_perf_record *record = (void *)words;
		struct jp_event event;
		struct jp_regs unused;

		*record = (struct jp_perf_record){JP_PERF_RECORD_MMAP2,
						  JP_PERF_MISC_USER | JP_PERF_MISC_MMAP_BUILD_ID,
						  sizeof(words)};
		words[5] = table[i].maj | UINT64_C(3) << 32;
		words[6] = 77; /* the inode */
		check(!jp_perf_decode(&layout, record, &event, &unused) &&
			      (event.map.build_id != NULL) == table[i].believed &&
			      event.map.has_identity != table[i].believed,
		      "major number %u is %s", table[i].maj,
		      table[i].believed ? "accepted as a build id's size" : "an identity");
		check(table[i].believed || (event.map.maj == table[i].maj && event.map.min == 3 &&
					    event.map.ino == 77),
		      "major number %u: device and inode are read", table[i].maj);
	}
}

TEST(records)
{
	for (size_t i = 0; i < RECORDS; i++) {
		bool is_sample = records[i].event.type == JP_EVENT_SAMPLE;

		check_round_trip(i, ALL, true);
		check_round_trip(i, is_sample ? ALL : IDS, false);
	}
	for (uint16_t shift = 0; shift < 8; shift += 3)
		test_misalignment(shift);
}
