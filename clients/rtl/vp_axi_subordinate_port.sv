// The design is the memory behind a port of the platform: this block is the manager in front of it.
module vp_axi_subordinate_port #(
  parameter NAME = "dbb0",
  parameter int DATA_WIDTH = 64,
  parameter int ADDR_WIDTH = 32,
  parameter int ID_WIDTH = 8
) (
  input  logic                    clk,
  // The number by which vp_dpi_memory_read and vp_dpi_memory_write know the memory.
  output int                      port,

  output logic                    arvalid,
  input  logic                    arready,
  output logic [ID_WIDTH-1:0]     arid,
  output logic [ADDR_WIDTH-1:0]   araddr,
  output logic [7:0]              arlen,
  output logic [2:0]              arsize,
  output logic [1:0]              arburst,

  input  logic                    rvalid,
  output logic                    rready,
  input  logic [ID_WIDTH-1:0]     rid,
  input  logic [DATA_WIDTH-1:0]   rdata,
  input  logic [1:0]              rresp,
  input  logic                    rlast,

  output logic                    awvalid,
  input  logic                    awready,
  output logic [ID_WIDTH-1:0]     awid,
  output logic [ADDR_WIDTH-1:0]   awaddr,
  output logic [7:0]              awlen,
  output logic [2:0]              awsize,
  output logic [1:0]              awburst,

  output logic                    wvalid,
  input  logic                    wready,
  output logic [DATA_WIDTH-1:0]   wdata,
  output logic [DATA_WIDTH/8-1:0] wstrb,
  output logic                    wlast,

  input  logic                    bvalid,
  output logic                    bready,
  input  logic [ID_WIDTH-1:0]     bid,
  input  logic [1:0]              bresp
);
  import vp_pkg::*;

  bit sample, see;
  vp_edges edges (.clk, .sample, .see);

  // Whole beats of incrementing addresses.
  assign arsize = 3'($clog2(DATA_WIDTH / 8));
  assign awsize = arsize;
  assign arburst = 2'b01;
  assign awburst = 2'b01;

  initial port = vp_dpi_port(AXI_SUBORDINATE, NAME, DATA_WIDTH, ADDR_WIDTH, ID_WIDTH);

  always @(sample) begin
    if (^arready === 1'bx) vp_dpi_unknown(port, "AR", "ARREADY");
    if (^awready === 1'bx) vp_dpi_unknown(port, "AW", "AWREADY");
    if (^wready === 1'bx) vp_dpi_unknown(port, "W", "WREADY");
    if (^rvalid === 1'bx) vp_dpi_unknown(port, "R", "RVALID");
    if (rvalid && ^{rid, rresp, rlast} === 1'bx) vp_dpi_unknown(port, "R", "RID, RRESP or RLAST");
    if (^bvalid === 1'bx) vp_dpi_unknown(port, "B", "BVALID");
    if (bvalid && ^{bid, bresp} === 1'bx) vp_dpi_unknown(port, "B", "BID or BRESP");
    vp_dpi_axi_subordinate_sample(port, arready, awready, wready,
      rvalid, 32'(rid), WIDEST'(rdata), rlast, rresp[1], bvalid, 32'(bid), bresp[1]);
  end

  bit seen_arvalid, seen_awvalid, seen_wvalid, seen_wlast, seen_rready, seen_bready;
  int seen_arid, seen_arlen, seen_awid, seen_awlen;
  longint seen_araddr, seen_awaddr, seen_wstrb;
  bit [WIDEST-1:0] seen_wdata;

  always @(see) begin
    vp_dpi_axi_subordinate_seen(port,
      seen_arvalid, seen_arid, seen_araddr, seen_arlen, seen_awvalid, seen_awid, seen_awaddr, seen_awlen,
      seen_wvalid, seen_wdata, seen_wstrb, seen_wlast, seen_rready, seen_bready);
    // Without a platform the pins stay as they are until the simulation ends, so that they break no rule.
    if (vp_dpi_is_running()) begin
      arvalid <= seen_arvalid;
      arid <= ID_WIDTH'(seen_arid);
      araddr <= ADDR_WIDTH'(seen_araddr);
      arlen <= 8'(seen_arlen);
      awvalid <= seen_awvalid;
      awid <= ID_WIDTH'(seen_awid);
      awaddr <= ADDR_WIDTH'(seen_awaddr);
      awlen <= 8'(seen_awlen);
      wvalid <= seen_wvalid;
      wdata <= DATA_WIDTH'(seen_wdata);
      wstrb <= (DATA_WIDTH/8)'(seen_wstrb);
      wlast <= seen_wlast;
      rready <= seen_rready;
      bready <= seen_bready;
    end
  end

  initial begin
    arvalid = 0;
    awvalid = 0;
    wvalid = 0;
    rready = 0;
    bready = 0;
  end
endmodule
