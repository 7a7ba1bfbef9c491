"""What MkDocs calls. mkdoxy writes underscores in code with a backslash, which is for text."""

import re


def on_page_content(html, page, **_):
    if not page.file.src_uri.startswith("reference/"):
        return None
    return re.sub(r"<code>[^<]*</code>", lambda code: code[0].replace("\\_", "_"), html)
