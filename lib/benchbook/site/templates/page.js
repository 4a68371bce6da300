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

// What is folded is printed too.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open]):not(.code):not(.appendix)")];
  folded.forEach((each) => { each.open = true; });
});
addEventListener("afterprint", () => folded.forEach((each) => { each.open = false; }));

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
document.querySelectorAll("figure.bb-figure img, .picture img").forEach((picture) => {
  const open = control("enlarge", "Enlarge", () => {
    shown.src = picture.src;
    shown.alt = picture.alt;
    zoom.showModal();
    resize(0);
  });
  open.setAttribute("aria-label", `Enlarge: ${picture.alt.split(/[.;:(]/)[0]}`);
  picture.after(open);
});
