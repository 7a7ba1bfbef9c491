"""Writes the reference of the site from the comments of the public headers. Used by docs.py.

Each part has a page with a table of its names, and a page for each of its public headers. A page shows the names of its
header in the header's order: the declaration as it is written there, and its comment. Doxygen reads the comments.

* Overloads share one entry: a declaration without a comment belongs to the one above, if the name is the same.
* tools/site/conventional.txt explains other names without a comment, and lists names that are for the library only.
* tools/site/class_examples/ has the examples with which the entries of classes begin.
"""

import json
import re
import subprocess
from pathlib import Path

import rule_snippets
import tree  # the repository's files
from declarations import kind_of, place_of, simple
from names import OPAQUE, Reference

DOXYGEN = """
INPUT={0}/include
OUTPUT_DIRECTORY={0}/doxygen
WARN_LOGFILE={0}/doxygen.log
STRIP_FROM_PATH={0}/include/ekiden
FILE_PATTERNS=*.hpp
RECURSIVE=YES
QUIET=YES
GENERATE_HTML=NO
GENERATE_LATEX=NO
GENERATE_XML=YES
JAVADOC_AUTOBRIEF=YES
BUILTIN_STL_SUPPORT=YES
EXTRACT_ALL=YES
SORT_MEMBER_DOCS=NO
"""
EXAMPLES = "tools/site/class_examples"
# Classes of which no example can be compiled here: they need senders.
WITHOUT_EXAMPLE = ("coroutine_sender", "executor_domain", "executor_scheduler", "get_deadline_t")
ADAPTERS = ("adapter/asio/boost.hpp", "adapter/asio/standalone.hpp", "adapter/std_execution/as_sender.hpp",
            "adapter/std_execution/await_sender.hpp", "adapter/std_execution/domain.hpp",
            "adapter/std_execution/scheduler.hpp",
            "adapter/std_execution/sync_wait_sender.hpp", "check/checkable.hpp", "check/model.hpp")  # programs include these themselves
INTRODUCED = {"adapter": "Adapters to other libraries. Programs include these headers separately.",
              "check": "For lock-free code of programs: the model checker."}
PAGE = re.compile(r"\b(?:[a-z_]+/)*[a-z_-]+\.md\b")
SKIPPED = re.compile(r"\s*Part: \w+\. Used by: (?:[^.]|\.(?=[a-z]))*\.\s*|\s*The engine is private: .*?\.(?=\s|$)")
PRIVATE_NAMES = re.compile(r"\bdetail::|\bsys::|EKIDEN_ABI|@\d")


# ---- what doxygen has read
TOPIC = re.compile(r"(?:^|(?<=[.)]) |\n)(Thread safety|Ordering|Lifetime|Lifetimes|Errors|Services|Order): (\w)", re.MULTILINE)


def escaped(text):
    return re.sub(r"([*\\\[\]`])", r"\\\1", text or "").replace("<", "&lt;").replace(">", "&gt;")


class Page:
    """One page in the making: Markdown, and the anchors of its names."""

    def __init__(self, path, title=""):
        self.path, self.out, self.used = path, [f"# {title}\n"], set()

    def anchor(self, name):
        base = re.sub(r"[^a-z0-9_:~=<>+-]", "", name.lower().replace(" ", "-")).replace("::", "-") or "entry"
        base = re.sub(r"[^a-z0-9_-]", "_", base)
        slug, number = base, 1
        while slug in self.used:
            number += 1
            slug = f"{base}-{number}"
        self.used.add(slug)
        return slug

    def add(self, *lines):
        self.out += lines

    def write(self, folder):
        target = folder / self.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n".join(self.out) + "\n", encoding="utf-8")


def inline(node, link):
    """Markdown of a paragraph's inside."""
    out = link.text(node.text)
    for child in node:
        if child.tag == "computeroutput":
            code = "".join(child.itertext())
            ref = child.find("ref")
            target = link(ref.get("refid"), code) if ref is not None else None
            out += f"[`{code}`]({target})" if target else f"`{code}`"
        elif child.tag == "ref":
            text = "".join(child.itertext())
            target = link(child.get("refid"), text)
            out += f"[`{text}`]({target})" if target else escaped(text)
        elif child.tag in ("itemizedlist", "orderedlist"):
            out += "\n\n" + "\n".join("* " + " ".join(inline(p, link).strip() for p in item.findall("para")) for item in child) + "\n\n"
        elif child.tag == "bold":
            out += f"**{inline(child, link)}**"
        else:
            out += inline(child, link)
        out += link.text(child.tail)
    return out


