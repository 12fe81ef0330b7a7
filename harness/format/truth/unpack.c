// SPDX-License-Identifier: GPL-2.0-only
#include "harness/format/truth/items.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_range(uint64_t addr, uint64_t len)
{
	return len && addr + len >= addr;
}

/* Stores in *@name the mapping's name as perf_event_mmap_event() (kernel/events/core.c) and shmem
 * form it. Returns 0, -EINVAL or -ENOMEM. */
static int name_mapping(struct jp_truth_items *items, const struct jp_truth_record *record,
			const char **name)
{
	static const char *const names[] = {
		[JP_BACKING_ANON] = "//anon",
		[JP_BACKING_ZERO] = "/dev/zero (deleted)",
		[JP_BACKING_HUGETLB] = "/anon_hugepage (deleted)",
		[JP_BACKING_HEAP] = "[heap]",
		[JP_BACKING_FILE] = NULL,
	};
	struct jp_truth_item *item = jp_truth_find_item(items, record->map.name, JP_TRUTH_TEXT);
	const char *text = jp_truth_find_text(items, record->map.name);

	if (!text || record->map.backing > JP_BACKING_FILE)
		return -EINVAL;
	*name = names[record->map.backing] ?: text;
	if (record->map.backing != JP_BACKING_MEMFD)
		return 0;
	if (!item) {
		*name = "/memfd: (deleted)";
		return 0;
	}
	if (!item->list.memfd) {
		size_t size = strlen(text) + sizeof("/memfd: (deleted)");
		char *memfd = jp_truth_alloc(items, size, 1);

		if (!memfd)
			return -ENOMEM;
		snprintf(memfd, size, "/memfd:%s (deleted)", text);
		item->list.memfd = memfd;
	}
	*name = item->list.memfd;
	return 0;
}

static int unpack_start(const struct jp_truth_record *record, struct jp_event *event)
{
	const uint64_t kind = record->start.start_kind;

	event->task.ppid = record->start.parent;
	event->task.ptid = record->start.parent_tid;
	event->task.start_kind = kind;
	event->task.exec_tid = record->start.exec_tid;
	if (kind == JP_START_LAUNCH || kind == JP_START_EXEC) {
		event->type = JP_EVENT_EXEC;
		return 0;
	}
	event->type = JP_EVENT_FORK;
	return kind < JP_START_KINDS && record->start.parent != record->pid ? 0 : -EINVAL;
}

static int unpack_mapping(struct jp_truth_items *items, const struct jp_truth_record *record,
			  struct jp_event *event)
{
	event->map.addr = record->map.addr;
	event->map.len = record->map.len;
	if (!is_range(record->map.addr, record->map.len))
		return -EINVAL;
	switch (record->type) {
	case JP_TRUTH_MAP:
		event->type = JP_EVENT_MAP;
		event->map.prot = record->map.prot;
		/* The kernel records the original address of an anonymous mapping. */
		event->map.pgoff = record->map.backing == JP_BACKING_ANON ? record->map.addr
									  : record->map.offset;
		return name_mapping(items, record, &event->map.name);
	case JP_TRUTH_PROTECT:
		event->type = JP_EVENT_PROTECT;
		event->map.prot = record->protect.prot & 0xff;
		return 0;
	case JP_TRUTH_REMAP:
		event->type = JP_EVENT_REMAP;
		event->map.new_addr = record->remap.new_addr;
		event->map.new_len = record->remap.new_len;
		return event->map.new_addr + event->map.new_len < event->map.new_addr ? -EINVAL : 0;
	default:
		event->type = JP_EVENT_UNMAP;
		return 0;
	}
}

static int unpack_file(const struct jp_truth_items *items, const struct jp_truth_record *record,
		       struct jp_event *event)
{
	const char *text = jp_truth_find_text(items, record->file.text);
	const char *blank = text ? strchr(text, ' ') : NULL;

	if (!blank || !is_range(record->file.addr, record->file.len))
		return -EINVAL;
	event->type = JP_EVENT_FILE;
	event->file.addr = record->file.addr;
	event->file.len = record->file.len;
	event->file.ino = record->file.ino;
	event->file.maj = record->file.device >> 20;
	event->file.min = record->file.device & 0xfffff;
	event->file.build_id = text;
	event->file.path = blank + 1;
	return 0;
}

static int unpack_load(const struct jp_truth_items *items, const struct jp_truth_record *record,
		       struct jp_event *event)
{
	const struct jp_truth_item *layout =
		jp_truth_find_item(items, record->load.layout, JP_TRUTH_LAYOUT);
	const struct jp_truth_item *frames =
		jp_truth_find_item(items, record->load.frames, JP_TRUTH_FRAMES);

