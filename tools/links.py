"""Finds dead links in a built site: links.py FOLDER. Checks links to files and to places in files. Does not follow
links to other sites."""

import html.parser
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

ASKED = {"a": "href", "link": "href", "img": "src", "script": "src"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.places.update(values[name] for name in ("id", "name") if values.get(name))
        if values.get(ASKED.get(tag)):
            self.links.append(values[ASKED[tag]])


def dead_links(root):
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.html"))}
    for path, page in pages.items():
        if path.name == "404.html":  # its links are absolute, for a server
            continue
        for link in sorted(set(page.links)):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            place = unquote(parts.fragment)
            if not target.is_file():
                yield f"{path.relative_to(root)}: the link '{link}' leads nowhere"
            elif place and target in pages and place not in pages[target].places:
                yield f"{path.relative_to(root)}: '{link}': there is no such place in that page"


def main(folder):
    dead = list(dead_links(Path(folder).resolve()))
    print("\n".join(dead) if dead else "every link leads somewhere")
    return 1 if dead else 0


sys.exit(main(sys.argv[1]))
