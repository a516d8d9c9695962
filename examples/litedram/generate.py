#!/usr/bin/env python3
"""LiteDRAM's controller in Verilog, with an AXI port on one side and the DFI of a PHY on the other; says its figures, as a
platform's file has them for the model of it."""

import argparse
from pathlib import Path
from typing import Any

from litedram.common import PhySettings
from litedram.core import ControllerSettings, LiteDRAMCore
from litedram.frontend.axi import LiteDRAMAXI2Native, LiteDRAMAXIPort
from litedram.modules import DDR3Module, _SpeedgradeTimings, _TechnologyTimings
from litedram.phy import dfi
from litedram.phy.model import get_sdram_phy_settings
from litex.gen.fhdl.verilog import convert
from migen import Cat, ClockDomain, Module, Signal, log2_int

# Of the controller, in Hz: a quarter of the DRAM's clock.
FREQUENCY = 200e6
ID_BITS = 8


class DDR3_1600K(DDR3Module):
    """A DDR3-1600K of 8 Gbit that is 8 bits wide (JESD79-3): nanoseconds, or clocks and nanoseconds."""

    nbanks, nrows, ncols = 8, 65536, 2048
    technology_timings = _TechnologyTimings(
        tREFI=7800, tWTR=(4, 7.5), tCCD=(4, None), tRRD=(4, 7.5), tZQCS=(64, 80)
    )
    speedgrade_timings = {
        "default": _SpeedgradeTimings(
            tRP=13.75, tRCD=13.75, tWR=15, tRFC=(None, 350), tFAW=(None, 40), tRAS=35
        )
    }


class Phy(Module):
    """The pins of the DFI, in place of a PHY."""

    def __init__(self, settings: PhySettings, geometry: Any) -> None:
        self.settings = settings
        self.dfi = dfi.Interface(
            geometry.addressbits, geometry.bankbits, settings.nranks, settings.dfi_databits, settings.nphases
        )


class Controller(Module):
    """LiteDRAM with pins: those of AXI by their names in lower case, those of the DFI with all phases in one, the first lowest."""

    def __init__(self, data_bits: int, options: dict[str, Any], ports: int = 1) -> None:
        module = DDR3_1600K(FREQUENCY, "1:4")
        # With the latencies of LiteDRAM's PHY for 7-series FPGAs.
        settings = get_sdram_phy_settings("DDR3", data_bits, FREQUENCY)
        self.figures = {**vars(settings), **vars(module.geom_settings), **vars(module.timing_settings)}
        self.clock_domains.sys = ClockDomain("sys")
        self.pins = {self.sys.clk, self.sys.rst}
        self.submodules.phy = Phy(settings, module.geom_settings)
        self.submodules.core = LiteDRAMCore(
            self.phy,
            module.geom_settings,
            module.timing_settings,
            clk_freq=FREQUENCY,
            controller_settings=ControllerSettings(**options),
        )
        for index in range(ports):
            self.add_port(f"port{index}_" if ports > 1 else "")
        for name in ["cs_n", "ras_n", "cas_n", "we_n", "bank", "address", "wrdata", "wrdata_mask"]:
            self.add_output(f"dfi_{name}", Cat(*(getattr(phase, name) for phase in self.phy.dfi.phases)))
        self.add_input("dfi_rddata", Cat(*(phase.rddata for phase in self.phy.dfi.phases)))

    def add_port(self, prefix: str) -> None:
        native = self.core.crossbar.get_port()
        address_bits = native.address_width + log2_int(native.data_width // 8)
        axi = LiteDRAMAXIPort(native.data_width, address_bits, id_width=ID_BITS)
        self.submodules += LiteDRAMAXI2Native(axi, native)
        for name in ["valid", "id", "addr", "len", "size", "burst"]:
            self.add_input(f"{prefix}aw{name}", getattr(axi.aw, name))
            self.add_input(f"{prefix}ar{name}", getattr(axi.ar, name))
        for name in ["valid", "data", "strb", "last"]:
            self.add_input(f"{prefix}w{name}", getattr(axi.w, name))
        for channel in ["aw", "w", "ar"]:
            self.add_output(f"{prefix}{channel}ready", getattr(axi, channel).ready)
        for name in ["valid", "id", "resp"]:
            self.add_output(f"{prefix}b{name}", getattr(axi.b, name))
        for name in ["valid", "id", "data", "resp", "last"]:
            self.add_output(f"{prefix}r{name}", getattr(axi.r, name))
        for channel in ["b", "r"]:
            self.add_input(f"{prefix}{channel}ready", getattr(axi, channel).ready)

    def add_input(self, name: str, inside: Any) -> None:
        pin = Signal(len(inside), name=name)
        self.comb += inside.eq(pin)
        self.pins.add(pin)

    def add_output(self, name: str, inside: Any) -> None:
        pin = Signal(len(inside), name=name)
        self.comb += pin.eq(inside)
        self.pins.add(pin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_bits", type=int, help="of the DRAM: an eighth of those of AXI")
    parser.add_argument("file", type=Path, help="to write")
    parser.add_argument("--ports", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="one of ControllerSettings")
    arguments = parser.parse_args()
    pairs = (option.split("=") for option in arguments.set)
    options: dict[str, Any] = {name: value == "true" if name.startswith("with") else int(value) for name, value in pairs}
    controller = Controller(arguments.data_bits, options, arguments.ports)
    figures = controller.figures
    names = ["nphases", "bankbits", "colbits", "cwl", "read_latency", "write_latency"]
    names += [name for name in figures if name.startswith("t") and name not in ("tZQCS", "timing")]
    print("[dbb0.litedram]")
    for name in names:
        print(f"{name} = {figures[name]}")
    for name, value in options.items():
        print(f"{name} = {str(value).lower()}")
    # As LiteX has it for Verilator, but for the time scale, which the other files have not.
    text = str(convert(controller, controller.pins, name="litedram_core", regular_comb=False))
    text = text.replace("`timescale 1ns / 1ps", "")
    lint = "".join(f"/* verilator lint_off {rule} */\n" for rule in ["BLKSEQ", "COMBDLY", "DECLFILENAME", "WIDTH"])
    arguments.file.write_text(lint + text)


if __name__ == "__main__":
    main()
