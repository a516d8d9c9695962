"""The registers of all built-in platforms. Made by ``python -m vp.stubs``; a platform that has not all of them says so."""

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

class _BDMA_CFG_SRC_ADDR_LOW(Register):
    """Source address, low word."""
    V32: _Number
class _BDMA_CFG_SRC_ADDR_HIGH(Register):
    """Source address, high word."""
    V8: _Number
class _BDMA_CFG_DST_ADDR_LOW(Register):
    """Destination address, low word."""
    V32: _Number
class _BDMA_CFG_DST_ADDR_HIGH(Register):
    """Destination address, high word."""
    V8: _Number
class _BDMA_CFG_LINE(Register):
    """Line size."""
    SIZE: _Number
class _BDMA_CFG_CMD(Register):
    """Source and destination memory select."""
    SRC_RAM_TYPE: _Named[Literal["CVSRAM", "MC"]]
    DST_RAM_TYPE: _Named[Literal["CVSRAM", "MC"]]
class _BDMA_CFG_LINE_REPEAT(Register):
    """Lines per surface."""
    NUMBER: _Number
class _BDMA_CFG_SRC_LINE(Register):
    """Source line stride."""
    STRIDE: _Number
class _BDMA_CFG_DST_LINE(Register):
    """Destination line stride."""
    STRIDE: _Number
class _BDMA_CFG_SURF_REPEAT(Register):
    """Surfaces per command."""
    NUMBER: _Number
class _BDMA_CFG_SRC_SURF(Register):
    """Source surface stride."""
    STRIDE: _Number
class _BDMA_CFG_DST_SURF(Register):
    """Destination surface stride."""
    STRIDE: _Number
class _BDMA_CFG_OP(Register):
    """Pushes the configured copy command into the command queue."""
    EN: _Named[Literal["DISABLE", "ENABLE"]]
class _BDMA_CFG_LAUNCH0(Register):
    """Launches the queued commands as group 0."""
    GRP0_LAUNCH: _Named[Literal["NO", "YES"]]
class _BDMA_CFG_LAUNCH1(Register):
    """Launches the queued commands as group 1."""
    GRP1_LAUNCH: _Named[Literal["NO", "YES"]]
class _BDMA_CFG_STATUS(Register):
    """Stall counter enable."""
    STALL_COUNT_EN: _Named[Literal["NO", "YES"]]
class _BDMA_STATUS(Register):
    """Queue occupancy and busy flags."""
    FREE_SLOT: _ReadOnly
    IDLE: _ReadOnly
    GRP0_BUSY: _ReadOnly
    GRP1_BUSY: _ReadOnly
class _BDMA_STATUS_GRP0_READ_STALL(Register):
    """Read stall cycles of last group 0 run."""
    COUNT: _ReadOnly
class _BDMA_STATUS_GRP0_WRITE_STALL(Register):
    """Write stall cycles of last group 0 run."""
    COUNT: _ReadOnly
class _BDMA_STATUS_GRP1_READ_STALL(Register):
    """Read stall cycles of last group 1 run."""
    COUNT: _ReadOnly
class _BDMA_STATUS_GRP1_WRITE_STALL(Register):
    """Write stall cycles of last group 1 run."""
    COUNT: _ReadOnly
class _Unit_BDMA(Unit):
    CFG_SRC_ADDR_LOW: _At[_BDMA_CFG_SRC_ADDR_LOW]
    CFG_SRC_ADDR_HIGH: _At[_BDMA_CFG_SRC_ADDR_HIGH]
    CFG_DST_ADDR_LOW: _At[_BDMA_CFG_DST_ADDR_LOW]
    CFG_DST_ADDR_HIGH: _At[_BDMA_CFG_DST_ADDR_HIGH]
    CFG_LINE: _At[_BDMA_CFG_LINE]
    CFG_CMD: _At[_BDMA_CFG_CMD]
    CFG_LINE_REPEAT: _At[_BDMA_CFG_LINE_REPEAT]
    CFG_SRC_LINE: _At[_BDMA_CFG_SRC_LINE]
    CFG_DST_LINE: _At[_BDMA_CFG_DST_LINE]
    CFG_SURF_REPEAT: _At[_BDMA_CFG_SURF_REPEAT]
    CFG_SRC_SURF: _At[_BDMA_CFG_SRC_SURF]
    CFG_DST_SURF: _At[_BDMA_CFG_DST_SURF]
    CFG_OP: _At[_BDMA_CFG_OP]
    CFG_LAUNCH0: _At[_BDMA_CFG_LAUNCH0]
    CFG_LAUNCH1: _At[_BDMA_CFG_LAUNCH1]
    CFG_STATUS: _At[_BDMA_CFG_STATUS]
    STATUS: _At[_BDMA_STATUS]
    STATUS_GRP0_READ_STALL: _At[_BDMA_STATUS_GRP0_READ_STALL]
    STATUS_GRP0_WRITE_STALL: _At[_BDMA_STATUS_GRP0_WRITE_STALL]
    STATUS_GRP1_READ_STALL: _At[_BDMA_STATUS_GRP1_READ_STALL]
    STATUS_GRP1_WRITE_STALL: _At[_BDMA_STATUS_GRP1_WRITE_STALL]
class _CACC_S_STATUS(Register):
    """State of both register groups."""
    STATUS_0: _ReadOnly
    STATUS_1: _ReadOnly
class _CACC_S_POINTER(Register):
    """Group select for software and datapath."""
    PRODUCER: _Named[Literal["GROUP_0", "GROUP_1"]]
    CONSUMER: _ReadOnly
class _CACC_D_OP_ENABLE(Register):
    """Starts the layer described by this group."""
    OP_EN: _Named[Literal["DISABLE", "ENABLE"]]
class _CACC_D_MISC_CFG(Register):
    """Mode and precision."""
    CONV_MODE: _Named[Literal["DIRECT", "WINOGRAD"]]
    PROC_PRECISION: _Named[Literal["INT8", "INT16", "FP16"]]
class _CACC_D_DATAOUT_SIZE_0(Register):
    """Output width and height."""
    DATAOUT_WIDTH: _Number
    DATAOUT_HEIGHT: _Number
class _CACC_D_DATAOUT_SIZE_1(Register):
    """Output channels."""
    DATAOUT_CHANNEL: _Number
class _CACC_D_DATAOUT_ADDR(Register):
    """Output address."""
    DATAOUT_ADDR: _Number
class _CACC_D_BATCH_NUMBER(Register):
    """Batch count."""
    BATCHES: _Number
class _CACC_D_LINE_STRIDE(Register):
    """Output line stride."""
    LINE_STRIDE: _Number
class _CACC_D_SURF_STRIDE(Register):
    """Output surface stride."""
    SURF_STRIDE: _Number
class _CACC_D_DATAOUT_MAP(Register):
    """Output packing hints."""
    LINE_PACKED: _Named[Literal["FALSE", "TRUE"]]
    SURF_PACKED: _Named[Literal["FALSE", "TRUE"]]
class _CACC_D_CLIP_CFG(Register):
    """Accumulator output right shift."""
    CLIP_TRUNCATE: _Number
class _CACC_D_OUT_SATURATION(Register):
    """Saturated output count."""
    SAT_COUNT: _ReadOnly
class _CACC_D_CYA(Register):
    """Spare bits without function."""
    CYA: _Number
class _Unit_CACC(Unit):
    S_STATUS: _At[_CACC_S_STATUS]
    S_POINTER: _At[_CACC_S_POINTER]
    D_OP_ENABLE: _At[_CACC_D_OP_ENABLE]
    D_MISC_CFG: _At[_CACC_D_MISC_CFG]
    D_DATAOUT_SIZE_0: _At[_CACC_D_DATAOUT_SIZE_0]
    D_DATAOUT_SIZE_1: _At[_CACC_D_DATAOUT_SIZE_1]
    D_DATAOUT_ADDR: _At[_CACC_D_DATAOUT_ADDR]
    D_BATCH_NUMBER: _At[_CACC_D_BATCH_NUMBER]
    D_LINE_STRIDE: _At[_CACC_D_LINE_STRIDE]
    D_SURF_STRIDE: _At[_CACC_D_SURF_STRIDE]
    D_DATAOUT_MAP: _At[_CACC_D_DATAOUT_MAP]
    D_CLIP_CFG: _At[_CACC_D_CLIP_CFG]
    D_OUT_SATURATION: _At[_CACC_D_OUT_SATURATION]
    D_CYA: _At[_CACC_D_CYA]
class _CDMA_S_STATUS(Register):
    """State of both register groups."""
    STATUS_0: _ReadOnly
    STATUS_1: _ReadOnly
class _CDMA_S_POINTER(Register):
    """Group select for software and datapath."""
    PRODUCER: _Named[Literal["GROUP_0", "GROUP_1"]]
    CONSUMER: _ReadOnly
class _CDMA_S_ARBITER(Register):
    """Weight/WMB read arbitration."""
    ARB_WEIGHT: _Number
    ARB_WMB: _Number
class _CDMA_S_CBUF_FLUSH_STATUS(Register):
    """Buffer clear after reset."""
    FLUSH_DONE: _ReadOnly
class _CDMA_D_OP_ENABLE(Register):
    """Starts the layer described by this group."""
    OP_EN: _Named[Literal["DISABLE", "ENABLE"]]
class _CDMA_D_MISC_CFG(Register):
    """Mode, precision and buffer reuse."""
    CONV_MODE: _Named[Literal["DIRECT", "WINOGRAD"]]
    IN_PRECISION: _Named[Literal["INT8", "INT16", "FP16"]]
    PROC_PRECISION: _Named[Literal["INT8", "INT16", "FP16"]]
    DATA_REUSE: _Named[Literal["DISABLE", "ENABLE"]]
    WEIGHT_REUSE: _Named[Literal["DISABLE", "ENABLE"]]
    SKIP_DATA_RLS: _Named[Literal["DISABLE", "ENABLE"]]
    SKIP_WEIGHT_RLS: _Named[Literal["DISABLE", "ENABLE"]]
class _CDMA_D_DATAIN_FORMAT(Register):
    """Input format."""
    DATAIN_FORMAT: _Named[Literal["FEATURE", "PIXEL"]]
    PIXEL_FORMAT: _Named[Literal["T_R8", "T_R10", "T_R12", "T_R16", "T_R16_I", "T_R16_F", "T_A16B16G16R16", "T_X16B16G16R16", "T_A16B16G16R16_F", "T_A16Y16U16V16", "T_V16U16Y16A16", "T_A16Y16U16V16_F", "T_A8B8G8R8", "T_A8R8G8B8", "T_B8G8R8A8", "T_R8G8B8A8", "T_X8B8G8R8", "T_X8R8G8B8", "T_B8G8R8X8", "T_R8G8B8X8", "T_A2B10G10R10", "T_A2R10G10B10", "T_B10G10R10A2", "T_R10G10B10A2", "T_A2Y10U10V10", "T_V10U10Y10A2", "T_A8Y8U8V8", "T_V8U8Y8A8", "T_Y8___U8V8_N444", "T_Y8___V8U8_N444", "T_Y10___U10V10_N444", "T_Y10___V10U10_N444", "T_Y12___U12V12_N444", "T_Y12___V12U12_N444", "T_Y16___U16V16_N444", "T_Y16___V16U16_N444"]]
    PIXEL_MAPPING: _Named[Literal["PITCH_LINEAR", "RESERVED_LINEAR"]]
    PIXEL_SIGN_OVERRIDE: _Named[Literal["UNSIGNED_INT", "SIGNED_INT"]]
class _CDMA_D_DATAIN_SIZE_0(Register):
    """Input width and height."""
    DATAIN_WIDTH: _Number
    DATAIN_HEIGHT: _Number
class _CDMA_D_DATAIN_SIZE_1(Register):
    """Input channels."""
    DATAIN_CHANNEL: _Number
class _CDMA_D_DATAIN_SIZE_EXT_0(Register):
    """Input width and height as seen after pixel extension."""
    DATAIN_WIDTH_EXT: _Number
    DATAIN_HEIGHT_EXT: _Number
class _CDMA_D_PIXEL_OFFSET(Register):
    """First pixel position inside its atom."""
    PIXEL_X_OFFSET: _Number
    PIXEL_Y_OFFSET: _Number
class _CDMA_D_DAIN_RAM_TYPE(Register):
    """Input memory select."""
    DATAIN_RAM_TYPE: _Named[Literal["CVIF", "MCIF"]]
class _CDMA_D_DAIN_ADDR_HIGH_0(Register):
    """Input address (plane 0), high word."""
    DATAIN_ADDR_HIGH_0: _Number
class _CDMA_D_DAIN_ADDR_LOW_0(Register):
    """Input address (plane 0), low word."""
    DATAIN_ADDR_LOW_0: _Number
class _CDMA_D_DAIN_ADDR_HIGH_1(Register):
    """Input address (UV plane), high word."""
    DATAIN_ADDR_HIGH_1: _Number
class _CDMA_D_DAIN_ADDR_LOW_1(Register):
    """Input address (UV plane), low word."""
    DATAIN_ADDR_LOW_1: _Number
class _CDMA_D_LINE_STRIDE(Register):
    """Input line stride."""
    LINE_STRIDE: _Number
class _CDMA_D_LINE_UV_STRIDE(Register):
    """UV plane line stride."""
    UV_LINE_STRIDE: _Number
class _CDMA_D_SURF_STRIDE(Register):
    """Input surface stride."""
    SURF_STRIDE: _Number
class _CDMA_D_DAIN_MAP(Register):
    """Input packing hints."""
    LINE_PACKED: _Named[Literal["FALSE", "TRUE"]]
    SURF_PACKED: _Named[Literal["FALSE", "TRUE"]]
class _CDMA_D_RESERVED_X_CFG(Register):
    """Reserved horizontal fetch tuning."""
    RSV_PER_LINE: _Number
    RSV_PER_UV_LINE: _Number
class _CDMA_D_RESERVED_Y_CFG(Register):
    """Reserved vertical fetch tuning."""
    RSV_HEIGHT: _Number
    RSV_Y_INDEX: _Number
class _CDMA_D_BATCH_NUMBER(Register):
    """Batch count."""
    BATCHES: _Number
class _CDMA_D_BATCH_STRIDE(Register):
    """Distance between batch inputs."""
    BATCH_STRIDE: _Number
class _CDMA_D_ENTRY_PER_SLICE(Register):
    """CBUF entries used by one input line."""
    ENTRIES: _Number
class _CDMA_D_FETCH_GRAIN(Register):
    """Input lines fetched per step."""
    GRAINS: _Number
class _CDMA_D_WEIGHT_FORMAT(Register):
    """Weight compression select."""
    WEIGHT_FORMAT: _Named[Literal["UNCOMPRESSED", "COMPRESSED"]]
class _CDMA_D_WEIGHT_SIZE_0(Register):
    """Size of one kernel."""
    BYTE_PER_KERNEL: _Number
class _CDMA_D_WEIGHT_SIZE_1(Register):
    """Kernel count."""
    WEIGHT_KERNEL: _Number
class _CDMA_D_WEIGHT_RAM_TYPE(Register):
    """Weight memory select."""
    WEIGHT_RAM_TYPE: _Named[Literal["CVIF", "MCIF"]]
class _CDMA_D_WEIGHT_ADDR_HIGH(Register):
    """Weight address, high word."""
    WEIGHT_ADDR_HIGH: _Number
class _CDMA_D_WEIGHT_ADDR_LOW(Register):
    """Weight address, low word."""
    WEIGHT_ADDR_LOW: _Number
class _CDMA_D_WEIGHT_BYTES(Register):
    """Total weight size."""
    WEIGHT_BYTES: _Number
class _CDMA_D_WGS_ADDR_HIGH(Register):
    """Weight group size table address, high word."""
    WGS_ADDR_HIGH: _Number
class _CDMA_D_WGS_ADDR_LOW(Register):
    """Weight group size table address, low word."""
    WGS_ADDR_LOW: _Number
class _CDMA_D_WMB_ADDR_HIGH(Register):
    """Weight mask bits address, high word."""
    WMB_ADDR_HIGH: _Number
class _CDMA_D_WMB_ADDR_LOW(Register):
    """Weight mask bits address, low word."""
    WMB_ADDR_LOW: _Number
class _CDMA_D_WMB_BYTES(Register):
    """Total weight mask size."""
    WMB_BYTES: _Number
class _CDMA_D_MEAN_FORMAT(Register):
    """Mean subtraction enable."""
    MEAN_FORMAT: _Named[Literal["DISABLE", "ENABLE"]]
class _CDMA_D_MEAN_GLOBAL_0(Register):
    """Mean of first two components."""
    MEAN_RY: _Number
    MEAN_GU: _Number
class _CDMA_D_MEAN_GLOBAL_1(Register):
    """Mean of last two components."""
    MEAN_BV: _Number
    MEAN_AX: _Number
class _CDMA_D_CVT_CFG(Register):
    """Input converter control."""
    CVT_EN: _Named[Literal["DISABLE", "ENABLE"]]
    CVT_TRUNCATE: _Number
class _CDMA_D_CVT_OFFSET(Register):
    """Input converter offset."""
    CVT_OFFSET: _Number
class _CDMA_D_CVT_SCALE(Register):
    """Input converter scale."""
    CVT_SCALE: _Number
class _CDMA_D_CONV_STRIDE(Register):
    """Convolution stride."""
    CONV_X_STRIDE: _Number
    CONV_Y_STRIDE: _Number
class _CDMA_D_ZERO_PADDING(Register):
    """Padding size."""
    PAD_LEFT: _Number
    PAD_RIGHT: _Number
    PAD_TOP: _Number
    PAD_BOTTOM: _Number
class _CDMA_D_ZERO_PADDING_VALUE(Register):
    """Padding value."""
    PAD_VALUE: _Number
class _CDMA_D_BANK(Register):
    """CBUF bank split."""
    DATA_BANK: _Number
    WEIGHT_BANK: _Number
class _CDMA_D_NAN_FLUSH_TO_ZERO(Register):
    """NaN flush."""
    NAN_TO_ZERO: _Named[Literal["DISABLE", "ENABLE"]]
class _CDMA_D_NAN_INPUT_DATA_NUM(Register):
    """NaN count in input."""
    NAN_DATA_NUM: _ReadOnly
class _CDMA_D_NAN_INPUT_WEIGHT_NUM(Register):
    """NaN count in weights."""
    NAN_WEIGHT_NUM: _ReadOnly
class _CDMA_D_INF_INPUT_DATA_NUM(Register):
    """Infinity count in input."""
    INF_DATA_NUM: _ReadOnly
class _CDMA_D_INF_INPUT_WEIGHT_NUM(Register):
    """Infinity count in weights."""
    INF_WEIGHT_NUM: _ReadOnly
class _CDMA_D_PERF_ENABLE(Register):
    """Performance counter enable."""
    DMA_EN: _Number
class _CDMA_D_PERF_DAT_READ_STALL(Register):
    """Input read stall cycles."""
    DAT_RD_STALL: _ReadOnly
class _CDMA_D_PERF_WT_READ_STALL(Register):
    """Weight read stall cycles."""
    WT_RD_STALL: _ReadOnly
