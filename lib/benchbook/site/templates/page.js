const toggle = document.querySelector(".toggle");
const blocks = document.querySelectorAll("details.code");
toggle.hidden = blocks.length === 0;
toggle.addEventListener("click", () => {
  const open = toggle.getAttribute("aria-pressed") !== "true";
  toggle.setAttribute("aria-pressed", String(open));
  toggle.textContent = open ? "Hide all code" : "Show all code";
  blocks.forEach((block) => { block.open = open; });
});

// A box that holds more than it shows says so, on the side where there is more.
const boxes = document.querySelectorAll(".scroll, .bb-figure, .picture");
const mark = (box) => {
  const left = box.scrollLeft > 1;
  const right = box.scrollLeft + box.clientWidth < box.scrollWidth - 1;
  box.classList.toggle("wide", box.scrollWidth > box.clientWidth + 1);
  box.classList.toggle("more-left", left);
  box.classList.toggle("more-right", right);
};
const watch = new ResizeObserver((seen) => seen.forEach(({ target }) => mark(target)));
boxes.forEach((box) => {
  watch.observe(box);
  box.addEventListener("scroll", () => mark(box), { passive: true });
});

// A link into a fold opens it.
const reveal = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = target && target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  const own = target && target.querySelector("details");
  if (target && target.matches("tr") && own) own.open = true;
};
addEventListener("hashchange", reveal);
reveal();

// The contents show where the reader is: the last section whose heading she has passed.
const links = [...document.querySelectorAll(".contents .aside a")];
const here = () => {
  const passed = links.filter((link) => document.getElementById(decodeURIComponent(link.hash.slice(1)))
    ?.getBoundingClientRect().top < innerHeight / 3);
  links.forEach((link) => link.removeAttribute("aria-current"));
  passed.at(-1)?.setAttribute("aria-current", "true");
};
addEventListener("scroll", here, { passive: true });
here();

// What is folded is printed too; how each claim was tested comes last, so that the first pages are a summary.
const LAST = ".about, .rest:not(.other-runs), .bb-claims td > details";
let folded = [];
const tested = document.createElement("section");
tested.className = "tested";
addEventListener("beforeprint", () => {
  const last = [...document.querySelectorAll(LAST)].filter((fold) => !fold.parentElement.closest(LAST));
  folded = [...document.querySelectorAll("details:not([open], .code, .appendix)")].filter((fold) => !fold.closest(LAST));
  folded.forEach((each) => { each.open = true; });
  const title = document.createElement("h2");
  title.textContent = "How it was run, and how each claim was tested";
  tested.replaceChildren(...(last.length ? [title] : []), ...last.map((fold) => fold.cloneNode(true)));
  tested.querySelectorAll("details:not(.code)").forEach((fold) => { fold.open = true; });
  document.querySelector("main").append(tested);
});
addEventListener("afterprint", () => {
  folded.forEach((each) => { each.open = false; });
  tested.remove();
});