def comment(node, link):
    """(first sentence, rest) of an entity's comment, as Markdown."""
    brief = " ".join(inline(p, link).strip() for p in node.find("briefdescription").findall("para"))
    rest = "\n\n".join(inline(p, link).strip() for p in node.find("detaileddescription").findall("para"))
    rest = TOPIC.sub(lambda m: f"\n\n**{m[1]}.** {m[2].upper()}", rest)
    return brief, re.sub(r"\n{3,}", "\n\n", rest).strip()


def class_examples(root):
    """Name of a class -> the example with which its page begins."""
    pages = "".join(tree.text(root, path) for path in tree.files(root, ".md", under=EXAMPLES))
    return dict(re.findall(r"^## (\S+)\n+```cpp\n(.*?)^```", pages, re.MULTILINE | re.DOTALL))


class Linker:
    """Finds the links of one page: from a name that doxygen has recognised, and from the name of a document."""

    def __init__(self, places, page, documents):
        self.places, self.page, self.documents = places, page, documents

    def __call__(self, identity, text=""):
        places = self.places.get(identity, [])
        here = [place for place in places if place[0] == self.page.path]
        if not places or not here and self.is_doubtful(identity, text):
            return None
        path, anchor = (here or places)[0]
        return f"{relative(self.page.path, path)}#{anchor}"

    def is_doubtful(self, identity, text):
        """Doxygen takes any function of the name for an unqualified one."""
        return text.endswith(")") and "::" not in text and not identity.startswith("namespaceekiden_1a")

    def text(self, text):
        """Text with links to the pages of the repository that it names."""
        def lead(match):
            found = [p for p in self.documents if f"/{p}".endswith(f"/{match[0]}") or f"/{p}".endswith("/detail/" + match[0])]
            return f"[{found[0].name}]({relative(self.page.path, found[0])})" if found else match[0]
        return PAGE.sub(lead, escaped(text))


def relative(begin, end):
    up = len(begin.parts) - 1
    shared = 0
    while shared < up and shared < len(end.parts) - 1 and begin.parts[shared] == end.parts[shared]:
        shared += 1
    return "../" * (up - shared) + "/".join(end.parts[shared:])


