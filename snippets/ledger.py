"""Every number the pages state, checked, as one table."""

from pathlib import Path

from kvdocs.site.numbers import check_all
from kvdocs.site.pages import pages
from kvdocs.site.scope import scope
from kvdocs.site.tables import ledger_html

print(ledger_html(check_all(pages([Path("docs")]), scope())))