class _CDMA_D_PERF_DAT_READ_LATENCY(Register):
    """Accumulated input read latency."""
    DAT_RD_LATENCY: _ReadOnly
class _CDMA_D_PERF_WT_READ_LATENCY(Register):
    """Accumulated weight read latency."""
    WT_RD_LATENCY: _ReadOnly
class _CDMA_D_CYA(Register):
    """Spare bits without function."""
    CYA: _Number
class _Unit_CDMA(Unit):
    S_STATUS: _At[_CDMA_S_STATUS]
    S_POINTER: _At[_CDMA_S_POINTER]
    S_ARBITER: _At[_CDMA_S_ARBITER]
    S_CBUF_FLUSH_STATUS: _At[_CDMA_S_CBUF_FLUSH_STATUS]
    D_OP_ENABLE: _At[_CDMA_D_OP_ENABLE]
    D_MISC_CFG: _At[_CDMA_D_MISC_CFG]
    D_DATAIN_FORMAT: _At[_CDMA_D_DATAIN_FORMAT]
    D_DATAIN_SIZE_0: _At[_CDMA_D_DATAIN_SIZE_0]
    D_DATAIN_SIZE_1: _At[_CDMA_D_DATAIN_SIZE_1]
    D_DATAIN_SIZE_EXT_0: _At[_CDMA_D_DATAIN_SIZE_EXT_0]
    D_PIXEL_OFFSET: _At[_CDMA_D_PIXEL_OFFSET]
    D_DAIN_RAM_TYPE: _At[_CDMA_D_DAIN_RAM_TYPE]
    D_DAIN_ADDR_HIGH_0: _At[_CDMA_D_DAIN_ADDR_HIGH_0]
    D_DAIN_ADDR_LOW_0: _At[_CDMA_D_DAIN_ADDR_LOW_0]
    D_DAIN_ADDR_HIGH_1: _At[_CDMA_D_DAIN_ADDR_HIGH_1]
    D_DAIN_ADDR_LOW_1: _At[_CDMA_D_DAIN_ADDR_LOW_1]
    D_LINE_STRIDE: _At[_CDMA_D_LINE_STRIDE]
    D_LINE_UV_STRIDE: _At[_CDMA_D_LINE_UV_STRIDE]
    D_SURF_STRIDE: _At[_CDMA_D_SURF_STRIDE]
    D_DAIN_MAP: _At[_CDMA_D_DAIN_MAP]
    D_RESERVED_X_CFG: _At[_CDMA_D_RESERVED_X_CFG]
    D_RESERVED_Y_CFG: _At[_CDMA_D_RESERVED_Y_CFG]
    D_BATCH_NUMBER: _At[_CDMA_D_BATCH_NUMBER]
    D_BATCH_STRIDE: _At[_CDMA_D_BATCH_STRIDE]
    D_ENTRY_PER_SLICE: _At[_CDMA_D_ENTRY_PER_SLICE]
    D_FETCH_GRAIN: _At[_CDMA_D_FETCH_GRAIN]
    D_WEIGHT_FORMAT: _At[_CDMA_D_WEIGHT_FORMAT]
    D_WEIGHT_SIZE_0: _At[_CDMA_D_WEIGHT_SIZE_0]
    D_WEIGHT_SIZE_1: _At[_CDMA_D_WEIGHT_SIZE_1]
    D_WEIGHT_RAM_TYPE: _At[_CDMA_D_WEIGHT_RAM_TYPE]
    D_WEIGHT_ADDR_HIGH: _At[_CDMA_D_WEIGHT_ADDR_HIGH]
    D_WEIGHT_ADDR_LOW: _At[_CDMA_D_WEIGHT_ADDR_LOW]
    D_WEIGHT_BYTES: _At[_CDMA_D_WEIGHT_BYTES]
    D_WGS_ADDR_HIGH: _At[_CDMA_D_WGS_ADDR_HIGH]
    D_WGS_ADDR_LOW: _At[_CDMA_D_WGS_ADDR_LOW]
    D_WMB_ADDR_HIGH: _At[_CDMA_D_WMB_ADDR_HIGH]
    D_WMB_ADDR_LOW: _At[_CDMA_D_WMB_ADDR_LOW]
    D_WMB_BYTES: _At[_CDMA_D_WMB_BYTES]
    D_MEAN_FORMAT: _At[_CDMA_D_MEAN_FORMAT]
    D_MEAN_GLOBAL_0: _At[_CDMA_D_MEAN_GLOBAL_0]
    D_MEAN_GLOBAL_1: _At[_CDMA_D_MEAN_GLOBAL_1]
    D_CVT_CFG: _At[_CDMA_D_CVT_CFG]
    D_CVT_OFFSET: _At[_CDMA_D_CVT_OFFSET]
    D_CVT_SCALE: _At[_CDMA_D_CVT_SCALE]
    D_CONV_STRIDE: _At[_CDMA_D_CONV_STRIDE]
    D_ZERO_PADDING: _At[_CDMA_D_ZERO_PADDING]
    D_ZERO_PADDING_VALUE: _At[_CDMA_D_ZERO_PADDING_VALUE]
    D_BANK: _At[_CDMA_D_BANK]
    D_NAN_FLUSH_TO_ZERO: _At[_CDMA_D_NAN_FLUSH_TO_ZERO]
    D_NAN_INPUT_DATA_NUM: _At[_CDMA_D_NAN_INPUT_DATA_NUM]
    D_NAN_INPUT_WEIGHT_NUM: _At[_CDMA_D_NAN_INPUT_WEIGHT_NUM]
    D_INF_INPUT_DATA_NUM: _At[_CDMA_D_INF_INPUT_DATA_NUM]
    D_INF_INPUT_WEIGHT_NUM: _At[_CDMA_D_INF_INPUT_WEIGHT_NUM]
    D_PERF_ENABLE: _At[_CDMA_D_PERF_ENABLE]
    D_PERF_DAT_READ_STALL: _At[_CDMA_D_PERF_DAT_READ_STALL]
    D_PERF_WT_READ_STALL: _At[_CDMA_D_PERF_WT_READ_STALL]
    D_PERF_DAT_READ_LATENCY: _At[_CDMA_D_PERF_DAT_READ_LATENCY]
    D_PERF_WT_READ_LATENCY: _At[_CDMA_D_PERF_WT_READ_LATENCY]
    D_CYA: _At[_CDMA_D_CYA]
class _CDP_S_STATUS(Register):
    """State of both register groups."""
    STATUS_0: _ReadOnly
    STATUS_1: _ReadOnly
class _CDP_S_POINTER(Register):
    """Group select for software and datapath."""
    PRODUCER: _Named[Literal["GROUP_0", "GROUP_1"]]
    CONSUMER: _ReadOnly
class _CDP_S_LUT_ACCESS_CFG(Register):
    """Lookup table access setup."""
    LUT_ADDR: _Number
    LUT_TABLE_ID: _Named[Literal["LE", "LO"]]
    LUT_ACCESS_TYPE: _Named[Literal["READ", "WRITE"]]
class _CDP_S_LUT_ACCESS_DATA(Register):
    """Lookup table data port."""
    LUT_DATA: _Number
class _CDP_S_LUT_CFG(Register):
    """Lookup table selection rules."""
    LUT_LE_FUNCTION: _Named[Literal["EXPONENT", "LINEAR"]]
    LUT_UFLOW_PRIORITY: _Named[Literal["LE", "LO"]]
    LUT_OFLOW_PRIORITY: _Named[Literal["LE", "LO"]]
    LUT_HYBRID_PRIORITY: _Named[Literal["LE", "LO"]]
class _CDP_S_LUT_INFO(Register):
    """Lookup table indexing."""
    LUT_LE_INDEX_OFFSET: _Number
    LUT_LE_INDEX_SELECT: _Number
    LUT_LO_INDEX_SELECT: _Number
class _CDP_S_LUT_LE_START_LOW(Register):
    """LE table range start, low 32 bits."""
    LUT_LE_START_LOW: _Number
class _CDP_S_LUT_LE_START_HIGH(Register):
    """LE table range start, top 6 bits."""
    LUT_LE_START_HIGH: _Number
class _CDP_S_LUT_LE_END_LOW(Register):
    """LE table range end, low 32 bits."""
    LUT_LE_END_LOW: _Number
class _CDP_S_LUT_LE_END_HIGH(Register):
    """LE table range end, top 6 bits."""
    LUT_LE_END_HIGH: _Number
class _CDP_S_LUT_LO_START_LOW(Register):
    """LO table range start, low 32 bits."""
    LUT_LO_START_LOW: _Number
class _CDP_S_LUT_LO_START_HIGH(Register):
    """LO table range start, top 6 bits."""
    LUT_LO_START_HIGH: _Number
class _CDP_S_LUT_LO_END_LOW(Register):
    """LO table range end, low 32 bits."""
    LUT_LO_END_LOW: _Number
class _CDP_S_LUT_LO_END_HIGH(Register):
    """LO table range end, top 6 bits."""
    LUT_LO_END_HIGH: _Number
class _CDP_S_LUT_LE_SLOPE_SCALE(Register):
    """LE table out-of-range slope multiplier."""
    LUT_LE_SLOPE_UFLOW_SCALE: _Number
    LUT_LE_SLOPE_OFLOW_SCALE: _Number
class _CDP_S_LUT_LE_SLOPE_SHIFT(Register):
    """LE table out-of-range slope shift."""
    LUT_LE_SLOPE_UFLOW_SHIFT: _Number
    LUT_LE_SLOPE_OFLOW_SHIFT: _Number
class _CDP_S_LUT_LO_SLOPE_SCALE(Register):
    """LO table out-of-range slope multiplier."""
    LUT_LO_SLOPE_UFLOW_SCALE: _Number
    LUT_LO_SLOPE_OFLOW_SCALE: _Number
class _CDP_S_LUT_LO_SLOPE_SHIFT(Register):
    """LO table out-of-range slope shift."""
    LUT_LO_SLOPE_UFLOW_SHIFT: _Number
    LUT_LO_SLOPE_OFLOW_SHIFT: _Number
class _CDP_D_OP_ENABLE(Register):
    """Starts the layer described by this group."""
    OP_EN: _Named[Literal["DISABLE", "ENABLE"]]
class _CDP_D_FUNC_BYPASS(Register):
    """Stage bypass."""
    SQSUM_BYPASS: _Named[Literal["DISABLE", "ENABLE"]]
    MUL_BYPASS: _Named[Literal["DISABLE", "ENABLE"]]
class _CDP_D_DST_BASE_ADDR_LOW(Register):
    """Destination address, low word."""
    DST_BASE_ADDR_LOW: _Number
class _CDP_D_DST_BASE_ADDR_HIGH(Register):
    """Destination address, high word."""
    DST_BASE_ADDR_HIGH: _Number
class _CDP_D_DST_LINE_STRIDE(Register):
    """Destination line stride."""
    DST_LINE_STRIDE: _Number
class _CDP_D_DST_SURFACE_STRIDE(Register):
    """Destination surface stride."""
    DST_SURFACE_STRIDE: _Number
class _CDP_D_DST_DMA_CFG(Register):
    """Destination memory select."""
    DST_RAM_TYPE: _Named[Literal["CV", "MC"]]
class _CDP_D_DST_COMPRESSION_EN(Register):
    """Output compression flag (fixed)."""
    DST_COMPRESSION_EN: _ReadOnly
class _CDP_D_DATA_FORMAT(Register):
    """Data precision."""
    INPUT_DATA_TYPE: _Named[Literal["INT8", "INT16", "FP16"]]
class _CDP_D_NAN_FLUSH_TO_ZERO(Register):
    """NaN flush."""
    NAN_TO_ZERO: _Named[Literal["DISABLE", "ENABLE"]]
class _CDP_D_LRN_CFG(Register):
    """Normalization window."""
    NORMALZ_LEN: _Named[Literal["LEN3", "LEN5", "LEN7", "LEN9"]]
class _CDP_D_DATIN_OFFSET(Register):
    """Input converter offset."""
    DATIN_OFFSET: _Number
class _CDP_D_DATIN_SCALE(Register):
    """Input converter scale."""
    DATIN_SCALE: _Number
class _CDP_D_DATIN_SHIFTER(Register):
    """Input converter right shift."""
    DATIN_SHIFTER: _Number
class _CDP_D_DATOUT_OFFSET(Register):
    """Output converter offset."""
    DATOUT_OFFSET: _Number
class _CDP_D_DATOUT_SCALE(Register):
    """Output converter scale."""
    DATOUT_SCALE: _Number
class _CDP_D_DATOUT_SHIFTER(Register):
    """Output converter right shift."""
    DATOUT_SHIFTER: _Number
class _CDP_D_NAN_INPUT_NUM(Register):
    """NaN inputs seen."""
    NAN_INPUT_NUM: _ReadOnly
class _CDP_D_INF_INPUT_NUM(Register):
    """Infinity inputs seen."""
    INF_INPUT_NUM: _ReadOnly
class _CDP_D_NAN_OUTPUT_NUM(Register):
    """NaN outputs produced."""
    NAN_OUTPUT_NUM: _ReadOnly
class _CDP_D_OUT_SATURATION(Register):
    """Saturated outputs."""
    OUT_SATURATION: _ReadOnly
class _CDP_D_PERF_ENABLE(Register):
    """Performance counter enable."""
    DMA_EN: _Named[Literal["DISABLE", "ENABLE"]]
    LUT_EN: _Named[Literal["DISABLE", "ENABLE"]]
class _CDP_D_PERF_WRITE_STALL(Register):
    """Write stall cycles."""
    PERF_WRITE_STALL: _ReadOnly
class _CDP_D_PERF_LUT_UFLOW(Register):
    """Lookups below both tables."""
    PERF_LUT_UFLOW: _ReadOnly
class _CDP_D_PERF_LUT_OFLOW(Register):
    """Lookups above both tables."""
    PERF_LUT_OFLOW: _ReadOnly
class _CDP_D_PERF_LUT_HYBRID(Register):
    """Lookups with ambiguous hit or miss."""
    PERF_LUT_HYBRID: _ReadOnly
class _CDP_D_PERF_LUT_LE_HIT(Register):
    """Lookups hitting only LE."""
    PERF_LUT_LE_HIT: _ReadOnly
class _CDP_D_PERF_LUT_LO_HIT(Register):
    """Lookups hitting only LO."""
    PERF_LUT_LO_HIT: _ReadOnly
class _CDP_D_CYA(Register):
    """Spare bits without function."""
    CYA: _Number
class _Unit_CDP(Unit):
    S_STATUS: _At[_CDP_S_STATUS]
    S_POINTER: _At[_CDP_S_POINTER]
    S_LUT_ACCESS_CFG: _At[_CDP_S_LUT_ACCESS_CFG]
    S_LUT_ACCESS_DATA: _At[_CDP_S_LUT_ACCESS_DATA]
    S_LUT_CFG: _At[_CDP_S_LUT_CFG]
    S_LUT_INFO: _At[_CDP_S_LUT_INFO]
    S_LUT_LE_START_LOW: _At[_CDP_S_LUT_LE_START_LOW]
    S_LUT_LE_START_HIGH: _At[_CDP_S_LUT_LE_START_HIGH]
    S_LUT_LE_END_LOW: _At[_CDP_S_LUT_LE_END_LOW]
    S_LUT_LE_END_HIGH: _At[_CDP_S_LUT_LE_END_HIGH]
    S_LUT_LO_START_LOW: _At[_CDP_S_LUT_LO_START_LOW]
    S_LUT_LO_START_HIGH: _At[_CDP_S_LUT_LO_START_HIGH]
    S_LUT_LO_END_LOW: _At[_CDP_S_LUT_LO_END_LOW]
    S_LUT_LO_END_HIGH: _At[_CDP_S_LUT_LO_END_HIGH]
    S_LUT_LE_SLOPE_SCALE: _At[_CDP_S_LUT_LE_SLOPE_SCALE]
    S_LUT_LE_SLOPE_SHIFT: _At[_CDP_S_LUT_LE_SLOPE_SHIFT]
    S_LUT_LO_SLOPE_SCALE: _At[_CDP_S_LUT_LO_SLOPE_SCALE]
    S_LUT_LO_SLOPE_SHIFT: _At[_CDP_S_LUT_LO_SLOPE_SHIFT]
    D_OP_ENABLE: _At[_CDP_D_OP_ENABLE]
    D_FUNC_BYPASS: _At[_CDP_D_FUNC_BYPASS]
    D_DST_BASE_ADDR_LOW: _At[_CDP_D_DST_BASE_ADDR_LOW]
    D_DST_BASE_ADDR_HIGH: _At[_CDP_D_DST_BASE_ADDR_HIGH]
    D_DST_LINE_STRIDE: _At[_CDP_D_DST_LINE_STRIDE]
    D_DST_SURFACE_STRIDE: _At[_CDP_D_DST_SURFACE_STRIDE]
    D_DST_DMA_CFG: _At[_CDP_D_DST_DMA_CFG]
    D_DST_COMPRESSION_EN: _At[_CDP_D_DST_COMPRESSION_EN]
    D_DATA_FORMAT: _At[_CDP_D_DATA_FORMAT]
    D_NAN_FLUSH_TO_ZERO: _At[_CDP_D_NAN_FLUSH_TO_ZERO]
    D_LRN_CFG: _At[_CDP_D_LRN_CFG]
    D_DATIN_OFFSET: _At[_CDP_D_DATIN_OFFSET]
    D_DATIN_SCALE: _At[_CDP_D_DATIN_SCALE]
    D_DATIN_SHIFTER: _At[_CDP_D_DATIN_SHIFTER]
    D_DATOUT_OFFSET: _At[_CDP_D_DATOUT_OFFSET]
    D_DATOUT_SCALE: _At[_CDP_D_DATOUT_SCALE]
    D_DATOUT_SHIFTER: _At[_CDP_D_DATOUT_SHIFTER]
    D_NAN_INPUT_NUM: _At[_CDP_D_NAN_INPUT_NUM]
    D_INF_INPUT_NUM: _At[_CDP_D_INF_INPUT_NUM]
    D_NAN_OUTPUT_NUM: _At[_CDP_D_NAN_OUTPUT_NUM]
    D_OUT_SATURATION: _At[_CDP_D_OUT_SATURATION]
    D_PERF_ENABLE: _At[_CDP_D_PERF_ENABLE]
    D_PERF_WRITE_STALL: _At[_CDP_D_PERF_WRITE_STALL]
    D_PERF_LUT_UFLOW: _At[_CDP_D_PERF_LUT_UFLOW]
    D_PERF_LUT_OFLOW: _At[_CDP_D_PERF_LUT_OFLOW]
    D_PERF_LUT_HYBRID: _At[_CDP_D_PERF_LUT_HYBRID]
    D_PERF_LUT_LE_HIT: _At[_CDP_D_PERF_LUT_LE_HIT]
    D_PERF_LUT_LO_HIT: _At[_CDP_D_PERF_LUT_LO_HIT]
    D_CYA: _At[_CDP_D_CYA]
