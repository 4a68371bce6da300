const toggle = document.querySelector(".toggle");
const blocks = document.querySelectorAll("details.code");
toggle.hidden = blocks.length === 0;
toggle.addEventListener("click", () => {
  const open = toggle.getAttribute("aria-pressed") !== "true";
  toggle.setAttribute("aria-pressed", String(open));
  toggle.textContent = open ? "Hide all code" : "Show all code";
  blocks.forEach((block) => { block.open = open; });
});
