"""Pages of HTML as a browser takes them apart, and of markdown."""

import re
from html.parser import HTMLParser

WITHOUT_END = {"meta", "br", "img", "link"}


class Page(HTMLParser):
    """`tables`: rows of texts, with the heading that they are below; `sections`: texts by heading."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tables, self.sections, self.tags, self.attributes = [], [], {}, set(), []
        self.heading, self.texts, self.cell = "", [], None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += attributes
        if tag not in WITHOUT_END:
            self.open.append(tag)
        if tag in {"h1", "h2"}:
            self.heading = ""
        elif tag == "table":
            self.tables.append((self.heading, []))
        elif tag == "tr":
            self.tables[-1][1].append([])
        elif tag in {"td", "th"}:
            self.cell = ""

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in {"td", "th"}:
            self.tables[-1][1][-1].append(self.cell)
            self.cell = None

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.texts.append(data)
        if {"h1", "h2"} & {*self.open}:
            self.heading += data
        else:
            self.sections[self.heading] = self.sections.get(self.heading, "") + data
        if self.cell is not None:
            self.cell += data

    @property
    def text(self):
        return "".join(self.texts)

    def tables_of(self, word):
        """Return the tables below the headings that end in a word."""
        return [rows for heading, rows in self.tables if heading.endswith(word)]


def markdown_tables(text):
    """Return the tables of a page of markdown, without the lines below their headers."""
    tables, in_code, before = [], False, ""
    for line in text.splitlines():
        in_code ^= line.startswith("```")
        if line.startswith("|") and not in_code:
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            if not before.startswith("|"):
                tables.append([])
            if not re.fullmatch(r"[ |:-]+-[ |:-]+", line):
                tables[-1].append([re.sub(r"\\(.)", r"\1", cell.strip().strip("`")) for cell in cells])
        before = line
    return tables
