/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A range of addresses over time: true code, a mapping record, or published code. */
struct jp_picture_box {
	uint32_t pid;
	uint64_t addr, size, from, to; /* @to UINT64_MAX: until the end of the picture */
	size_t name;                   /* number of a string */
	size_t kind;                   /* number of a string */
	bool in_file;                  /* the range maps a file and is not emitted code */
	uint64_t hidden;               /* time of a record that hides the code; 0: none */
	size_t hider;                  /* number of a string: the name in that record */
};

/* Starts as all zero. */
struct jp_picture_boxes {
	struct jp_picture_box *list;
	size_t count, capacity;
};

/* Adds a copy of @box. Returns 0 or -ENOMEM. */
int jp_picture_boxes_add(struct jp_picture_boxes *boxes, const struct jp_picture_box *box);
