/* Enhancements; without them every table is complete and readable.
   1. A table that scrolls sideways can be reached and scrolled with the keyboard.
   2. <div class="kv-table" data-kv-table="models"> becomes searchable, filterable and sortable:
      th[data-sort="number|text"] sorts by td[data-value] or the cell's text, th[data-filter] gets a menu of
      the column's values.
   3. Material's copy buttons each sit in a landmark of their own, nameless and many; the landmark goes. */
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

  function reachable(scroller, number) {
    const name = scroller.querySelector("caption")?.textContent.trim() || `Table ${number + 1}`;
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
      const values = texts.map((text, column) => row.cells[column].dataset.value ?? text);
      return { row, values, all: texts.join(" ").toLowerCase() };
    });
    const noun = box.dataset.kvTable || "rows";

    const status = make("p");
    status.setAttribute("role", "status");
    const search = make("input", { type: "search", autocomplete: "off", spellcheck: false });
    const filters = heads.flatMap((head, column) => {
      if (!("filter" in head.dataset)) return [];
      const choices = [...new Set(rows.map(({ values }) => values[column]))].sort();
      const select = make("select", {}, new Option("all", ""), ...choices.map((value) => new Option(value)));
      return [{ column, select, label: make("label", {}, textOf(head), select) }];
    });

    const show = () => {
      const words = search.value.toLowerCase().split(/\s+/);
      let shown = 0;
      for (const { row, values, all } of rows) {
        const fits = words.every((word) => all.includes(word))
          && filters.every(({ column, select }) => !select.value || values[column] === select.value);
        row.hidden = !fits;
        shown += fits;
      }
      status.textContent = shown === rows.length ? `${rows.length} ${noun}` : `${shown} of ${rows.length} ${noun}`;
    };

    const sort = (head, column) => {
      const order = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      const sign = order === "ascending" ? 1 : -1;
      const key = ({ values }) => head.dataset.sort === "number" ? parseFloat(values[column]) : values[column];
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
      if (head.dataset.sort === "number") rows.forEach(({ row }) => row.cells[column].classList.add("kv-num"));
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

  /* Once everything is loaded, Material has wrapped the tables and made the copy buttons. */
  addEventListener("load", () => {
    document.querySelectorAll("[data-kv-table]").forEach(sortable);
    [...document.querySelectorAll(".kv-table, .md-typeset__scrollwrap")]
      .filter((scroller) => !scroller.parentElement.closest(".kv-table")).forEach(reachable);
    document.querySelectorAll(".md-code__nav").forEach((nav) => nav.setAttribute("role", "none"));
  });
})();