// A figure opens in the whole window at any size: drawn as SVG it stays sharp, so that a second of a series can be seen.
const MOST = 16;
const STEP = 1.5;
const zoom = document.createElement("dialog");
zoom.className = "zoom";
zoom.setAttribute("aria-label", "Figure, enlarged");
const control = (name, text, act) => {
  const button = document.createElement("button");
  button.type = "button";
  button.className = name;
  button.textContent = text;
  button.addEventListener("click", act);
  return button;
};
const bar = document.createElement("p");
const view = document.createElement("div");
view.className = "view";
view.tabIndex = 0;
view.setAttribute("role", "region");
view.setAttribute("aria-label", "The figure: scroll or drag it, + and - change its size");
const shown = document.createElement("img");
view.append(shown);
let scale = 1;
// The point under the pointer, else the middle of the view, stays where it is.
const resize = (factor, x = view.clientWidth / 2, y = view.clientHeight / 2) => {
  const next = Math.min(MOST, Math.max(1, scale * factor));
  const left = (view.scrollLeft + x) * next / scale - x;
  const top = (view.scrollTop + y) * next / scale - y;
  scale = next;
  shown.style.width = `${100 * scale}%`;
  view.scrollTo({ left, top, behavior: "instant" });
};
bar.append(
  control("larger", "Larger", () => resize(STEP)),
  control("smaller", "Smaller", () => resize(1 / STEP)),
  control("whole", "Whole figure", () => resize(0)),
  control("close", "Close", () => zoom.close()),
);
zoom.append(bar, view);
view.addEventListener("wheel", (event) => {
  event.preventDefault();
  const box = view.getBoundingClientRect();
  resize(event.deltaY < 0 ? STEP : 1 / STEP, event.clientX - box.left, event.clientY - box.top);
}, { passive: false });
view.addEventListener("pointermove", (event) => {
  if (event.pointerType === "mouse" && event.buttons === 1) view.scrollBy(-event.movementX, -event.movementY);
});
shown.addEventListener("dragstart", (event) => event.preventDefault());
zoom.addEventListener("keydown", (event) => {
  const factor = { "+": STEP, "=": STEP, "-": 1 / STEP, 0: 0 }[event.key];
  if (factor !== undefined) resize(factor);
});
document.body.append(zoom);
document.querySelectorAll("figure.bb-figure, .picture").forEach((figure) => {
  const picture = () => figure.querySelector("picture:not([hidden]) img") ?? figure.querySelector("img");
  if (!picture()) return;
  const open = control("enlarge", "Enlarge", () => {
    shown.src = picture().currentSrc;
    shown.alt = picture().alt;
    zoom.showModal();
    resize(0);
  });
  open.setAttribute("aria-label", `Enlarge: ${picture().alt.split(/[.;:(]/)[0]}`);
  ([...figure.querySelectorAll("picture")].at(-1) ?? picture()).after(open);
});

// Tables: sorted by any column, filtered by what their rows are of (which stands in the address), saved as they are shown.
// A row that shares a cell with the row above it cannot leave it.
const tables = [...document.querySelectorAll(".scroll > table")].filter((table) => table.tHead
  && !table.querySelector("tbody [rowspan]:not([rowspan='1'])"));
// A frame with a named index has the heads of its other columns in a row above.
const heads = (table) => {
  const last = [...table.tHead.rows].at(-1).cells;
  const lines = [...table.tHead.rows].filter((row) => row.cells.length === last.length
    && [...row.cells].every((cell) => cell.colSpan === 1)).reverse();
  return [...last].map((head, at) => lines.map((row) => row.cells[at]).find((cell) => text(cell)) ?? head);
};
const rows = (table) => [...table.tBodies].flatMap((part) => [...part.rows]);
const text = (cell) => (cell?.querySelector("summary, .pill") ?? cell)?.textContent.replace(/\s+/g, " ").trim() ?? "";
const number = (words) => parseFloat(words.replace(/[,\s]/g, "").replace("−", "-"));
const order = (one, other) => (Number.isNaN(number(one)) || Number.isNaN(number(other))
  ? one.localeCompare(other) : number(one) - number(other));
