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

// What is folded is printed too.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open]):not(.code)")];
  folded.forEach((each) => { each.open = true; });
});
addEventListener("afterprint", () => folded.forEach((each) => { each.open = false; }));
