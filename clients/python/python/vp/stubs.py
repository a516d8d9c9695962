"""Writes the typed names of all registers: ``python -m vp.stubs FILE``, where FILE is ``registers.pyi`` beside this one.

They are those of all built-in platforms together, from the table that the models decode with.
"""

from __future__ import annotations

import sys
from pathlib import Path

from . import _native

_HEAD = '''"""The registers of all built-in platforms. Made by ``python -m vp.stubs``; a platform that has not all of them says so."""

from collections.abc import Iterator
from typing import Generic, Literal, Never, SupportsIndex, TypeVar

from ._native import Host

class Field:
    name: str
    lsb: int
    width: int
    access: Literal["ro", "rw", "wo", "w1c"]
    encoding: Literal["plain", "minus one", "signed", "bytes"]
    doc: str
    values: dict[str, int]

class Register:
    name: str
    address: int
    access: Literal["ro", "rw", "wo", "w1c"]
    reset: int
    has_groups: bool
    doc: str
    fields: dict[str, Field]
    value: int
    def read(self) -> int: ...
    def write(self, value: SupportsIndex, *, acknowledged: bool = False) -> None: ...
    def decode(self, word: int | None = None) -> dict[str, int]: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...

class Unit:
    unit_name: str
    def __iter__(self) -> Iterator[Register]: ...

_R = TypeVar("_R", bound=Register)
_N = TypeVar("_N", bound=str)

class _At(Generic[_R]):
    def __get__(self, unit: Unit, owner: type[Unit] | None = None) -> _R: ...
    def __set__(self, unit: Unit, value: SupportsIndex) -> None: ...

class _Number:
    def __get__(self, register: Register, owner: type[Register] | None = None) -> int: ...
    def __set__(self, register: Register, value: int) -> None: ...

class _Named(Generic[_N]):
    def __get__(self, register: Register, owner: type[Register] | None = None) -> int: ...
    def __set__(self, register: Register, value: int | _N) -> None: ...

class _ReadOnly:
    def __get__(self, register: Register, owner: type[Register] | None = None) -> int: ...
    def __set__(self, register: Register, value: Never) -> None: ...
'''

#: A field's access right and the names of its values.
_Fields = dict[str, tuple[str, list[str]]]
#: A register's sentence and its fields.
_Registers = dict[str, tuple[str, _Fields]]


def _all() -> dict[str, _Registers]:
    units: dict[str, _Registers] = {}
    for platform in _native.platform_names():
        for unit, rows in _native.all_registers(platform):
            registers = units.setdefault(unit, {})
            for name, _, _, _, _, doc, fields in rows:
                _, known = registers.setdefault(name, (doc, {}))
                for field, _, _, access, _, _, values in fields:
                    _, names = known.setdefault(field, (access, []))
                    names += [value for value, _ in values if value not in names]
    return units


def _type_of(access: str, values: list[str]) -> str:
    if access == "ro":
        return "_ReadOnly"
    names = ", ".join(f'"{value}"' for value in values)
    return f"_Named[Literal[{names}]]" if values else "_Number"


def stub() -> str:
    """The stub's text."""
    parts = [_HEAD]
    units = _all()
    for unit, registers in sorted(units.items()):
        for name, (doc, fields) in registers.items():
            parts.append(f"class _{unit}_{name}(Register):")
            parts.append(f'    """{doc}"""' if '"' not in doc and "\\" not in doc else f"    {doc!r}")
            parts += [f"    {field}: {_type_of(*of)}" for field, of in fields.items()]
        parts.append(f"class _Unit_{unit}(Unit):")
        parts += [f"    {name}: _At[_{unit}_{name}]" for name in registers]
    parts.append("class Registers:")
    parts.append("    def __init__(self, host: Host) -> None: ...")
    parts.append("    def __getitem__(self, name: str) -> Register: ...")
    parts.append("    def __iter__(self) -> Iterator[Unit]: ...")
    parts += [f"    {unit}: _Unit_{unit}" for unit in sorted(units)]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(stub(), encoding="utf-8")
