"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const colour = (code) => `var(--c${code % 6})`;
const state = { method: data.names[0], words: "", key: 2, down: false, shown: 20 };
const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const drawn = (name, attributes) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};
const className = (code) => (code === null || code === undefined ? "" : data.classes[code]);
const number = (value) => (value === null ? "–" : value.toFixed(3));

function cells(unit) {
  return [unit[0], String(unit[1]), number(unit[2]), unit[3], unit[4]];
}

function found() {
  const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
  const lines = data.methods[state.method].units.filter((unit) => {
    const text = cells(unit).join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const key = state.key, sign = state.down ? -1 : 1;
  const value = (unit) => unit[key];
  return lines.sort((a, b) => {
    const x = value(a), y = value(b);
    if (x === y) return 0;
    if (x === null) return 1;
    if (y === null) return -1;
    if (typeof x === "string") return sign * x.localeCompare(y, undefined, { numeric: true });
    return sign * (x - y);
  });
}

function showGroups() {
  const lines = found();
  const body = document.querySelector("#groups tbody");
  body.replaceChildren(...lines.slice(0, state.shown).map((unit) => {
    const texts = cells(unit);
    const link = element("a", { href: "#group=" + encodeURIComponent(unit[0]) }, texts[0]);
    const row = element("tr", {}, element("td", {}, link));
    texts.slice(1).forEach((text, i) => {
      row.append(element("td", i === 2 && unit[5] ? { class: "wrong" } : {}, text));
    });
    return row;
  }));
  document.getElementById("count").textContent =
    `${lines.length} of ${data.methods[state.method].units.length} ${data.unit}s`;
  document.getElementById("more").hidden = lines.length <= state.shown;
}

function timeline(rows) {
  const n = rows.at.length, height = 100, width = 1000;
  const heights = rows.weight || rows.proba || rows.at.map(() => 1);
  const most = Math.max(...heights, 1e-9);
  const svg = drawn("svg", { id: "timeline", viewBox: `0 0 ${width} ${height}`,
    preserveAspectRatio: "none", role: "img", "aria-label": "rows of the group in order" });
  rows.predicted.forEach((code, i) => {
    const tall = Math.max(2, (heights[i] / most) * height);
    const bar = drawn("rect", { x: (i * width) / n, width: Math.max(1, width / n - 1),
      y: height - tall, height: tall, style: `fill:${colour(code)}` });
    const label = rows.label ? `, known ${className(rows.label[i])}` : "";
    const title = drawn("title", {});
    title.textContent = `row ${rows.at[i]}: ${className(code)}${label}, ${heights[i].toFixed(4)}`;
    bar.append(title);
    svg.append(bar);
  });
  return svg;
}

function moved(rows) {
  const order = rows.weight.map((_, i) => i).sort((a, b) => rows.weight[b] - rows.weight[a]);
  const top = order.slice(0, 3).map((i) => {
    const values = Object.entries(rows.values || {}).slice(0, 3)
      .map(([name, cells]) => `${name} ${cells[i] || "missing"}`).join(", ");
    return `row ${rows.at[i]} (${(100 * rows.weight[i]).toFixed(0)} %${values ? "; " + values : ""})`;
  });
  return `The rows that weigh most in what is predicted: ${top.join("; ")}.`;
}

function rowTable(rows) {
  const columns = [["at", "row"], ["predicted", "predicted"], ["number", "predicted"],
    ["label", "known"], ["proba", "probability"], ["weight", "weight"]]
    .filter(([key]) => rows[key] && rows[key].length);
  const values = Object.entries(rows.values || {});
  const head = element("tr", {}, ...columns.map(([, name]) => element("th", {}, name)),
    ...values.map(([name]) => element("th", { class: "value" }, name)));
  const body = rows.at.map((_, i) => element("tr", {}, ...columns.map(([key]) => {
    const value = rows[key][i];
    const text = key === "predicted" || key === "label" ? className(value)
      : key === "at" ? value : key === "number" ? value.toPrecision(4) : value.toFixed(3);
    const wrong = key === "predicted" && rows.label && rows.label[i] !== value;
    return element("td", wrong ? { class: "wrong" } : {}, text);
  }), ...values.map(([, cells]) => element("td", { class: "value" }, cells[i]))));
  const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
  return element("div", { class: "scroll" }, table);
}

function showGroup(name) {
  const method = data.methods[state.method];
  const unit = method.units.find((one) => one[0] === name);
  const page = document.getElementById("group");
  const back = element("a", { href: "#groups" }, "← all groups");
  page.replaceChildren(back, element("h1", {}, `${data.group} ${name}`));
  if (!unit) {
    page.append(element("p", {}, "This group is not in the page."));
  } else {
    page.append(element("p", { class: "lead" },
      `${unit[1]} ${unit[1] === 1 ? "row" : "rows"}, score ${number(unit[2])}. Predicted: ${unit[3]}.` +
      (unit[4] ? ` Known: ${unit[4]}.` : "") + ` (${state.method})`));
    const rows = method.rows[name];
    if (rows) {
      if (rows.weight && rows.at.length > 1) page.append(element("p", { id: "moved" }, moved(rows)));
      const seen = method.seen
        ? " As the model of all rows sees them, which has learned from this group." : "";
      const what = rows.weight ? "the row's weight towards its group's label"
        : rows.proba ? "the probability of the predicted class" : "nothing: all are alike";
      page.append(element("h2", {}, "Rows in order"));
      if (rows.number) {
        page.append(element("p", { class: "small" }, `The number of each row.${seen}`));
      } else {
        page.append(element("p", { class: "small" },
          `One bar per row; colour: predicted class; height: ${what}.${seen}`), timeline(rows));
        const key = element("p", {});
        data.classes.forEach((label, i) => key.append(element("span", { class: "key" },
          element("i", { style: `background:${colour(i)}` }), label)));
        page.append(key);
      }
      page.append(rowTable(rows));
      if (rows.at.length < unit[1])
        page.append(element("p", { class: "small" }, `The first ${rows.at.length} rows are here.`));
    } else {
      page.append(element("p", {}, "The rows of this group are not in the page; those of the " +
        "worst groups and of some others are."));
    }
  }
  page.hidden = false;
  document.getElementById("overview").hidden = true;
  window.scrollTo(0, 0);
}

function route() {
  const match = location.hash.match(/^#group=(.*)$/);
  if (match) return showGroup(decodeURIComponent(match[1]));
  document.getElementById("group").hidden = true;
  document.getElementById("overview").hidden = false;
  if (location.hash === "#groups") document.getElementById("groups").scrollIntoView();
}

const select = document.getElementById("method");
data.names.forEach((name) => select.append(element("option", { value: name }, name)));
select.addEventListener("change", () => { state.method = select.value; showGroups(); });
document.getElementById("search").addEventListener("input", (event) => {
  state.words = event.target.value;
  state.shown = 20;
  showGroups();
});
document.getElementById("more").addEventListener("click", () => { state.shown += 200; showGroups(); });
document.querySelectorAll("#groups th button").forEach((button) =>
  button.addEventListener("click", () => {
    const key = Number(button.dataset.key);
    state.down = key === state.key && !state.down;
    state.key = key;
    showGroups();
  }));
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
window.addEventListener("hashchange", route);
showGroups();
route();
