// SPDX-License-Identifier: GPL-2.0-only
// What all parts of a page need: its data (docs/report-format.md), its state, its elements.
"use strict";

const report = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const BAD = new Set(["unmapped", "wrong", "extra", "single", "short", "hole"]);
const FAILURES = new Set(["FAIL", "ERROR", "XPASS", "TIMEOUT", "CRASH"]);
// Columns of a row, of a box (true code, record, load) and of a mark. The page adds a row's place in the
// picture as HEIGHT.
const TIME = 0, THREAD = 1, BAND = 2, OFFSET = 3, METHOD = 4, VERDICT = 5, CAUSE = 6, SEEN = 7,
	TRUE = 8, LEVEL = 9, HEIGHT = 10;
const BOX = { pid: 0, band: 1, offset: 2, size: 3, from: 4, to: 5, name: 6, kind: 7, hidden: 8, hider: 9 };
const MARK = { time: 0, pid: 1, kind: 2, text: 3 };
// The state of the page. Filters are texts and numbers, as in the page's address; 0 and "": no filter.
const state = { picture: null, view: null, pid: 0, verdict: "", method: "", stack: 0, cause: 0, pinned: null,
	shown: [] };

// Creates an element. Texts come from files, so they never become markup.
function make(tag, attributes, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {}))
		name === "onclick" ? element.addEventListener("click", value)
			: element.setAttribute(name, value);
	element.append(...children.filter((child) => child !== null));
	return element;
}

function countWords(count, word) {
	return `${count} ${word}${count === 1 ? "" : "s"}`;
}

function find(id) {
	return document.getElementById(id);
}

function countBy(rows, key) {
	const counts = new Map();
	for (const row of rows)
		counts.set(key(row), (counts.get(key(row)) || 0) + 1);
	return counts;
}

// Writes @parts into the page's address, so that a copied link shows the same view.
function writeHash(parts) {
	history.replaceState(null, "", "#" + parts.map(encodeURIComponent).join("&"));
}

// Returns the parts of the page's address. Does not decode a part that is not valid.
function readHash() {
	return location.hash.slice(1).split("&").map((part) => {
		try {
			return decodeURIComponent(part);
		} catch {
			return part;
		}
	});
}
