// The memory behind `dbb0` of nv_small, in RTL.
module top #(
  // Rows and refreshes, as a DRAM has them, before the latency.
  parameter int ROWS = 0,
  // Of vp_clock. All outputs are registers here: an answer at the same edge is only allowed, not given.
  parameter int SAME_EDGE = 0,
  parameter int QUANTUM = 0
);
  // +latency=CYCLES: from a read's acceptance to its first data, behind the rows.
  int latency;
  initial if (!$value$plusargs("latency=%d", latency)) latency = 50;

  bit clk;
  initial forever #1 clk = !clk;

  logic rst_n;
  vp_clock #(.SAME_EDGE(SAME_EDGE != 0), .QUANTUM(QUANTUM)) clock (.clk, .rst_n);

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

  vp_axi_checks #(
    .NAME("dbb0"), .DATA_WIDTH(DATA_WIDTH), .ADDR_WIDTH(ADDR_WIDTH), .ID_WIDTH(ID_WIDTH)
  ) checks (.*);

  logic open_arvalid, open_arready;
  logic [ID_WIDTH-1:0] open_arid;
  logic [ADDR_WIDTH-1:0] open_araddr;
  logic [7:0] open_arlen;

  if (ROWS != 0) begin : dram
    memory_rows #(.ADDR_WIDTH(ADDR_WIDTH), .ID_WIDTH(ID_WIDTH)) front (.*);
  end else begin : plain
    assign open_arvalid = arvalid;
    assign arready = open_arready;
    assign open_arid = arid;
    assign open_araddr = araddr;
    assign open_arlen = arlen;
  end

  memory_fixed #(.DATA_WIDTH(DATA_WIDTH), .ADDR_WIDTH(ADDR_WIDTH), .ID_WIDTH(ID_WIDTH)) memory (
    .arvalid(open_arvalid), .arready(open_arready), .arid(open_arid), .araddr(open_araddr), .arlen(open_arlen), .*
  );
endmodule
