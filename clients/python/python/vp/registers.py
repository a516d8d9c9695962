"""The device's registers; their names and fields are in the stub beside this file, made by ``python -m vp.stubs``."""

from ._registers import Field, Register, Registers, Unit

__all__ = ["Field", "Register", "Registers", "Unit"]
