"""Programs that run on a platform: networks, the vendor's traces, loadables; and recordings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native
from ._errors import ProgramError
from ._models import Detection, Distance, ModelChoices, Sample, is_model, run_model
from ._platform import BasePlatform, Platform
from ._time import Time, TimeLike, picoseconds
from ._types import expect, whole

if TYPE_CHECKING:
    import pandas


class Layers(list[dict[str, Any]]):
    """The layers of a network that ran: a `dict` each. Times are cycles of the device's clock.

    Keys: ``name``, ``cycles``, ``begin``, ``end``, ``steps`` (hardware layers, a frame), ``within`` (the layer whose hardware layers do this one
    too), ``cpu`` (the CPU did it, or a part, in no simulated time), ``cpu_cycles`` (estimated cycles of that, or `None`), ``macs`` (products of the direct method),
    ``products`` (those that the array made: by Winograd's method fewer), ``winograd`` and ``compressed`` (by that method, with compressed weights), ``mac_cycles`` (cycles for which these keep the whole array busy), ``bytes_read``,
    ``bytes_written``, ``sram_bytes_read`` and ``sram_bytes_written`` (of these those over SRAMIF), ``bytes_copied`` (by BDMA into SRAM, for this layer), ``bound_by`` (what its time went into most:
    ``MAC array``, ``idle MACs``, ``SDP``, ``PDP``, ``CDP``, ``RUBIK``, ``read latency``, ``read bandwidth``, ``write``, ``CSB``), and the parts, which
    together are ``cycles``: ``mac_array_cycles``, ``idle_macs_cycles``, ``sdp_cycles``,
    ``pdp_cycles``, ``cdp_cycles``, ``rubik_cycles``, ``read_latency_cycles``, ``read_bandwidth_cycles``, ``write_cycles``, ``csb_cycles``. What units
    did is counted in ``cbuf_read_bytes``, ``cbuf_written_bytes``, ``sdp_elements``, ``pdp_elements``, ``cdp_elements``, ``rubik_bytes``. What bounded, and
    these, are `None` of a platform of a server.
    """

    def to_frame(self) -> "pandas.DataFrame":
        """The layers as rows of a `pandas.DataFrame`.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError("a table of layers takes pandas: pip install 'nvdla-vp[pandas]'") from error
        return pandas.DataFrame(list(self))


@dataclass(frozen=True)
class NetworkRun:
    """A network that has run.

    Attributes:
        network: its name.
        platform: the name of the platform.
        layers: what each layer took.
        cycles: cycles of the whole run.
        time: the same as a time.
        period: one cycle of the device's clock.
        frames: frames that it ran on; all figures are of all of them together.
        output: what came out, ``int8`` (or what the network's precision is) in ``[frame, line, column, channel]``; of several outputs the last; `None` if the platform skips the arithmetic.
            Of an ONNX model it is in the model's own numbers and shape, and of several frames the first one's.
        outputs: all outputs by the names of the layers that make them, or of an ONNX model by its own names, in the network's order; `None` if the platform skips the arithmetic.
        macs_per_cycle: products that the device's array makes in a cycle.
        hardware_layers: how many the network takes.
        memory_bytes: bytes of memory that it takes.
        sram_bytes: bytes of SRAM that it takes.
        event_hash: the platform's, at the end.
        precision: the network's: ``int8``, ``int16`` or ``fp16``.
        nodes_on_cpu: of an ONNX model the nodes that no unit does, by name, each with the reason.
        distances: of an ONNX model how far each output is from what the model itself gives.
        layer_distances: the same of its layers, if they were asked for.
        notes: what was taken for granted of an ONNX model.
        boxes: of an ONNX model that is a detector (``boxes=``) what it has found, best first; `None` of others, or if the platform skips the arithmetic.
        calibration: of an ONNX model in ``int8`` the ranges of its numbers, as the text of a file that ``calibrate=`` takes (``ranges.json``).
    """

    network: str
    platform: str
    layers: Layers
    cycles: int
    time: Time
    period: Time
    frames: int
    output: npt.NDArray[Any] | None
    outputs: dict[str, npt.NDArray[Any]] | None
    macs_per_cycle: int
    hardware_layers: int
    memory_bytes: int
    sram_bytes: int
    event_hash: str
    precision: str = "int8"
    nodes_on_cpu: dict[str, str] = field(default_factory=dict)
    distances: dict[str, Distance] = field(default_factory=dict)
    layer_distances: dict[str, Distance] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    boxes: list[Detection] | None = None
    calibration: str | None = None

    @property
    def frames_per_second(self) -> float:
        """Frames a second at the device's clock."""
        return self.frames / self.time.seconds


def run_network(
    network: str | os.PathLike[str],
    given: BasePlatform | Sample | None = None,
    *,
    platform: BasePlatform | None = None,
    input: Sample | None = None,
    timed: bool = False,
    frames: int = 1,
    batch: int = 1,
    input_size: tuple[int, int] | None = None,
    placement: str = "dram",
    placement_limit: int | None = None,
    copies: str | None = None,
    precision: str | None = None,
    calibrate: str | os.PathLike[str] | Sequence[Sample] | None = None,
    ranges: str | None = None,
    scales: str | None = None,
    shape: Sequence[int] | Mapping[str, Sequence[int]] | None = None,
    preprocess: str | os.PathLike[str] | None = None,
    boxes: str | os.PathLike[str] | None = None,
    distance: bool = False,
) -> NetworkRun:
    """Runs a network layer by layer, as a driver would.

    Args:
        network: one that is built in (`network_names`), a folder with a ``network.toml``, such a file, a sheet of layers (``.csv``), or an ONNX
            model (``.onnx``).
        given: the platform, or the input: ``run_network("model.onnx", image)``.
        platform: where; without, an ``nv_large`` of its own.
        input: ``int8`` (``int16`` or ``float16`` if the network has that precision) in ``[line, column, channel]``, with frames in front if there are several; without, made-up bytes.
            Of an ONNX model an array in the model's own numbers and shape, a `dict` of them by the names of its inputs, or the path of a
            picture, an NPY or an NPZ file.
        timed: cycles only: the arithmetic is left out. A platform that is given has to be one that does so: ``arithmetic="skipped"``.
        frames: runs on the input so often.
        batch: frames that the network takes at once: fully connected layers at its end run once for all of them.
        input_size: columns and lines of the input, in place of the network's own.
        placement: what is kept in SRAM beside what the network's file demands there: nothing (``"dram"``), ``"activations"``, or in what is
            left weights too (``"all"``).
        placement_limit: bytes of SRAM that may be used; all there are if left out.
        copies: whether BDMA copies into SRAM what layers read several times from DRAM: where that moves fewer bytes there (``"auto"``), or
            not at all (``"never"``). Left out, it does where something is placed in SRAM and the platform has BDMA.
        precision: of an ONNX model ``"int8"`` or ``"fp16"``; left out, ``fp16`` where the platform has it and the model is not quantised.
        calibrate: samples by whose ranges a float ONNX model is quantised to ``int8``: a folder, a file, or a list of inputs; or a
            calibration table, ``ranges.json``; left out, the input alone.
        ranges: how ranges follow from samples: ``"min-max"`` (left out), ``"percentile=99.99"``, ``"entropy"``.
        scales: of a float ONNX model's weights ``"per-kernel"`` (left out) or ``"per-tensor"``.
        shape: of the ONNX model's input, where it leaves axes open and the input is no array; of several inputs a `dict` of them.
        preprocess: how pictures become an ONNX model's numbers: ``"imagenet"``, ``"imagenet-bgr-caffe"``, ``"unit"``, ``"signed"``, ``"raw"``, or a
            file; left out, ``MODEL.preprocess.toml`` beside the model.
        boxes: how a detector's outputs become boxes: ``"corners"``, ``"yolov2"``, ``"yolov3"``, ``"yolov5"``, ``"yolov8"``, ``"yolov10"``, ``"yolox"``, ``"picodet"``,
            ``"mask"``, or a file; left out, ``MODEL.boxes.toml`` beside the model.
        distance: of an ONNX model the distances of all layers too.

    Raises:
        DescriptionError: there is no such network, or the platform cannot run it.
        ProgramError: the input has another size, or the device refuses a layer.
    """
    if isinstance(given, BasePlatform):
        if platform is not None:
            raise ProgramError("two platforms are given")
        platform = given
    elif given is not None:
        if input is not None:
            raise ProgramError("two inputs are given")
        input = given
    if platform is None:
        changes = {"arithmetic": "skipped"} if timed else {}
        with Platform("nv_large", changes) as own:
            return run_network(
                network,
                own,
                input=input,
                frames=frames,
                batch=batch,
                input_size=input_size,
                placement=placement,
                placement_limit=placement_limit,
                copies=copies,
                precision=precision,
                calibrate=calibrate,
                ranges=ranges,
                scales=scales,
                shape=shape,
                preprocess=preprocess,
                boxes=boxes,
                distance=distance,
            )
    expect(platform, BasePlatform, "platform")
    if timed and "arithmetic = \"skipped\"" not in platform.description:
        raise ProgramError(
            f"timed: {platform.name} computes; make the platform with arithmetic=\"skipped\", or a server's with "
            "--set arithmetic=skipped"
        )
    frames, batch = (whole(number, what, 1, 2**32 - 1) for number, what in ((frames, "frames"), (batch, "batch")))
    if input_size is not None:
        columns, lines = input_size
        input_size = (whole(columns, "columns", 1, 2**16), whole(lines, "lines", 1, 2**16))
    if placement_limit is not None:
        placement_limit = whole(placement_limit, "placement_limit", 0, 2**64 - 1)
    expect(placement, str, "placement")
    if copies is not None:
        expect(copies, str, "copies")
    choices = ModelChoices(precision, calibrate, ranges, scales, shape, preprocess, boxes, distance)
    if is_model(network):
        if input_size is not None:
            raise ProgramError("input_size is of networks whose weights are made up: an ONNX model's input has its size by shape")
        options = (frames, batch, placement, placement_limit, copies)
        told = run_model(platform._host, network, input, choices, options)
    else:
        if wrong := choices.given():
            raise ProgramError(f"{', '.join(wrong)}: for ONNX models (.onnx)")
        if isinstance(input, (str, os.PathLike, Mapping)):
            raise ProgramError("the input of a network is an array; pictures, files and arrays by name are inputs of ONNX models")
        told = _native.run_network(
            platform._host,
            os.fspath(network),
            None if input is None else _elements(input),
            frames,
            batch,
            input_size,
            placement,
            placement_limit,
            copies,
        )
    outputs: dict[str, npt.NDArray[Any]] | None = None
    distances: dict[str, Distance] = {}
    if told["outputs"] is not None and is_model(network):
        outputs = {name: output for name, output, _ in told["outputs"]}
        distances = {name: Distance(*distance) for name, _, distance in told["outputs"]}
    elif told["outputs"] is not None:
        outputs = {
            name: _typed(output, told["precision"]).reshape(-1, *size) for name, size, output in told["outputs"]
        }
    return NetworkRun(
        network=told["network"],
        platform=told["platform"],
        layers=Layers(told["layers"]),
        cycles=told["cycles"],
        time=Time.from_ps(told["time"]),
        period=Time.from_ps(told["period"]),
        frames=told["frames"],
        output=None if outputs is None else list(outputs.values())[-1],
        outputs=outputs,
        macs_per_cycle=told["macs_per_cycle"],
        hardware_layers=told["hardware_layers"],
        memory_bytes=told["memory_bytes"],
        sram_bytes=told["sram_bytes"],
        event_hash=told["event_hash"],
        precision=told["precision"],
        nodes_on_cpu=dict(told.get("nodes_on_cpu", [])),
        distances=distances,
        layer_distances={name: Distance(*distance) for name, distance in told.get("layer_distances", [])},
        notes=told.get("notes", []),
        boxes=_boxes(told.get("boxes")),
        calibration=told.get("calibration"),
    )


def _boxes(told: list[tuple[int, float, float, float, float, float]] | None) -> list[Detection] | None:
    return None if told is None else [Detection(*box) for box in told]


def _typed(output: npt.NDArray[np.int8], precision: str) -> npt.NDArray[Any]:
    """The elements of an output, which comes as bytes."""
    return output.view({"int16": np.int16, "fp16": np.float16}.get(precision, np.int8))


def _elements(data: npt.ArrayLike) -> tuple[npt.NDArray[np.int8], str]:
    """The bytes of an input, and the precision of its elements."""
    array = np.asarray(data)
    if array.dtype == np.uint8 and (array.size == 0 or int(array.max()) < 128):
        array = array.astype(np.int8)
    precisions = {"int8": "int8", "int16": "int16", "float16": "fp16"}
    if array.dtype.name not in precisions:
        raise ProgramError(f"the input has elements of {array.dtype}: networks take int8, int16 or float16, by their precision")
    return np.ascontiguousarray(array).reshape(-1).view(np.int8), precisions[array.dtype.name]


@dataclass(frozen=True)
class TraceRun:
    """A trace that was played, or a loadable that has run.

    Attributes:
        name: the trace's name.
        passed: whether every check passed, and every declared interrupt came and no other.
        checks_passed: how many checks found what they expected.
        failures: what was not as it should be, a line each.
        register_writes: how many were made.
        register_reads: how many were made, polls included.
        interrupts: the interrupts that came: their names, where the trace says them, and times.
        start: simulated time at the first command.
        finish: simulated time after the last one.
        outputs: of a loadable, its outputs: elements in ``[channel, line, column]`` where the loadable says how they lie, else bytes.
    """

    name: str
    passed: bool
    checks_passed: int
    failures: list[str]
    register_writes: int
    register_reads: int
    interrupts: list[tuple[str | None, Time]]
    start: Time
    finish: Time
    outputs: list[npt.NDArray[Any]]

    @property
    def time(self) -> Time:
        """The simulated time that it took."""
        return self.finish - self.start


def run_trace(path: str | os.PathLike[str], platform: BasePlatform | None = None) -> TraceRun:
    """Plays a trace and judges it: a script (``.cfg``, ``input.txn``), a recording of a driver (``.trace``), a log of registers (``.jsonl``).

    Args:
        path: the script, or a folder with one.
        platform: where: a fresh one; without, one of its own: that of its folder's name, or ``nv_small``.

    Raises:
        DescriptionError: the trace cannot be read, or names what the platform has not.
        Error: the platform cannot do what a line asks.
    """
    return _play(path, platform, None)


def run_loadable(
    path: str | os.PathLike[str],
    platform: BasePlatform | None = None,
    *,
    inputs: Sequence[npt.ArrayLike] | npt.NDArray[Any] | None = None,
) -> TraceRun:
    """Runs a loadable of the vendor's compiler, as the vendor's driver and runtime do.

    Args:
        path: the loadable, ``.nvdla``.
        platform: where: a fresh one; without, one of its own that the loadable fits.
        inputs: its inputs: elements in ``[channel, line, column]``, or the memory as it is; without, zeros. An array is one input.

    Raises:
        DescriptionError: the loadable cannot be read.
        ProgramError: an input has another size, or the platform does not fit.
    """
    return _play(path, platform, inputs)


def _play(
    path: str | os.PathLike[str],
    platform: BasePlatform | None,
    inputs: Sequence[npt.ArrayLike] | npt.NDArray[Any] | None,
) -> TraceRun:
    if platform is None:
        with Platform(_native.platform_of_trace(os.fspath(path))) as own:
            return _play(path, own, inputs)
    expect(platform, BasePlatform, "platform")
    each = [inputs] if isinstance(inputs, np.ndarray) else inputs
    given = None if each is None else [np.ascontiguousarray(one).tobytes() for one in each]
    told = _native.run_trace(platform._host, os.fspath(path), given)
    return TraceRun(
        name=told["name"],
        passed=told["passed"],
        checks_passed=told["checks_passed"],
        failures=told["failures"],
        register_writes=told["register_writes"],
        register_reads=told["register_reads"],
        interrupts=[(name, Time.from_ps(time)) for name, time in told["interrupts"]],
        start=Time.from_ps(told["start"]),
        finish=Time.from_ps(told["finish"]),
        outputs=[_output(*output) for output in told["outputs"]],
    )


def _output(
    data: bytes, is_dense: bool, size: tuple[int, int, int] | None, element: int | None, is_half: bool
) -> npt.NDArray[Any]:
    if not is_dense or size is None or element is None:
        return np.frombuffer(data, np.uint8)
    width, height, channels = size
    dtype = np.float16 if is_half else {1: np.int8, 2: np.int16}.get(element, np.uint8)
    return np.frombuffer(data, dtype).reshape(channels, height, width)


def digits() -> tuple[npt.NDArray[np.int8], npt.NDArray[np.uint8]]:
    """Samples of handwritten digits for the network ``digits``, which it was not trained on.

    Returns:
        Images, ``int8`` in ``[image, line, column, channel]`` with 0 to 16 for the ink, and the digit that each shows.
    """
    pixels, labels = _native.digits_samples()
    side = round((pixels.size / labels.size) ** 0.5)
    return pixels.reshape(-1, side, side, 1), labels


@dataclass(frozen=True)
class Replayed:
    """A recording that ran again.

    Attributes:
        time: the simulated time at its end.
        event_hash: the event hash there.
        entries: how many of its entries were run.
        end: ``whole``: with the recorded run. ``early``: the recording ends before the run did. ``cut off``: its program was ended. ``stopped``: at the
            time asked for.
    """

    time: Time
    event_hash: str
    entries: int
    end: Literal["whole", "early", "cut off", "stopped"]


def replay(path: str | os.PathLike[str], *, until: TimeLike | None = None) -> Replayed:
    """Runs a recording again, and checks that it goes as it went.

    Args:
        path: a recording, of `Platform`'s ``record`` or ``vp --record``.
        until: stop behind all that happens up to this simulated time.

    Raises:
        RecordingError: the recording is damaged, or the run is another one.
    """
    time, event_hash, entries, end = _native.replay(
        os.fspath(path), None if until is None else picoseconds(until)
    )
    return Replayed(Time.from_ps(time), event_hash, entries, end)