const sort = (table, at, wanted) => {
  const head = heads(table)[at];
  const way = wanted ?? (head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending");
  heads(table).forEach((each) => each.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", way);
  const sign = way === "ascending" ? 1 : -1;
  const sorted = rows(table).sort((one, other) => sign * order(text(one.cells[at]), text(other.cells[at])));
  table.tBodies[0].append(...sorted);
};
tables.forEach((table) => {
  const there = rows(table);
  if (there.length < 3 || there.some((row) => row.cells.length !== heads(table).length)) return;
  heads(table).forEach((head, at) => {
    if (!text(head)) return;
    const button = control("sort", "", () => sort(table, at));
    button.append(...head.childNodes);
    head.append(button);
  });
  // On a phone the heads are not shown.
  const line = document.createElement("p");
  const select = document.createElement("select");
  select.setAttribute("aria-label", `Sort ${table.closest("figure.table").id.replace("-", " ")} by`);
  const unsorted = new Option("as it comes", "");
  unsorted.disabled = true;
  select.append(unsorted, ...heads(table).flatMap((head, at) => (text(head)
    ? [new Option(`${text(head)} ▲`, `${at} ascending`), new Option(`${text(head)} ▼`, `${at} descending`)] : [])));
  select.value = "";
  select.addEventListener("change", () => {
    const [at, way] = select.value.split(" ");
    sort(table, Number(at), way);
  });
  line.className = "sorting";
  line.append("Sort by ", select);
  table.parentElement.before(line);
});

const KINDS = ["workload", "system", "state"];
const kind = (words) => words.replace(/[✓✕?↑–○]|\(smoke\)/g, "").trim();
const column = (table, name) => heads(table).findIndex((head) => text(head).toLowerCase() === name);
const chosen = new URLSearchParams(location.search);
const kept = document.createElement("span");
kept.setAttribute("role", "status");
const filter = () => {
  let [seen, all] = [0, 0];
  tables.forEach((table) => rows(table).forEach((row) => {
    row.hidden = KINDS.some((name) => chosen.has(name) && column(table, name) >= 0
      && kind(text(row.cells[column(table, name)])) !== chosen.get(name));
    seen += !row.hidden;
    all += 1;
  }));
  // A fold is open while rows of it are what was asked for.
  tables.forEach((table) => {
    const fold = table.closest("details.rest");
    if (fold && KINDS.some((name) => chosen.has(name) && column(table, name) >= 0)) fold.open = rows(table).some((row) => !row.hidden);
  });
  kept.textContent = seen < all ? `${seen} of ${all} rows of all tables` : "";
};
const choose = (name, value) => {
  if (value) chosen.set(name, value);
  else chosen.delete(name);
  const query = String(chosen);
  history.replaceState(null, "", `${query ? `?${query}` : location.pathname}${location.hash}`);
  filter();
};
KINDS.forEach((name) => {
  const having = tables.filter((table) => column(table, name) >= 0);
  const values = new Set(having.flatMap((table) => rows(table).map((row) => kind(text(row.cells[column(table, name)])))));
  // An address of another page may choose what is not here.
  if (!values.has(chosen.get(name))) chosen.delete(name);
  if (values.size < 2) return;
  const label = document.createElement("label");
  const select = document.createElement("select");
  select.append(new Option("all", ""), ...[...values].sort().map((value) => new Option(value, value)));
  select.value = chosen.get(name) ?? "";
  select.addEventListener("change", () => choose(name, select.value));
  label.append(`${name} `, select);
  toggle.before(label);
});
toggle.before(kept);
filter();

const quoted = (words) => (/[",]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words);
const TEX = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" };
const tex = (words) => words.replace(/[\\&%$#_{}~^]/g, (sign) => TEX[sign] ?? `\\${sign}`);
const FORMS = {
  csv: (lines) => lines.map((line) => line.map(quoted).join(",")),
  tex: (lines) => [`\\begin{tabular}{${"l".repeat(lines[0].length)}}`, "\\hline",
    ...lines.flatMap((line, at) => [`${line.map(tex).join(" & ")} \\\\`, ...(at ? [] : ["\\hline"])]),
    "\\hline", "\\end{tabular}"],
  md: (lines) => lines.flatMap((line, at) => [`| ${line.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`,
    ...(at ? [] : [`|${" --- |".repeat(line.length)}`])]),
};
const save = (name, form, lines) => {
  const file = document.createElement("a");
  file.href = URL.createObjectURL(new Blob([`${FORMS[form](lines).join("\n")}\n`]));
  file.download = `${name}.${form}`;
  file.click();
  URL.revokeObjectURL(file.href);
};
const saving = (frame, form, lines) => {
  const button = control("file", form.toUpperCase(), () => save(frame.id, form, lines()));
  button.setAttribute("aria-label", `Save ${frame.id.replace("-", " ")} as ${form.toUpperCase()}`);
  frame.querySelector("figcaption").append(" ", button);
};
tables.forEach((table) => {
  const lines = () => [heads(table), ...rows(table).filter((row) => !row.hidden).map((row) => [...row.cells])]
    .map((line) => line.map(text));
  Object.keys(FORMS).forEach((form) => saving(table.closest("figure.table"), form, lines));
});

// A figure tells the value under the pointer or the finger, and gives all of them as CSV.
const written = (value) => (typeof value === "string" ? value
  : Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4))));
const told = document.createElement("p");
told.className = "value";
const spot = document.createElement("i");
spot.className = "spot";
const FAR = 30;
const words = ({ line, mark: [, , x, y, low, high] }) => {
  const interval = low === undefined ? "" : ` [${written(low)}, ${written(high)}]`;
  const [of_x, of_y] = [`${line.x} ${written(x)}`, `${line.y} ${written(y)}`].map((each) => each.trim());
  // A row has a name, and what it measures stands across.
  const measured = typeof y === "string" ? [y, line.name, of_x + interval] : [line.name, of_x, of_y + interval];
  return [line.panel, ...measured].filter(Boolean).join(" · ");
};
const hide = () => { told.hidden = spot.hidden = true; };
addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
document.querySelectorAll("figure.bb-figure").forEach((figure) => {
  const picture = () => figure.querySelector("picture:not([hidden])");
  const series = () => {
    const source = picture()?.querySelector("source");
    const drawn = source && matchMedia(source.media).matches ? source : picture()?.querySelector("img");
    return JSON.parse(drawn?.dataset.values || "[]");
  };
  let [known, of] = [[], null];
  const tell = (event) => {
    const image = picture()?.querySelector("img");
    if (event.target !== image) return;
    if (of !== picture()) [known, of] = [series(), picture()];
    const box = image.getBoundingClientRect();
    const style = getComputedStyle(image);
    const inset = (side) => parseFloat(style[`padding${side}`]) + parseFloat(style[`border${side}Width`]);
    const [left, top] = [box.left + inset("Left"), box.top + inset("Top")];
    const [width, height] = [box.right - inset("Right") - left, box.bottom - inset("Bottom") - top];
    const marks = known.flatMap((line) => line.marks.map((mark) => ({ line, mark })));
    const away = ({ mark }) => Math.hypot(left + mark[0] * width / 1000 - event.clientX, top + mark[1] * height / 1000 - event.clientY);
    const best = marks.reduce((one, other) => (away(one) <= away(other) ? one : other), marks[0]);
    told.hidden = spot.hidden = !best || away(best) >= FAR;
    if (told.hidden) return;
    const [across, down] = best.mark;
    // Marks on top of each other are told together.
    told.textContent = marks.filter(({ mark }) => mark[0] === across && mark[1] === down).map(words).join("\n");
    const frame = figure.getBoundingClientRect();
    const at = [left + across * width / 1000 - frame.left + figure.scrollLeft, top + down * height / 1000 - frame.top];
    figure.append(spot, told);
    spot.style.translate = `${at[0]}px ${at[1]}px`;
    const most = figure.scrollLeft + frame.width - told.offsetWidth;
    told.style.translate = `${Math.max(figure.scrollLeft, Math.min(most, at[0] + 12))}px ${at[1] + 14}px`;
  };
  figure.addEventListener("pointermove", tell);
  figure.addEventListener("pointerdown", tell);
  addEventListener("resize", () => { of = null; hide(); });
  figure.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
  if (figure.querySelector("figcaption") && series().length) {
    saving(figure, "csv", () => {
      const known = series();
      // Panels may measure different things: a row then says which.
      const label = (side) => (known.every((line) => line[side] === known[0][side]) && known[0][side]) || side;
      const ends = known.some((line) => line.marks.some((mark) => mark.length > 4)) ? ["low", "high"] : [];
      const panel = (line) => line.panel || (label("x") === "x" ? line.x : "");
      return [["panel", "series", label("x"), label("y"), ...ends], ...known.flatMap((line) => line.marks
        .map(([, , ...values]) => [panel(line), line.name, ...values, ...Array(2 + ends.length - values.length).fill("")].map(String)))];
    });
  }
});

// Relative values or the values themselves: chosen in one figure, shown in all of them, kept in the address.
const forms = [...document.querySelectorAll("figure.bb-figure")].filter((figure) => figure.querySelectorAll("picture").length > 1);
const rescale = () => forms.forEach((figure) => {
  const absolute = chosen.get("scale") === "absolute";
  const pictures = [...figure.querySelectorAll("picture")];
  pictures.forEach((each, at) => { each.hidden = absolute !== (at === 1); });
  figure.querySelector(".scale").textContent = absolute ? "Show relative values" : "Show absolute values";
  const label = figure.querySelector("figcaption .label");
  if (label) label.nextSibling.textContent = ` ${pictures[Number(absolute)].dataset.caption} `;
  figure.querySelectorAll("a.file").forEach((link) => {
    link.href = link.getAttribute("href").replace(/(-absolute)?\.(\w+)$/, absolute ? "-absolute.$2" : ".$2");
  });
});
forms.forEach((figure) => figure.querySelector(".enlarge").after(control("scale", "", () => {
  hide();
  choose("scale", chosen.get("scale") === "absolute" ? "" : "absolute");
  rescale();
})));
rescale();
