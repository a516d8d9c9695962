"""The device's registers by name, from the model's own table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator

from ._errors import FieldError, RegisterError
from ._types import expect

if TYPE_CHECKING:
    from ._native import Host, RegisterRow


class Field:
    """What a field of a register is.

    Attributes:
        name: its name.
        lsb: its lowest bit.
        width: how many bits it has.
        access: ``ro``, ``rw``, ``wo`` or ``w1c`` (writing ones clears).
        encoding: ``plain``, ``minus one``, ``signed`` or ``bytes``.
        doc: what it is, in a sentence.
        values: the manual's names of its values.
    """

    __slots__ = ("access", "doc", "encoding", "lsb", "name", "values", "width")

    def __init__(self, row: tuple[str, int, int, str, str, str, list[tuple[str, int]]]) -> None:
        self.name, self.lsb, self.width, self.access, self.encoding, self.doc, values = row
        self.values = dict(values)

    def __repr__(self) -> str:
        return f"<field {self.name}[{self.lsb + self.width - 1}:{self.lsb}] {self.access}: {self.doc}>"


class Register:
    """A register of the device. Its fields are attributes: reading one reads the register, and writing one reads and writes it.

    Looking one up touches nothing; `read`, `value`, ``int()`` and fields access the bus, in simulated time.

    Attributes:
        name: with its unit, such as ``SDP.D_OP_ENABLE``.
        address: its byte address in the device's window.
        access: ``ro``, ``rw``, ``wo`` or ``w1c``.
        reset: what it holds after reset.
        has_groups: whether each of the unit's two groups has one.
        doc: what it is, in a sentence.
        fields: what its fields are, by name.
    """

    __slots__ = ("_host", "access", "address", "doc", "fields", "has_groups", "name", "reset")

    _host: Host
    fields: dict[str, Field]

    def __init__(self, host: Host, unit: str, row: RegisterRow) -> None:
        name, address, access, groups, reset, doc, fields = row
        set_to = super().__setattr__
        set_to("_host", host)
        set_to("name", f"{unit}.{name}")
        set_to("address", address)
        set_to("access", access)
        set_to("has_groups", groups)
        set_to("reset", reset)
        set_to("doc", doc)
        set_to("fields", {field[0]: Field(field) for field in fields})

    def read(self) -> int:
        """Reads the word over the register bus."""
        return self._host.read(self.address)

    def write(self, value: int, *, acknowledged: bool = False) -> None:
        """Writes the word over the register bus.

        Args:
            value: 32 bits.
            acknowledged: wait for the device's acknowledgement; without, the write is posted, and time does not move for it.

        Raises:
            FieldError: the value is no word of 32 bits.
        """
        word = _word(self.name, value)
        if acknowledged:
            self._host.write_acknowledged(self.address, word)
        else:
            self._host.write(self.address, word)

    @property
    def value(self) -> int:
        """The word: reading and assigning it access the bus."""
        return self._host.read(self.address)

    @value.setter
    def value(self, value: int) -> None:
        self.write(value)

    def decode(self, word: int | None = None) -> dict[str, int]:
        """The fields of a word: of the one that is read now, if none is given."""
        word = self.read() if word is None else word
        return {field.name: _extract(field, word) for field in self.fields.values()}

    def __int__(self) -> int:
        return self.read()

    __index__ = __int__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        field = self.fields.get(name)
        if field is None:
            raise _no_field(self, name)
        return _extract(field, self._host.read(self.address))

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "value":
            self.write(value)
            return
        field = self.fields.get(name)
        if field is None:
            raise _no_field(self, name)
        number = field.values.get(value) if isinstance(value, str) else value
        mask = (1 << field.width) - 1
        is_number = isinstance(number, int) and 0 <= number <= mask
        if not is_number or field.access == "ro":
            raise FieldError(self._host.no_assignment(f"{self.name}.{name}={value}"))
        assert isinstance(number, int)
        # A field that ones clear keeps what it is when zeros are written.
        kept = ~(mask << field.lsb)
        for other in self.fields.values():
            if other.access == "w1c" and other is not field:
                kept &= ~(((1 << other.width) - 1) << other.lsb)
        word = self._host.read(self.address) & kept & 0xFFFF_FFFF if len(self.fields) > 1 else 0
        self._host.write(self.address, word | number << field.lsb)

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *self.fields])

    def __repr__(self) -> str:
        return f"<register {self.name} at {self.address:#x}, {self.access}: {self.doc}>"


class Unit:
    """A unit of the device: its registers are attributes, and assigning to one writes it.

    Attributes:
        unit_name: such as ``SDP``.
    """

    unit_name: str
    _host: Host
    _rows: dict[str, RegisterRow]

    def __init__(self, host: Host, name: str) -> None:
        set_to = super().__setattr__
        set_to("_host", host)
        set_to("unit_name", name)
        set_to("_rows", {row[0]: row for row in host.registers(name)})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        row = self._rows.get(name)
        if row is None:
            raise RegisterError(self._host.no_register(f"{self.unit_name}.{name}"))
        register = Register(self._host, self.unit_name, row)
        super().__setattr__(name, register)
        return register

    def __setattr__(self, name: str, value: Any) -> None:
        # Over the bus; what is looked up here is looked up once.
        getattr(self, name).write(value)

    def __iter__(self) -> Iterator[Register]:
        return (getattr(self, name) for name in self._rows)

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *self._rows])

    def __repr__(self) -> str:
        return f"<unit {self.unit_name}: {len(self._rows)} registers>"


class Registers:
    """The device's units: ``p.regs.SDP.D_OP_ENABLE = 1``; by a name in a text: ``p.regs["SDP.D_OP_ENABLE"]``."""

    _host: Host
    _names: list[str]

    def __init__(self, host: Host) -> None:
        set_to = super().__setattr__
        set_to("_host", host)
        set_to("_names", host.units())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._names:
            raise RegisterError(self._host.no_register(f"{name}.S_STATUS" if "." not in name else name))
        unit = Unit(self._host, name)
        super().__setattr__(name, unit)
        return unit

    def __setattr__(self, name: str, value: Any) -> None:
        raise RegisterError(f"`{name}` is no register: registers are a unit's, such as {self._names[0]}")

    def __getitem__(self, name: str) -> Register:
        """The register of that name, such as ``SDP.D_OP_ENABLE``."""
        expect(name, str, "register's name")
        unit, _, register = name.upper().partition(".")
        if unit not in self._names or not register:
            raise RegisterError(self._host.no_register(name))
        found = getattr(getattr(self, unit), register)
        assert isinstance(found, Register)
        return found

    def __iter__(self) -> Iterator[Unit]:
        return (getattr(self, name) for name in self._names)

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *self._names])

    def __repr__(self) -> str:
        return f"<registers of {', '.join(self._names)}>"


def _extract(field: Field, word: int) -> int:
    return word >> field.lsb & ((1 << field.width) - 1)


def _word(name: str, value: Any) -> int:
    try:
        word = value.__index__()
    except AttributeError:
        raise FieldError(f"{name}: {value!r} is no word of 32 bits") from None
    if not isinstance(word, int) or not 0 <= word < 1 << 32:
        raise FieldError(f"{name}: {value!r} is no word of 32 bits: 0 to 0xffffffff")
    return word


def _no_field(register: Register, name: str) -> RegisterError:
    names = ", ".join(register.fields) or "none"
    return RegisterError(f"{register.name} has no field {name}: it has {names}")
