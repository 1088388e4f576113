"""The site: pages from facts, formula and evidence, and the check of every number they state."""
