"""Tables of prose as cards: their cells have the titles of their columns, and no others do."""

from kvdocs.site.stacked import labelled

ROW = '<tr><td>one</td><td style="text-align: right;">two</td></tr>'
TABLE = f'<table><tr><th>The <em>first</em></th><th>"B" &amp; C</th></tr>{ROW}{ROW}</table>'


def test_cells_are_labelled_row_by_row():
    html = labelled(f'<div class="kv-stack">\n{TABLE}\n</div>')
    assert html.count('<td data-label="The first">one</td>') == 2
    assert html.count('<td data-label="&quot;B&quot; &amp; C" style="text-align: right;">') == 2


def test_other_tables_stay_as_they_are():
    html = f'{TABLE}<div class="kv-stack">{TABLE}</div>{TABLE}'
    assert labelled(html).count("data-label") == 4
    assert labelled(TABLE) == TABLE
