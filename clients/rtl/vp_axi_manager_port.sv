// The design is a master of a platform's memory: this block is the subordinate that it sends its bursts to.
module vp_axi_manager_port #(
  parameter NAME = "dbb0",
  parameter int DATA_WIDTH = 64,
  parameter int ADDR_WIDTH = 32,
  parameter int ID_WIDTH = 8
) (
  input  logic                    clk,

  input  logic                    arvalid,
  output logic                    arready,
  input  logic [ID_WIDTH-1:0]     arid,
  input  logic [ADDR_WIDTH-1:0]   araddr,
  input  logic [7:0]              arlen,
  // Whole beats of incrementing addresses: others end the simulation.
  input  logic [2:0]              arsize,
  input  logic [1:0]              arburst,

  output logic                    rvalid,
  input  logic                    rready,
  output logic [ID_WIDTH-1:0]     rid,
  output logic [DATA_WIDTH-1:0]   rdata,
  output logic [1:0]              rresp,
  output logic                    rlast,

  input  logic                    awvalid,
  output logic                    awready,
  input  logic [ID_WIDTH-1:0]     awid,
  input  logic [ADDR_WIDTH-1:0]   awaddr,
  input  logic [7:0]              awlen,
  input  logic [2:0]              awsize,
  input  logic [1:0]              awburst,

  input  logic                    wvalid,
  output logic                    wready,
  input  logic [DATA_WIDTH-1:0]   wdata,
  input  logic [DATA_WIDTH/8-1:0] wstrb,
  input  logic                    wlast,

  output logic                    bvalid,
  input  logic                    bready,
  output logic [ID_WIDTH-1:0]     bid,
  output logic [1:0]              bresp
);
  import vp_pkg::*;

  bit sample, see;
  vp_edges edges (.clk, .sample, .see);

  int port;
  initial port = vp_dpi_port(AXI_MANAGER, NAME, DATA_WIDTH, ADDR_WIDTH, ID_WIDTH);

  always @(sample) begin
    if (^arvalid === 1'bx) vp_dpi_unknown(port, "AR", "ARVALID");
    if (arvalid && ^{arid, araddr, arlen, arsize, arburst} === 1'bx)
      vp_dpi_unknown(port, "AR", "ARID, ARADDR, ARLEN, ARSIZE or ARBURST");
    if (^awvalid === 1'bx) vp_dpi_unknown(port, "AW", "AWVALID");
    if (awvalid && ^{awid, awaddr, awlen, awsize, awburst} === 1'bx)
      vp_dpi_unknown(port, "AW", "AWID, AWADDR, AWLEN, AWSIZE or AWBURST");
    if (^wvalid === 1'bx) vp_dpi_unknown(port, "W", "WVALID");
    if (wvalid && ^{wstrb, wlast} === 1'bx) vp_dpi_unknown(port, "W", "WSTRB or WLAST");
    if (^rready === 1'bx) vp_dpi_unknown(port, "R", "RREADY");
    if (^bready === 1'bx) vp_dpi_unknown(port, "B", "BREADY");
    vp_dpi_axi_manager_sample(port,
      arvalid, 32'(arid), 64'(araddr), 32'(arlen), 32'(arsize), 32'(arburst),
      awvalid, 32'(awid), 64'(awaddr), 32'(awlen), 32'(awsize), 32'(awburst),
      wvalid, WIDEST'(wdata), 64'(wstrb), wlast, rready, bready);
  end

  bit seen_arready, seen_awready, seen_wready, seen_rvalid, seen_rlast, seen_rerror, seen_bvalid, seen_berror;
  int seen_rid, seen_bid;
  bit [WIDEST-1:0] seen_rdata;

  always @(see) begin
    vp_dpi_axi_manager_seen(port, seen_arready, seen_awready, seen_wready,
      seen_rvalid, seen_rid, seen_rdata, seen_rlast, seen_rerror, seen_bvalid, seen_bid, seen_berror);
    // Without a platform the pins stay as they are until the simulation ends, so that they break no rule.
    if (vp_dpi_is_running()) begin
      arready <= seen_arready;
      awready <= seen_awready;
      wready <= seen_wready;
      rvalid <= seen_rvalid;
      rid <= ID_WIDTH'(seen_rid);
      rdata <= DATA_WIDTH'(seen_rdata);
      // SLVERR.
      rresp <= {seen_rerror, 1'b0};
      rlast <= seen_rlast;
      bvalid <= seen_bvalid;
      bid <= ID_WIDTH'(seen_bid);
      bresp <= {seen_berror, 1'b0};
    end
  end

  initial begin
    arready = 0;
    awready = 0;
    wready = 0;
    rvalid = 0;
    bvalid = 0;
  end
endmodule
