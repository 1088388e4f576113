"""What is done to a notebook's HTML before it is a page of this site."""

from kvdocs.site import notebooks

HEADING = '<h1 id="Both,-as-one">Both, as one<a class="headerlink" href="#Both,-as-one">¶</a></h1>'


def test_it_brings_no_style_sheet_of_its_own():
    assert notebooks.page("<p>a</p><style>['pre {}']\n</style>", "n/a.ipynb", "") == "<p>a</p>"


def test_headings_have_the_anchors_of_the_contents():
    html = notebooks.page(HEADING, "n/a.ipynb", "")
    assert 'id="both-as-one"' in html
    assert 'href="#both-as-one"' in html


def test_the_repository_decides_how_colab_opens_it():
    known = notebooks.page(HEADING, "n/a.ipynb", "owner/name")
    assert "https://colab.research.google.com/github/owner/name/blob/main/docs/n/a.ipynb" in known
    unknown = notebooks.page(HEADING, "n/a.ipynb", "")
    assert "owner" not in unknown
    for html in (known, unknown):
        assert '<a href="a.ipynb" download>Download the notebook</a>' in html
        assert html.count("https://colab.research.google.com/") == 1
