"use strict";
/* The pages are complete without this: here a path learns to be copied by a click, and paper to show what is folded. */
document.querySelectorAll("code.path").forEach((one) => {
  one.addEventListener("click", () => {
    const told = () => {
      one.classList.add("copied");
      setTimeout(() => one.classList.remove("copied"), 1500);
    };
    if (navigator.clipboard) navigator.clipboard.writeText(one.textContent).then(told, () => undefined);
  });
});
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
