// SPDX-License-Identifier: GPL-2.0-only
#include "harness/report/picture_boxes.h"

#include "harness/base/array.h"

int jp_picture_boxes_add(struct jp_picture_boxes *boxes, const struct jp_picture_box *box)
{
	return jp_array_append(&boxes->list, &boxes->count, &boxes->capacity, *box);
}
