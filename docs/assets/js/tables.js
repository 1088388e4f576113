/* Two enhancements; without them every table is complete and readable.
   1. A table that scrolls sideways can be reached and scrolled with the keyboard.
   2. <div class="kv-table" data-kv-table="models"> becomes searchable, filterable and sortable:
      th[data-sort="number|text"] sorts by td[data-value] or the cell's text, th[data-filter] gets a menu. */
(() => {
  "use strict";

  const make = (tag, props = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), props);
    node.append(...children);
    return node;
  };

  /* What a cell says, without the card behind a stated number. */
  const textOf = (cell) => {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll(".kv-pop").forEach((pop) => pop.remove());
    return copy.textContent.trim().replace(/\s+/g, " ");
  };

  function reachable(scroller) {
    const name = scroller.querySelector("caption")?.textContent.trim() || scroller.dataset.kvTable || "Table";
    const update = () => {
      const scrolls = scroller.scrollWidth > scroller.clientWidth || scroller.scrollHeight > scroller.clientHeight;
      if (!scrolls) return ["tabindex", "role", "aria-label"].forEach((key) => scroller.removeAttribute(key));
      scroller.tabIndex = 0;
      scroller.setAttribute("role", "region");
      scroller.setAttribute("aria-label", `${name}, scrollable`);
    };
    new ResizeObserver(update).observe(scroller);
    update();
  }

  function sortable(box) {
    const table = box.querySelector("table");
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const rows = [...body.rows].map((row) => {
      const texts = [...row.cells].map(textOf);
      return { row, texts, all: texts.join(" ").toLowerCase() };
    });
    const noun = box.dataset.kvTable || "rows";

    const status = make("p");
    status.setAttribute("role", "status");
    const search = make("input", { type: "search", autocomplete: "off", spellcheck: false });
    const filters = heads.flatMap((head, column) => {
      if (!("filter" in head.dataset)) return [];
      const values = [...new Set(rows.map(({ texts }) => texts[column]))].sort();
      const select = make("select", {}, new Option("all", ""), ...values.map((value) => new Option(value, value)));
      return [{ column, select, label: make("label", {}, textOf(head), select) }];
    });

    const show = () => {
      const words = search.value.toLowerCase().split(/\s+/);
      let shown = 0;
      for (const { row, texts, all } of rows) {
        const fits = words.every((word) => all.includes(word))
          && filters.every(({ column, select }) => !select.value || texts[column] === select.value);
        row.hidden = !fits;
        shown += fits;
      }
      status.textContent = shown === rows.length ? `${rows.length} ${noun}` : `${shown} of ${rows.length} ${noun}`;
    };

    const sort = (head, column) => {
      const order = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      const sign = order === "ascending" ? 1 : -1;
      const key = ({ row, texts }) => {
        const value = row.cells[column].dataset.value ?? texts[column];
        return head.dataset.sort === "number" ? parseFloat(value) : value;
      };
      const compare = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (typeof x === "string") return sign * x.localeCompare(y, "en", { numeric: true });
        return isNaN(x) - isNaN(y) || sign * (x - y) || 0;   /* what has no number comes last, either way */
      };
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      body.append(...[...rows].sort(compare).map(({ row }) => row));
    };

    heads.forEach((head, column) => {
      if (!head.dataset.sort) return;
      const button = make("button", { type: "button", className: "kv-sort" }, ...head.childNodes);
      button.addEventListener("click", () => sort(head, column));
      head.append(button);
    });
    search.addEventListener("input", show);
    filters.forEach(({ select }) => select.addEventListener("change", show));
    show();
    box.before(make("div", { className: "kv-table-tools" },
      make("label", {}, `Search ${noun}`, search), ...filters.map(({ label }) => label), status));
  }

  const enhance = () => {
    document.querySelectorAll("[data-kv-table]").forEach((box) => { sortable(box); reachable(box); });
    document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset table:not([class])").forEach((scroller) => {
      if (!scroller.closest(".kv-table")) reachable(scroller);
    });
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", enhance);
  else enhance();
})();
