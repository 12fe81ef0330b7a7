/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Removes what an adapter left in /tmp that was killed: its links to the perf maps in @dir. */
void jp_published_links_remove(const char *dir);