	event->type = JP_EVENT_CODE_LOAD;
	event->code.id = record->load.function;
	event->code.addr = record->load.addr;
	event->code.size = record->load.size;
	event->code.layout = layout ? layout->list.layout : NULL;
	event->code.frames = frames ? frames->list.frames : NULL;
	event->code.name = jp_truth_find_text(items, record->load.name);
	/* The table lacks an id that two loads have: both are torn. */
	return jp_truth_find_item(items, event->code.id, JP_TRUTH_CODE_LOAD) && layout &&
			       (frames || !record->load.frames) && event->code.name &&
			       is_range(event->code.addr, event->code.size) &&
			       layout->list.layout->insns[layout->list.layout->count - 1].offset <
				       event->code.size
		       ? 0
		       : -EINVAL;
}

static void unpack_enter(const struct jp_truth_items *items, const struct jp_truth_record *record,
			 struct jp_event *event)
{
	const struct jp_truth_item *path =
		jp_truth_find_item(items, record->enter.path, JP_TRUTH_PATH);
	const struct jp_truth_item *chain =
		jp_truth_find_item(items, record->enter.chain, JP_TRUTH_ROOT);
	const struct jp_truth_item *dump =
		jp_truth_find_item(items, record->enter.dump, JP_TRUTH_ROOT);

	event->type = JP_EVENT_ENTER;
	event->enter.path = path ? &path->list.path : NULL;
	event->enter.chain = chain ? chain->list.root : NULL;
	event->enter.dump = dump ? dump->list.root : NULL;
	event->enter.sp = record->enter.sp;
	event->enter.bp = record->enter.bp;
	event->enter.flags = record->enter.flags;
}

/* Converts a record to an event of @type whose text *@text is item @id. */
static int unpack_text(const struct jp_truth_items *items, uint64_t id, enum jp_event_type type,
		       const char **text, struct jp_event *event)
{
	event->type = type;
	*text = jp_truth_find_text(items, id);
	return *text ? 0 : -EINVAL;
}

/* Fills @event from @record; its type stays OTHER if the record is no event. Returns 0, -EINVAL if
 * the record is corrupt, or -ENOMEM. */
static int unpack_record(struct jp_truth_items *items, const struct jp_truth_record *record,
			 struct jp_event *event)
{
	switch (record->type) {
	case JP_TRUTH_PROCESS_START:
		return unpack_start(record, event);
	case JP_TRUTH_PROCESS_EXIT:
		event->type = JP_EVENT_END;
		return 0;
	case JP_TRUTH_THREAD_START:
	case JP_TRUTH_THREAD_EXIT:
		event->type = record->type == JP_TRUTH_THREAD_START ? JP_EVENT_FORK : JP_EVENT_EXIT;
		event->task.ppid = record->pid;
		event->task.ptid = record->start.parent_tid;
		return 0;
	case JP_TRUTH_MAP:
	case JP_TRUTH_PROTECT:
	case JP_TRUTH_REMAP:
	case JP_TRUTH_UNMAP:
		return unpack_mapping(items, record, event);
	case JP_TRUTH_FILE:
		return unpack_file(items, record, event);
	case JP_TRUTH_CODE_LOAD:
		return unpack_load(items, record, event);
	case JP_TRUTH_CODE_MOVE:
	case JP_TRUTH_CODE_UNLOAD:
		event->type = record->type == JP_TRUTH_CODE_MOVE ? JP_EVENT_CODE_MOVE
								 : JP_EVENT_CODE_UNLOAD;
		event->code.id = record->move.function;
		event->code.addr = record->move.addr;
		return 0;
	case JP_TRUTH_ENTER:
		unpack_enter(items, record, event);
		return 0;
	case JP_TRUTH_LEAVE:
		event->type = JP_EVENT_LEAVE;
		event->leave = record->leave;
		return 0;
	case JP_TRUTH_MARK:
		event->mark.value = record->mark.value;
		return unpack_text(items, record->mark.text, JP_EVENT_MARK, &event->mark.text,
				   event);
	case JP_TRUTH_MAPS:
		return unpack_text(items, record->text.id, JP_EVENT_MAPS, &event->maps.text, event);
	case JP_TRUTH_GONE:
		event->type = JP_EVENT_GONE;
		return 0;
	case JP_TRUTH_COMM:
		return unpack_text(items, record->text.id, JP_EVENT_COMM, &event->comm.name, event);
	case JP_TRUTH_WAIT:
		event->type = JP_EVENT_WAIT;
		event->wait.addr = record->wait.addr;
		event->wait.handled = record->wait.handled;
		return 0;
	default:
		return 0;
	}
}

int jp_truth_unpack(struct jp_truth_reader *reader, const struct jp_truth_record *record,
		    struct jp_event *event)
{
	int ret;

	*event = (struct jp_event){
		.type = JP_EVENT_OTHER,
		.record_type = record->type,
		.before = record->before,
		.after = record->after,
		.file_offset = JP_TRUTH_PAGE + (record - reader->items->slots) * sizeof(*record),
		.pid = record->pid,
		.tid = record->tid,
	};
	ret = unpack_record(reader->items, record, event);
	if (ret == -EINVAL)
		jp_truth_mark_corrupt(reader);
	return ret == -ENOMEM ? ret : !ret && event->type != JP_EVENT_OTHER;
}
