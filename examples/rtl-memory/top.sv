// The memory behind `dbb0` of nv_small, in RTL.
module top;
  // +latency=CYCLES: from a read's acceptance to its first data.
  int latency;
  initial if (!$value$plusargs("latency=%d", latency)) latency = 50;

  bit clk;
  initial forever #1 clk = !clk;

  logic rst_n;
  vp_clock clock (.clk, .rst_n);

  localparam int DATA_WIDTH = 64, ADDR_WIDTH = 32, ID_WIDTH = 8;
  int port;
  logic arvalid, arready, rvalid, rready, rlast, awvalid, awready, wvalid, wready, wlast, bvalid, bready;
  logic [ID_WIDTH-1:0] arid, rid, awid, bid;
  logic [ADDR_WIDTH-1:0] araddr, awaddr;
  logic [7:0] arlen, awlen;
  logic [2:0] arsize, awsize;
  logic [1:0] arburst, awburst, rresp, bresp;
  logic [DATA_WIDTH-1:0] rdata, wdata;
  logic [DATA_WIDTH/8-1:0] wstrb;

  vp_axi_subordinate_port #(
    .NAME("dbb0"), .DATA_WIDTH(DATA_WIDTH), .ADDR_WIDTH(ADDR_WIDTH), .ID_WIDTH(ID_WIDTH)
  ) dbb0 (.*);

  memory_fixed #(
    .DATA_WIDTH(DATA_WIDTH), .ADDR_WIDTH(ADDR_WIDTH), .ID_WIDTH(ID_WIDTH)
  ) memory (.*);
endmodule