class Writer:
    def __init__(self, reference, add_page):
        """`add_page(path)` adds a file of the repository to the site."""
        self.reference, self.add_page, self.examples = reference, add_page, class_examples(reference.root)
        self.private = reference.private_classes()
        self.pages, self.places = {}, {}
        self.find_places()
        self.programs = {p: rule_snippets.lines(tree.text(reference.root, p)) for p in tree.files(reference.root, ".cpp", under="examples")}
        self.documents = [p for place in ("src/ekiden", "docs") for p in tree.files(reference.root, ".md", under=place)]

    def find_places(self):
        for page, entries in self.reference.entries.items():
            self.pages[page] = Page(self.path(page))
            for at, entry in enumerate(entries):
                self.place_entry(self.pages[page], entry, entries[at - 1] if at else None, "")

    def place_entry(self, page, entry, before, prefix):
        """Gives an entry its anchor: that of the one before, if that is an overload."""
        entry.anchor = before.anchor if entry.continues(before) else page.anchor(prefix + entry.name)
        for node in entry.nodes:
            for named in [node, *node.findall("enumvalue")]:
                self.places.setdefault(named.get("id"), []).append((page.path, entry.anchor))
        members = entry.members + entry.nested
        for at, member in enumerate(members):
            self.place_entry(page, member, members[at - 1] if at else None, entry.name + "::")

    @staticmethod
    def path(header):
        return Path("reference") / Path(header).with_suffix(".md")

    def link(self, page):
        return Linker(self.places, page, self.documents)

    def comment(self, page, node):
        return comment(node, self.link(page))

    def of_header(self, page, header):
        """The comment at the top of a header, as far as it is for programs."""
        lines = re.match(r"(?:///.*\n)*", self.reference.header(header).text)[0]
        text = SKIPPED.sub(" ", " ".join(re.sub(r"^/// ?", "", lines, flags=re.MULTILINE).split()))
        plain = [self.link(page).text(part) if i % 2 == 0 else f"`{part}`" for i, part in enumerate(text.split("`"))]
        return "".join(plain).strip()

    def code(self, page, entry):
        page.add("```cpp", *[entry.header.declaration(node, kind_of(node)) for node in entry.nodes], "```\n")

    def function(self, page, entry, before, level, owner=""):
        if not entry.continues(before):
            page.add(f"{'#' * level} {escaped(self.title(entry, owner))} {{#{entry.anchor}}}\n")
        if entry.kind == "enum":
            self.enumeration(page, entry)
            return
        self.code(page, entry)
        page.add(*[part + "\n" for part in self.comment(page, entry.nodes[0]) if part])

    @staticmethod
    def title(entry, owner):
        return "Constructor" if entry.name == owner else "Destructor" if entry.name[0] == "~" else entry.name

    def enumeration(self, page, entry):
        node = entry.nodes[0]
        page.add(*[part + "\n" for part in self.comment(page, node) if part])
        if node.find("enumvalue") is None:
            return
        page.add("| value | meaning |", "|---|---|")
        for value in node.findall("enumvalue"):
            page.add(f"| `{value.findtext('name')}` | {self.cell(page, value)} |")
        page.add("")

    def cell(self, page, node):
        return " ".join(part for part in self.comment(page, node) if part).replace("\n", " ").replace("|", "\\|")

    def values(self, page, entries, usual):
        """A table of data members, and of members that a convention explains."""
        page.add("| member | meaning |", "|---|---|")
        for entry in entries:
            code = " ".join(entry.header.declaration(entry.nodes[0], "variable").split()).replace("|", "\\|")
            page.add(f"| `{code}`{{#{entry.anchor}}} | {self.cell(page, entry.nodes[0])} |")
        for code, says in usual:
            code = " ".join(code.split()).replace("|", "\\|")
            page.add(f"| `{code}` | {says} |")
        page.add("")

    def klass(self, page, entry, level):
        node = entry.nodes[0]
        page.add(f"{'#' * level} {entry.name} {{#{entry.anchor}}}\n")
        brief, rest = self.comment(page, node)
        brief = brief or self.reference.table.get("class " + entry.name)
        if brief:
            page.add(brief + "\n")
        self.example(page, entry, node)
        page.add("```cpp", entry.header.declaration(node, kind_of(node)), "```\n")
        if rest:
            page.add(rest + "\n")
        for base in entry.base_comments:
            page.add(*[part + "\n" for part in self.comment(page, base) if part])
        if entry.inherited:
            link = self.link(page)
            names = [simple(self.reference.names.compounds[i]) for i in entry.inherited]
            page.add("Also has the members of " + ", ".join(f"[`{n}`]({link(i)})" for n, i in zip(names, entry.inherited) if link(i)) + ".\n")
        values = [m for m in entry.members if m.kind == "variable"]
        others = [m for m in entry.members if m.kind != "variable"]
        for at, member in enumerate(others):
            self.function(page, member, others[at - 1] if at else None, level + 1, entry.name)
        more_values = [usual for usual in entry.usual if not re.search(r"\(|\busing\b", usual[0])]
        if values or more_values:
            if others:
                page.add(f"{'#' * (level + 1)} Data members of {entry.name}\n")
            self.values(page, values, more_values)
        usual = [usual for usual in entry.usual if usual not in more_values]
        if usual:
            page.add(f"{'#' * (level + 1)} Conventional members of {entry.name}\n")
            self.values(page, [], usual)
        for nested in entry.nested:
            self.klass(page, nested, level + 1)

    def example(self, page, entry, node):
        name = node.findtext("compoundname").removeprefix("ekiden::")
        code = self.examples.pop(name, None)
        if code is None:
            is_nested = name.removeprefix("sim::").removeprefix("trace::").count("::") > 0
            if not is_nested and entry.needs_example and name not in WITHOUT_EXAMPLE:
                self.reference.left.append(f"{EXAMPLES}: there is no example of the class {name}")
            return
        if code.count("\n") > 10:
            self.reference.left.append(f"{EXAMPLES}: the example of {name} has more than ten lines")
        source = self.source_of(code)
        page.add("```cpp", code.rstrip(), "```\n", f"From [{source}]({relative(page.path, source)}.md).\n")

    def source_of(self, code):
        """The example program that contains the lines."""
        for path, text in self.programs.items():
            if rule_snippets.lines(code) in text:
                self.add_page(path)
                return path
        raise SystemExit(f"{EXAMPLES}: no example has these lines:\n{code}")

    def write(self, header):
        reference, page = self.reference, self.pages[header]
        part = header.split("/")[0]
        page.out = [f"# {Path(header).stem}\n"]
        include = f"{part}.hpp" if part not in INTRODUCED else header
        page.add(f"`#include <ekiden/{include}>` · part [{part}]({relative(page.path, Path('reference') / (part + '.md'))})\n")
        page.add(self.of_header(page, header) + "\n")
        entries = reference.entries[header]
        for at, entry in enumerate(entries):
            if entry.kind == "class":
                self.klass(page, entry, 2)
            else:
                self.function(page, entry, entries[at - 1] if at else None, 2)
        self.check(page)
        page.write(self.folder)

    def write_part(self, part, headers):
        page = Page(Path("reference") / (part + ".md"), part)
        page.add((INTRODUCED.get(part) or self.of_header(page, part + ".hpp")) + "\n")
        if part not in INTRODUCED:
            page.add(f"`#include <ekiden/{part}.hpp>`\n")
        self.table(page, headers)
        page.write(self.folder)

    def table(self, page, headers):
        link = self.link(page)
        page.add("| name | |", "|---|---|")
        for header in headers:
            seen = set()
            for entry in self.reference.entries[header]:
                if {entry.name, re.sub(r"_(for|until)$", "", entry.name), re.sub(r"try_(.*)_(for|until)$", r"\1", entry.name)} & seen:
                    continue
                seen.add(entry.name)
                brief = self.comment(page, entry.nodes[0])[0].replace("|", "\\|")
                page.add(f"| [`{entry.name}`]({link(entry.nodes[0].get('id'))}) | {brief} |")
        page.add("")

    def write_all(self, folder):
        self.folder = folder
        parts = {}
        for header in self.reference.headers:
            if header in self.reference.entries:
                parts.setdefault(header.split("/")[0], []).append(header)
        for part, headers in parts.items():
            for header in headers:
                self.write(header)
            self.write_part(part, headers)
        index = Page(Path("reference/index.md"), "Reference")
        index.add("All names that programs may use, by part. [What stays as it is](../docs/stability.md) says which parts are stable.\n")
        for part, headers in parts.items():
            index.add(f"## [{part}]({part}.md)\n")
            self.table(index, headers)
        index.write(folder)
        navigation = [{"All names": "reference/index.md"}]
        navigation += [{part: [{"Overview": f"reference/{part}.md"}] + [{Path(h).stem: str(self.path(h))} for h in headers]}
                       for part, headers in parts.items()]
        linked = {"": {}}  # page, or nothing for all pages -> name -> its place, for hooks.py
        for header, entries in self.reference.entries.items():
            here = linked[str(self.path(header))] = {}
            for entry in entries:
                full = entry.nodes[0].findtext("compoundname") or entry.nodes[0].findtext("qualifiedname")
                self.note_classes(here, entry, str(self.path(header).with_suffix(".html")))
                if full == f"ekiden::{entry.name}" and entry.name in here:
                    linked[""][entry.name] = here[entry.name]
            text = "\n".join(self.pages[header].out)
            for alias, name in re.findall(r"\busing (options) = (\w+)", text):
                here[alias] = here.get(name) or linked[""].get(name)
        site = {"navigation": navigation, "linked": linked}
        (self.reference.folder / "reference.json").write_text(json.dumps(site), encoding="utf-8")
        for name in self.examples:
            self.reference.left.append(f"{EXAMPLES}: there is no public class '{name}'")

    def note_classes(self, here, entry, path):
        """Notes the places of a class or an enumeration, and of those inside."""
        if entry.kind in ("class", "enum"):
            here[entry.name] = f"{path}#{entry.anchor}"
        for member in entry.members + entry.nested:
            self.note_classes(here, member, path)

    def check(self, page):
        """Reports private names in the declarations of a page."""
        for code in re.findall(r"^```cpp\n(.*?)^```|^\| `([^`]*)`", "\n".join(page.out) + "\n", re.MULTILINE | re.DOTALL):
            words = set(re.findall(r"\w+", "".join(code)))
            for name in sorted(words & self.private):
                self.reference.left.append(f"{page.path}: the private class '{name}' appears in: {''.join(code).strip()}")
            for found in PRIVATE_NAMES.finditer("".join(code)):
                self.reference.left.append(f"{page.path}: the private name '{found[0]}' appears in: {''.join(code).strip()}")


def write(root, folder, add_page):
    """Writes the reference into `folder`/pages/reference, and returns what is wrong with it, as lines of text."""
    components = tree.component_headers(root)
    installed = (tree.public_headers(root) + tree.detail_headers(root) + tree.adapter_headers(root) + components
                 + tree.component_headers(root, "DETAIL_HEADERS"))
    for header in installed:
        target = folder / "include/ekiden" / header
        target.parent.mkdir(parents=True, exist_ok=True)
        source = tree.text(root, f"src/ekiden/{header}").replace("::inline EKIDEN_ABI", "")
        target.write_text(re.sub(r"(?<=\d)'(?=\d)", "", source), encoding="utf-8")  # doxygen 1.9 overlooks a comment behind 10'000
    subprocess.run(["doxygen", "-"], input=DOXYGEN.format(folder), text=True, check=True)
    reference = Reference(root, folder, [h for h in tree.public_headers(root) + components if "/" in h] + list(ADAPTERS))
    Writer(reference, add_page).write_all(folder / "pages")
    return reference.left
