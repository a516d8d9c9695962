// The memory of examples/rtl-soc, with all pins of an AXI bus, as cocotbext-axi has them.
module memory (
  input  logic        clk,
  input  logic        rst_n,
  input  int          latency,

  input  logic        arvalid,
  output logic        arready,
  input  logic [7:0]  arid,
  input  logic [31:0] araddr,
  input  logic [7:0]  arlen,
  input  logic [2:0]  arsize,
  input  logic [1:0]  arburst,
  output logic        rvalid,
  input  logic        rready,
  output logic [7:0]  rid,
  output logic [63:0] rdata,
  output logic        rlast,

  input  logic        awvalid,
  output logic        awready,
  input  logic [7:0]  awid,
  input  logic [31:0] awaddr,
  input  logic [7:0]  awlen,
  input  logic [2:0]  awsize,
  input  logic [1:0]  awburst,
  input  logic        wvalid,
  output logic        wready,
  input  logic [63:0] wdata,
  input  logic [7:0]  wstrb,
  input  logic        wlast,
  output logic        bvalid,
  input  logic        bready,
  output logic [7:0]  bid
);
  axi_memory memory (.arlen(arlen[3:0]), .*);
endmodule
