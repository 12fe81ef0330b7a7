// SPDX-License-Identifier: GPL-2.0-only
// Draws boards (docs/report-format.md): first the rows whose cells differ, in tables with coloured cells.
"use strict";

const board = { row: "", columns: new Set(), differing: false, open: "" };

function makeText(text) {
	const parts = String(text).split(/(https?:\/\/[^\s)"',;]+)/);
	return parts.map((part, i) => i % 2 ? make("a", { href: part }, part.replace(/^https?:\/\//, "")) : part);
}

// Returns the parts of a long name, with places where a line may end.
function breakName(name) {
	return name.split(/(?<=[._])/).flatMap((part) => [make("wbr"), part]);
}

// Shows the cause of a cell, the command that shows it, and where people discuss it.
function openCell(table, row, column, element) {
	const cell = row.cells[column], detail = find("cell");
	const terms = [["value", cell.value], ["why", cell.why], ["command", cell.command], ["see", cell.see]];
	detail.replaceChildren(make("h3", {}, `${row.name}, ${table.columns[column]}: `, make("span",
		{ class: `grade ${cell.grade}` }, cell.text)), ...terms.filter(([, text]) => text).flatMap(([term, text]) =>
		[make("dt", {}, term), make("dd", {}, ...term === "command" ? [make("code", {}, text)] : makeText(text))]));
	for (const other of document.querySelectorAll(".board [aria-pressed=true]"))
		other.setAttribute("aria-pressed", false);
	element.setAttribute("aria-pressed", true);
	board.open = `${table.title} ${row.name} ${table.columns[column]}`;
	writeBoardHash();
}

function writeBoardHash() {
	writeHash([board.row, board.differing ? "differing" : "", [...board.columns].join(","), board.open]);
}

function makeCell(table, row, column) {
	const cell = row.cells[column];
	if (!cell)
		return make("td", {});
	const button = make("button", { class: `grade ${cell.grade}`, "aria-pressed": false, title: cell.text,
		"data-cell": `${table.title} ${row.name} ${table.columns[column]}`,
		onclick: () => openCell(table, row, column, button) }, cell.text);
	return make("td", {}, button);
}

// Returns whether the shown cells of a row differ.
function differs(row, columns) {
	return new Set(columns.map((column) => row.cells[column]?.text)).size > 1;
}

function makeBoard(table) {
	const columns = table.columns.map((_, i) => i).filter((i) =>
		!board.columns.size || board.columns.has(table.columns[i]));
	const rows = table.rows.filter((row) => row.name.toLowerCase().includes(board.row.toLowerCase()) &&
		(!board.differing || differs(row, columns)));
	// Rows whose cells differ come first.
	rows.sort((one, other) => differs(other, columns) - differs(one, columns));
	if (!columns.length || !rows.length)
		return [make("p", {}, `No row of ${table.rows.length} is left by the filters.`)];
	return [make("p", {}, `${rows.length} of ${countWords(table.rows.length, "row")}, ` +
		`${rows.filter((row) => differs(row, columns)).length} differ.`),
	make("div", { class: "board" }, make("table", {}, make("tr", {}, make("th", {}, table.head),
		...columns.map((i) => make("th", {}, ...breakName(table.columns[i])))), ...rows.map((row) => make("tr", {},
		make("th", {}, ...breakName(row.name)), ...columns.map((i) => makeCell(table, row, i))))))];
}

function showBoards() {
	report.tables.forEach((table, i) => find(`table${i}`).replaceChildren(...makeBoard(table)));
	writeBoardHash();
	[...document.querySelectorAll("[data-cell]")].find((cell) => cell.dataset.cell === board.open)?.click();
}

function makeColumnFilter() {
	const names = [...new Set(report.tables.flatMap((table) => table.columns))];
	return make("fieldset", {}, make("legend", {}, report.column), ...names.map((name) => {
		const box = make("input", { type: "checkbox", value: name });
		box.checked = board.columns.has(name);
		box.addEventListener("change", () => {
			box.checked ? board.columns.add(name) : board.columns.delete(name);
			showBoards();
		});
		return make("label", {}, box, name);
	}));
}

function makeRowFilter() {
	const search = make("input", { type: "search", id: "row", placeholder: `any ${report.row}`,
		"aria-label": report.row, value: board.row });
	const box = make("input", { type: "checkbox", id: "differing" });
	search.addEventListener("input", () => { board.row = search.value; showBoards(); });
	box.checked = board.differing;
	box.addEventListener("change", () => { board.differing = box.checked; showBoards(); });
	return make("div", { class: "bar" }, search, make("label", {}, box, "only what differs"));
}

// Shows the boards of a page, with the filters that the address holds.
function showBoardPage() {
	const [row, differing, columns, open] = readHash();
	Object.assign(board, { row: row || "", differing: differing === "differing", open: open || "",
		columns: new Set((columns || "").split(",").filter((name) => name)) });
	document.title = report.title;
	page.replaceChildren(make("nav", { class: "bar" }, ...report.pages.map(([title, address]) =>
		make("a", { href: address }, title))), make("h1", {}, report.title), make("p", {}, report.about),
	make("ul", {}, ...report.differs.map((line) => make("li", {}, ...makeText(line)))));
	if (!report.tables.length)
		return;
	page.append(makeRowFilter(), makeColumnFilter(), make("p", {}, "A click on a cell shows its cause."));
	report.tables.forEach((table, i) => page.append(make("h2", {}, table.title), make("p", {}, table.about),
		make("div", { id: `table${i}` })));
	// The last element sticks to the lower edge of the window, whichever table is in view.
	page.append(make("section", { id: "cell", "aria-live": "polite" }));
	showBoards();
}