class _CDP_RDMA_S_STATUS(Register):
    """State of both register groups."""
    STATUS_0: _ReadOnly
    STATUS_1: _ReadOnly
class _CDP_RDMA_S_POINTER(Register):
    """Group select for software and datapath."""
    PRODUCER: _Named[Literal["GROUP_0", "GROUP_1"]]
    CONSUMER: _ReadOnly
class _CDP_RDMA_D_OP_ENABLE(Register):
    """Starts the layer described by this group."""
    OP_EN: _Named[Literal["DISABLE", "ENABLE"]]
class _CDP_RDMA_D_DATA_CUBE_WIDTH(Register):
    """Cube width."""
    WIDTH: _Number
class _CDP_RDMA_D_DATA_CUBE_HEIGHT(Register):
    """Cube height."""
    HEIGHT: _Number
class _CDP_RDMA_D_DATA_CUBE_CHANNEL(Register):
    """Cube channels."""
    CHANNEL: _Number
class _CDP_RDMA_D_SRC_BASE_ADDR_LOW(Register):
    """Source address, low word."""
    SRC_BASE_ADDR_LOW: _Number
class _CDP_RDMA_D_SRC_BASE_ADDR_HIGH(Register):
    """Source address, high word."""
    SRC_BASE_ADDR_HIGH: _Number
class _CDP_RDMA_D_SRC_LINE_STRIDE(Register):
    """Source line stride."""
    SRC_LINE_STRIDE: _Number
class _CDP_RDMA_D_SRC_SURFACE_STRIDE(Register):
    """Source surface stride."""
    SRC_SURFACE_STRIDE: _Number
class _CDP_RDMA_D_SRC_DMA_CFG(Register):
    """Source memory select."""
    SRC_RAM_TYPE: _Named[Literal["CV", "MC"]]
class _CDP_RDMA_D_SRC_COMPRESSION_EN(Register):
    """Input compression flag (fixed)."""
    SRC_COMPRESSION_EN: _ReadOnly
class _CDP_RDMA_D_OPERATION_MODE(Register):
    """Operation mode (fixed)."""
    OPERATION_MODE: _ReadOnly
class _CDP_RDMA_D_DATA_FORMAT(Register):
    """Data precision."""
    INPUT_DATA: _Named[Literal["INT8", "INT16", "FP16"]]
class _CDP_RDMA_D_PERF_ENABLE(Register):
    """Performance counter enable."""
    DMA_EN: _Named[Literal["DISABLE", "ENABLE"]]
class _CDP_RDMA_D_PERF_READ_STALL(Register):
    """Read stall cycles."""
    PERF_READ_STALL: _ReadOnly
class _CDP_RDMA_D_CYA(Register):
    """Spare bits without function."""
    CYA: _Number
class _Unit_CDP_RDMA(Unit):
    S_STATUS: _At[_CDP_RDMA_S_STATUS]
    S_POINTER: _At[_CDP_RDMA_S_POINTER]
    D_OP_ENABLE: _At[_CDP_RDMA_D_OP_ENABLE]
    D_DATA_CUBE_WIDTH: _At[_CDP_RDMA_D_DATA_CUBE_WIDTH]
    D_DATA_CUBE_HEIGHT: _At[_CDP_RDMA_D_DATA_CUBE_HEIGHT]
    D_DATA_CUBE_CHANNEL: _At[_CDP_RDMA_D_DATA_CUBE_CHANNEL]
    D_SRC_BASE_ADDR_LOW: _At[_CDP_RDMA_D_SRC_BASE_ADDR_LOW]
    D_SRC_BASE_ADDR_HIGH: _At[_CDP_RDMA_D_SRC_BASE_ADDR_HIGH]
    D_SRC_LINE_STRIDE: _At[_CDP_RDMA_D_SRC_LINE_STRIDE]
    D_SRC_SURFACE_STRIDE: _At[_CDP_RDMA_D_SRC_SURFACE_STRIDE]
    D_SRC_DMA_CFG: _At[_CDP_RDMA_D_SRC_DMA_CFG]
    D_SRC_COMPRESSION_EN: _At[_CDP_RDMA_D_SRC_COMPRESSION_EN]
    D_OPERATION_MODE: _At[_CDP_RDMA_D_OPERATION_MODE]
    D_DATA_FORMAT: _At[_CDP_RDMA_D_DATA_FORMAT]
    D_PERF_ENABLE: _At[_CDP_RDMA_D_PERF_ENABLE]
    D_PERF_READ_STALL: _At[_CDP_RDMA_D_PERF_READ_STALL]
    D_CYA: _At[_CDP_RDMA_D_CYA]
class _CFGROM_HW_VERSION(Register):
    """Hardware version."""
class _CFGROM_GLB_DESC(Register):
    """Unit id (15:0) and payload bytes (31:16)."""
class _CFGROM_CIF_DESC(Register):
    """Unit id (15:0) and payload bytes (31:16)."""
class _CFGROM_CIF_CAP_INCOMPAT(Register):
    """Capabilities a driver must understand."""
class _CFGROM_CIF_CAP_COMPAT(Register):
    """Optional capability flags."""
class _CFGROM_CIF_BASE_WIDTH(Register):
    """Data width in bytes."""
class _CFGROM_CIF_BASE_LATENCY(Register):
    """Read latency in cycles."""
class _CFGROM_CIF_BASE_BURST_LENGTH_MAX(Register):
    """Longest burst."""
class _CFGROM_CIF_BASE_MEM_ADDR_WIDTH(Register):
    """Address bits."""
class _CFGROM_CDMA_DESC(Register):
    """Unit id (15:0) and payload bytes (31:16)."""
class _CFGROM_CDMA_CAP_INCOMPAT(Register):
    """Capabilities a driver must understand."""
class _CFGROM_CDMA_CAP_COMPAT(Register):
    """Optional capability flags."""
class _CFGROM_CDMA_BASE_FEATURE_TYPES(Register):
    """Input data type mask."""
class _CFGROM_CDMA_BASE_WEIGHT_TYPES(Register):
    """Weight data type mask."""
class _CFGROM_CDMA_BASE_ATOMIC_C(Register):
    """Channels per MAC step."""
class _CFGROM_CDMA_BASE_ATOMIC_K(Register):
    """Kernels per MAC step."""
class _CFGROM_CDMA_BASE_ATOMIC_M(Register):
    """Elements per memory atom."""
class _CFGROM_CDMA_BASE_CBUF_BANK_NUM(Register):
    """CBUF bank count."""
class _CFGROM_CDMA_BASE_CBUF_BANK_WIDTH(Register):
    """CBUF bank width in bytes."""
class _CFGROM_CDMA_BASE_CBUF_BANK_DEPTH(Register):
    """CBUF bank entries."""
class _CFGROM_CDMA_MULTI_BATCH_MAX(Register):
    """Largest batch."""
class _CFGROM_CDMA_IMAGE_IN_FORMATS_PACKED(Register):
    """Packed pixel format mask."""
class _CFGROM_CDMA_IMAGE_IN_FORMATS_SEMI(Register):
    """Semi-planar pixel format mask."""
class _CFGROM_CBUF_DESC(Register):
    """Unit id (15:0) and payload bytes (31:16)."""
class _CFGROM_CBUF_CAP_INCOMPAT(Register):
    """Capabilities a driver must understand."""
class _CFGROM_CBUF_CAP_COMPAT(Register):
    """Optional capability flags."""
class _CFGROM_CBUF_BASE_CBUF_BANK_NUM(Register):
    """CBUF bank count."""
class _CFGROM_CBUF_BASE_CBUF_BANK_WIDTH(Register):
    """CBUF bank width in bytes."""
class _CFGROM_CBUF_BASE_CBUF_BANK_DEPTH(Register):
    """CBUF bank entries."""
class _CFGROM_CBUF_BASE_CDMA_ID(Register):
    """Slot of the related CDMA."""
class _CFGROM_CSC_DESC(Register):
    """Unit id (15:0) and payload bytes (31:16)."""
class _CFGROM_CSC_CAP_INCOMPAT(Register):
    """Capabilities a driver must understand."""
class _CFGROM_CSC_CAP_COMPAT(Register):
    """Optional capability flags."""
class _CFGROM_CSC_BASE_FEATURE_TYPES(Register):
    """Input data type mask."""
class _CFGROM_CSC_BASE_WEIGHT_TYPES(Register):
    """Weight data type mask."""
class _CFGROM_CSC_BASE_ATOMIC_C(Register):
    """Channels per MAC step."""
class _CFGROM_CSC_BASE_ATOMIC_K(Register):
    """Kernels per MAC step."""
class _CFGROM_CSC_BASE_ATOMIC_M(Register):
    """Elements per memory atom."""
class _CFGROM_CSC_BASE_CBUF_BANK_NUM(Register):
    """CBUF bank count."""
class _CFGROM_CSC_BASE_CBUF_BANK_WIDTH(Register):
    """CBUF bank width in bytes."""
class _CFGROM_CSC_BASE_CBUF_BANK_DEPTH(Register):
    """CBUF bank entries."""
class _CFGROM_CSC_BASE_CDMA_ID(Register):
    """Slot of the related CDMA."""
class _CFGROM_CSC_MULTI_BATCH_MAX(Register):
    """Largest batch."""
class _CFGROM_CMAC_A_DESC(Register):
    """Unit id (15:0) and payload bytes (31:16)."""
class _CFGROM_CMAC_A_CAP_INCOMPAT(Register):
    """Capabilities a driver must understand."""
class _CFGROM_CMAC_A_CAP_COMPAT(Register):
    """Optional capability flags."""
class _CFGROM_CMAC_A_BASE_FEATURE_TYPES(Register):
    """Input data type mask."""
class _CFGROM_CMAC_A_BASE_WEIGHT_TYPES(Register):
    """Weight data type mask."""
class _CFGROM_CMAC_A_BASE_ATOMIC_C(Register):
    """Channels per MAC step."""
class _CFGROM_CMAC_A_BASE_ATOMIC_K(Register):
    """Kernels per MAC step."""
class _CFGROM_CMAC_A_BASE_CDMA_ID(Register):
    """Slot of the related CDMA."""
class _CFGROM_CMAC_B_DESC(Register):
    """Unit id (15:0) and payload bytes (31:16)."""
class _CFGROM_CMAC_B_CAP_INCOMPAT(Register):
    """Capabilities a driver must understand."""
class _CFGROM_CMAC_B_CAP_COMPAT(Register):
    """Optional capability flags."""
class _CFGROM_CMAC_B_BASE_FEATURE_TYPES(Register):
    """Input data type mask."""
class _CFGROM_CMAC_B_BASE_WEIGHT_TYPES(Register):
    """Weight data type mask."""
class _CFGROM_CMAC_B_BASE_ATOMIC_C(Register):
    """Channels per MAC step."""
class _CFGROM_CMAC_B_BASE_ATOMIC_K(Register):
    """Kernels per MAC step."""
class _CFGROM_CMAC_B_BASE_CDMA_ID(Register):
    """Slot of the related CDMA."""
class _CFGROM_CACC_DESC(Register):
    """Unit id (15:0) and payload bytes (31:16)."""
class _CFGROM_CACC_CAP_INCOMPAT(Register):
    """Capabilities a driver must understand."""
class _CFGROM_CACC_CAP_COMPAT(Register):
    """Optional capability flags."""
class _CFGROM_CACC_BASE_FEATURE_TYPES(Register):
    """Input data type mask."""
class _CFGROM_CACC_BASE_WEIGHT_TYPES(Register):
    """Weight data type mask."""
class _CFGROM_CACC_BASE_ATOMIC_C(Register):
    """Channels per MAC step."""
class _CFGROM_CACC_BASE_ATOMIC_K(Register):
    """Kernels per MAC step."""
class _CFGROM_CACC_BASE_CDMA_ID(Register):
    """Slot of the related CDMA."""
class _CFGROM_CACC_MULTI_BATCH_MAX(Register):
    """Largest batch."""
class _CFGROM_SDP_RDMA_DESC(Register):
    """Unit id (15:0) and payload bytes (31:16)."""
class _CFGROM_SDP_RDMA_CAP_INCOMPAT(Register):
    """Capabilities a driver must understand."""
class _CFGROM_SDP_RDMA_CAP_COMPAT(Register):
    """Optional capability flags."""
class _CFGROM_SDP_RDMA_BASE_ATOMIC_M(Register):
    """Elements per memory atom (15:0), and the slot of the unit behind it (31:16)."""
class _CFGROM_SDP_RDMA_BASE_SDP_ID(Register):
    """The slot's upper half."""
class _CFGROM_SDP_DESC(Register):
    """Unit id (15:0) and payload bytes (31:16)."""
class _CFGROM_SDP_CAP_INCOMPAT(Register):
    """Capabilities a driver must understand."""
class _CFGROM_SDP_CAP_COMPAT(Register):
    """Optional capability flags."""
class _CFGROM_SDP_BASE_FEATURE_TYPES(Register):
    """Input data type mask."""
class _CFGROM_SDP_BASE_CDMA_ID(Register):
    """Slot of the related CDMA."""
class _CFGROM_SDP_MULTI_BATCH_MAX(Register):
    """Largest batch."""
class _CFGROM_SDP_BS_THROUGHPUT(Register):
    """Bias stage elements per cycle."""
class _CFGROM_SDP_BN_THROUGHPUT(Register):
    """Batch-norm stage elements per cycle."""
class _CFGROM_SDP_EW_THROUGHPUT(Register):
    """Element-wise stage elements per cycle."""
class _CFGROM_PDP_RDMA_DESC(Register):
    """Unit id (15:0) and payload bytes (31:16)."""
class _CFGROM_PDP_RDMA_CAP_INCOMPAT(Register):
    """Capabilities a driver must understand."""
class _CFGROM_PDP_RDMA_CAP_COMPAT(Register):
    """Optional capability flags."""
class _CFGROM_PDP_RDMA_BASE_ATOMIC_M(Register):
    """Elements per memory atom (15:0), and the slot of the unit behind it (31:16)."""
class _CFGROM_PDP_RDMA_BASE_PDP_ID(Register):
    """The slot's upper half."""
class _CFGROM_PDP_DESC(Register):
    """Unit id (15:0) and payload bytes (31:16)."""
class _CFGROM_PDP_CAP_INCOMPAT(Register):
    """Capabilities a driver must understand."""
class _CFGROM_PDP_CAP_COMPAT(Register):
    """Optional capability flags."""
class _CFGROM_PDP_BASE_FEATURE_TYPES(Register):
    """Input data type mask."""
class _CFGROM_PDP_BASE_THROUGHPUT(Register):
    """Elements per cycle."""
class _CFGROM_CDP_RDMA_DESC(Register):
    """Unit id (15:0) and payload bytes (31:16)."""
class _CFGROM_CDP_RDMA_CAP_INCOMPAT(Register):
    """Capabilities a driver must understand."""
class _CFGROM_CDP_RDMA_CAP_COMPAT(Register):
    """Optional capability flags."""
class _CFGROM_CDP_RDMA_BASE_ATOMIC_M(Register):
    """Elements per memory atom (15:0), and the slot of the unit behind it (31:16)."""
class _CFGROM_CDP_RDMA_BASE_CDP_ID(Register):
    """The slot's upper half."""
class _CFGROM_CDP_DESC(Register):
    """Unit id (15:0) and payload bytes (31:16)."""
class _CFGROM_CDP_CAP_INCOMPAT(Register):
    """Capabilities a driver must understand."""
class _CFGROM_CDP_CAP_COMPAT(Register):
    """Optional capability flags."""
class _CFGROM_CDP_BASE_FEATURE_TYPES(Register):
    """Input data type mask."""
class _CFGROM_CDP_BASE_THROUGHPUT(Register):
    """Elements per cycle."""
class _CFGROM_END_OF_LIST(Register):
    """Terminator."""
class _CFGROM_BDMA_DESC(Register):
    """Unit id (15:0) and payload bytes (31:16)."""
class _CFGROM_BDMA_CAP_INCOMPAT(Register):
    """Capabilities a driver must understand."""
class _CFGROM_RUBIK_DESC(Register):
    """Unit id (15:0) and payload bytes (31:16)."""
class _CFGROM_RUBIK_CAP_INCOMPAT(Register):
    """Capabilities a driver must understand."""
