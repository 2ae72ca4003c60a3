"use strict";
/* The page is complete without this: here it learns to say every value where one points, and to change between light and dark. */
(() => {
  const root = document.documentElement;
  const button = document.getElementById("light");
  const kept = (look) => {
    try {
      if (look) localStorage.setItem("look", look);
      return localStorage.getItem("look");
    } catch {
      return null;
    }
  };
  if (kept()) root.dataset.look = kept();
  button.hidden = false;
  button.addEventListener("click", () => {
    const dark = root.dataset.look ? root.dataset.look === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.look = dark ? "light" : "dark";
    kept(root.dataset.look);
  });
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));

  const told = document.getElementById("readouts");
  if (!told) return;
  const all = JSON.parse(told.textContent);
  const MOST = 12;
  const digits = (number) => {
    if (Number.isInteger(number)) return String(number);
    return String(Number(number.toPrecision(3)));
  };
  const said = (one, value) => {
    const words = one.words[String(value)];
    if (words) return words;
    let rung = (value === 0 && one.unit.find((step) => step[1] === 1)) || one.unit[0];
    for (const higher of one.unit) if (value !== 0 && Math.abs(value) >= higher[0]) rung = higher;
    return digits(value / rung[1]) + rung[2];
  };
  const node = (name, look, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    made.setAttribute("class", look);
    if (text) made.textContent = text;
    return made;
  };
  const plots = [...document.querySelectorAll(".chart > .plot")].map((plot) => {
    const cursor = node("line", "cursor");
    cursor.setAttribute("y1", 0);
    cursor.setAttribute("y2", 1000);
    cursor.setAttribute("visibility", "hidden");
    plot.append(cursor);
    return { plot, cursor, panel: plot.closest(".panel") };
  });
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;

  const row = (one, value) => {
    const made = document.createElement("div");
    const key = node("svg", "key");
    key.setAttribute("width", 16);
    key.setAttribute("height", 10);
    const line = node("path", "line " + one.colour);
    line.setAttribute("d", "M1 5H15");
    key.append(line);
    const name = document.createElement("span");
    name.textContent = one.name;
    const figure = document.createElement("b");
    figure.textContent = said(one, value);
    made.append(key, name, figure);
    return made;
  };
  const show = (at, share) => {
    const place = Math.round(share * (all.points - 1));
    const x = (place / Math.max(1, all.points - 1)) * 2000;
    for (const { cursor } of plots) {
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      cursor.setAttribute("visibility", "visible");
    }
    const readout = all.panels[at.panel.id.replace("panel-", "")];
    if (!readout) return;
    const moment = document.createElement("time");
    moment.textContent = new Date((all.start + place * all.step) * 1000).toISOString().slice(0, 19).replace("T", " ");
    const known = readout.series
      .map((one) => [one, one.values[place]])
      .filter(([, value]) => value !== null && value !== undefined)
      .sort((one, other) => other[1] - one[1]);
    const rows = known.slice(0, MOST).map(([one, value]) => row(one, value));
    const rest = document.createElement("small");
    rest.textContent = known.length > MOST ? known.length - MOST + " more" : known.length ? "" : "nothing here";
    tip.replaceChildren(moment, ...rows, rest);
    at.panel.append(tip);
    tip.hidden = false;
    const box = at.panel.getBoundingClientRect();
    const plot = at.plot.getBoundingClientRect();
    const beside = plot.left - box.left + (x / 2000) * plot.width;
    tip.style.left = (beside > box.width / 2 ? Math.max(4, beside - tip.offsetWidth - 12) : Math.min(beside + 12, box.width - tip.offsetWidth - 4)) + "px";
    tip.style.top = plot.top - box.top + 6 + "px";
  };
  const hide = () => {
    tip.hidden = true;
    plots.forEach(({ cursor }) => cursor.setAttribute("visibility", "hidden"));
  };
  for (const one of plots) {
    one.plot.addEventListener("pointermove", (event) => {
      const box = one.plot.getBoundingClientRect();
      show(one, Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)));
    });
    one.plot.addEventListener("pointerleave", hide);
  }
})();
