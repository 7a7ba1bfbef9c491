"""LLDB printers for ekiden: those of GDB. This file gives the script of GDB, ekiden-gdb.py, the part of GDB's Python
interface that the script uses, on top of LLDB's. So the layouts are described once, in that script.

    (lldb) command script import PREFIX/share/ekiden/ekiden_lldb.py

The printers read memory and call no function of the program, so they also work on a core file.
"""

import pathlib
import types

import lldb


class error(Exception):
    """The exception of GDB's interface."""


TYPE_CODE_STRUCT = 1


class Type:
    """The part of gdb.Type that the printers use."""

    def __init__(self, found):
        self.found = found

    @property
    def name(self):
        return self.found.GetName()

    @property
    def sizeof(self):
        return self.found.GetByteSize()

    @property
    def code(self):
        is_class = self.found.GetCanonicalType().GetTypeClass() in (lldb.eTypeClassClass, lldb.eTypeClassStruct)
        return TYPE_CODE_STRUCT if is_class else 0

    def strip_typedefs(self):
        found = self.found.GetCanonicalType()
        return Type(found.GetDereferencedType() if found.IsReferenceType() else found)

    def unqualified(self):
        return Type(self.found.GetUnqualifiedType())

    def template_argument(self, index):
        return Type(self.found.GetCanonicalType().GetTemplateArgumentType(index))

    def pointer(self):
        return Type(self.found.GetPointerType())

    def target(self):
        return Type(self.found.GetPointeeType())

    def range(self):
        return (0, self.sizeof // self.found.GetCanonicalType().GetArrayElementType().GetByteSize() - 1)

    def fields(self):
        found = self.strip_typedefs().found
        members = [found.GetFieldAtIndex(i) for i in range(found.GetNumberOfFields())]
        return [types.SimpleNamespace(name=m.GetName(), type=Type(m.GetType())) for m in members]


def _static_member(kind, name):
    """Returns the value of a static constant of a class or of its bases, or None."""
    kind = kind.GetCanonicalType()
    member = kind.GetStaticFieldWithName(name)
    if member.IsValid():
        return member.GetConstantValue(_target())
    for i in range(kind.GetNumberOfDirectBaseClasses()):
        found = _static_member(kind.GetDirectBaseClassAtIndex(i).GetType(), name)
        if found is not None:
            return found
    return None


def _member(value, name):
    """Returns a member of an object or of its bases, also of a union without a name."""
    found = value.GetChildMemberWithName(name)
    if found.IsValid():
        return found
    for i in range(value.GetNumChildren()):
        child = value.GetChildAtIndex(i)
        if i < value.GetType().GetNumberOfDirectBaseClasses() or not child.GetName():
            found = _member(child, name)
            if found.IsValid():
                return found
    return found


def _at(beside, address, kind):
    """Returns the object at an address. Its type may be defined only in another module, for example the library."""
    found = kind.GetCanonicalType()
    if found.GetTypeClass() in (lldb.eTypeClassClass, lldb.eTypeClassStruct) and not found.GetNumberOfFields():
        try:
            kind = _find_type(found.GetUnqualifiedType().GetName())
        except error:  # it has no members
            pass
    return beside.CreateValueFromAddress("object", address, kind)


class Value:
    """The part of gdb.Value that the printers use. The content is an integer that has no type, or an SBValue."""

    def __init__(self, content):
        if isinstance(content, lldb.SBValue):
            content = content.GetNonSyntheticValue()
            if content.GetType().IsReferenceType():
                content = _at(content, content.GetValueAsUnsigned(), content.GetType().GetDereferencedType())
        self.content = content

    @property
    def type(self):
        return Type(self.content.GetType())

    @property
    def dynamic_type(self):
        """Returns the type of the object behind a pointer, by the symbol of its table of virtual functions."""
        table = _read_word(int(self))
        symbol = _symbol(table).removeprefix("vtable for ")
        return Type(_find_type(symbol).GetPointerType())

    @property
    def address(self):
        return Value(self.content.AddressOf())

    def __getitem__(self, key):
        value = self.content
        if value.GetType().IsPointerType():
            if isinstance(key, int):
                target = value.GetType().GetPointeeType()
                return Value(_at(value, int(self) + key * target.GetByteSize(), target))
            value = _at(value, int(self), value.GetType().GetPointeeType())
        if isinstance(key, int):
            found = value.GetChildAtIndex(key)
        else:
            found = _member(value.GetNonSyntheticValue(), key)
            if not found.IsValid():
                constant = _static_member(value.GetType(), key)
                if constant is not None and constant.IsValid():
                    return Value(constant)
        if not found.IsValid():
            raise error(f"there is no member {key} of {value.GetType().GetName()}")
        return Value(found)

    def cast(self, to):
        kind = to.found
        if isinstance(self.content, int):
            return Value(_target().CreateValueFromData("cast", _number(self.content), kind))
        if self.content.GetType().IsPointerType() or kind.GetCanonicalType().GetTypeClass() == lldb.eTypeClassBuiltin:
            return Value(_target().CreateValueFromData("cast", _number(int(self)), kind))
        return Value(_at(self.content, self.content.GetLoadAddress(), kind))

    def dereference(self):
        return Value(_at(self.content, int(self), self.content.GetType().GetPointeeType()))

    def referenced_value(self):
        return self  # a reference has been followed already

    def string(self):
        text, address = b"", int(self)
        while b"\0" not in text:
            size = 4096 - address % 4096  # to the end of the page
            text += _read(address, size)
            address += size
        return text.partition(b"\0")[0].decode(errors="replace")

    def __int__(self):
        if isinstance(self.content, int):
            return self.content
        return self.content.GetValueAsUnsigned()

    __index__ = __int__

    def __bool__(self):
        return int(self) != 0

    def __eq__(self, other):
        return int(self) == int(other)

    __hash__ = None

    def __add__(self, count):
        kind = self.content.GetType()
        return Value(int(self) + count * kind.GetPointeeType().GetByteSize()).cast(Type(kind))

    def __str__(self):
        return self.content.GetValue() or ""


def _target():
    return lldb.debugger.GetSelectedTarget() if _now is None else _now


def _process():
    return _target().GetProcess()


_now = None  # the target of the value that is printed now


def _number(number):
    """Returns the bytes of a number. LLDB copies them. It reads the first ones if the type is smaller."""
    return lldb.SBData.CreateDataFromUInt64Array(_process().GetByteOrder(), 8, [number & (1 << 64) - 1])


def _read(address, size):
    """Returns bytes of memory. A core file lacks constant data, which LLDB then reads from the program's file."""
    failure = lldb.SBError()
    found = _target().ReadMemory(lldb.SBAddress(address, _target()), size, failure)
    if not failure.Success():
        raise error(failure.GetCString())
    return found


def _read_word(address):
    order = "little" if _process().GetByteOrder() == lldb.eByteOrderLittle else "big"
    return int.from_bytes(_read(address, _process().GetAddressByteSize()), order)


def _symbol(address):
    symbol = _target().ResolveLoadAddress(address).GetSymbol()
    name = symbol.GetName() if symbol.IsValid() else ""
    if name.startswith("_Z") and "@" in name:  # the name in the library has no version, so LLDB reads it
        for found in _target().FindSymbols(name.partition("@")[0]):
            if not found.GetSymbol().GetName().startswith("_Z"):
                return found.GetSymbol().GetName()
    return name


def _find_type(name):
    builtin = {"char": lldb.eBasicTypeChar, "unsigned long": lldb.eBasicTypeUnsignedLong}
    if name in builtin:
        return _target().GetBasicType(builtin[name])
    for found in _target().FindTypes(name):
        if found.GetName() == name and (found.GetNumberOfFields() or found.GetNumberOfDirectBaseClasses()
                                        or found.GetTypeClass() == lldb.eTypeClassEnumeration):
            return found
    raise error(f"there is no type {name}")


def _execute(command, to_string):
    """Does `info symbol ADDRESS`, the only command that the printers use."""
    assert to_string
    name = _symbol(int(command.removeprefix("info symbol "), 0))
    return f"{name} in section of the program\n" if name else "No symbol\n"


def _load():
    """Runs the script of GDB with this module in the place of GDB's, and returns its function that finds printers."""
    found = []
    register = types.SimpleNamespace(register_pretty_printer=lambda _file, printer, replace: found.append(printer))
    own = types.ModuleType("gdb")
    own.__dict__.update(error=error, Value=Value, Type=Type, execute=_execute, printing=register,
                        TYPE_CODE_STRUCT=TYPE_CODE_STRUCT, lookup_type=lambda name: Type(_find_type(name)),
                        current_objfile=lambda: None)
    path = pathlib.Path(__file__).with_name("ekiden-gdb.py")
    code = compile(path.read_text(encoding="utf-8").replace("import gdb.printing\n", ""), str(path), "exec")
    import sys  # pylint: disable=import-outside-toplevel
    before = sys.modules.get("gdb")
    sys.modules["gdb"] = own
    try:
        names = {"__name__": "ekiden_gdb"}
        exec(code, names)  # pylint: disable=exec-used
    finally:
        if before is None:
            del sys.modules["gdb"]
        else:
            sys.modules["gdb"] = before
    return found[0], names


_printer_of, _names = _load()


def _printer(value):
    global _now  # pylint: disable=global-statement
    _now = value.GetTarget()
    return _printer_of(Value(value))


def summary(value, _internal):
    """Returns the text for a value, as GDB's printer does."""
    try:
        printer = _printer(value)
        return printer.to_string() if printer is not None else None
    except (error, AttributeError, TypeError) as failure:
        return f"<{failure}>"


class children:
    """The children of a value, as GDB's printer gives them. A text becomes an array of characters."""

    def __init__(self, value, _internal):
        self.value = value
        self.found = []

    def update(self):
        try:
            printer = _printer(self.value)
            self.found = [(name, child) for name, child in printer.children()] if printer is not None else []
        except (error, AttributeError, TypeError):
            self.found = []
        return False

    def num_children(self):
        return len(self.found)

    def get_child_index(self, name):
        return next((i for i, (found, _) in enumerate(self.found) if found == name), -1)

    def get_child_at_index(self, index):
        name, child = self.found[index]
        if isinstance(child, Value):
            content = child.content
            return content.CreateValueFromAddress(name, content.GetLoadAddress(), content.GetType())
        kind = _target().GetBasicType(lldb.eBasicTypeChar).GetArrayType(len(child.encode()))
        return _target().CreateValueFromData(
            name, lldb.SBData.CreateDataFromCString(_process().GetByteOrder(), 8, child), kind)

    def has_children(self):
        return bool(self.found)


def __lldb_init_module(debugger, _internal):
    category = debugger.CreateCategory("ekiden")

    def types_of(names):
        pattern = f"^(const )?ekiden::([a-z0-9_]+::)?(detail::)?({'|'.join(names)})(<.*>)?$"
        return lldb.SBTypeNameSpecifier(pattern, True)  # True: a regular expression

    for names, more in (("LINES", lldb.eTypeOptionHideChildren), ("TREES", 0)):
        summary_of = lldb.SBTypeSummary.CreateWithFunctionName(f"{__name__}.summary", lldb.eTypeOptionCascade | more)
        category.AddTypeSummary(types_of(list(_names[names])), summary_of)
    children_of = lldb.SBTypeSynthetic.CreateWithClassName(f"{__name__}.children", lldb.eTypeOptionCascade)
    category.AddTypeSynthetic(types_of(list(_names["TREES"])), children_of)
    category.SetEnabled(True)