class _Unit_CFGROM(Unit):
    HW_VERSION: _At[_CFGROM_HW_VERSION]
    GLB_DESC: _At[_CFGROM_GLB_DESC]
    CIF_DESC: _At[_CFGROM_CIF_DESC]
    CIF_CAP_INCOMPAT: _At[_CFGROM_CIF_CAP_INCOMPAT]
    CIF_CAP_COMPAT: _At[_CFGROM_CIF_CAP_COMPAT]
    CIF_BASE_WIDTH: _At[_CFGROM_CIF_BASE_WIDTH]
    CIF_BASE_LATENCY: _At[_CFGROM_CIF_BASE_LATENCY]
    CIF_BASE_BURST_LENGTH_MAX: _At[_CFGROM_CIF_BASE_BURST_LENGTH_MAX]
    CIF_BASE_MEM_ADDR_WIDTH: _At[_CFGROM_CIF_BASE_MEM_ADDR_WIDTH]
    CDMA_DESC: _At[_CFGROM_CDMA_DESC]
    CDMA_CAP_INCOMPAT: _At[_CFGROM_CDMA_CAP_INCOMPAT]
    CDMA_CAP_COMPAT: _At[_CFGROM_CDMA_CAP_COMPAT]
    CDMA_BASE_FEATURE_TYPES: _At[_CFGROM_CDMA_BASE_FEATURE_TYPES]
    CDMA_BASE_WEIGHT_TYPES: _At[_CFGROM_CDMA_BASE_WEIGHT_TYPES]
    CDMA_BASE_ATOMIC_C: _At[_CFGROM_CDMA_BASE_ATOMIC_C]
    CDMA_BASE_ATOMIC_K: _At[_CFGROM_CDMA_BASE_ATOMIC_K]
    CDMA_BASE_ATOMIC_M: _At[_CFGROM_CDMA_BASE_ATOMIC_M]
    CDMA_BASE_CBUF_BANK_NUM: _At[_CFGROM_CDMA_BASE_CBUF_BANK_NUM]
    CDMA_BASE_CBUF_BANK_WIDTH: _At[_CFGROM_CDMA_BASE_CBUF_BANK_WIDTH]
    CDMA_BASE_CBUF_BANK_DEPTH: _At[_CFGROM_CDMA_BASE_CBUF_BANK_DEPTH]
    CDMA_MULTI_BATCH_MAX: _At[_CFGROM_CDMA_MULTI_BATCH_MAX]
    CDMA_IMAGE_IN_FORMATS_PACKED: _At[_CFGROM_CDMA_IMAGE_IN_FORMATS_PACKED]
    CDMA_IMAGE_IN_FORMATS_SEMI: _At[_CFGROM_CDMA_IMAGE_IN_FORMATS_SEMI]
    CBUF_DESC: _At[_CFGROM_CBUF_DESC]
    CBUF_CAP_INCOMPAT: _At[_CFGROM_CBUF_CAP_INCOMPAT]
    CBUF_CAP_COMPAT: _At[_CFGROM_CBUF_CAP_COMPAT]
    CBUF_BASE_CBUF_BANK_NUM: _At[_CFGROM_CBUF_BASE_CBUF_BANK_NUM]
    CBUF_BASE_CBUF_BANK_WIDTH: _At[_CFGROM_CBUF_BASE_CBUF_BANK_WIDTH]
    CBUF_BASE_CBUF_BANK_DEPTH: _At[_CFGROM_CBUF_BASE_CBUF_BANK_DEPTH]
    CBUF_BASE_CDMA_ID: _At[_CFGROM_CBUF_BASE_CDMA_ID]
    CSC_DESC: _At[_CFGROM_CSC_DESC]
    CSC_CAP_INCOMPAT: _At[_CFGROM_CSC_CAP_INCOMPAT]
    CSC_CAP_COMPAT: _At[_CFGROM_CSC_CAP_COMPAT]
    CSC_BASE_FEATURE_TYPES: _At[_CFGROM_CSC_BASE_FEATURE_TYPES]
    CSC_BASE_WEIGHT_TYPES: _At[_CFGROM_CSC_BASE_WEIGHT_TYPES]
    CSC_BASE_ATOMIC_C: _At[_CFGROM_CSC_BASE_ATOMIC_C]
    CSC_BASE_ATOMIC_K: _At[_CFGROM_CSC_BASE_ATOMIC_K]
    CSC_BASE_ATOMIC_M: _At[_CFGROM_CSC_BASE_ATOMIC_M]
    CSC_BASE_CBUF_BANK_NUM: _At[_CFGROM_CSC_BASE_CBUF_BANK_NUM]
    CSC_BASE_CBUF_BANK_WIDTH: _At[_CFGROM_CSC_BASE_CBUF_BANK_WIDTH]
    CSC_BASE_CBUF_BANK_DEPTH: _At[_CFGROM_CSC_BASE_CBUF_BANK_DEPTH]
    CSC_BASE_CDMA_ID: _At[_CFGROM_CSC_BASE_CDMA_ID]
    CSC_MULTI_BATCH_MAX: _At[_CFGROM_CSC_MULTI_BATCH_MAX]
    CMAC_A_DESC: _At[_CFGROM_CMAC_A_DESC]
    CMAC_A_CAP_INCOMPAT: _At[_CFGROM_CMAC_A_CAP_INCOMPAT]
    CMAC_A_CAP_COMPAT: _At[_CFGROM_CMAC_A_CAP_COMPAT]
    CMAC_A_BASE_FEATURE_TYPES: _At[_CFGROM_CMAC_A_BASE_FEATURE_TYPES]
    CMAC_A_BASE_WEIGHT_TYPES: _At[_CFGROM_CMAC_A_BASE_WEIGHT_TYPES]
    CMAC_A_BASE_ATOMIC_C: _At[_CFGROM_CMAC_A_BASE_ATOMIC_C]
    CMAC_A_BASE_ATOMIC_K: _At[_CFGROM_CMAC_A_BASE_ATOMIC_K]
    CMAC_A_BASE_CDMA_ID: _At[_CFGROM_CMAC_A_BASE_CDMA_ID]
    CMAC_B_DESC: _At[_CFGROM_CMAC_B_DESC]
    CMAC_B_CAP_INCOMPAT: _At[_CFGROM_CMAC_B_CAP_INCOMPAT]
    CMAC_B_CAP_COMPAT: _At[_CFGROM_CMAC_B_CAP_COMPAT]
    CMAC_B_BASE_FEATURE_TYPES: _At[_CFGROM_CMAC_B_BASE_FEATURE_TYPES]
    CMAC_B_BASE_WEIGHT_TYPES: _At[_CFGROM_CMAC_B_BASE_WEIGHT_TYPES]
    CMAC_B_BASE_ATOMIC_C: _At[_CFGROM_CMAC_B_BASE_ATOMIC_C]
    CMAC_B_BASE_ATOMIC_K: _At[_CFGROM_CMAC_B_BASE_ATOMIC_K]
    CMAC_B_BASE_CDMA_ID: _At[_CFGROM_CMAC_B_BASE_CDMA_ID]
    CACC_DESC: _At[_CFGROM_CACC_DESC]
    CACC_CAP_INCOMPAT: _At[_CFGROM_CACC_CAP_INCOMPAT]
    CACC_CAP_COMPAT: _At[_CFGROM_CACC_CAP_COMPAT]
    CACC_BASE_FEATURE_TYPES: _At[_CFGROM_CACC_BASE_FEATURE_TYPES]
    CACC_BASE_WEIGHT_TYPES: _At[_CFGROM_CACC_BASE_WEIGHT_TYPES]
    CACC_BASE_ATOMIC_C: _At[_CFGROM_CACC_BASE_ATOMIC_C]
    CACC_BASE_ATOMIC_K: _At[_CFGROM_CACC_BASE_ATOMIC_K]
    CACC_BASE_CDMA_ID: _At[_CFGROM_CACC_BASE_CDMA_ID]
    CACC_MULTI_BATCH_MAX: _At[_CFGROM_CACC_MULTI_BATCH_MAX]
    SDP_RDMA_DESC: _At[_CFGROM_SDP_RDMA_DESC]
    SDP_RDMA_CAP_INCOMPAT: _At[_CFGROM_SDP_RDMA_CAP_INCOMPAT]
    SDP_RDMA_CAP_COMPAT: _At[_CFGROM_SDP_RDMA_CAP_COMPAT]
    SDP_RDMA_BASE_ATOMIC_M: _At[_CFGROM_SDP_RDMA_BASE_ATOMIC_M]
    SDP_RDMA_BASE_SDP_ID: _At[_CFGROM_SDP_RDMA_BASE_SDP_ID]
    SDP_DESC: _At[_CFGROM_SDP_DESC]
    SDP_CAP_INCOMPAT: _At[_CFGROM_SDP_CAP_INCOMPAT]
    SDP_CAP_COMPAT: _At[_CFGROM_SDP_CAP_COMPAT]
    SDP_BASE_FEATURE_TYPES: _At[_CFGROM_SDP_BASE_FEATURE_TYPES]
    SDP_BASE_CDMA_ID: _At[_CFGROM_SDP_BASE_CDMA_ID]
    SDP_MULTI_BATCH_MAX: _At[_CFGROM_SDP_MULTI_BATCH_MAX]
    SDP_BS_THROUGHPUT: _At[_CFGROM_SDP_BS_THROUGHPUT]
    SDP_BN_THROUGHPUT: _At[_CFGROM_SDP_BN_THROUGHPUT]
    SDP_EW_THROUGHPUT: _At[_CFGROM_SDP_EW_THROUGHPUT]
    PDP_RDMA_DESC: _At[_CFGROM_PDP_RDMA_DESC]
    PDP_RDMA_CAP_INCOMPAT: _At[_CFGROM_PDP_RDMA_CAP_INCOMPAT]
    PDP_RDMA_CAP_COMPAT: _At[_CFGROM_PDP_RDMA_CAP_COMPAT]
    PDP_RDMA_BASE_ATOMIC_M: _At[_CFGROM_PDP_RDMA_BASE_ATOMIC_M]
    PDP_RDMA_BASE_PDP_ID: _At[_CFGROM_PDP_RDMA_BASE_PDP_ID]
    PDP_DESC: _At[_CFGROM_PDP_DESC]
    PDP_CAP_INCOMPAT: _At[_CFGROM_PDP_CAP_INCOMPAT]
    PDP_CAP_COMPAT: _At[_CFGROM_PDP_CAP_COMPAT]
    PDP_BASE_FEATURE_TYPES: _At[_CFGROM_PDP_BASE_FEATURE_TYPES]
    PDP_BASE_THROUGHPUT: _At[_CFGROM_PDP_BASE_THROUGHPUT]
    CDP_RDMA_DESC: _At[_CFGROM_CDP_RDMA_DESC]
    CDP_RDMA_CAP_INCOMPAT: _At[_CFGROM_CDP_RDMA_CAP_INCOMPAT]
    CDP_RDMA_CAP_COMPAT: _At[_CFGROM_CDP_RDMA_CAP_COMPAT]
    CDP_RDMA_BASE_ATOMIC_M: _At[_CFGROM_CDP_RDMA_BASE_ATOMIC_M]
    CDP_RDMA_BASE_CDP_ID: _At[_CFGROM_CDP_RDMA_BASE_CDP_ID]
    CDP_DESC: _At[_CFGROM_CDP_DESC]
    CDP_CAP_INCOMPAT: _At[_CFGROM_CDP_CAP_INCOMPAT]
    CDP_CAP_COMPAT: _At[_CFGROM_CDP_CAP_COMPAT]
    CDP_BASE_FEATURE_TYPES: _At[_CFGROM_CDP_BASE_FEATURE_TYPES]
    CDP_BASE_THROUGHPUT: _At[_CFGROM_CDP_BASE_THROUGHPUT]
    END_OF_LIST: _At[_CFGROM_END_OF_LIST]
    BDMA_DESC: _At[_CFGROM_BDMA_DESC]
    BDMA_CAP_INCOMPAT: _At[_CFGROM_BDMA_CAP_INCOMPAT]
    RUBIK_DESC: _At[_CFGROM_RUBIK_DESC]
    RUBIK_CAP_INCOMPAT: _At[_CFGROM_RUBIK_CAP_INCOMPAT]
class _CMAC_A_S_STATUS(Register):
    """State of both register groups."""
    STATUS_0: _ReadOnly
    STATUS_1: _ReadOnly
class _CMAC_A_S_POINTER(Register):
    """Group select for software and datapath."""
    PRODUCER: _Named[Literal["GROUP_0", "GROUP_1"]]
    CONSUMER: _ReadOnly
class _CMAC_A_D_OP_ENABLE(Register):
    """Starts the layer described by this group."""
    OP_EN: _Named[Literal["DISABLE", "ENABLE"]]
class _CMAC_A_D_MISC_CFG(Register):
    """Mode and precision."""
    CONV_MODE: _Named[Literal["DIRECT", "WINOGRAD"]]
    PROC_PRECISION: _Named[Literal["INT8", "INT16", "FP16"]]
class _Unit_CMAC_A(Unit):
    S_STATUS: _At[_CMAC_A_S_STATUS]
    S_POINTER: _At[_CMAC_A_S_POINTER]
    D_OP_ENABLE: _At[_CMAC_A_D_OP_ENABLE]
    D_MISC_CFG: _At[_CMAC_A_D_MISC_CFG]
class _CMAC_B_S_STATUS(Register):
    """State of both register groups."""
    STATUS_0: _ReadOnly
    STATUS_1: _ReadOnly
class _CMAC_B_S_POINTER(Register):
    """Group select for software and datapath."""
    PRODUCER: _Named[Literal["GROUP_0", "GROUP_1"]]
    CONSUMER: _ReadOnly
class _CMAC_B_D_OP_ENABLE(Register):
    """Starts the layer described by this group."""
    OP_EN: _Named[Literal["DISABLE", "ENABLE"]]
class _CMAC_B_D_MISC_CFG(Register):
    """Mode and precision."""
    CONV_MODE: _Named[Literal["DIRECT", "WINOGRAD"]]
    PROC_PRECISION: _Named[Literal["INT8", "INT16", "FP16"]]
class _Unit_CMAC_B(Unit):
    S_STATUS: _At[_CMAC_B_S_STATUS]
    S_POINTER: _At[_CMAC_B_S_POINTER]
    D_OP_ENABLE: _At[_CMAC_B_D_OP_ENABLE]
    D_MISC_CFG: _At[_CMAC_B_D_MISC_CFG]
class _CSC_S_STATUS(Register):
    """State of both register groups."""
    STATUS_0: _ReadOnly
    STATUS_1: _ReadOnly
class _CSC_S_POINTER(Register):
    """Group select for software and datapath."""
    PRODUCER: _Named[Literal["GROUP_0", "GROUP_1"]]
    CONSUMER: _ReadOnly
class _CSC_D_OP_ENABLE(Register):
    """Starts the layer described by this group."""
    OP_EN: _Named[Literal["DISABLE", "ENABLE"]]
class _CSC_D_MISC_CFG(Register):
    """Mode, precision and buffer reuse."""
    CONV_MODE: _Named[Literal["DIRECT", "WINOGRAD"]]
    IN_PRECISION: _Named[Literal["INT8", "INT16", "FP16"]]
    PROC_PRECISION: _Named[Literal["INT8", "INT16", "FP16"]]
    DATA_REUSE: _Named[Literal["DISABLE", "ENABLE"]]
    WEIGHT_REUSE: _Named[Literal["DISABLE", "ENABLE"]]
    SKIP_DATA_RLS: _Named[Literal["DISABLE", "ENABLE"]]
    SKIP_WEIGHT_RLS: _Named[Literal["DISABLE", "ENABLE"]]
class _CSC_D_DATAIN_FORMAT(Register):
    """Input format."""
    DATAIN_FORMAT: _Named[Literal["FEATURE", "PIXEL"]]
class _CSC_D_DATAIN_SIZE_EXT_0(Register):
    """Input width and height as seen after pixel extension."""
    DATAIN_WIDTH_EXT: _Number
    DATAIN_HEIGHT_EXT: _Number
class _CSC_D_DATAIN_SIZE_EXT_1(Register):
    """Input channels as seen after pixel extension."""
    DATAIN_CHANNEL_EXT: _Number
class _CSC_D_BATCH_NUMBER(Register):
    """Batch count."""
    BATCHES: _Number
class _CSC_D_POST_Y_EXTENSION(Register):
    """Channel post-extension for image input."""
    Y_EXTENSION: _Number
class _CSC_D_ENTRY_PER_SLICE(Register):
    """CBUF entries used by one input line."""
    ENTRIES: _Number
class _CSC_D_WEIGHT_FORMAT(Register):
    """Weight compression select."""
    WEIGHT_FORMAT: _Named[Literal["UNCOMPRESSED", "COMPRESSED"]]
class _CSC_D_WEIGHT_SIZE_EXT_0(Register):
    """Kernel width and height as seen by the sequencer."""
    WEIGHT_WIDTH_EXT: _Number
    WEIGHT_HEIGHT_EXT: _Number
class _CSC_D_WEIGHT_SIZE_EXT_1(Register):
    """Kernel channels and kernel count as seen by the sequencer."""
    WEIGHT_CHANNEL_EXT: _Number
    WEIGHT_KERNEL: _Number
class _CSC_D_WEIGHT_BYTES(Register):
    """Total weight size."""
    WEIGHT_BYTES: _Number
class _CSC_D_WMB_BYTES(Register):
    """Total weight mask size."""
    WMB_BYTES: _Number
class _CSC_D_DATAOUT_SIZE_0(Register):
    """Output width and height."""
    DATAOUT_WIDTH: _Number
    DATAOUT_HEIGHT: _Number
class _CSC_D_DATAOUT_SIZE_1(Register):
    """Output channels."""
    DATAOUT_CHANNEL: _Number
class _CSC_D_ATOMICS(Register):
    """Output positions per channel plane."""
    ATOMICS: _Number
class _CSC_D_RELEASE(Register):
    """Input lines released at layer end."""
    RLS_SLICES: _Number
class _CSC_D_CONV_STRIDE_EXT(Register):
    """Convolution stride as seen by the sequencer."""
    CONV_X_STRIDE_EXT: _Number
    CONV_Y_STRIDE_EXT: _Number
class _CSC_D_DILATION_EXT(Register):
    """Dilation as seen by the sequencer."""
    X_DILATION_EXT: _Number
    Y_DILATION_EXT: _Number
class _CSC_D_ZERO_PADDING(Register):
    """Padding size."""
    PAD_LEFT: _Number
    PAD_TOP: _Number
class _CSC_D_ZERO_PADDING_VALUE(Register):
    """Padding value."""
    PAD_VALUE: _Number
class _CSC_D_BANK(Register):
    """CBUF bank split."""
    DATA_BANK: _Number
    WEIGHT_BANK: _Number
class _CSC_D_PRA_CFG(Register):
    """Winograd pre-addition truncation."""
    PRA_TRUNCATE: _Number
class _CSC_D_CYA(Register):
    """Spare bits without function."""
    CYA: _Number
class _Unit_CSC(Unit):
    S_STATUS: _At[_CSC_S_STATUS]
    S_POINTER: _At[_CSC_S_POINTER]
    D_OP_ENABLE: _At[_CSC_D_OP_ENABLE]
    D_MISC_CFG: _At[_CSC_D_MISC_CFG]
    D_DATAIN_FORMAT: _At[_CSC_D_DATAIN_FORMAT]
    D_DATAIN_SIZE_EXT_0: _At[_CSC_D_DATAIN_SIZE_EXT_0]
    D_DATAIN_SIZE_EXT_1: _At[_CSC_D_DATAIN_SIZE_EXT_1]
    D_BATCH_NUMBER: _At[_CSC_D_BATCH_NUMBER]
    D_POST_Y_EXTENSION: _At[_CSC_D_POST_Y_EXTENSION]
    D_ENTRY_PER_SLICE: _At[_CSC_D_ENTRY_PER_SLICE]
    D_WEIGHT_FORMAT: _At[_CSC_D_WEIGHT_FORMAT]
    D_WEIGHT_SIZE_EXT_0: _At[_CSC_D_WEIGHT_SIZE_EXT_0]
    D_WEIGHT_SIZE_EXT_1: _At[_CSC_D_WEIGHT_SIZE_EXT_1]
    D_WEIGHT_BYTES: _At[_CSC_D_WEIGHT_BYTES]
    D_WMB_BYTES: _At[_CSC_D_WMB_BYTES]
    D_DATAOUT_SIZE_0: _At[_CSC_D_DATAOUT_SIZE_0]
    D_DATAOUT_SIZE_1: _At[_CSC_D_DATAOUT_SIZE_1]
    D_ATOMICS: _At[_CSC_D_ATOMICS]
    D_RELEASE: _At[_CSC_D_RELEASE]
    D_CONV_STRIDE_EXT: _At[_CSC_D_CONV_STRIDE_EXT]
    D_DILATION_EXT: _At[_CSC_D_DILATION_EXT]
    D_ZERO_PADDING: _At[_CSC_D_ZERO_PADDING]
    D_ZERO_PADDING_VALUE: _At[_CSC_D_ZERO_PADDING_VALUE]
    D_BANK: _At[_CSC_D_BANK]
    D_PRA_CFG: _At[_CSC_D_PRA_CFG]
    D_CYA: _At[_CSC_D_CYA]
class _CSR_HASH_0(Register):
    """Discovery ROM: bytes 0 to 3 of the hash of the architecture file."""
    BYTES: _ReadOnly
class _CSR_HASH_1(Register):
    """Discovery ROM: bytes 4 to 7 of the hash of the architecture file."""
    BYTES: _ReadOnly
class _CSR_HASH_2(Register):
    """Discovery ROM: bytes 8 to 11 of the hash of the architecture file."""
    BYTES: _ReadOnly
class _CSR_HASH_3(Register):
    """Discovery ROM: bytes 12 to 15 of the hash of the architecture file."""
    BYTES: _ReadOnly
