"""What makes a site of pages that read well in the repository as well: hooks of mkdocs.

Pages are written as GitHub renders them. Python-Markdown, which mkdocs uses, differs in two things:
what belongs to an entry of a list has to stand four columns in, and a list needs an empty line
before it. Both are given here. A link out of ``docs/`` leads to a page of the site where the target
is one of ``OUTSIDE``; any other file of the repository is named instead.
"""

import re
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[2]
#: Pages that stand elsewhere in the repository, and what the site calls them.
OUTSIDE: Final = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks.md",
}
#: The README's part is played by the site's first page.
INSTEAD: Final = {"README.md": "index.md", **OUTSIDE}

_LINK: Final = re.compile(r"\[([^\]]*)\]\(([^)\s:]+?)(#[^)\s]*)?\)")
_MARKER: Final = re.compile(r" *([-*+]|\d+[.)]) +")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Take in the pages that stand elsewhere."""
    for source, name in OUTSIDE.items():
        text = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_others: object) -> str:
    """Make of a page what Python-Markdown reads as GitHub reads the page."""
    return _with_wide_lists(_with_links_inside(markdown, page.file.src_uri))


def _with_links_inside(markdown: str, page: str) -> str:
    origin = next((source for source, name in OUTSIDE.items() if name == page), f"docs/{page}")

    def inside(found: re.Match[str]) -> str:
        text, target, anchor = found[1], found[2], found[3] or ""
        path = ((ROOT / origin).parent / target).resolve()
        if not path.is_relative_to(ROOT) or path.is_relative_to(ROOT / "docs"):
            name = path.relative_to(ROOT / "docs").as_posix() if path.exists() else target
            return f"[{text}]({name}{anchor})"
        name = path.relative_to(ROOT).as_posix()
        if name not in INSTEAD:
            return text if name in text else f"{text} (`{name}`)"
        # The first page has another outline than the README.
        return f"[{text}]({INSTEAD[name]}{'' if name == 'README.md' else anchor})"

    return _LINK.sub(inside, markdown)


def _with_wide_lists(markdown: str) -> str:
    lines = markdown.split("\n")
    further = [0] * len(lines)
    gaps = set()
    for token in MarkdownIt("commonmark").parse(markdown):
        if token.map is None:
            continue
        start, end = token.map
        if token.type in ("bullet_list_open", "ordered_list_open"):
            gaps.add(start)
        if token.type == "list_item_open" and (marker := _MARKER.match(lines[start])):
            indent = len(marker[0]) - len(marker[0].lstrip())
            for number in range(start + 1, end):
                further[number] += 4 - (len(marker[0]) - indent)
    made = []
    for number, line in enumerate(lines):
        if number in gaps and number and lines[number - 1].strip():
            made.append("")
        made.append(" " * further[number] + line if line.strip() else line)
    return "\n".join(made)
