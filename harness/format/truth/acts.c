// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/truth/write.h"

#include <string.h>
#include <sys/prctl.h>

/* Appends a record of type @what with the bracket [@from, @until]. harness/format/truth/format.h
 * states which member of the union each type uses. */
#define APPEND(what, from, until, ...)                                                             \
	jp_truth_append(&(struct jp_truth_record){                                                 \
		.type = JP_TRUTH_##what, .before = (from), .after = (until), __VA_ARGS__})

#define APPEND_NOW(what, ...)                                                                      \
	do {                                                                                       \
		const uint64_t now = jp_clock_now();                                               \
                                                                                                   \
		APPEND(what, now, now, __VA_ARGS__);                                               \
	} while (0)

/* Appends the thread's name as the kernel has it: set by exec, or inherited from its creator. */
static void name_task(void)
{
	char name[16] = ""; /* TASK_COMM_LEN */
	uint64_t before = jp_clock_now();

	prctl(PR_GET_NAME, name);
	APPEND(COMM, before, jp_clock_now(), .text = {jp_truth_text(name)});
}

void jp_truth_process_start(uint64_t before, enum jp_start_kind start_kind,
			    struct jp_truth_task_ids parent, uint32_t creator)
{
	APPEND(PROCESS_START, before, jp_clock_now(),
	       .start = {parent.pid, parent.tid, start_kind, creator});
	name_task();
}

void jp_truth_process_exit(void)
{
	APPEND_NOW(PROCESS_EXIT);
}

void jp_truth_process_died(uint32_t pid, uint64_t before, uint64_t after)
{
	APPEND(PROCESS_EXIT, before, after, .pid = pid, .tid = pid);
}

void jp_truth_thread_start(uint64_t before, uint32_t creator)
{
	jp_truth_new_task();
	APPEND(THREAD_START, before, jp_clock_now(), .start = {.parent_tid = creator});
	name_task();
}

void jp_truth_task_released(uint32_t pid, uint32_t tid)
{
	APPEND_NOW(GONE, .pid = pid, .tid = tid);
}

void jp_truth_thread_exit(void)
{
	APPEND_NOW(THREAD_EXIT);
}

void jp_truth_map(uint64_t before, uint64_t after, const struct jp_truth_mapping *mapping)
{
	APPEND(MAP, before, after, .map = *mapping);
}

void jp_truth_protect(uint64_t before, uint64_t after, uint64_t addr, uint64_t len, unsigned prot)
{
	APPEND(PROTECT, before, after, .protect = {addr, len, prot});
}

void jp_truth_remap(uint64_t before, uint64_t after, uint64_t addr, uint64_t len, uint64_t to,
		    uint64_t to_len)
{
	APPEND(REMAP, before, after, .remap = {addr, len, to, to_len});
}

void jp_truth_unmap(uint64_t before, uint64_t after, uint64_t addr, uint64_t len)
{
	APPEND(UNMAP, before, after, .unmap = {addr, len});
}

void jp_truth_file(uint64_t addr, uint64_t len, uint64_t ino, uint32_t maj, uint32_t min,
		   const char *text)
{
	APPEND_NOW(FILE, .file = {.addr = addr,
				  .len = len,
				  .ino = ino,
				  .text = jp_truth_text(text),
				  .device = maj << 20 | min});
}

void jp_truth_code_load(uint64_t before, uint64_t after, const struct jp_truth_load *load)
{
	APPEND(CODE_LOAD, before, after, .load = *load);
}

void jp_truth_code_move(uint64_t before, uint64_t after, uint32_t function, uint64_t to)
{
	APPEND(CODE_MOVE, before, after, .move = {function, to});
}

void jp_truth_code_unload(uint64_t before, uint64_t after, uint32_t function)
{
	APPEND(CODE_UNLOAD, before, after, .move = {function, 0});
}

/* Clocks at the thread's last ENTER. CPU time is read inside the activation at both ends, so that
 * it does not include the cost of the records. */
static __thread struct {
	uint64_t time, entered_time, cpu;
} entered;

void jp_truth_enter(const struct jp_truth_entry *entry)
{
	entered.time = jp_clock_now();
	APPEND(ENTER, entered.time, entered.time, .enter = *entry);
}

void jp_truth_begin_activation(void)
{
	/* Read this clock last, because it needs no system call: at the end of a system call the
	 * kernel may switch to another thread. */
	entered.cpu = jp_clock_thread_cpu();
	entered.entered_time = jp_clock_now();
}

void jp_truth_leave(const struct jp_truth_clocks *leave_clocks, uint32_t path, uint64_t flags,
		    uint64_t ip, uint64_t sp)
{
	uint64_t entering = entered.entered_time - entered.time;

	APPEND(LEAVE, leave_clocks->time, leave_clocks->time,
	       .leave = {.path = path,
			 .entering = entering < UINT32_MAX ? (uint32_t)entering : UINT32_MAX,
			 .flags = flags,
			 .cpu = leave_clocks->cpu - entered.cpu,
			 .ip = ip,
			 .sp = sp});
}

void jp_truth_mark(uint64_t before, uint64_t after, const char *text, uint64_t value)
{
	APPEND(MARK, before, after, .mark = {jp_truth_text(text), value});
}

void jp_truth_maps(uint64_t before, uint64_t after, const char *text)
{
	APPEND(MAPS, before, after, .text = {jp_truth_text(text)});
}

void jp_truth_waited_for_exec(uint64_t before, uint64_t after, uint64_t addr, uint64_t handled)
{
	APPEND(WAIT, before, after, .wait = {addr, handled});
}

/* Writes a fact of @bytes bytes at @data into as many adjacent slots as it needs. Returns its
 * id. */
static uint32_t put_parts(enum jp_truth_type type, const void *data, size_t bytes, uint32_t total)
{
	const size_t capacity = sizeof(((struct jp_truth_record *)0)->item.data);
	size_t parts = bytes ? (bytes + capacity - 1) / capacity : 1;
	uint64_t now = jp_clock_now(), slot;
	uint32_t id = jp_truth_id();

	slot = jp_truth_reserve(parts);
	for (size_t part = 0; part < parts; part++) {
		struct jp_truth_record record = {.type = type,
						 .part = part,
						 .before = now,
						 .after = now,
						 .item = {.id = id, .total = total}};
		size_t offset = part * capacity,
		       length = bytes - offset < capacity ? bytes - offset : capacity;

		if (length)
			memcpy(record.item.data, (const char *)data + offset, length);
		jp_truth_commit(slot + part, &record);
	}
	return id;
}

uint32_t jp_truth_text(const char *text)
{
	return put_parts(JP_TRUTH_TEXT, text, strlen(text), strlen(text));
}

uint32_t jp_truth_layout(const struct jp_truth_insn *insns, uint32_t count)
{
	return put_parts(JP_TRUTH_LAYOUT, insns, count * sizeof(*insns), count);
}

uint32_t jp_truth_path(const uint32_t *functions, uint32_t depth)
{
	return put_parts(JP_TRUTH_PATH, functions, depth * sizeof(*functions), depth);
}

uint32_t jp_truth_root(enum jp_method method, const uint64_t *frames, uint32_t count)
{
	return put_parts(JP_TRUTH_ROOT, frames, count * sizeof(*frames), method | count << 8);
}

uint32_t jp_truth_frames(enum jp_cfi_status cfi_status, uint64_t word, uint32_t detour,
			 uint64_t flags)
{
	uint32_t id = jp_truth_id();

	APPEND_NOW(FRAMES, .frames = {id, cfi_status, word, detour, flags});
	return id;
}
