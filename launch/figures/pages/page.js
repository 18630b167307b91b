"use strict";
// What pages are made of: elements, figures as people read them, tables. All text is set as text,
// so that no name is taken for markup.
const Page = (() => {
  const kNone = "\u2013";

  // el("p", "muted", "text", element, ...)
  function el(tag, className, ...children) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    for (const child of children) {
      if (child !== null && child !== undefined) element.append(child);
    }
    return element;
  }

  const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
  const grouped = new Intl.NumberFormat("en-US", {maximumFractionDigits: 0});

  function count(value) {
    return isNumber(value) ? grouped.format(value) : kNone;
  }

  function fixed(value, decimals) {
    return isNumber(value) ? value.toFixed(decimals) : kNone;
  }

  // Powers of 1024, three digits or so.
  function bytes(value) {
    if (!isNumber(value)) return kNone;
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = 0;
    while (Math.abs(value) >= 1023.995 && unit + 1 < units.length) {
      value /= 1024;
      ++unit;
    }
    const decimals = unit === 0 ? 0 : Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
    return value.toFixed(decimals) + " " + units[unit];
  }

  function duration(seconds) {
    if (!isNumber(seconds)) return kNone;
    if (seconds < 1) return (seconds * 1000).toFixed(seconds > 0 && seconds < 0.01 ? 1 : 0) + " ms";
    if (seconds < 99.95) return seconds.toFixed(1) + " s";
    const whole = Math.round(seconds);
    const two = (n) => String(n).padStart(2, "0");
    if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
    return `${count(Math.floor(whole / 3600))} h ${two(Math.floor(whole / 60) % 60)} min`;
  }

  function percent(part, whole) {
    if (!isNumber(part) || !isNumber(whole) || whole === 0) return kNone;
    return part === 0 ? "0 %" : ((100 * part) / whole).toFixed(1) + " %";
  }

  // The mean of the last tenth of a curve, whose last point may be of a few steps: [mean, steps].
  // points: [[step, mean since the point before], ...].
  function meanAtEnd(points) {
    if (!points.length) return [null, 0];
    const end = points[points.length - 1][0];
    const stepOf = (i) => (i < 0 ? Math.max(0, 2 * points[0][0] - (points[1] || [end])[0])
                                 : points[i][0]);
    const least = (end - stepOf(-1)) / 10;
    let sum = 0, steps = 0;
    for (let i = points.length - 1; i >= 0 && steps < least; --i) {
      const weight = stepOf(i) - stepOf(i - 1);
      sum += weight * points[i][1];
      steps += weight;
    }
    return steps > 0 ? [sum / steps, steps] : [points[points.length - 1][1], 0];
  }

  // To draw points [[step, mean, mean a second], ...]: what is of less than half the usual interval,
  // as at the end of an epoch, says little, and is taken together with the point before.
  function wholeIntervals(points) {
    const steps = points.map((point, i) => point[0] - (i > 0 ? points[i - 1][0] : 0));
    const usual = [...steps].sort((a, b) => a - b)[steps.length >> 1];
    const drawn = [];
    points.forEach(([step, mean, rate], i) => {
      const before = drawn[drawn.length - 1];
      if (!before || steps[i] * 2 >= usual || ![mean, rate, before.mean, before.rate].every(isNumber)) {
        drawn.push({step, mean, rate, of: steps[i]});
        return;
      }
      const of = before.of + steps[i], part = steps[i] / of;
      Object.assign(before, {step, of, mean: before.mean + part * (mean - before.mean),
                             rate: 1 / ((1 - part) / before.rate + part / rate)});
    });
    return drawn.map(({step, mean, rate}) => [step, mean, rate]);
  }

  // Of an axis: "12k", "1.5M", "0.482".
  function short(value) {
    if (!isNumber(value)) return "";
    const units = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
    for (const [size, name] of units) {
      if (Math.abs(value) >= size) return String(+(value / size).toPrecision(4)) + name;
    }
    return String(+value.toPrecision(4));
  }

  const kMaxRows = 60, kFirstRows = 40;  // Of a longer table the first; a button shows the others.
  const isLong = (text) => text.length > 44;

  // columns: [{name, number, code, whole}]; whole: never broken, as flags are not; rows: lists of text.
  function table(columns, rows) {
    const cell = (tag, column, text) => {
      if (column.number) return el(tag, "number", text);
      const isCode = column.code && tag === "td";
      const kind = (isCode ? " code" : "") + (isLong(text) ? " long" : column.whole ? " whole" : "");
      return el(tag, "", el("div", "words" + kind, text));
    };
    const head = el("tr", "", ...columns.map((column) => cell("th", column, column.name)));
    for (const th of head.children) th.scope = "col";
    const lineOf = (row) => {
      const line = el("tr");
      row.forEach((text, i) => {
        const one = cell(i === 0 ? "th" : "td", columns[i], text);
        if (i === 0) one.scope = "row";
        line.append(one);
      });
      return line;
    };
    const shown = rows.length <= kMaxRows ? rows.length : kFirstRows;
    const body = el("tbody", "", ...rows.slice(0, shown).map(lineOf));
    const box = el("div", "scroll", el("table", "", el("thead", "", head), body));
    box.tabIndex = 0;  // Scrolls by keys.
    if (shown < rows.length) {
      const more = el("button", "more", `Show ${count(rows.length - shown)} more rows`);
      more.onclick = () => {
        body.append(...rows.slice(shown).map(lineOf));
        more.remove();
      };
      box.append(more);
    }
    return box;
  }

  // cards: [[label, value, note]]; none for a value that is null.
  function cards(list) {
    const row = el("div", "cards");
    for (const [label, value, note] of list) {
      if (value === null) continue;
      row.append(el("div", "card", el("div", "label", label), el("div", "value", value),
                    el("div", "note", note || "")));
    }
    return row;
  }

  // Begins the page: what it is, its name, a line below.
  function begin(kind, title, subtitle) {
    document.title = title + " \u00b7 Rowhouse";
    const main = document.getElementById("page");
    main.append(el("header", "", el("div", "eyebrow", kind), el("h1", "", title),
                   el("p", "subtitle", subtitle)));
    return main;
  }

  // A heading and what follows it, charts and tables side by side.
  function section(main, title, note, isOfCurves) {
    main.append(el("h2", "", title));
    if (note) main.append(el("p", "muted", note));
    const grid = el("div", isOfCurves ? "grid curves" : "grid");
    main.append(grid);
    return grid;
  }

  // A panel of a grid.
  function panel(grid, title, note, isWide) {
    const box = el("section", isWide ? "panel wide" : "panel");
    box.head = el("div", "panel-head", el("h3", "", title));
    box.append(box.head);
    if (note) box.append(el("p", "panel-note", note));
    grid.append(box);
    return box;
  }

  return {el, isNumber, count, fixed, bytes, duration, percent, meanAtEnd, wholeIntervals,
          short, table, cards, begin, section, panel};
})();
