"use strict";
// The page is complete without this: here it learns to say what every chart shows at one moment.
(() => {
  const readouts = JSON.parse(document.getElementById("readouts").textContent);
  const charts = [...document.querySelectorAll("svg.chart")];
  if (!charts.length) return;
  document.documentElement.classList.add("scripted");

  const cursors = charts.map((chart) => {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    line.setAttribute("class", "cursor");
    line.setAttribute("y1", chart.dataset.top);
    line.setAttribute("y2", chart.dataset.floor);
    line.setAttribute("visibility", "hidden");
    chart.append(line);
    return line;
  });
  const outputs = [...document.querySelectorAll("output.readout")];
  outputs.forEach((output) => (output.dataset.note = output.textContent));
  const span = (chart) => ["left", "right", "seconds"].map((name) => Number(chart.dataset[name]));

  const said = (value, unit) => {
    if (value === null || value === undefined) return "–";
    if (unit === "/s") return Math.round(value) + unit;
    return value < 1 ? (value * 1000).toFixed(1) + " ms" : value.toFixed(2) + unit;
  };
  const words = (readout, at) => {
    const bucket = Math.floor(at / readout.width);
    const figures = (readout.series || []).map((one) => one.label + " " + said(one.values[bucket], readout.unit));
    const strips = (readout.strips || []).map((one) => {
      const now = one.stretches.find(([begin, end]) => begin <= at && at < end);
      return one.label + " " + (now ? now[2] : "–");
    });
    return [at.toFixed(2) + " s", ...figures, ...strips].join("   ·   ");
  };

  let now = null;
  const show = (at) => {
    now = at;
    charts.forEach((chart, number) => {
      const [left, right, seconds] = span(chart);
      const x = left + (at / seconds) * (right - left);
      cursors[number].setAttribute("x1", x);
      cursors[number].setAttribute("x2", x);
      cursors[number].setAttribute("visibility", "visible");
    });
    outputs.forEach((output) => {
      output.textContent = words(readouts[output.dataset.for], at);
    });
  };
  const hide = () => {
    now = null;
    cursors.forEach((line) => line.setAttribute("visibility", "hidden"));
    outputs.forEach((output) => (output.textContent = output.dataset.note));
  };

  charts.forEach((chart) => {
    const [left, right, seconds] = span(chart);
    const within = (at) => Math.min(Math.max(at, 0), seconds);
    chart.addEventListener("pointermove", (event) => {
      const box = chart.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
      show(within(((x - left) / (right - left)) * seconds));
    });
    chart.addEventListener("pointerleave", hide);
    chart.addEventListener("keydown", (event) => {
      const step = (seconds / 200) * (event.shiftKey ? 10 : 1);
      const to = { ArrowLeft: (now ?? seconds) - step, ArrowRight: (now ?? 0) + step, Home: 0, End: seconds }[event.key];
      if (event.key === "Escape") return hide();
      if (to === undefined) return;
      event.preventDefault();
      show(within(to));
    });
  });

  // On paper nothing can be unfolded.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
})();
