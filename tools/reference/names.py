"""The public names, in the order of their headers, with the comments that doxygen has read. Used by pages.py."""

import re
import xml.etree.ElementTree as xml

import tree  # the repository's files
from declarations import Header, kind_of, place_of, simple

NAMESPACES = ("ekiden", "ekiden::records", "ekiden::sim", "ekiden::trace", "ekiden::checkable", "ekiden::check",
              "ekiden::kafka", "ekiden::postgres")
LIBRARY = "For the library"  # begins the text of a name in conventional.txt that the reference leaves out
PRIVATE = re.compile(r"For the library's own use|\bPrivate;")  # in the comment of a public member
# Private classes that declarations name all the same: bases of public classes, and objects that programs only pass on.
OPAQUE = ("buffer_base", "queue_operations", "mutex_base", "stop_state", "coroutine_promise")
# Public names that lie in private headers, and the public header on whose page they stand.
ELSEWHERE = {
    "async/detail/select_wait.hpp": ("async/select.hpp", ("select_priority",)),
    "context/suppressed_exceptions.hpp": ("future/when_all.hpp", ("suppressed_exceptions",)),
    "context/thread_context.hpp": ("execution/execution_context.hpp", ("context_id",)),
}


class Names:
    """The public names: entities with their comments, in the order of their headers."""

    def __init__(self, folder):
        self.folder = folder
        self.compounds = {}
        for path in sorted((folder / "doxygen/xml").glob("*.xml")):
            for found in xml.parse(path).getroot().findall("compounddef"):
                kind = found.get("kind")
                if kind in ("class", "struct", "concept", "namespace"):
                    self.compounds[found.get("id")] = found


def is_documented(node):
    return any("".join(node.find(part).itertext()).strip() for part in ("briefdescription", "detaileddescription"))


def conventions(root):
    text = tree.text(root, "tools/site/conventional.txt")
    return dict(line.split(" | ", 1) for line in text.splitlines() if line[:1] not in "#")


class Entry:
    """Declarations that share a comment, or a class with its members."""

    def __init__(self, header, node):
        self.header, self.nodes, self.kind, self.name = header, [node], kind_of(node), simple(node)
        self.members, self.nested, self.usual, self.inherited, self.base_comments = [], [], [], [], []
        self.anchor = ""  # of its place on a page

    def takes(self, node):
        """Whether an overload without a comment belongs to this entry."""
        if self.kind not in ("function", "friend") or kind_of(node) not in ("function", "friend"):
            return False
        word, mine = (re.sub(r"_until$", "_for", n) for n in (simple(node), self.name))
        text = "".join("".join(self.nodes[0].find(d).itertext()) for d in ("briefdescription", "detaileddescription"))
        return (word == mine or f"{word}(" in text) and self.header.follows(self.nodes[-1], node)

    def continues(self, before):
        """Whether it stands under the heading of the entry before."""
        return before is not None and self.kind == before.kind == "function" and self.name == before.name

    @property
    def needs_example(self):
        """Whether it is more than a structure of data, or the type of a completion token."""
        has_functions = any(m.kind in ("function", "friend") for m in self.members) or self.inherited \
            or any("(" in code for code, _ in self.usual)
        return bool(has_functions) and not self.name.endswith("_t")


