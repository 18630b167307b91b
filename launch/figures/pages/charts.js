"use strict";
// Curves by dygraphs, which zoom (drag, pinch; the button or a double click goes back), and bars and
// points by Chart.js. All take the colours of the reader's system, and change with it.
const Charts = (() => {
  const {el, isNumber, short} = Page;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const kLight = ["#2563c9", "#d9622b", "#1f9460", "#9a46bb", "#b07d06", "#0f8fa3", "#c93a68",
                  "#667080"];
  const kDark = ["#6ea8ff", "#ff9b66", "#5fd398", "#cf90ef", "#e3ba4b", "#58cfe0", "#ff86ab",
                 "#a9b3c1"];
  const draws = [];  // each draws a chart and returns a function that takes it away

  function style(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  // Of series number i; beyond the palette by the golden angle.
  function colour(i) {
    const palette = dark.matches ? kDark : kLight;
    if (i < palette.length) return palette[i];
    return `hsl(${(i * 137.508) % 360} 60% ${dark.matches ? 68 : 42}%)`;
  }

  function add(draw) {
    draws.push({draw, remove: null});
  }

  // When the page has all its panels: only then their widths are known. And in other colours.
  function draw() {
    for (const entry of draws) {
      if (entry.remove) entry.remove();
      entry.remove = entry.draw();
    }
  }
  dark.addEventListener("change", draw);

  // ---- Curves -----------------------------------------------------------------------------------

  // Rows of dygraphs: x and a value a series, null where a series has no point there.
  function rowsOf(series, ends) {
    const rows = new Map();
    const rowAt = (x) => {
      if (!rows.has(x)) rows.set(x, [x, ...series.map(() => null)]);
      return rows.get(x);
    };
    series.forEach((one, i) => {
      for (const [x, y] of one.points) rowAt(x)[i + 1] = isNumber(y) ? y : null;
    });
    if (series.some((one) => isNumber(one.level))) ends.forEach(rowAt);
    const sorted = [...rows.values()].sort((a, b) => a[0] - b[0]);
    series.forEach((one, i) => {
      if (isNumber(one.level)) for (const row of sorted) row[i + 1] = one.level;
    });
    return sorted;
  }

  // Whole numbers from low to high, about this many.
  function wholeTicks(low, high, number) {
    const step = Math.max(1, Math.ceil((high - low) / Math.max(1, number)));
    const ticks = [];
    for (let x = Math.ceil(low); x <= high; x += step) ticks.push(x);
    return ticks;
  }

  // Of every series its swatch and name, and `values`, elements, if there are any.
  function legendOf(series, kind, values = []) {
    return el("div", "legend", ...series.map((one, i) => {
      const swatch = el("span", "swatch" + kind);
      swatch.style.background = one.stroke ?? colour(one.colour ?? i);
      return el("span", "legend-item", swatch, el("span", "legend-name", one.name), values[i]);
    }));
  }

  // Powers of ten from low to high, where they are few with twice and five times as much.
  function decimalTicks(low, high) {
    const ticks = [];
    const between = high / low < 2e3 ? [1, 2, 5] : [1];
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
      ticks.push(...between.map((n) => ({v: n * power, label: short(n * power)})));
    }
    return ticks.filter(({v}) => v >= low && v <= high);
  }

  // One finger scrolls the page, two zoom.
  function interactions() {
    const model = {...Dygraph.defaultInteractionModel};
    for (const name of ["touchstart", "touchmove", "touchend"]) {
      const handle = model[name];
      model[name] = (event, chart, context) => {
        if (event.touches.length > 1 || context.touches?.length > 1) handle(event, chart, context);
      };
    }
    return model;
  }

  // series: [{name, points: [[step, value]], level, isDots}]; level: the same value everywhere.
  // range: [first, last] step, the same for curves that lie above one another; format: of a value.
  // powers {name, format}: x is no step but the binary logarithm of something else. share: the name
  // of x, which is no step but goes from 0 to 1. isLog: y is drawn by its logarithm.
  function curve(panel, series, {range, format, yName, powers, share, isLog}) {
    const nameX = (x) => powers ? "at " + powers.format(2 ** x)
                       : share ? `at ${share} ${Page.fixed(x, 3)}` : "at step " + Page.count(x);
    if (series.every((one) => one.points.length < 2)) {
      const known = series.filter((one) => one.points.length);
      panel.append(known.length ? Page.cards([
        ...known.map(({name, points: [[x, y]]}) => [name, format(y), nameX(x)]),
        ...series.filter((one) => isNumber(one.level)).map((one) => [one.name, format(one.level)]),
      ]) : el("p", "muted", "no points"));
      return;
    }
    const reset = el("button", "reset", "Reset zoom");
    reset.hidden = true;
    const at = el("span", "legend-at");
    panel.head.append(el("span", "head-end", at, reset));
    const legendPlace = el("div"), place = el("div", "curve");
    panel.append(legendPlace, place, el("div", "axis-name", powers ? powers.name : share ?? "step"));
    const tick = (x) => share || Number.isInteger(x) ? short(x) : "";
    const rows = rowsOf(series, range);
    const [first, last] = range;
    const margin = first === last ? 1 : (last - first) * 0.015;
    const limits = [first - margin, last + margin];
    add(() => {
      const values = series.map(() => el("span", "legend-value"));
      legendPlace.replaceChildren(legendOf(series, "", values));
      const show = (x, points) => {
        at.textContent = x === null ? "" : nameX(x);
        values.forEach((value, i) => {
          const lone = x === null && series[i].points.length === 1 ? series[i].points[0][1] : null;
          const y = points.get(i) ?? lone;
          value.textContent = isNumber(y) ? format(y) : "";
        });
      };
      show(null, new Map());
      const labels = series.map((one, i) => "s" + i);
      const ofSeries = {};
      series.forEach((one, i) => {
        ofSeries[labels[i]] = {
          strokePattern: isNumber(one.level) ? [6, 4] : null,
          strokeWidth: isNumber(one.level) ? 1.25 : 1.75,
          drawPoints: !isNumber(one.level) && (one.isDots || one.points.length <= 40),
          pointSize: one.points.length === 1 ? 5 : 2.5,
        };
      });
      const chart = new Dygraph(place, rows, {
        labels: ["step", ...labels],
        series: ofSeries,
        colors: series.map((one, i) => colour(one.colour ?? i)),
        legend: "never",
        connectSeparatedPoints: true,
        dateWindow: limits,
        xRangePad: 0,
        includeZero: Boolean(powers || share) && !isLog,
        logscale: Boolean(isLog),
        ylabel: yName,
        yLabelWidth: 16,
        axisLineColor: style("--line"),
        gridLineColor: style("--grid"),
        gridLineWidth: 1,
        highlightCircleSize: 4,
        axisLabelFontSize: 12,
        axes: {
          x: powers ? {ticker: (low, high, pixels) => wholeTicks(low, high, pixels / 70).map(
                         (x) => ({v: x, label: powers.format(2 ** x)}))}
                    : {axisLabelFormatter: tick, pixelsPerLabel: 55},
          y: {axisLabelFormatter: short, axisLabelWidth: 48, pixelsPerLabel: 36,
              ...(isLog ? {ticker: decimalTicks} : {})},
        },
        interactionModel: interactions(),
        highlightCallback: (event, x, points) => {
          show(x, new Map(points.map((point) => [labels.indexOf(point.name), point.yval])));
        },
        unhighlightCallback: () => show(null, new Map()),
        zoomCallback: () => { reset.hidden = false; },
      });
      const back = () => {
        chart.updateOptions({dateWindow: limits, valueRange: null});
        reset.hidden = true;
      };
      reset.onclick = back;
      place.ondblclick = back;
      reset.hidden = true;
      const sizes = new ResizeObserver(() => chart.resize());
      sizes.observe(place);
      return () => {
        sizes.disconnect();
        chart.destroy();
      };
    });
  }

  // ---- Bars and points --------------------------------------------------------------------------

  function shortened(name, letters) {
    const all = [...name];
    return all.length <= letters ? name : all.slice(0, letters - 1).join("") + "\u2026";
  }

  function base(format, xName) {
    const axis = {
      grid: {color: style("--grid"), borderColor: style("--line")},
      ticks: {color: style("--muted"), font: {size: 12}},
      title: {display: false, color: style("--muted"), font: {size: 12}},
    };
    return {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      plugins: {
        legend: {display: false},
        tooltip: {
          callbacks: {label: (item) => ` ${item.dataset.label}: ${format(item.parsed.x)}`},
        },
      },
      scales: {
        x: {...axis, beginAtZero: true,
            title: {...axis.title, display: Boolean(xName), text: xName},
            ticks: {...axis.ticks, maxRotation: 0, autoSkipPadding: 28, includeBounds: false, callback: (value) => format(value, true)}},
        y: {...axis, grid: {display: false}},
      },
    };
  }

  function chart(panel, height, named, configOf) {
    const legendPlace = el("div"), place = el("div", "bars");
    place.style.height = height + "px";
    const canvas = el("canvas");
    place.append(canvas);
    panel.append(legendPlace, place);
    add(() => {
      if (named.length > 1) legendPlace.replaceChildren(legendOf(named, " block"));
      const drawn = new Chart(canvas, configOf());
      return () => drawn.destroy();
    });
  }

  // A name in lines of at most this many letters, broken behind punctuation and spaces; five at most.
  function wrapped(name, letters) {
    const lines = [""];
    for (const part of name.match(/[^\s_+\-.,/]*[\s_+\-.,/]?/gu)) {
      for (const piece of part.match(new RegExp(`.{1,${letters}}`, "gsu")) || []) {
        const last = lines.length - 1;
        if (lines[last] && [...lines[last] + piece].length > letters) lines.push(piece);
        else lines[last] += piece;
      }
    }
    return lines.length <= 5 ? lines : [...lines.slice(0, 4), shortened(lines.slice(4).join(""), letters)];
  }

  // Writes at the end of each bar that the axis cuts how long it is.
  const cutMarks = (totals, limit, format) => ({afterDatasetsDraw: ({ctx, chartArea, scales}) => {
    ctx.save();
    ctx.font = "600 12px system-ui, sans-serif";
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    totals.forEach((total, i) => {
      if (total <= limit) return;
      const text = `\u2215\u2215 ${format(total)}`, y = scales.y.getPixelForValue(i);
      const width = ctx.measureText(text).width + 8;
      ctx.fillStyle = style("--panel");
      ctx.fillRect(chartArea.right - width, y - 10, width, 20);
      ctx.fillStyle = style("--text");
      ctx.fillText(text, chartArea.right, y);
    });
    ctx.restore();
  }});

  // Horizontal: a line a label. series: [{name, values, colour}]; format(value, isOfAxis).
  // isBestShortest: bars are cut at three times the shortest.
  function bars(panel, labels, series, {isStacked, format, xName, isBytes, isBestShortest}) {
    const names = labels.map((label) => wrapped(label, window.innerWidth < 600 ? 16 : 30));
    const lines = Math.max(1, ...names.map((name) => name.length));
    const perLabel = Math.max(isStacked || series.length === 1 ? 24 : 14 * series.length + 10,
                              15 * lines + 6);
    const totals = labels.map((_, i) => series.reduce((sum, one) => sum + one.values[i], 0));
    const limit = isBestShortest ? 3 * Math.min(...totals.filter((total) => total > 0)) : Infinity;
    const isCut = totals.some((total) => total > limit);
    if (isCut) {
      const cut = labels.filter((_, i) => totals[i] > limit);
      panel.append(el("p", "panel-note cut",
                      `\u2215\u2215 cut at three times the shortest: ${cut.join(", ")}`));
    }
    chart(panel, (xName ? 66 : 46) + perLabel * labels.length, series, () => {
      const options = base(format, xName);
      options.indexAxis = "y";
      options.plugins.tooltip.mode = "index";
      options.interaction = {mode: "index", axis: "y", intersect: false};
      options.scales.x.stacked = options.scales.y.stacked = Boolean(isStacked);
      if (isBytes) {
        const most = Math.max(1, ...series.flatMap((one) => one.values));
        options.scales.x.ticks.stepSize = binaryStep(most);
      }
      if (isCut) options.scales.x.max = limit;
      options.scales.y.ticks.callback = (value, i) => names[i];
      options.scales.y.ticks.autoSkip = false;
      return {
        type: "bar",
        plugins: isCut ? [cutMarks(totals, limit, format)] : [],
        data: {
          labels,
          datasets: series.map((one, i) => ({
            label: one.name, data: one.values, backgroundColor: colour(one.colour ?? i),
            maxBarThickness: 18, borderRadius: 2,
          })),
        },
        options,
      };
    });
  }

  // The least power of two that cuts a range into no more than six parts.
  function binaryStep(range) {
    return 2 ** Math.ceil(Math.log2(Math.max(range, 1) / 6));
  }

  function multiplesOf(step, axis) {
    const ticks = [];
    for (let at = Math.ceil(axis.min / step) * step; at <= axis.max; at += step) {
      ticks.push({value: at});
    }
    return ticks;
  }

  // points: [{name, x, y}], a colour each, x in bytes; levels: [{name, y}], dashed lines across.
  function points(panel, list, levels, {xName, yName, xFormat, yFormat}) {
    const dashed = levels.map(({name}) => ({name, stroke: "var(--muted)"}));
    chart(panel, 320, [...list, ...dashed], () => {
      const options = base(xFormat, xName);
      options.scales.x.beginAtZero = false;
      const widths = list.map((point) => point.x);
      let low = Math.min(...widths), high = Math.max(...widths);
      const isLogarithmic = high > 6 * low;
      const margin = low === high ? low / 2 : (high - low) * 0.08;
      [low, high] = isLogarithmic ? [low * 0.75, high * 1.33] : [low - margin, high + margin];
      options.scales.x.type = isLogarithmic ? "logarithmic" : "linear";
      options.scales.x.min = low;
      options.scales.x.max = high;
      options.scales.x.afterBuildTicks = (axis) => {
        axis.ticks = isLogarithmic ? powersOfTwo(axis) : multiplesOf(binaryStep(high - low), axis);
      };
      options.scales.y.grace = "8%";
      options.scales.y.grid = {color: style("--grid"), borderColor: style("--line")};
      options.scales.y.title = {...options.scales.y.title, display: true, text: yName};
      options.scales.y.ticks.callback = (value) => yFormat(value, true);
      options.plugins.tooltip.callbacks.label = (item) =>
        ` ${item.dataset.label}: ${xFormat(item.parsed.x)}, ${yFormat(item.parsed.y)}`;
      options.interaction = {mode: "nearest", intersect: false};
      options.layout = {padding: {right: 12}};
      const datasets = list.map((point, i) => ({
        label: shortened(point.name, 40), data: [{x: point.x, y: point.y}],
        backgroundColor: colour(i), borderColor: colour(i), pointRadius: 6, pointHoverRadius: 8,
      }));
      for (const level of levels) {
        datasets.push({
          label: shortened(level.name, 40), type: "line", pointRadius: 0, borderWidth: 1.5,
          data: [{x: low, y: level.y}, {x: high, y: level.y}], borderDash: [6, 4],
          borderColor: style("--muted"), backgroundColor: style("--muted"),
        });
      }
      return {type: "scatter", data: {datasets}, options};
    });
  }

  // Predictions over measurements, both in ms, on logarithmic axes, with the line where they are
  // equal. list: [{name, points: [{name, measured, predicted}]}], a colour each.
  function against(panel, list) {
    const all = list.flatMap((one) => one.points.flatMap((at) => [at.measured, at.predicted]));
    const low = Math.min(...all) * 0.7, high = Math.max(...all) * 1.4;
    const format = (value) => short(+value.toPrecision(3)) + " ms";
    chart(panel, 400, [...list, {name: "equal", stroke: "var(--muted)"}], () => {
      const options = base(format, "measured, ms a step");
      for (const [name, title] of [["x", "measured, ms a step"], ["y", "predicted, ms a step"]]) {
        Object.assign(options.scales[name], {
          type: "logarithmic", min: low, max: high,
          grid: {color: style("--grid"), borderColor: style("--line")},
          title: {display: true, text: title, color: style("--muted"), font: {size: 12}},
          afterBuildTicks: (axis) => { axis.ticks = powersOfTwo(axis); },
        });
        options.scales[name].ticks.callback = (value) => short(+value.toPrecision(3));
      }
      options.plugins.tooltip.callbacks.label = (item) => item.raw.name
        ? ` ${shortened(item.raw.name, 40)}: measured ${format(item.raw.x)}, predicted ${format(item.raw.y)}`
        : "";
      options.interaction = {mode: "nearest", intersect: false};
      const datasets = list.map((one, i) => ({
        label: shortened(one.name, 40), backgroundColor: colour(i), borderColor: colour(i),
        pointRadius: 5, pointHoverRadius: 7,
        data: one.points.map((at) => ({x: at.measured, y: at.predicted, name: at.name})),
      }));
      datasets.push({
        label: "equal", type: "line", pointRadius: 0, borderWidth: 1.5,
        data: [{x: low, y: low}, {x: high, y: high}], borderDash: [6, 4],
        borderColor: style("--muted"), backgroundColor: style("--muted"),
      });
      return {type: "scatter", data: {datasets}, options};
    });
  }

  function powersOfTwo(axis) {
    const ticks = [];
    const first = Math.ceil(Math.log2(axis.min)), last = Math.floor(Math.log2(axis.max));
    const step = Math.max(1, Math.ceil((last - first) / 6));
    for (let power = first; power <= last; power += step) ticks.push({value: 2 ** power});
    return ticks.length ? ticks : [{value: axis.min}];
  }

  return {draw, curve, bars, points, against};
})();
