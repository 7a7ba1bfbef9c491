"""Hooks that MkDocs calls. They add the reference to the navigation, and links to the declarations in it."""

import json
import re
from pathlib import Path

REFERENCE = Path("build/docs/reference.json")  # written by tools/reference/pages.py
BLOCK = re.compile(r"<code>.*?</code>", re.DOTALL)
NAME = re.compile(r'<span class="n">(\w+)</span>')
QUALIFIED = re.compile(r'(?<=<span class="o">::</span>)' + NAME.pattern)  # in examples, where variables have such names, too


def on_config(config):
    navigation = json.loads(REFERENCE.read_text(encoding="utf-8"))["navigation"]
    config.nav = [{"Reference": navigation} if "Reference" in item else item for item in config.nav]
    return config


def on_page_content(html, page, **_):
    """Links each public class and enumeration that a declaration or an example names to its entry."""
    if not page.file.src_uri.startswith("reference/"):
        return html
    linked = json.loads(REFERENCE.read_text(encoding="utf-8"))["linked"]
    names = linked[""] | linked.get(page.file.src_uri, {})
    up = "../" * page.file.src_uri.count("/")

    def link(match):
        target = names.get(match[1])
        if not target or match[1] == Path(page.file.src_uri).stem:  # that is the page itself
            return match[0]
        return f'<a href="{up}{target}">{match[0]}</a>'

    return BLOCK.sub(lambda block: (QUALIFIED if ">ekiden<" in block[0] else NAME).sub(link, block[0]), html)
