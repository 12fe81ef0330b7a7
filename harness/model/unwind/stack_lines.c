// SPDX-License-Identifier: GPL-2.0-only
#include "harness/model/unwind/stack_lines.h"

#include <inttypes.h>

#include "harness/base/json.h"

/* Writes addresses as text, because most JSON readers keep only 53 bits of a number. */
static void write_address(struct jp_json *json, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	jp_json_string(json, key, text);
}

static void write_addresses(struct jp_json *json, const char *key, const uint64_t *values,
			    uint64_t count)
{
	jp_json_array(json, key);
	for (uint64_t i = 0; i < count; i++)
		write_address(json, NULL, values[i]);
	jp_json_end(json);
}

void jp_stack_line(FILE *out, const struct jp_event *sample, const struct jp_unwound *stack)
{
	struct jp_json json;

	jp_json_begin(&json, out);
	jp_json_object(&json, NULL);
	jp_json_u64(&json, "pid", sample->pid);
	jp_json_u64(&json, "tid", sample->tid);
	jp_json_u64(&json, "time", sample->time);
	write_address(&json, "ip", sample->sample.ip);
	jp_json_u64(&json, "dump", sample->sample.stack_size);
	jp_json_u64(&json, "asked", sample->sample.stack_asked);
	write_addresses(&json, "chain", sample->sample.chain, sample->sample.nr_chain);
	write_addresses(&json, "frames", stack->frames, stack->count);
	jp_json_string(&json, "stop", jp_unwind_stop_text(stack->stop));
	write_address(&json, "where", stack->where);
	jp_json_end(&json);
}
