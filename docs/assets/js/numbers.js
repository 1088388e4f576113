/* An enhancement: Escape closes the card that hover or focus shows, and it stays closed until pointer and
   focus have left the number. A pinned card is a native popover and closes by itself. */
(() => {
  "use strict";

  const here = ".kv:is(:hover, :has(:focus-visible))";

  addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    document.querySelectorAll(here).forEach((number) => number.classList.add("kv-dismissed"));
  });

  const forget = () => document.querySelectorAll(`.kv-dismissed:not(${here})`)
    .forEach((number) => number.classList.remove("kv-dismissed"));
  ["pointerover", "pointerout", "focusin", "focusout"].forEach((event) => addEventListener(event, forget));
})();
