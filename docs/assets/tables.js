// Tables of five rows or more with a column of numbers can be sorted by a click on a column's head.
(function () {
  "use strict";

  function key(row, column) {
    var text = row.cells[column].textContent.trim().replace(/−/g, "-").replace(/,(?=\d{3})/g, "");
    var number = parseFloat(text.replace(/^[^\d+-]*(?=[+-]?\d)/, ""));
    return { text: text, number: /^[^a-z]*\d/i.test(text) ? number : NaN };
  }

  // Cells without a number stay last, whichever way numbers are sorted.
  function compare(a, b, sign) {
    if (isNaN(a.number) !== isNaN(b.number)) return isNaN(a.number) ? 1 : -1;
    return sign * (isNaN(a.number) ? a.text.localeCompare(b.text) : a.number - b.number);
  }

  function sort(table, head, column) {
    var down = head.getAttribute("aria-sort") === "ascending";
    var body = table.tBodies[0];
    var rows = Array.from(body.rows).map(function (row) { return [key(row, column), row]; });
    rows.sort(function (a, b) { return compare(a[0], b[0], down ? -1 : 1); });
    table.querySelectorAll("th").forEach(function (other) { other.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    rows.forEach(function (row) { body.appendChild(row[1]); });
  }

  // A column of which most cells begin with a number.
  function measured(table) {
    var rows = Array.from(table.tBodies[0].rows);
    return Array.from(table.tHead.rows[0].cells).some(function (_, column) {
      var found = rows.filter(function (row) { return !isNaN(key(row, column).number); });
      return 2 * found.length > rows.length;
    });
  }

  document.querySelectorAll(".md-typeset table:not([class])").forEach(function (table) {
    if (!table.tHead || table.tBodies[0].rows.length < 5 || !measured(table)) return;
    Array.from(table.tHead.rows[0].cells).forEach(function (head, column) {
      if (!head.textContent.trim()) return;
      var button = document.createElement("button");
      button.type = "button";
      button.append.apply(button, Array.from(head.childNodes));
      head.append(button);
      button.addEventListener("click", function () { sort(table, head, column); });
    });
  });
})();