class _CSR_VERSION_0(Register):
    """Discovery ROM: bytes 0 to 3 of the version string."""
    TEXT: _ReadOnly
class _CSR_VERSION_1(Register):
    """Discovery ROM: bytes 4 to 7 of the version string."""
    TEXT: _ReadOnly
class _CSR_VERSION_2(Register):
    """Discovery ROM: bytes 8 to 11 of the version string."""
    TEXT: _ReadOnly
class _CSR_VERSION_3(Register):
    """Discovery ROM: bytes 12 to 15 of the version string."""
    TEXT: _ReadOnly
class _CSR_VERSION_4(Register):
    """Discovery ROM: bytes 16 to 19 of the version string."""
    TEXT: _ReadOnly
class _CSR_VERSION_5(Register):
    """Discovery ROM: bytes 20 to 23 of the version string."""
    TEXT: _ReadOnly
class _CSR_VERSION_6(Register):
    """Discovery ROM: bytes 24 to 27 of the version string."""
    TEXT: _ReadOnly
class _CSR_VERSION_7(Register):
    """Discovery ROM: bytes 28 to 31 of the version string."""
    TEXT: _ReadOnly
class _CSR_INTERRUPT_CONTROL(Register):
    """Interrupt causes that have occurred."""
    ERROR: _Number
    COMPLETE: _Number
class _CSR_INTERRUPT_MASK(Register):
    """Interrupt causes that raise the line."""
    ERROR: _Number
    COMPLETE: _Number
class _CSR_CONFIG_BASE(Register):
    """Address of a job's configuration and filters."""
    ADDRESS: _Number
class _CSR_CONFIG_WORDS(Register):
    """Length of the configuration."""
    COUNT: _Number
class _CSR_IO_BASE(Register):
    """Address of a job's input and output; a write queues a descriptor."""
    ADDRESS: _Number
class _CSR_DIAGNOSTICS(Register):
    """State of the descriptor queue."""
    OVERFLOW: _ReadOnly
    ALMOST_FULL: _ReadOnly
    LIMIT: _ReadOnly
class _CSR_INTERMEDIATE_BASE(Register):
    """Address for features that the IP has no room for."""
    ADDRESS: _Number
class _CSR_COMPLETION_COUNT(Register):
    """Number of complete inferences."""
    COUNT: _ReadOnly
class _CSR_IP_RESET(Register):
    """Resets the IP."""
    RESET: _Number
class _CSR_STREAMING(Register):
    """Starts and stops streaming."""
    ACTIVE: _Number
class _CSR_ACTIVE_CLOCKS_LOW(Register):
    """Lower half of the clocks in which a job was active."""
    COUNT: _ReadOnly
class _CSR_ACTIVE_CLOCKS_HIGH(Register):
    """Upper half of the clocks in which a job was active."""
    COUNT: _ReadOnly
class _CSR_JOB_CLOCKS_LOW(Register):
    """Lower half of the clocks times jobs that were active."""
    COUNT: _ReadOnly
class _CSR_JOB_CLOCKS_HIGH(Register):
    """Upper half of the clocks times jobs that were active."""
    COUNT: _ReadOnly
class _CSR_DEBUG_ADDRESS(Register):
    """Asks the debug network."""
    ADDRESS: _Number
class _CSR_DEBUG_VALID(Register):
    """Flag for an answer of the debug network."""
    VALID: _ReadOnly
class _CSR_DEBUG_DATA(Register):
    """Answer of the debug network."""
    DATA: _ReadOnly
class _CSR_LICENCE(Register):
    """Licence of the IP."""
    LICENSED: _ReadOnly
class _CSR_INPUT_WORDS_LOW(Register):
    """Lower half of the memory words of input features read."""
    COUNT: _ReadOnly
class _CSR_INPUT_WORDS_HIGH(Register):
    """Upper half of the memory words of input features read."""
    COUNT: _ReadOnly
class _CSR_FILTER_WORDS_LOW(Register):
    """Lower half of the memory words of filters and biases read."""
    COUNT: _ReadOnly
class _CSR_FILTER_WORDS_HIGH(Register):
    """Upper half of the memory words of filters and biases read."""
    COUNT: _ReadOnly
class _CSR_OUTPUT_WORDS_LOW(Register):
    """Lower half of the memory words of output features written."""
    COUNT: _ReadOnly
class _CSR_OUTPUT_WORDS_HIGH(Register):
    """Upper half of the memory words of output features written."""
    COUNT: _ReadOnly
