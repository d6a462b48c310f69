// Pages work without this: it leads a bookmark of the bare address to the private place, and copies commands.
"use strict";
(() => {
  const place = document.body.dataset.place || "";
  try {
    if (place) localStorage.setItem("tacit-place", place);
    const known = localStorage.getItem("tacit-place") || "";
    if (document.body.classList.contains("elsewhere") && /^\/at-[\w-]+$/.test(known)) location.replace(known + location.pathname + location.search);
  } catch { /* storage is turned off: the full address works */ }
  for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  });
})();
