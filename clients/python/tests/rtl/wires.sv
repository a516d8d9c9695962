// The wires of buses, and nothing else: both of their ends are in Python. Icarus Verilog leaves out what is no port and has no use.
module wires (
  input logic        clk, rst_n, irq,

  input logic        arvalid, arready, rvalid, rready, rlast, awvalid, awready, wvalid, wready, wlast, bvalid, bready,
  input logic [7:0]  arid, rid, awid, bid, arlen, awlen, wstrb,
  input logic [31:0] araddr, awaddr,
  input logic [2:0]  arsize, awsize,
  input logic [1:0]  arburst, awburst, rresp, bresp,
  input logic [63:0] rdata, wdata,

  input logic        csb_arvalid, csb_arready, csb_rvalid, csb_rready,
  input logic        csb_awvalid, csb_awready, csb_wvalid, csb_wready, csb_bvalid, csb_bready,
  input logic [11:0] csb_araddr, csb_awaddr,
  input logic [31:0] csb_rdata, csb_wdata,
  input logic [3:0]  csb_wstrb,
  input logic [1:0]  csb_rresp, csb_bresp
);
endmodule