class Reference:
    def __init__(self, root, folder, headers):
        self.root, self.headers, self.folder = root, headers, folder
        self.names, self.table = Names(folder), conventions(root)
        self.texts, self.entries, self.left = {}, {}, []
        self.find_entries()

    def header(self, name):
        if name not in self.texts:
            self.texts[name] = Header(self.root, name)
        return self.texts[name]

    def is_library(self, node, owner=""):
        """Whether a public name is for the library only."""
        name = simple(node)
        keys = ["class " + name] if node.tag == "compounddef" else [name, f"{owner}::*"]
        return any(self.table.get(key, "").startswith(LIBRARY) for key in keys)

    def page_of(self, header, name):
        """The public header on whose page a name stands, or nothing."""
        if header in ELSEWHERE and name in ELSEWHERE[header][1]:
            return ELSEWHERE[header][0]
        return header if header in self.headers else None

    def private_classes(self):
        """Names of classes in the namespace ekiden that only private headers define."""
        private = set()
        for compound in self.names.compounds.values():
            scope, _, name = compound.findtext("compoundname").rpartition("::")
            if compound.get("kind") in ("class", "struct") and scope == "ekiden" and "<" not in name:
                if not self.page_of(place_of(compound)[0], name) or self.is_library(compound):
                    private.add(name)
        used = {parameter.text for compound in self.names.compounds.values() for parameter in compound.iter("declname")}
        return private - used - self.public_names() - set(OPAQUE)

    def public_names(self):
        def below(entry):
            yield entry.name
            for member in entry.members + entry.nested:
                yield from below(member)
        return {name for entries in self.entries.values() for entry in entries for name in below(entry)}

    def find_entries(self):
        found = {}
        for compound in self.names.compounds.values():
            full = compound.findtext("compoundname").split("<")[0].strip()
            scope = full.rpartition("::")[0]
            if compound.get("kind") == "namespace":
                if full in NAMESPACES:
                    nodes = [m for m in compound.iter("memberdef")]
                else:
                    continue
            elif scope in NAMESPACES and "<" not in compound.findtext("compoundname"):
                nodes = [compound]
            else:
                continue
            for node in nodes:
                header, line = place_of(node)
                page = self.page_of(header, simple(node))
                if page and not re.search(r"^@|\w<", simple(node)) and not self.is_library(node):
                    found.setdefault(page, []).append((header == page, line, header, node))
        for page, nodes in found.items():
            entries, usual = [], []
            for _, _, header, node in sorted(nodes, key=lambda n: n[:2]):
                self.place(self.header(header), node, entries, usual, "")
            self.entries[page] = entries

    def place(self, header, node, entries, usual, owner):
        """Adds a declaration to the entry that it belongs to."""
        name = simple(node)
        if node.tag == "compounddef" and kind_of(node) == "class":
            if not is_documented(node) and self.table.get("class " + name) is None:
                self.left.append(f"{place_of(node)[0]}:{place_of(node)[1]}: the class {name} has no comment")
            entries.append(self.class_entry(header, node))
        elif is_documented(node):
            entries.append(Entry(header, node))
        elif entries and entries[-1].takes(node):
            entries[-1].nodes.append(node)
        else:
            key = "<>" if name == owner else "~" if name[0] == "~" else name
            says = self.table.get(f"{owner}::*") or self.table.get(key)
            if says is None:
                self.left.append(f"{place_of(node)[0]}:{place_of(node)[1]}: '{name}' has no comment")
            elif owner:
                usual.append((header.declaration(node, kind_of(node)), says))

    def class_entry(self, header, node):
        entry = Entry(header, node)
        members = []
        self.collect(header, node, entry, members)
        for at, member in members:
            if member.tag == "compounddef":
                entry.nested.append(self.class_entry(at, member))
            else:
                self.place(at, member, entry.members, entry.usual, entry.name)
        return entry

    def collect(self, header, node, entry, members):
        """The public members of a class, those of its private bases first."""
        for base in node.findall("basecompoundref"):
            compound = self.names.compounds.get(base.get("refid"))
            if base.get("prot") != "public" or compound is None:
                continue
            if "::detail::" in compound.findtext("compoundname") or place_of(compound)[0] not in self.headers or self.is_library(compound):
                entry.base_comments.append(compound)
                self.collect(self.header(place_of(compound)[0]), compound, entry, members)
            else:
                entry.inherited.append(base.get("refid"))
        own = []
        for section in node.findall("sectiondef"):
            for member in section.findall("memberdef"):
                is_friend = member.get("kind") == "friend"
                if member.get("prot") != "public" or is_friend and "(" not in member.findtext("argsstring", ""):
                    continue
                if self.is_library(member, entry.name) or simple(member)[:1] in ("", "@"):
                    continue
                if re.search(r"=\s*delete", member.findtext("argsstring") or "") or PRIVATE.search("".join(member.itertext())):
                    continue
                own.append((place_of(member)[1], header, member))
        for inner in node.findall("innerclass"):
            compound = self.names.compounds.get(inner.get("refid"))
            if compound is None or inner.get("prot") != "public" or "<" in compound.findtext("compoundname"):
                continue
            if not self.is_library(compound):
                # A nested class may be defined in another public header. Then it comes last.
                file, line = place_of(compound)
                is_here = file == place_of(node)[0]
                own.append((line if is_here else line + 1_000_000, self.header(file), compound))
        members += [(at, member) for _, at, member in sorted(own, key=lambda m: m[0])]