class _CSR_UPDATE_0(Register):
    """Bits 31:0 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_1(Register):
    """Bits 63:32 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_2(Register):
    """Bits 95:64 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_3(Register):
    """Bits 127:96 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_4(Register):
    """Bits 159:128 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_5(Register):
    """Bits 191:160 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_6(Register):
    """Bits 223:192 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_7(Register):
    """Bits 255:224 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_8(Register):
    """Bits 287:256 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_9(Register):
    """Bits 319:288 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_10(Register):
    """Bits 351:320 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_11(Register):
    """Bits 383:352 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_12(Register):
    """Bits 415:384 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_13(Register):
    """Bits 447:416 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_14(Register):
    """Bits 479:448 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_15(Register):
    """Bits 511:480 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_16(Register):
    """Bits 543:512 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_17(Register):
    """Bits 575:544 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_18(Register):
    """Bits 607:576 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_19(Register):
    """Bits 639:608 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_20(Register):
    """Bits 671:640 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_21(Register):
    """Bits 703:672 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_22(Register):
    """Bits 735:704 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_23(Register):
    """Bits 767:736 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_24(Register):
    """Bits 799:768 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_25(Register):
    """Bits 831:800 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_26(Register):
    """Bits 863:832 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_27(Register):
    """Bits 895:864 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_28(Register):
    """Bits 927:896 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_29(Register):
    """Bits 959:928 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_30(Register):
    """Bits 991:960 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_31(Register):
    """Bits 1023:992 of the word that a model update writes."""
    WORD: _Number
class _CSR_UPDATE_CONTROL(Register):
    """Writes the word."""
    ADDRESS: _Number
    KIND: _Named[Literal["CONFIGURATION", "SCRATCHPAD"]]
class _Unit_CSR(Unit):
    HASH_0: _At[_CSR_HASH_0]
    HASH_1: _At[_CSR_HASH_1]
    HASH_2: _At[_CSR_HASH_2]
    HASH_3: _At[_CSR_HASH_3]
    VERSION_0: _At[_CSR_VERSION_0]
    VERSION_1: _At[_CSR_VERSION_1]
    VERSION_2: _At[_CSR_VERSION_2]
    VERSION_3: _At[_CSR_VERSION_3]
    VERSION_4: _At[_CSR_VERSION_4]
    VERSION_5: _At[_CSR_VERSION_5]
    VERSION_6: _At[_CSR_VERSION_6]
    VERSION_7: _At[_CSR_VERSION_7]
    INTERRUPT_CONTROL: _At[_CSR_INTERRUPT_CONTROL]
    INTERRUPT_MASK: _At[_CSR_INTERRUPT_MASK]
    CONFIG_BASE: _At[_CSR_CONFIG_BASE]
    CONFIG_WORDS: _At[_CSR_CONFIG_WORDS]
    IO_BASE: _At[_CSR_IO_BASE]
    DIAGNOSTICS: _At[_CSR_DIAGNOSTICS]
    INTERMEDIATE_BASE: _At[_CSR_INTERMEDIATE_BASE]
    COMPLETION_COUNT: _At[_CSR_COMPLETION_COUNT]
    IP_RESET: _At[_CSR_IP_RESET]
    STREAMING: _At[_CSR_STREAMING]
    ACTIVE_CLOCKS_LOW: _At[_CSR_ACTIVE_CLOCKS_LOW]
    ACTIVE_CLOCKS_HIGH: _At[_CSR_ACTIVE_CLOCKS_HIGH]
    JOB_CLOCKS_LOW: _At[_CSR_JOB_CLOCKS_LOW]
    JOB_CLOCKS_HIGH: _At[_CSR_JOB_CLOCKS_HIGH]
    DEBUG_ADDRESS: _At[_CSR_DEBUG_ADDRESS]
    DEBUG_VALID: _At[_CSR_DEBUG_VALID]
    DEBUG_DATA: _At[_CSR_DEBUG_DATA]
    LICENCE: _At[_CSR_LICENCE]
    INPUT_WORDS_LOW: _At[_CSR_INPUT_WORDS_LOW]
    INPUT_WORDS_HIGH: _At[_CSR_INPUT_WORDS_HIGH]
    FILTER_WORDS_LOW: _At[_CSR_FILTER_WORDS_LOW]
    FILTER_WORDS_HIGH: _At[_CSR_FILTER_WORDS_HIGH]
    OUTPUT_WORDS_LOW: _At[_CSR_OUTPUT_WORDS_LOW]
    OUTPUT_WORDS_HIGH: _At[_CSR_OUTPUT_WORDS_HIGH]
    UPDATE_0: _At[_CSR_UPDATE_0]
    UPDATE_1: _At[_CSR_UPDATE_1]
    UPDATE_2: _At[_CSR_UPDATE_2]
    UPDATE_3: _At[_CSR_UPDATE_3]
    UPDATE_4: _At[_CSR_UPDATE_4]
    UPDATE_5: _At[_CSR_UPDATE_5]
    UPDATE_6: _At[_CSR_UPDATE_6]
    UPDATE_7: _At[_CSR_UPDATE_7]
    UPDATE_8: _At[_CSR_UPDATE_8]
    UPDATE_9: _At[_CSR_UPDATE_9]
    UPDATE_10: _At[_CSR_UPDATE_10]
    UPDATE_11: _At[_CSR_UPDATE_11]
    UPDATE_12: _At[_CSR_UPDATE_12]
    UPDATE_13: _At[_CSR_UPDATE_13]
    UPDATE_14: _At[_CSR_UPDATE_14]
    UPDATE_15: _At[_CSR_UPDATE_15]
    UPDATE_16: _At[_CSR_UPDATE_16]
    UPDATE_17: _At[_CSR_UPDATE_17]
    UPDATE_18: _At[_CSR_UPDATE_18]
    UPDATE_19: _At[_CSR_UPDATE_19]
    UPDATE_20: _At[_CSR_UPDATE_20]
    UPDATE_21: _At[_CSR_UPDATE_21]
    UPDATE_22: _At[_CSR_UPDATE_22]
    UPDATE_23: _At[_CSR_UPDATE_23]
    UPDATE_24: _At[_CSR_UPDATE_24]
    UPDATE_25: _At[_CSR_UPDATE_25]
    UPDATE_26: _At[_CSR_UPDATE_26]
    UPDATE_27: _At[_CSR_UPDATE_27]
    UPDATE_28: _At[_CSR_UPDATE_28]
    UPDATE_29: _At[_CSR_UPDATE_29]
    UPDATE_30: _At[_CSR_UPDATE_30]
    UPDATE_31: _At[_CSR_UPDATE_31]
    UPDATE_CONTROL: _At[_CSR_UPDATE_CONTROL]
class _CVIF_CFG_RD_WEIGHT_0(Register):
    """Read arbitration weights, clients 0-3."""
    RD_WEIGHT_BDMA: _Number
    RD_WEIGHT_SDP: _Number
    RD_WEIGHT_PDP: _Number
    RD_WEIGHT_CDP: _Number
class _CVIF_CFG_RD_WEIGHT_1(Register):
    """Read arbitration weights, clients 4-7."""
    RD_WEIGHT_SDP_B: _Number
    RD_WEIGHT_SDP_N: _Number
    RD_WEIGHT_SDP_E: _Number
    RD_WEIGHT_CDMA_DAT: _Number
class _CVIF_CFG_RD_WEIGHT_2(Register):
    """Read arbitration weights, clients 8-11."""
    RD_WEIGHT_CDMA_WT: _Number
    RD_WEIGHT_RBK: _Number
    RD_WEIGHT_RSV_1: _Number
    RD_WEIGHT_RSV_0: _Number
class _CVIF_CFG_WR_WEIGHT_0(Register):
    """Write arbitration weights, clients 0-3."""
    WR_WEIGHT_BDMA: _Number
    WR_WEIGHT_SDP: _Number
    WR_WEIGHT_PDP: _Number
    WR_WEIGHT_CDP: _Number
class _CVIF_CFG_WR_WEIGHT_1(Register):
    """Write arbitration weights, clients 4-7."""
    WR_WEIGHT_RBK: _Number
    WR_WEIGHT_RSV_2: _Number
    WR_WEIGHT_RSV_1: _Number
    WR_WEIGHT_RSV_0: _Number
class _CVIF_CFG_OUTSTANDING_CNT(Register):
    """Limit of outstanding bus transactions."""
    RD_OS_CNT: _Number
    WR_OS_CNT: _Number
class _CVIF_STATUS(Register):
    """Interface idle flag."""
    IDLE: _ReadOnly
class _Unit_CVIF(Unit):
    CFG_RD_WEIGHT_0: _At[_CVIF_CFG_RD_WEIGHT_0]
    CFG_RD_WEIGHT_1: _At[_CVIF_CFG_RD_WEIGHT_1]
    CFG_RD_WEIGHT_2: _At[_CVIF_CFG_RD_WEIGHT_2]
    CFG_WR_WEIGHT_0: _At[_CVIF_CFG_WR_WEIGHT_0]
    CFG_WR_WEIGHT_1: _At[_CVIF_CFG_WR_WEIGHT_1]
    CFG_OUTSTANDING_CNT: _At[_CVIF_CFG_OUTSTANDING_CNT]
    STATUS: _At[_CVIF_STATUS]
class _GLB_S_NVDLA_HW_VERSION(Register):
    """Hardware version."""
    MAJOR: _ReadOnly
    MINOR: _ReadOnly
class _GLB_S_INTR_MASK(Register):
    """Per-source interrupt mask."""
    SDP_DONE_MASK0: _Number
    SDP_DONE_MASK1: _Number
    CDP_DONE_MASK0: _Number
    CDP_DONE_MASK1: _Number
    PDP_DONE_MASK0: _Number
    PDP_DONE_MASK1: _Number
    BDMA_DONE_MASK0: _Number
    BDMA_DONE_MASK1: _Number
    RUBIK_DONE_MASK0: _Number
    RUBIK_DONE_MASK1: _Number
    CDMA_DAT_DONE_MASK0: _Number
    CDMA_DAT_DONE_MASK1: _Number
    CDMA_WT_DONE_MASK0: _Number
    CDMA_WT_DONE_MASK1: _Number
    CACC_DONE_MASK0: _Number
    CACC_DONE_MASK1: _Number
class _GLB_S_INTR_SET(Register):
    """Software interrupt injection."""
    SDP_DONE_SET0: _Number
    SDP_DONE_SET1: _Number
    CDP_DONE_SET0: _Number
    CDP_DONE_SET1: _Number
    PDP_DONE_SET0: _Number
    PDP_DONE_SET1: _Number
    BDMA_DONE_SET0: _Number
    BDMA_DONE_SET1: _Number
    RUBIK_DONE_SET0: _Number
    RUBIK_DONE_SET1: _Number
    CDMA_DAT_DONE_SET0: _Number
    CDMA_DAT_DONE_SET1: _Number
    CDMA_WT_DONE_SET0: _Number
    CDMA_WT_DONE_SET1: _Number
    CACC_DONE_SET0: _Number
    CACC_DONE_SET1: _Number
class _GLB_S_INTR_STATUS(Register):
    """Per-source interrupt pending bits."""
    SDP_DONE_STATUS0: _Number
    SDP_DONE_STATUS1: _Number
    CDP_DONE_STATUS0: _Number
    CDP_DONE_STATUS1: _Number
    PDP_DONE_STATUS0: _Number
    PDP_DONE_STATUS1: _Number
    BDMA_DONE_STATUS0: _Number
    BDMA_DONE_STATUS1: _Number
    RUBIK_DONE_STATUS0: _Number
    RUBIK_DONE_STATUS1: _Number
    CDMA_DAT_DONE_STATUS0: _Number
    CDMA_DAT_DONE_STATUS1: _Number
    CDMA_WT_DONE_STATUS0: _Number
    CDMA_WT_DONE_STATUS1: _Number
    CACC_DONE_STATUS0: _Number
    CACC_DONE_STATUS1: _Number
class _Unit_GLB(Unit):
    S_NVDLA_HW_VERSION: _At[_GLB_S_NVDLA_HW_VERSION]
    S_INTR_MASK: _At[_GLB_S_INTR_MASK]
    S_INTR_SET: _At[_GLB_S_INTR_SET]
    S_INTR_STATUS: _At[_GLB_S_INTR_STATUS]
class _MCIF_CFG_RD_WEIGHT_0(Register):
    """Read arbitration weights, clients 0-3."""
    RD_WEIGHT_BDMA: _Number
    RD_WEIGHT_SDP: _Number
    RD_WEIGHT_PDP: _Number
    RD_WEIGHT_CDP: _Number
class _MCIF_CFG_RD_WEIGHT_1(Register):
    """Read arbitration weights, clients 4-7."""
    RD_WEIGHT_SDP_B: _Number
    RD_WEIGHT_SDP_N: _Number
    RD_WEIGHT_SDP_E: _Number
    RD_WEIGHT_CDMA_DAT: _Number
class _MCIF_CFG_RD_WEIGHT_2(Register):
    """Read arbitration weights, clients 8-11."""
    RD_WEIGHT_CDMA_WT: _Number
    RD_WEIGHT_RBK: _Number
    RD_WEIGHT_RSV_1: _Number
    RD_WEIGHT_RSV_0: _Number
class _MCIF_CFG_WR_WEIGHT_0(Register):
    """Write arbitration weights, clients 0-3."""
    WR_WEIGHT_BDMA: _Number
    WR_WEIGHT_SDP: _Number
    WR_WEIGHT_PDP: _Number
    WR_WEIGHT_CDP: _Number
class _MCIF_CFG_WR_WEIGHT_1(Register):
    """Write arbitration weights, clients 4-7."""
    WR_WEIGHT_RBK: _Number
    WR_WEIGHT_RSV_2: _Number
    WR_WEIGHT_RSV_1: _Number
    WR_WEIGHT_RSV_0: _Number
class _MCIF_CFG_OUTSTANDING_CNT(Register):
    """Limit of outstanding bus transactions."""
    RD_OS_CNT: _Number
    WR_OS_CNT: _Number
class _MCIF_STATUS(Register):
    """Interface idle flag."""
    IDLE: _ReadOnly
class _Unit_MCIF(Unit):
    CFG_RD_WEIGHT_0: _At[_MCIF_CFG_RD_WEIGHT_0]
    CFG_RD_WEIGHT_1: _At[_MCIF_CFG_RD_WEIGHT_1]
    CFG_RD_WEIGHT_2: _At[_MCIF_CFG_RD_WEIGHT_2]
    CFG_WR_WEIGHT_0: _At[_MCIF_CFG_WR_WEIGHT_0]
    CFG_WR_WEIGHT_1: _At[_MCIF_CFG_WR_WEIGHT_1]
    CFG_OUTSTANDING_CNT: _At[_MCIF_CFG_OUTSTANDING_CNT]
    STATUS: _At[_MCIF_STATUS]
class _PDP_S_STATUS(Register):
    """State of both register groups."""
    STATUS_0: _ReadOnly
    STATUS_1: _ReadOnly
class _PDP_S_POINTER(Register):
    """Group select for software and datapath."""
    PRODUCER: _Named[Literal["GROUP_0", "GROUP_1"]]
    CONSUMER: _ReadOnly
class _PDP_D_OP_ENABLE(Register):
    """Starts the layer described by this group."""
    OP_EN: _Named[Literal["DISABLE", "ENABLE"]]
class _PDP_D_DATA_CUBE_IN_WIDTH(Register):
    """Input width."""
    CUBE_IN_WIDTH: _Number
class _PDP_D_DATA_CUBE_IN_HEIGHT(Register):
    """Input height."""
    CUBE_IN_HEIGHT: _Number
class _PDP_D_DATA_CUBE_IN_CHANNEL(Register):
    """Input channels."""
    CUBE_IN_CHANNEL: _Number
class _PDP_D_DATA_CUBE_OUT_WIDTH(Register):
    """Output width."""
    CUBE_OUT_WIDTH: _Number
class _PDP_D_DATA_CUBE_OUT_HEIGHT(Register):
    """Output height."""
    CUBE_OUT_HEIGHT: _Number
class _PDP_D_DATA_CUBE_OUT_CHANNEL(Register):
    """Output channels."""
    CUBE_OUT_CHANNEL: _Number
class _PDP_D_OPERATION_MODE_CFG(Register):
    """Pooling mode and split count."""
    POOLING_METHOD: _Named[Literal["POOLING_METHOD_AVERAGE", "POOLING_METHOD_MAX", "POOLING_METHOD_MIN"]]
    FLYING_MODE: _Named[Literal["ON_FLYING", "OFF_FLYING"]]
    SPLIT_NUM: _Number
class _PDP_D_NAN_FLUSH_TO_ZERO(Register):
    """NaN flush."""
    NAN_TO_ZERO: _Named[Literal["DISABLE", "ENABLE"]]
class _PDP_D_PARTIAL_WIDTH_IN(Register):
    """Input widths of split pieces."""
    PARTIAL_WIDTH_IN_FIRST: _Number
    PARTIAL_WIDTH_IN_LAST: _Number
    PARTIAL_WIDTH_IN_MID: _Number
class _PDP_D_PARTIAL_WIDTH_OUT(Register):
    """Output widths of split pieces."""
    PARTIAL_WIDTH_OUT_FIRST: _Number
    PARTIAL_WIDTH_OUT_LAST: _Number
    PARTIAL_WIDTH_OUT_MID: _Number
class _PDP_D_POOLING_KERNEL_CFG(Register):
    """Pooling window and stride."""
    KERNEL_WIDTH: _Named[Literal["KERNEL_WIDTH_1", "KERNEL_WIDTH_2", "KERNEL_WIDTH_3", "KERNEL_WIDTH_4", "KERNEL_WIDTH_5", "KERNEL_WIDTH_6", "KERNEL_WIDTH_7", "KERNEL_WIDTH_8"]]
    KERNEL_HEIGHT: _Named[Literal["KERNEL_HEIGHT_1", "KERNEL_HEIGHT_2", "KERNEL_HEIGHT_3", "KERNEL_HEIGHT_4", "KERNEL_HEIGHT_5", "KERNEL_HEIGHT_6", "KERNEL_HEIGHT_7", "KERNEL_HEIGHT_8"]]
    KERNEL_STRIDE_WIDTH: _Number
    KERNEL_STRIDE_HEIGHT: _Number
class _PDP_D_RECIP_KERNEL_WIDTH(Register):
    """Reciprocal of window width."""
    RECIP_KERNEL_WIDTH: _Number
class _PDP_D_RECIP_KERNEL_HEIGHT(Register):
    """Reciprocal of window height."""
    RECIP_KERNEL_HEIGHT: _Number
class _PDP_D_POOLING_PADDING_CFG(Register):
    """Pooling padding."""
    PAD_LEFT: _Number
    PAD_TOP: _Number
    PAD_RIGHT: _Number
    PAD_BOTTOM: _Number
class _PDP_D_POOLING_PADDING_VALUE_1_CFG(Register):
    """Value that one padded position adds to a window."""
    PAD_VALUE_1X: _Number
class _PDP_D_POOLING_PADDING_VALUE_2_CFG(Register):
    """Value that 2 padded positions add to a window."""
    PAD_VALUE_2X: _Number
class _PDP_D_POOLING_PADDING_VALUE_3_CFG(Register):
    """Value that 3 padded positions add to a window."""
    PAD_VALUE_3X: _Number
class _PDP_D_POOLING_PADDING_VALUE_4_CFG(Register):
    """Value that 4 padded positions add to a window."""
    PAD_VALUE_4X: _Number
class _PDP_D_POOLING_PADDING_VALUE_5_CFG(Register):
    """Value that 5 padded positions add to a window."""
    PAD_VALUE_5X: _Number
class _PDP_D_POOLING_PADDING_VALUE_6_CFG(Register):
    """Value that 6 padded positions add to a window."""
    PAD_VALUE_6X: _Number
class _PDP_D_POOLING_PADDING_VALUE_7_CFG(Register):
    """Value that 7 padded positions add to a window."""
    PAD_VALUE_7X: _Number
class _PDP_D_SRC_BASE_ADDR_LOW(Register):
    """Source address, low word."""
    SRC_BASE_ADDR_LOW: _Number
class _PDP_D_SRC_BASE_ADDR_HIGH(Register):
    """Source address, high word."""
    SRC_BASE_ADDR_HIGH: _Number
class _PDP_D_SRC_LINE_STRIDE(Register):
    """Source line stride."""
    SRC_LINE_STRIDE: _Number
class _PDP_D_SRC_SURFACE_STRIDE(Register):
    """Source surface stride."""
    SRC_SURFACE_STRIDE: _Number
class _PDP_D_DST_BASE_ADDR_LOW(Register):
    """Destination address, low word."""
    DST_BASE_ADDR_LOW: _Number
class _PDP_D_DST_BASE_ADDR_HIGH(Register):
    """Destination address, high word."""
    DST_BASE_ADDR_HIGH: _Number
class _PDP_D_DST_LINE_STRIDE(Register):
    """Destination line stride."""
    DST_LINE_STRIDE: _Number
class _PDP_D_DST_SURFACE_STRIDE(Register):
    """Destination surface stride."""
    DST_SURFACE_STRIDE: _Number
class _PDP_D_DST_RAM_CFG(Register):
    """Destination memory select."""
    DST_RAM_TYPE: _Named[Literal["CV", "MC"]]
class _PDP_D_DATA_FORMAT(Register):
    """Data precision."""
    INPUT_DATA: _Named[Literal["INT8", "INT16", "FP16"]]
class _PDP_D_INF_INPUT_NUM(Register):
    """Infinity inputs seen."""
    INF_INPUT_NUM: _ReadOnly
class _PDP_D_NAN_INPUT_NUM(Register):
    """NaN inputs seen."""
    NAN_INPUT_NUM: _ReadOnly
class _PDP_D_NAN_OUTPUT_NUM(Register):
    """NaN outputs produced."""
    NAN_OUTPUT_NUM: _ReadOnly
class _PDP_D_PERF_ENABLE(Register):
    """Performance counter enable."""
    DMA_EN: _Named[Literal["DISABLE", "ENABLE"]]
class _PDP_D_PERF_WRITE_STALL(Register):
    """Write stall cycles."""
    PERF_WRITE_STALL: _ReadOnly
class _PDP_D_CYA(Register):
    """Spare bits without function."""
    CYA: _Number
class _Unit_PDP(Unit):
    S_STATUS: _At[_PDP_S_STATUS]
    S_POINTER: _At[_PDP_S_POINTER]
    D_OP_ENABLE: _At[_PDP_D_OP_ENABLE]
    D_DATA_CUBE_IN_WIDTH: _At[_PDP_D_DATA_CUBE_IN_WIDTH]
    D_DATA_CUBE_IN_HEIGHT: _At[_PDP_D_DATA_CUBE_IN_HEIGHT]
    D_DATA_CUBE_IN_CHANNEL: _At[_PDP_D_DATA_CUBE_IN_CHANNEL]
    D_DATA_CUBE_OUT_WIDTH: _At[_PDP_D_DATA_CUBE_OUT_WIDTH]
    D_DATA_CUBE_OUT_HEIGHT: _At[_PDP_D_DATA_CUBE_OUT_HEIGHT]
    D_DATA_CUBE_OUT_CHANNEL: _At[_PDP_D_DATA_CUBE_OUT_CHANNEL]
    D_OPERATION_MODE_CFG: _At[_PDP_D_OPERATION_MODE_CFG]
    D_NAN_FLUSH_TO_ZERO: _At[_PDP_D_NAN_FLUSH_TO_ZERO]
    D_PARTIAL_WIDTH_IN: _At[_PDP_D_PARTIAL_WIDTH_IN]
    D_PARTIAL_WIDTH_OUT: _At[_PDP_D_PARTIAL_WIDTH_OUT]
    D_POOLING_KERNEL_CFG: _At[_PDP_D_POOLING_KERNEL_CFG]
    D_RECIP_KERNEL_WIDTH: _At[_PDP_D_RECIP_KERNEL_WIDTH]
    D_RECIP_KERNEL_HEIGHT: _At[_PDP_D_RECIP_KERNEL_HEIGHT]
    D_POOLING_PADDING_CFG: _At[_PDP_D_POOLING_PADDING_CFG]
    D_POOLING_PADDING_VALUE_1_CFG: _At[_PDP_D_POOLING_PADDING_VALUE_1_CFG]
    D_POOLING_PADDING_VALUE_2_CFG: _At[_PDP_D_POOLING_PADDING_VALUE_2_CFG]
    D_POOLING_PADDING_VALUE_3_CFG: _At[_PDP_D_POOLING_PADDING_VALUE_3_CFG]
    D_POOLING_PADDING_VALUE_4_CFG: _At[_PDP_D_POOLING_PADDING_VALUE_4_CFG]
    D_POOLING_PADDING_VALUE_5_CFG: _At[_PDP_D_POOLING_PADDING_VALUE_5_CFG]
    D_POOLING_PADDING_VALUE_6_CFG: _At[_PDP_D_POOLING_PADDING_VALUE_6_CFG]
    D_POOLING_PADDING_VALUE_7_CFG: _At[_PDP_D_POOLING_PADDING_VALUE_7_CFG]
    D_SRC_BASE_ADDR_LOW: _At[_PDP_D_SRC_BASE_ADDR_LOW]
    D_SRC_BASE_ADDR_HIGH: _At[_PDP_D_SRC_BASE_ADDR_HIGH]
    D_SRC_LINE_STRIDE: _At[_PDP_D_SRC_LINE_STRIDE]
    D_SRC_SURFACE_STRIDE: _At[_PDP_D_SRC_SURFACE_STRIDE]
    D_DST_BASE_ADDR_LOW: _At[_PDP_D_DST_BASE_ADDR_LOW]
    D_DST_BASE_ADDR_HIGH: _At[_PDP_D_DST_BASE_ADDR_HIGH]
    D_DST_LINE_STRIDE: _At[_PDP_D_DST_LINE_STRIDE]
    D_DST_SURFACE_STRIDE: _At[_PDP_D_DST_SURFACE_STRIDE]
    D_DST_RAM_CFG: _At[_PDP_D_DST_RAM_CFG]
    D_DATA_FORMAT: _At[_PDP_D_DATA_FORMAT]
    D_INF_INPUT_NUM: _At[_PDP_D_INF_INPUT_NUM]
    D_NAN_INPUT_NUM: _At[_PDP_D_NAN_INPUT_NUM]
    D_NAN_OUTPUT_NUM: _At[_PDP_D_NAN_OUTPUT_NUM]
    D_PERF_ENABLE: _At[_PDP_D_PERF_ENABLE]
    D_PERF_WRITE_STALL: _At[_PDP_D_PERF_WRITE_STALL]
    D_CYA: _At[_PDP_D_CYA]
class _PDP_RDMA_S_STATUS(Register):
    """State of both register groups."""
    STATUS_0: _ReadOnly
    STATUS_1: _ReadOnly
class _PDP_RDMA_S_POINTER(Register):
    """Group select for software and datapath."""
    PRODUCER: _Named[Literal["GROUP_0", "GROUP_1"]]
    CONSUMER: _ReadOnly
class _PDP_RDMA_D_OP_ENABLE(Register):
    """Starts the layer described by this group."""
    OP_EN: _Named[Literal["DISABLE", "ENABLE"]]
class _PDP_RDMA_D_DATA_CUBE_IN_WIDTH(Register):
    """Input width."""
    CUBE_IN_WIDTH: _Number
class _PDP_RDMA_D_DATA_CUBE_IN_HEIGHT(Register):
    """Input height."""
    CUBE_IN_HEIGHT: _Number
class _PDP_RDMA_D_DATA_CUBE_IN_CHANNEL(Register):
    """Input channels."""
    CUBE_IN_CHANNEL: _Number
class _PDP_RDMA_D_FLYING_MODE(Register):
    """Input source select."""
    FLYING_MODE: _Named[Literal["ON_FLYING", "OFF_FLYING"]]
class _PDP_RDMA_D_SRC_BASE_ADDR_LOW(Register):
    """Source address, low word."""
    SRC_BASE_ADDR_LOW: _Number
class _PDP_RDMA_D_SRC_BASE_ADDR_HIGH(Register):
    """Source address, high word."""
    SRC_BASE_ADDR_HIGH: _Number
class _PDP_RDMA_D_SRC_LINE_STRIDE(Register):
    """Source line stride."""
    SRC_LINE_STRIDE: _Number
class _PDP_RDMA_D_SRC_SURFACE_STRIDE(Register):
    """Source surface stride."""
    SRC_SURFACE_STRIDE: _Number
class _PDP_RDMA_D_SRC_RAM_CFG(Register):
    """Source memory select."""
    SRC_RAM_TYPE: _Named[Literal["CV", "MC"]]
class _PDP_RDMA_D_DATA_FORMAT(Register):
    """Data precision."""
    INPUT_DATA: _Named[Literal["INT8", "INT16", "FP16"]]
class _PDP_RDMA_D_OPERATION_MODE_CFG(Register):
    """Pooling mode and split count."""
    SPLIT_NUM: _Number
class _PDP_RDMA_D_POOLING_KERNEL_CFG(Register):
    """Pooling window and stride."""
    KERNEL_WIDTH: _Named[Literal["KERNEL_WIDTH_1", "KERNEL_WIDTH_2", "KERNEL_WIDTH_3", "KERNEL_WIDTH_4", "KERNEL_WIDTH_5", "KERNEL_WIDTH_6", "KERNEL_WIDTH_7", "KERNEL_WIDTH_8"]]
    KERNEL_STRIDE_WIDTH: _Number
class _PDP_RDMA_D_POOLING_PADDING_CFG(Register):
    """Pooling padding."""
    PAD_WIDTH: _Number
class _PDP_RDMA_D_PARTIAL_WIDTH_IN(Register):
    """Input widths of split pieces."""
    PARTIAL_WIDTH_IN_FIRST: _Number
    PARTIAL_WIDTH_IN_LAST: _Number
    PARTIAL_WIDTH_IN_MID: _Number
class _PDP_RDMA_D_PERF_ENABLE(Register):
    """Performance counter enable."""
    DMA_EN: _Named[Literal["DISABLE", "ENABLE"]]
class _PDP_RDMA_D_PERF_READ_STALL(Register):
    """Read stall cycles."""
    PERF_READ_STALL: _ReadOnly
class _PDP_RDMA_D_CYA(Register):
    """Spare bits without function."""
    CYA: _Number
class _Unit_PDP_RDMA(Unit):
    S_STATUS: _At[_PDP_RDMA_S_STATUS]
    S_POINTER: _At[_PDP_RDMA_S_POINTER]
    D_OP_ENABLE: _At[_PDP_RDMA_D_OP_ENABLE]
    D_DATA_CUBE_IN_WIDTH: _At[_PDP_RDMA_D_DATA_CUBE_IN_WIDTH]
    D_DATA_CUBE_IN_HEIGHT: _At[_PDP_RDMA_D_DATA_CUBE_IN_HEIGHT]
    D_DATA_CUBE_IN_CHANNEL: _At[_PDP_RDMA_D_DATA_CUBE_IN_CHANNEL]
    D_FLYING_MODE: _At[_PDP_RDMA_D_FLYING_MODE]
    D_SRC_BASE_ADDR_LOW: _At[_PDP_RDMA_D_SRC_BASE_ADDR_LOW]
    D_SRC_BASE_ADDR_HIGH: _At[_PDP_RDMA_D_SRC_BASE_ADDR_HIGH]
    D_SRC_LINE_STRIDE: _At[_PDP_RDMA_D_SRC_LINE_STRIDE]
    D_SRC_SURFACE_STRIDE: _At[_PDP_RDMA_D_SRC_SURFACE_STRIDE]
    D_SRC_RAM_CFG: _At[_PDP_RDMA_D_SRC_RAM_CFG]
    D_DATA_FORMAT: _At[_PDP_RDMA_D_DATA_FORMAT]
    D_OPERATION_MODE_CFG: _At[_PDP_RDMA_D_OPERATION_MODE_CFG]
    D_POOLING_KERNEL_CFG: _At[_PDP_RDMA_D_POOLING_KERNEL_CFG]
    D_POOLING_PADDING_CFG: _At[_PDP_RDMA_D_POOLING_PADDING_CFG]
    D_PARTIAL_WIDTH_IN: _At[_PDP_RDMA_D_PARTIAL_WIDTH_IN]
    D_PERF_ENABLE: _At[_PDP_RDMA_D_PERF_ENABLE]
    D_PERF_READ_STALL: _At[_PDP_RDMA_D_PERF_READ_STALL]
    D_CYA: _At[_PDP_RDMA_D_CYA]
class _RBK_S_STATUS(Register):
    """State of both register groups."""
    STATUS_0: _ReadOnly
    STATUS_1: _ReadOnly
class _RBK_S_POINTER(Register):
    """Group select for software and datapath."""
    PRODUCER: _Named[Literal["GROUP_0", "GROUP_1"]]
    CONSUMER: _ReadOnly
class _RBK_D_OP_ENABLE(Register):
    """Starts the layer described by this group."""
    OP_EN: _Named[Literal["DISABLE", "ENABLE"]]
class _RBK_D_MISC_CFG(Register):
    """Reshape mode and precision."""
    RUBIK_MODE: _Named[Literal["CONTRACT", "SPLIT", "MERGE"]]
    IN_PRECISION: _Named[Literal["INT8", "INT16", "FP16"]]
class _RBK_D_DAIN_RAM_TYPE(Register):
    """Input memory select."""
    DATAIN_RAM_TYPE: _Named[Literal["CVIF", "MCIF"]]
class _RBK_D_DATAIN_SIZE_0(Register):
    """Input width and height."""
    DATAIN_WIDTH: _Number
    DATAIN_HEIGHT: _Number
class _RBK_D_DATAIN_SIZE_1(Register):
    """Input channels."""
    DATAIN_CHANNEL: _Number
class _RBK_D_DAIN_ADDR_HIGH(Register):
    """Input address, high word."""
    DAIN_ADDR_HIGH: _Number
class _RBK_D_DAIN_ADDR_LOW(Register):
    """Input address, low word."""
    DAIN_ADDR_LOW: _Number
class _RBK_D_DAIN_LINE_STRIDE(Register):
    """Input line stride."""
    DAIN_LINE_STRIDE: _Number
class _RBK_D_DAIN_SURF_STRIDE(Register):
    """Input surface stride."""
    DAIN_SURF_STRIDE: _Number
class _RBK_D_DAIN_PLANAR_STRIDE(Register):
    """Input plane stride."""
    DAIN_PLANAR_STRIDE: _Number
class _RBK_D_DAOUT_RAM_TYPE(Register):
    """Output memory select."""
    DATAOUT_RAM_TYPE: _Named[Literal["CVIF", "MCIF"]]
class _RBK_D_DATAOUT_SIZE_1(Register):
    """Output channels."""
    DATAOUT_CHANNEL: _Number
class _RBK_D_DAOUT_ADDR_HIGH(Register):
    """Output address, high word."""
    DAOUT_ADDR_HIGH: _Number
class _RBK_D_DAOUT_ADDR_LOW(Register):
    """Output address, low word."""
    DAOUT_ADDR_LOW: _Number
class _RBK_D_DAOUT_LINE_STRIDE(Register):
    """Output line stride."""
    DAOUT_LINE_STRIDE: _Number
class _RBK_D_CONTRACT_STRIDE_0(Register):
    """Contract mode input step per X."""
    CONTRACT_STRIDE_0: _Number
class _RBK_D_CONTRACT_STRIDE_1(Register):
    """Contract mode output step per input line."""
    CONTRACT_STRIDE_1: _Number
class _RBK_D_DAOUT_SURF_STRIDE(Register):
    """Output surface stride."""
    DAOUT_SURF_STRIDE: _Number
class _RBK_D_DAOUT_PLANAR_STRIDE(Register):
    """Output plane stride."""
    DAOUT_PLANAR_STRIDE: _Number
class _RBK_D_DECONV_STRIDE(Register):
    """Deconvolution stride."""
    DECONV_X_STRIDE: _Number
    DECONV_Y_STRIDE: _Number
class _RBK_D_PERF_ENABLE(Register):
    """Performance counter enable."""
    PERF_EN: _Number
class _RBK_D_PERF_READ_STALL(Register):
    """Read stall cycles."""
    RD_STALL_CNT: _ReadOnly
class _RBK_D_PERF_WRITE_STALL(Register):
    """Write stall cycles."""
    WR_STALL_CNT: _ReadOnly
class _Unit_RBK(Unit):
    S_STATUS: _At[_RBK_S_STATUS]
    S_POINTER: _At[_RBK_S_POINTER]
    D_OP_ENABLE: _At[_RBK_D_OP_ENABLE]
    D_MISC_CFG: _At[_RBK_D_MISC_CFG]
    D_DAIN_RAM_TYPE: _At[_RBK_D_DAIN_RAM_TYPE]
    D_DATAIN_SIZE_0: _At[_RBK_D_DATAIN_SIZE_0]
    D_DATAIN_SIZE_1: _At[_RBK_D_DATAIN_SIZE_1]
    D_DAIN_ADDR_HIGH: _At[_RBK_D_DAIN_ADDR_HIGH]
    D_DAIN_ADDR_LOW: _At[_RBK_D_DAIN_ADDR_LOW]
    D_DAIN_LINE_STRIDE: _At[_RBK_D_DAIN_LINE_STRIDE]
    D_DAIN_SURF_STRIDE: _At[_RBK_D_DAIN_SURF_STRIDE]
    D_DAIN_PLANAR_STRIDE: _At[_RBK_D_DAIN_PLANAR_STRIDE]
    D_DAOUT_RAM_TYPE: _At[_RBK_D_DAOUT_RAM_TYPE]
    D_DATAOUT_SIZE_1: _At[_RBK_D_DATAOUT_SIZE_1]
    D_DAOUT_ADDR_HIGH: _At[_RBK_D_DAOUT_ADDR_HIGH]
    D_DAOUT_ADDR_LOW: _At[_RBK_D_DAOUT_ADDR_LOW]
    D_DAOUT_LINE_STRIDE: _At[_RBK_D_DAOUT_LINE_STRIDE]
    D_CONTRACT_STRIDE_0: _At[_RBK_D_CONTRACT_STRIDE_0]
    D_CONTRACT_STRIDE_1: _At[_RBK_D_CONTRACT_STRIDE_1]
    D_DAOUT_SURF_STRIDE: _At[_RBK_D_DAOUT_SURF_STRIDE]
    D_DAOUT_PLANAR_STRIDE: _At[_RBK_D_DAOUT_PLANAR_STRIDE]
    D_DECONV_STRIDE: _At[_RBK_D_DECONV_STRIDE]
    D_PERF_ENABLE: _At[_RBK_D_PERF_ENABLE]
    D_PERF_READ_STALL: _At[_RBK_D_PERF_READ_STALL]
    D_PERF_WRITE_STALL: _At[_RBK_D_PERF_WRITE_STALL]
class _SDP_S_STATUS(Register):
    """State of both register groups."""
    STATUS_0: _ReadOnly
    STATUS_1: _ReadOnly
class _SDP_S_POINTER(Register):
    """Group select for software and datapath."""
    PRODUCER: _Named[Literal["GROUP_0", "GROUP_1"]]
    CONSUMER: _ReadOnly
class _SDP_S_LUT_ACCESS_CFG(Register):
    """Lookup table access setup."""
    LUT_ADDR: _Number
    LUT_TABLE_ID: _Named[Literal["LE", "LO"]]
    LUT_ACCESS_TYPE: _Named[Literal["READ", "WRITE"]]
class _SDP_S_LUT_ACCESS_DATA(Register):
    """Lookup table data port."""
    LUT_DATA: _Number
class _SDP_S_LUT_CFG(Register):
    """Lookup table selection rules."""
    LUT_LE_FUNCTION: _Named[Literal["EXPONENT", "LINEAR"]]
    LUT_UFLOW_PRIORITY: _Named[Literal["LE", "LO"]]
    LUT_OFLOW_PRIORITY: _Named[Literal["LE", "LO"]]
    LUT_HYBRID_PRIORITY: _Named[Literal["LE", "LO"]]
class _SDP_S_LUT_INFO(Register):
    """Lookup table indexing."""
    LUT_LE_INDEX_OFFSET: _Number
    LUT_LE_INDEX_SELECT: _Number
    LUT_LO_INDEX_SELECT: _Number
class _SDP_S_LUT_LE_START(Register):
    """LE table range start."""
    LUT_LE_START: _Number
class _SDP_S_LUT_LE_END(Register):
    """LE table range end."""
    LUT_LE_END: _Number
class _SDP_S_LUT_LO_START(Register):
    """LO table range start."""
    LUT_LO_START: _Number
class _SDP_S_LUT_LO_END(Register):
    """LO table range end."""
    LUT_LO_END: _Number
class _SDP_S_LUT_LE_SLOPE_SCALE(Register):
    """LE table out-of-range slope multiplier."""
    LUT_LE_SLOPE_UFLOW_SCALE: _Number
    LUT_LE_SLOPE_OFLOW_SCALE: _Number
class _SDP_S_LUT_LE_SLOPE_SHIFT(Register):
    """LE table out-of-range slope shift."""
    LUT_LE_SLOPE_UFLOW_SHIFT: _Number
    LUT_LE_SLOPE_OFLOW_SHIFT: _Number
class _SDP_S_LUT_LO_SLOPE_SCALE(Register):
    """LO table out-of-range slope multiplier."""
    LUT_LO_SLOPE_UFLOW_SCALE: _Number
    LUT_LO_SLOPE_OFLOW_SCALE: _Number
class _SDP_S_LUT_LO_SLOPE_SHIFT(Register):
    """LO table out-of-range slope shift."""
    LUT_LO_SLOPE_UFLOW_SHIFT: _Number
    LUT_LO_SLOPE_OFLOW_SHIFT: _Number
class _SDP_D_OP_ENABLE(Register):
    """Starts the layer described by this group."""
    OP_EN: _Named[Literal["DISABLE", "ENABLE"]]
class _SDP_D_DATA_CUBE_WIDTH(Register):
    """Cube width."""
    WIDTH: _Number
class _SDP_D_DATA_CUBE_HEIGHT(Register):
    """Cube height."""
    HEIGHT: _Number
class _SDP_D_DATA_CUBE_CHANNEL(Register):
    """Cube channels."""
    CHANNEL: _Number
class _SDP_D_DST_BASE_ADDR_LOW(Register):
    """Destination address, low word."""
    DST_BASE_ADDR_LOW: _Number
class _SDP_D_DST_BASE_ADDR_HIGH(Register):
    """Destination address, high word."""
    DST_BASE_ADDR_HIGH: _Number
class _SDP_D_DST_LINE_STRIDE(Register):
    """Destination line stride."""
    DST_LINE_STRIDE: _Number
class _SDP_D_DST_SURFACE_STRIDE(Register):
    """Destination surface stride."""
    DST_SURFACE_STRIDE: _Number
class _SDP_D_DP_BS_CFG(Register):
    """X1 (BS, bias) stage control."""
    BS_BYPASS: _Named[Literal["NO", "YES"]]
    BS_ALU_BYPASS: _Named[Literal["NO", "YES"]]
    BS_ALU_ALGO: _Named[Literal["MAX", "MIN", "SUM"]]
    BS_MUL_BYPASS: _Named[Literal["NO", "YES"]]
    BS_MUL_PRELU: _Named[Literal["NO", "YES"]]
    BS_RELU_BYPASS: _Named[Literal["NO", "YES"]]
class _SDP_D_DP_BS_ALU_CFG(Register):
    """X1 ALU operand source."""
    BS_ALU_SRC: _Named[Literal["REG", "MEM"]]
    BS_ALU_SHIFT_VALUE: _Number
class _SDP_D_DP_BS_ALU_SRC_VALUE(Register):
    """X1 ALU constant operand."""
    BS_ALU_OPERAND: _Number
class _SDP_D_DP_BS_MUL_CFG(Register):
    """X1 multiplier operand source."""
    BS_MUL_SRC: _Named[Literal["REG", "MEM"]]
    BS_MUL_SHIFT_VALUE: _Number
class _SDP_D_DP_BS_MUL_SRC_VALUE(Register):
    """X1 multiplier constant operand."""
    BS_MUL_OPERAND: _Number
class _SDP_D_DP_BN_CFG(Register):
    """X2 (BN, batch normalisation) stage control."""
    BN_BYPASS: _Named[Literal["NO", "YES"]]
    BN_ALU_BYPASS: _Named[Literal["NO", "YES"]]
    BN_ALU_ALGO: _Named[Literal["MAX", "MIN", "SUM"]]
    BN_MUL_BYPASS: _Named[Literal["NO", "YES"]]
    BN_MUL_PRELU: _Named[Literal["NO", "YES"]]
    BN_RELU_BYPASS: _Named[Literal["NO", "YES"]]
class _SDP_D_DP_BN_ALU_CFG(Register):
    """X2 ALU operand source."""
    BN_ALU_SRC: _Named[Literal["REG", "MEM"]]
    BN_ALU_SHIFT_VALUE: _Number
class _SDP_D_DP_BN_ALU_SRC_VALUE(Register):
    """X2 ALU constant operand."""
    BN_ALU_OPERAND: _Number
class _SDP_D_DP_BN_MUL_CFG(Register):
    """X2 multiplier operand source."""
    BN_MUL_SRC: _Named[Literal["REG", "MEM"]]
    BN_MUL_SHIFT_VALUE: _Number
class _SDP_D_DP_BN_MUL_SRC_VALUE(Register):
    """X2 multiplier constant operand."""
    BN_MUL_OPERAND: _Number
class _SDP_D_DP_EW_CFG(Register):
    """Y (EW, element-wise) stage control."""
    EW_BYPASS: _Named[Literal["NO", "YES"]]
    EW_ALU_BYPASS: _Named[Literal["NO", "YES"]]
    EW_ALU_ALGO: _Named[Literal["MAX", "MIN", "SUM", "EQL"]]
    EW_MUL_BYPASS: _Named[Literal["NO", "YES"]]
    EW_MUL_PRELU: _Named[Literal["NO", "YES"]]
    EW_LUT_BYPASS: _Named[Literal["NO", "YES"]]
class _SDP_D_DP_EW_ALU_CFG(Register):
    """Y ALU operand source."""
    EW_ALU_SRC: _Named[Literal["REG", "MEM"]]
    EW_ALU_CVT_BYPASS: _Named[Literal["NO", "YES"]]
class _SDP_D_DP_EW_ALU_SRC_VALUE(Register):
    """Y ALU constant operand."""
    EW_ALU_OPERAND: _Number
class _SDP_D_DP_EW_ALU_CVT_OFFSET_VALUE(Register):
    """Y ALU operand converter offset."""
    EW_ALU_CVT_OFFSET: _Number
class _SDP_D_DP_EW_ALU_CVT_SCALE_VALUE(Register):
    """Y ALU operand converter scale."""
    EW_ALU_CVT_SCALE: _Number
class _SDP_D_DP_EW_ALU_CVT_TRUNCATE_VALUE(Register):
    """Y ALU operand converter right shift."""
    EW_ALU_CVT_TRUNCATE: _Number
class _SDP_D_DP_EW_MUL_CFG(Register):
    """Y multiplier operand source."""
    EW_MUL_SRC: _Named[Literal["REG", "MEM"]]
    EW_MUL_CVT_BYPASS: _Named[Literal["NO", "YES"]]
class _SDP_D_DP_EW_MUL_SRC_VALUE(Register):
    """Y multiplier constant operand."""
    EW_MUL_OPERAND: _Number
class _SDP_D_DP_EW_MUL_CVT_OFFSET_VALUE(Register):
    """Y multiplier operand converter offset."""
    EW_MUL_CVT_OFFSET: _Number
class _SDP_D_DP_EW_MUL_CVT_SCALE_VALUE(Register):
    """Y multiplier operand converter scale."""
    EW_MUL_CVT_SCALE: _Number
class _SDP_D_DP_EW_MUL_CVT_TRUNCATE_VALUE(Register):
    """Y multiplier operand converter right shift."""
    EW_MUL_CVT_TRUNCATE: _Number
class _SDP_D_DP_EW_TRUNCATE_VALUE(Register):
    """Y result right shift."""
    EW_TRUNCATE: _Number
class _SDP_D_FEATURE_MODE_CFG(Register):
    """Mode, destination, batch."""
    FLYING_MODE: _Named[Literal["OFF", "ON"]]
    OUTPUT_DST: _Named[Literal["MEM", "PDP"]]
    WINOGRAD: _Named[Literal["OFF", "ON"]]
    NAN_TO_ZERO: _Named[Literal["DISABLE", "ENABLE"]]
    BATCH_NUMBER: _Number
class _SDP_D_DST_DMA_CFG(Register):
    """Destination memory select."""
    DST_RAM_TYPE: _Named[Literal["CV", "MC"]]
class _SDP_D_DST_BATCH_STRIDE(Register):
    """Distance between batch outputs."""
    DST_BATCH_STRIDE: _Number
class _SDP_D_DATA_FORMAT(Register):
    """Processing and output precision."""
    PROC_PRECISION: _Named[Literal["INT8", "INT16", "FP16"]]
    OUT_PRECISION: _Named[Literal["INT8", "INT16", "FP16"]]
class _SDP_D_CVT_OFFSET(Register):
    """Output converter offset."""
    CVT_OFFSET: _Number
class _SDP_D_CVT_SCALE(Register):
    """Output converter scale."""
    CVT_SCALE: _Number
class _SDP_D_CVT_SHIFT(Register):
    """Output converter right shift."""
    CVT_SHIFT: _Number
class _SDP_D_STATUS(Register):
    """Equality test result."""
    STATUS_UNEQUAL: _ReadOnly
class _SDP_D_STATUS_NAN_INPUT_NUM(Register):
    """Always 0: SDP_RDMA counts NaN inputs."""
    STATUS_NAN_INPUT_NUM: _ReadOnly
class _SDP_D_STATUS_INF_INPUT_NUM(Register):
    """Always 0: SDP_RDMA counts infinite inputs."""
    STATUS_INF_INPUT_NUM: _ReadOnly
class _SDP_D_STATUS_NAN_OUTPUT_NUM(Register):
    """NaN outputs produced."""
    STATUS_NAN_OUTPUT_NUM: _ReadOnly
class _SDP_D_PERF_ENABLE(Register):
    """Performance counter enable."""
    PERF_DMA_EN: _Named[Literal["NO", "YES"]]
    PERF_LUT_EN: _Named[Literal["NO", "YES"]]
    PERF_SAT_EN: _Named[Literal["NO", "YES"]]
    PERF_NAN_INF_COUNT_EN: _Named[Literal["NO", "YES"]]
class _SDP_D_PERF_WDMA_WRITE_STALL(Register):
    """Write DMA stall cycles."""
    WDMA_STALL: _ReadOnly
class _SDP_D_PERF_LUT_UFLOW(Register):
    """Lookups below both tables."""
    LUT_UFLOW: _ReadOnly
class _SDP_D_PERF_LUT_OFLOW(Register):
    """Lookups above both tables."""
    LUT_OFLOW: _ReadOnly
class _SDP_D_PERF_OUT_SATURATION(Register):
    """Saturated outputs."""
    OUT_SATURATION: _ReadOnly
class _SDP_D_PERF_LUT_HYBRID(Register):
    """Lookups with ambiguous hit or miss."""
    LUT_HYBRID: _ReadOnly
class _SDP_D_PERF_LUT_LE_HIT(Register):
    """Lookups hitting only LE."""
    LUT_LE_HIT: _ReadOnly
class _SDP_D_PERF_LUT_LO_HIT(Register):
    """Lookups hitting only LO."""
    LUT_LO_HIT: _ReadOnly
class _Unit_SDP(Unit):
    S_STATUS: _At[_SDP_S_STATUS]
    S_POINTER: _At[_SDP_S_POINTER]
    S_LUT_ACCESS_CFG: _At[_SDP_S_LUT_ACCESS_CFG]
    S_LUT_ACCESS_DATA: _At[_SDP_S_LUT_ACCESS_DATA]
    S_LUT_CFG: _At[_SDP_S_LUT_CFG]
    S_LUT_INFO: _At[_SDP_S_LUT_INFO]
    S_LUT_LE_START: _At[_SDP_S_LUT_LE_START]
    S_LUT_LE_END: _At[_SDP_S_LUT_LE_END]
    S_LUT_LO_START: _At[_SDP_S_LUT_LO_START]
    S_LUT_LO_END: _At[_SDP_S_LUT_LO_END]
    S_LUT_LE_SLOPE_SCALE: _At[_SDP_S_LUT_LE_SLOPE_SCALE]
    S_LUT_LE_SLOPE_SHIFT: _At[_SDP_S_LUT_LE_SLOPE_SHIFT]
    S_LUT_LO_SLOPE_SCALE: _At[_SDP_S_LUT_LO_SLOPE_SCALE]
    S_LUT_LO_SLOPE_SHIFT: _At[_SDP_S_LUT_LO_SLOPE_SHIFT]
    D_OP_ENABLE: _At[_SDP_D_OP_ENABLE]
    D_DATA_CUBE_WIDTH: _At[_SDP_D_DATA_CUBE_WIDTH]
    D_DATA_CUBE_HEIGHT: _At[_SDP_D_DATA_CUBE_HEIGHT]
    D_DATA_CUBE_CHANNEL: _At[_SDP_D_DATA_CUBE_CHANNEL]
    D_DST_BASE_ADDR_LOW: _At[_SDP_D_DST_BASE_ADDR_LOW]
    D_DST_BASE_ADDR_HIGH: _At[_SDP_D_DST_BASE_ADDR_HIGH]
    D_DST_LINE_STRIDE: _At[_SDP_D_DST_LINE_STRIDE]
    D_DST_SURFACE_STRIDE: _At[_SDP_D_DST_SURFACE_STRIDE]
    D_DP_BS_CFG: _At[_SDP_D_DP_BS_CFG]
    D_DP_BS_ALU_CFG: _At[_SDP_D_DP_BS_ALU_CFG]
    D_DP_BS_ALU_SRC_VALUE: _At[_SDP_D_DP_BS_ALU_SRC_VALUE]
    D_DP_BS_MUL_CFG: _At[_SDP_D_DP_BS_MUL_CFG]
    D_DP_BS_MUL_SRC_VALUE: _At[_SDP_D_DP_BS_MUL_SRC_VALUE]
    D_DP_BN_CFG: _At[_SDP_D_DP_BN_CFG]
    D_DP_BN_ALU_CFG: _At[_SDP_D_DP_BN_ALU_CFG]
    D_DP_BN_ALU_SRC_VALUE: _At[_SDP_D_DP_BN_ALU_SRC_VALUE]
    D_DP_BN_MUL_CFG: _At[_SDP_D_DP_BN_MUL_CFG]
    D_DP_BN_MUL_SRC_VALUE: _At[_SDP_D_DP_BN_MUL_SRC_VALUE]
    D_DP_EW_CFG: _At[_SDP_D_DP_EW_CFG]
    D_DP_EW_ALU_CFG: _At[_SDP_D_DP_EW_ALU_CFG]
    D_DP_EW_ALU_SRC_VALUE: _At[_SDP_D_DP_EW_ALU_SRC_VALUE]
    D_DP_EW_ALU_CVT_OFFSET_VALUE: _At[_SDP_D_DP_EW_ALU_CVT_OFFSET_VALUE]
    D_DP_EW_ALU_CVT_SCALE_VALUE: _At[_SDP_D_DP_EW_ALU_CVT_SCALE_VALUE]
    D_DP_EW_ALU_CVT_TRUNCATE_VALUE: _At[_SDP_D_DP_EW_ALU_CVT_TRUNCATE_VALUE]
    D_DP_EW_MUL_CFG: _At[_SDP_D_DP_EW_MUL_CFG]
    D_DP_EW_MUL_SRC_VALUE: _At[_SDP_D_DP_EW_MUL_SRC_VALUE]
    D_DP_EW_MUL_CVT_OFFSET_VALUE: _At[_SDP_D_DP_EW_MUL_CVT_OFFSET_VALUE]
    D_DP_EW_MUL_CVT_SCALE_VALUE: _At[_SDP_D_DP_EW_MUL_CVT_SCALE_VALUE]
    D_DP_EW_MUL_CVT_TRUNCATE_VALUE: _At[_SDP_D_DP_EW_MUL_CVT_TRUNCATE_VALUE]
    D_DP_EW_TRUNCATE_VALUE: _At[_SDP_D_DP_EW_TRUNCATE_VALUE]
    D_FEATURE_MODE_CFG: _At[_SDP_D_FEATURE_MODE_CFG]
    D_DST_DMA_CFG: _At[_SDP_D_DST_DMA_CFG]
    D_DST_BATCH_STRIDE: _At[_SDP_D_DST_BATCH_STRIDE]
    D_DATA_FORMAT: _At[_SDP_D_DATA_FORMAT]
    D_CVT_OFFSET: _At[_SDP_D_CVT_OFFSET]
    D_CVT_SCALE: _At[_SDP_D_CVT_SCALE]
    D_CVT_SHIFT: _At[_SDP_D_CVT_SHIFT]
    D_STATUS: _At[_SDP_D_STATUS]
    D_STATUS_NAN_INPUT_NUM: _At[_SDP_D_STATUS_NAN_INPUT_NUM]
    D_STATUS_INF_INPUT_NUM: _At[_SDP_D_STATUS_INF_INPUT_NUM]
    D_STATUS_NAN_OUTPUT_NUM: _At[_SDP_D_STATUS_NAN_OUTPUT_NUM]
    D_PERF_ENABLE: _At[_SDP_D_PERF_ENABLE]
    D_PERF_WDMA_WRITE_STALL: _At[_SDP_D_PERF_WDMA_WRITE_STALL]
    D_PERF_LUT_UFLOW: _At[_SDP_D_PERF_LUT_UFLOW]
    D_PERF_LUT_OFLOW: _At[_SDP_D_PERF_LUT_OFLOW]
    D_PERF_OUT_SATURATION: _At[_SDP_D_PERF_OUT_SATURATION]
    D_PERF_LUT_HYBRID: _At[_SDP_D_PERF_LUT_HYBRID]
    D_PERF_LUT_LE_HIT: _At[_SDP_D_PERF_LUT_LE_HIT]
    D_PERF_LUT_LO_HIT: _At[_SDP_D_PERF_LUT_LO_HIT]
class _SDP_RDMA_S_STATUS(Register):
    """State of both register groups."""
    STATUS_0: _ReadOnly
    STATUS_1: _ReadOnly
class _SDP_RDMA_S_POINTER(Register):
    """Group select for software and datapath."""
    PRODUCER: _Named[Literal["GROUP_0", "GROUP_1"]]
    CONSUMER: _ReadOnly
class _SDP_RDMA_D_OP_ENABLE(Register):
    """Starts the layer described by this group."""
    OP_EN: _Named[Literal["DISABLE", "ENABLE"]]
class _SDP_RDMA_D_DATA_CUBE_WIDTH(Register):
    """Cube width."""
    WIDTH: _Number
class _SDP_RDMA_D_DATA_CUBE_HEIGHT(Register):
    """Cube height."""
    HEIGHT: _Number
class _SDP_RDMA_D_DATA_CUBE_CHANNEL(Register):
    """Cube channels."""
    CHANNEL: _Number
class _SDP_RDMA_D_SRC_BASE_ADDR_LOW(Register):
    """Source address, low word."""
    SRC_BASE_ADDR_LOW: _Number
class _SDP_RDMA_D_SRC_BASE_ADDR_HIGH(Register):
    """Source address, high word."""
    SRC_BASE_ADDR_HIGH: _Number
class _SDP_RDMA_D_SRC_LINE_STRIDE(Register):
    """Source line stride."""
    SRC_LINE_STRIDE: _Number
class _SDP_RDMA_D_SRC_SURFACE_STRIDE(Register):
    """Source surface stride."""
    SRC_SURFACE_STRIDE: _Number
class _SDP_RDMA_D_BRDMA_CFG(Register):
    """Bias stream control."""
    BRDMA_DISABLE: _Named[Literal["NO", "YES"]]
    BRDMA_DATA_USE: _Named[Literal["MUL", "ALU", "BOTH"]]
    BRDMA_DATA_SIZE: _Named[Literal["ONE_BYTE", "TWO_BYTE"]]
    BRDMA_DATA_MODE: _Named[Literal["PER_KERNEL", "PER_ELEMENT"]]
    BRDMA_RAM_TYPE: _Named[Literal["CV", "MC"]]
class _SDP_RDMA_D_BS_BASE_ADDR_LOW(Register):
    """Bias operand address, low word."""
    BS_BASE_ADDR_LOW: _Number
class _SDP_RDMA_D_BS_BASE_ADDR_HIGH(Register):
    """Bias operand address, high word."""
    BS_BASE_ADDR_HIGH: _Number
class _SDP_RDMA_D_BS_LINE_STRIDE(Register):
    """Bias operand line stride."""
    BS_LINE_STRIDE: _Number
class _SDP_RDMA_D_BS_SURFACE_STRIDE(Register):
    """Bias operand surface stride."""
    BS_SURFACE_STRIDE: _Number
class _SDP_RDMA_D_BS_BATCH_STRIDE(Register):
    """Bias operand batch stride."""
    BS_BATCH_STRIDE: _Number
class _SDP_RDMA_D_NRDMA_CFG(Register):
    """Batch-norm stream control."""
    NRDMA_DISABLE: _Named[Literal["NO", "YES"]]
    NRDMA_DATA_USE: _Named[Literal["MUL", "ALU", "BOTH"]]
    NRDMA_DATA_SIZE: _Named[Literal["ONE_BYTE", "TWO_BYTE"]]
    NRDMA_DATA_MODE: _Named[Literal["PER_KERNEL", "PER_ELEMENT"]]
    NRDMA_RAM_TYPE: _Named[Literal["CV", "MC"]]
class _SDP_RDMA_D_BN_BASE_ADDR_LOW(Register):
    """Batch-norm operand address, low word."""
    BN_BASE_ADDR_LOW: _Number
class _SDP_RDMA_D_BN_BASE_ADDR_HIGH(Register):
    """Batch-norm operand address, high word."""
    BN_BASE_ADDR_HIGH: _Number
class _SDP_RDMA_D_BN_LINE_STRIDE(Register):
    """Batch-norm operand line stride."""
    BN_LINE_STRIDE: _Number
class _SDP_RDMA_D_BN_SURFACE_STRIDE(Register):
    """Batch-norm operand surface stride."""
    BN_SURFACE_STRIDE: _Number
class _SDP_RDMA_D_BN_BATCH_STRIDE(Register):
    """Batch-norm operand batch stride."""
    BN_BATCH_STRIDE: _Number
class _SDP_RDMA_D_ERDMA_CFG(Register):
    """Element-wise stream control."""
    ERDMA_DISABLE: _Named[Literal["NO", "YES"]]
    ERDMA_DATA_USE: _Named[Literal["MUL", "ALU", "BOTH"]]
    ERDMA_DATA_SIZE: _Named[Literal["ONE_BYTE", "TWO_BYTE"]]
    ERDMA_DATA_MODE: _Named[Literal["PER_KERNEL", "PER_ELEMENT"]]
    ERDMA_RAM_TYPE: _Named[Literal["CV", "MC"]]
class _SDP_RDMA_D_EW_BASE_ADDR_LOW(Register):
    """Element-wise operand address, low word."""
    EW_BASE_ADDR_LOW: _Number
class _SDP_RDMA_D_EW_BASE_ADDR_HIGH(Register):
    """Element-wise operand address, high word."""
    EW_BASE_ADDR_HIGH: _Number
class _SDP_RDMA_D_EW_LINE_STRIDE(Register):
    """Element-wise operand line stride."""
    EW_LINE_STRIDE: _Number
class _SDP_RDMA_D_EW_SURFACE_STRIDE(Register):
    """Element-wise operand surface stride."""
    EW_SURFACE_STRIDE: _Number
class _SDP_RDMA_D_EW_BATCH_STRIDE(Register):
    """Element-wise operand batch stride."""
    EW_BATCH_STRIDE: _Number
class _SDP_RDMA_D_FEATURE_MODE_CFG(Register):
    """Mode, precision, batch."""
    FLYING_MODE: _Named[Literal["OFF", "ON"]]
    WINOGRAD: _Named[Literal["OFF", "ON"]]
    IN_PRECISION: _Named[Literal["INT8", "INT16", "FP16"]]
    PROC_PRECISION: _Named[Literal["INT8", "INT16", "FP16"]]
    OUT_PRECISION: _Named[Literal["INT8", "INT16", "FP16"]]
    BATCH_NUMBER: _Number
class _SDP_RDMA_D_SRC_DMA_CFG(Register):
    """Source memory select."""
    SRC_RAM_TYPE: _Named[Literal["CV", "MC"]]
class _SDP_RDMA_D_STATUS_NAN_INPUT_NUM(Register):
    """NaN inputs seen."""
    STATUS_NAN_INPUT_NUM: _ReadOnly
class _SDP_RDMA_D_STATUS_INF_INPUT_NUM(Register):
    """Infinity inputs seen."""
    STATUS_INF_INPUT_NUM: _ReadOnly
class _SDP_RDMA_D_PERF_ENABLE(Register):
    """Performance counter enable."""
    PERF_DMA_EN: _Named[Literal["NO", "YES"]]
    PERF_NAN_INF_COUNT_EN: _Named[Literal["NO", "YES"]]
class _SDP_RDMA_D_PERF_MRDMA_READ_STALL(Register):
    """Main read DMA stall cycles."""
    MRDMA_STALL: _ReadOnly
class _SDP_RDMA_D_PERF_BRDMA_READ_STALL(Register):
    """Bias read DMA stall cycles."""
    BRDMA_STALL: _ReadOnly
class _SDP_RDMA_D_PERF_NRDMA_READ_STALL(Register):
    """Batch-norm read DMA stall cycles."""
    NRDMA_STALL: _ReadOnly
class _SDP_RDMA_D_PERF_ERDMA_READ_STALL(Register):
    """Element-wise read DMA stall cycles."""
    ERDMA_STALL: _ReadOnly
class _Unit_SDP_RDMA(Unit):
    S_STATUS: _At[_SDP_RDMA_S_STATUS]
    S_POINTER: _At[_SDP_RDMA_S_POINTER]
    D_OP_ENABLE: _At[_SDP_RDMA_D_OP_ENABLE]
    D_DATA_CUBE_WIDTH: _At[_SDP_RDMA_D_DATA_CUBE_WIDTH]
    D_DATA_CUBE_HEIGHT: _At[_SDP_RDMA_D_DATA_CUBE_HEIGHT]
    D_DATA_CUBE_CHANNEL: _At[_SDP_RDMA_D_DATA_CUBE_CHANNEL]
    D_SRC_BASE_ADDR_LOW: _At[_SDP_RDMA_D_SRC_BASE_ADDR_LOW]
    D_SRC_BASE_ADDR_HIGH: _At[_SDP_RDMA_D_SRC_BASE_ADDR_HIGH]
    D_SRC_LINE_STRIDE: _At[_SDP_RDMA_D_SRC_LINE_STRIDE]
    D_SRC_SURFACE_STRIDE: _At[_SDP_RDMA_D_SRC_SURFACE_STRIDE]
    D_BRDMA_CFG: _At[_SDP_RDMA_D_BRDMA_CFG]
    D_BS_BASE_ADDR_LOW: _At[_SDP_RDMA_D_BS_BASE_ADDR_LOW]
    D_BS_BASE_ADDR_HIGH: _At[_SDP_RDMA_D_BS_BASE_ADDR_HIGH]
    D_BS_LINE_STRIDE: _At[_SDP_RDMA_D_BS_LINE_STRIDE]
    D_BS_SURFACE_STRIDE: _At[_SDP_RDMA_D_BS_SURFACE_STRIDE]
    D_BS_BATCH_STRIDE: _At[_SDP_RDMA_D_BS_BATCH_STRIDE]
    D_NRDMA_CFG: _At[_SDP_RDMA_D_NRDMA_CFG]
    D_BN_BASE_ADDR_LOW: _At[_SDP_RDMA_D_BN_BASE_ADDR_LOW]
    D_BN_BASE_ADDR_HIGH: _At[_SDP_RDMA_D_BN_BASE_ADDR_HIGH]
    D_BN_LINE_STRIDE: _At[_SDP_RDMA_D_BN_LINE_STRIDE]
    D_BN_SURFACE_STRIDE: _At[_SDP_RDMA_D_BN_SURFACE_STRIDE]
    D_BN_BATCH_STRIDE: _At[_SDP_RDMA_D_BN_BATCH_STRIDE]
    D_ERDMA_CFG: _At[_SDP_RDMA_D_ERDMA_CFG]
    D_EW_BASE_ADDR_LOW: _At[_SDP_RDMA_D_EW_BASE_ADDR_LOW]
    D_EW_BASE_ADDR_HIGH: _At[_SDP_RDMA_D_EW_BASE_ADDR_HIGH]
    D_EW_LINE_STRIDE: _At[_SDP_RDMA_D_EW_LINE_STRIDE]
    D_EW_SURFACE_STRIDE: _At[_SDP_RDMA_D_EW_SURFACE_STRIDE]
    D_EW_BATCH_STRIDE: _At[_SDP_RDMA_D_EW_BATCH_STRIDE]
    D_FEATURE_MODE_CFG: _At[_SDP_RDMA_D_FEATURE_MODE_CFG]
    D_SRC_DMA_CFG: _At[_SDP_RDMA_D_SRC_DMA_CFG]
    D_STATUS_NAN_INPUT_NUM: _At[_SDP_RDMA_D_STATUS_NAN_INPUT_NUM]
    D_STATUS_INF_INPUT_NUM: _At[_SDP_RDMA_D_STATUS_INF_INPUT_NUM]
    D_PERF_ENABLE: _At[_SDP_RDMA_D_PERF_ENABLE]
    D_PERF_MRDMA_READ_STALL: _At[_SDP_RDMA_D_PERF_MRDMA_READ_STALL]
    D_PERF_BRDMA_READ_STALL: _At[_SDP_RDMA_D_PERF_BRDMA_READ_STALL]
    D_PERF_NRDMA_READ_STALL: _At[_SDP_RDMA_D_PERF_NRDMA_READ_STALL]
    D_PERF_ERDMA_READ_STALL: _At[_SDP_RDMA_D_PERF_ERDMA_READ_STALL]
class Registers:
    def __init__(self, host: Host) -> None: ...
    def __getitem__(self, name: str) -> Register: ...
    def __iter__(self) -> Iterator[Unit]: ...
    BDMA: _Unit_BDMA
    CACC: _Unit_CACC
    CDMA: _Unit_CDMA
    CDP: _Unit_CDP
    CDP_RDMA: _Unit_CDP_RDMA
    CFGROM: _Unit_CFGROM
    CMAC_A: _Unit_CMAC_A
    CMAC_B: _Unit_CMAC_B
    CSC: _Unit_CSC
    CSR: _Unit_CSR
    CVIF: _Unit_CVIF
    GLB: _Unit_GLB
    MCIF: _Unit_MCIF
    PDP: _Unit_PDP
    PDP_RDMA: _Unit_PDP_RDMA
    RBK: _Unit_RBK
    SDP: _Unit_SDP
    SDP_RDMA: _Unit_SDP_RDMA
