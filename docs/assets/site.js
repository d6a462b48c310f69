// Tables and formulas that are wider than the screen can be scrolled with the keyboard too.
addEventListener("load", () => {
  for (const each of document.querySelectorAll(".md-typeset__scrollwrap, .formula, .md-typeset pre > code"))
    if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
});
