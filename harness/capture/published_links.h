/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Removes the links to perf maps in @dir that a killed adapter left in /tmp. */
void jp_published_links_remove(const char *dir);
