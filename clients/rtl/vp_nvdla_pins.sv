// NVDLA with the pins of its RTL's top, NV_nvdla (nvdla/hw, vmod/nvdla/top/NV_nvdla.v), and a platform inside: it takes the RTL's
// place in a design around it. One a simulation.
//
// Both clocks are one: `dla_core_clk` counts. The platform begins RESET_EDGES edges after `dla_reset_rstn` has risen for the first
// time. Pins for power, test and clock gates have no effect. With NVDLA_SECONDARY_MEMIF_ENABLE defined there are the pins of the second
// memory, as in the RTL.
module vp_nvdla_pins #(
  // Of vp_clock.
  parameter ADDRESS = "inproc:nv_small",
  parameter bit SAME_EDGE = 0,
  // The RTL's CSB leaves reset at the edge of this number (vmod/nvdla/car/NV_NVDLA_core_reset.v).
  parameter int RESET_EDGES = 5,
  parameter int ADDR_WIDTH = 32,
`ifdef NVDLA_SECONDARY_MEMIF_ENABLE
  parameter int CVSRAM_DATA_WIDTH = 64,
`endif
  parameter int DATA_WIDTH = 64
) (
  input  logic                    dla_core_clk,
  input  logic                    dla_csb_clk,
  input  logic                    global_clk_ovr_on,
  input  logic                    tmc2slcg_disable_clock_gating,
  input  logic                    dla_reset_rstn,
  input  logic                    direct_reset_,
  input  logic                    test_mode,

  input  logic                    csb2nvdla_valid,
  output logic                    csb2nvdla_ready,
  input  logic [15:0]             csb2nvdla_addr,
  input  logic [31:0]             csb2nvdla_wdat,
  input  logic                    csb2nvdla_write,
  input  logic                    csb2nvdla_nposted,
  output logic                    nvdla2csb_valid,
  output logic [31:0]             nvdla2csb_data,
  output logic                    nvdla2csb_wr_complete,

  output logic                    nvdla_core2dbb_aw_awvalid,
  input  logic                    nvdla_core2dbb_aw_awready,
  output logic [7:0]              nvdla_core2dbb_aw_awid,
  output logic [3:0]              nvdla_core2dbb_aw_awlen,
  output logic [ADDR_WIDTH-1:0]   nvdla_core2dbb_aw_awaddr,
  output logic                    nvdla_core2dbb_w_wvalid,
  input  logic                    nvdla_core2dbb_w_wready,
  output logic [DATA_WIDTH-1:0]   nvdla_core2dbb_w_wdata,
  output logic [DATA_WIDTH/8-1:0] nvdla_core2dbb_w_wstrb,
  output logic                    nvdla_core2dbb_w_wlast,
  input  logic                    nvdla_core2dbb_b_bvalid,
  output logic                    nvdla_core2dbb_b_bready,
  input  logic [7:0]              nvdla_core2dbb_b_bid,
  output logic                    nvdla_core2dbb_ar_arvalid,
  input  logic                    nvdla_core2dbb_ar_arready,
  output logic [7:0]              nvdla_core2dbb_ar_arid,
  output logic [3:0]              nvdla_core2dbb_ar_arlen,
  output logic [ADDR_WIDTH-1:0]   nvdla_core2dbb_ar_araddr,
  input  logic                    nvdla_core2dbb_r_rvalid,
  output logic                    nvdla_core2dbb_r_rready,
  input  logic [7:0]              nvdla_core2dbb_r_rid,
  input  logic                    nvdla_core2dbb_r_rlast,
  input  logic [DATA_WIDTH-1:0]   nvdla_core2dbb_r_rdata,

`ifdef NVDLA_SECONDARY_MEMIF_ENABLE
  output logic                           nvdla_core2cvsram_aw_awvalid,
  input  logic                           nvdla_core2cvsram_aw_awready,
  output logic [7:0]                     nvdla_core2cvsram_aw_awid,
  output logic [3:0]                     nvdla_core2cvsram_aw_awlen,
  output logic [ADDR_WIDTH-1:0]          nvdla_core2cvsram_aw_awaddr,
  output logic                           nvdla_core2cvsram_w_wvalid,
  input  logic                           nvdla_core2cvsram_w_wready,
  output logic [CVSRAM_DATA_WIDTH-1:0]   nvdla_core2cvsram_w_wdata,
  output logic [CVSRAM_DATA_WIDTH/8-1:0] nvdla_core2cvsram_w_wstrb,
  output logic                           nvdla_core2cvsram_w_wlast,
  input  logic                           nvdla_core2cvsram_b_bvalid,
  output logic                           nvdla_core2cvsram_b_bready,
  input  logic [7:0]                     nvdla_core2cvsram_b_bid,
  output logic                           nvdla_core2cvsram_ar_arvalid,
  input  logic                           nvdla_core2cvsram_ar_arready,
  output logic [7:0]                     nvdla_core2cvsram_ar_arid,
  output logic [3:0]                     nvdla_core2cvsram_ar_arlen,
  output logic [ADDR_WIDTH-1:0]          nvdla_core2cvsram_ar_araddr,
  input  logic                           nvdla_core2cvsram_r_rvalid,
  output logic                           nvdla_core2cvsram_r_rready,
  input  logic [7:0]                     nvdla_core2cvsram_r_rid,
  input  logic                           nvdla_core2cvsram_r_rlast,
  input  logic [CVSRAM_DATA_WIDTH-1:0]   nvdla_core2cvsram_r_rdata,
`endif

  output logic                    dla_intr,

  input  logic [31:0]             nvdla_pwrbus_ram_c_pd,
  input  logic [31:0]             nvdla_pwrbus_ram_ma_pd,
  input  logic [31:0]             nvdla_pwrbus_ram_mb_pd,
  input  logic [31:0]             nvdla_pwrbus_ram_p_pd,
  input  logic [31:0]             nvdla_pwrbus_ram_o_pd,
  input  logic [31:0]             nvdla_pwrbus_ram_a_pd
);
  // verilator lint_off PINCONNECTEMPTY
  import vp_pkg::*;

  // vp_clock counts edges of reset from here on. A reset later on does not reach the platform.
  bit is_released;
  always @(negedge dla_core_clk)
    if (dla_reset_rstn) is_released <= 1;
    else if (is_released)
      vp_dpi_fail("dla_reset_rstn falls: a platform behind vp_nvdla_pins is reset once, before its first edge");

  vp_clock #(.ADDRESS(ADDRESS), .SAME_EDGE(SAME_EDGE), .RESET_EDGES(RESET_EDGES)) clock (
    .clk(dla_core_clk && is_released), .rst_n()
  );

  vp_csb_initiator_port csb0 (.clk(dla_core_clk), .*);
  vp_irq_sink_port irq0 (.clk(dla_core_clk), .irq(dla_intr));

  // Bursts of NVDLA are of 4 beats at most.
  logic [7:0] dbb_awlen, dbb_arlen;
  assign nvdla_core2dbb_aw_awlen = dbb_awlen[3:0];
  assign nvdla_core2dbb_ar_arlen = dbb_arlen[3:0];
  vp_axi_subordinate_port #(.NAME("dbb0"), .DATA_WIDTH(DATA_WIDTH), .ADDR_WIDTH(ADDR_WIDTH), .ID_WIDTH(8)) dbb0 (
    .clk(dla_core_clk), .port(),
    .awvalid(nvdla_core2dbb_aw_awvalid), .awready(nvdla_core2dbb_aw_awready), .awid(nvdla_core2dbb_aw_awid),
    .awaddr(nvdla_core2dbb_aw_awaddr), .awlen(dbb_awlen), .awsize(), .awburst(),
    .wvalid(nvdla_core2dbb_w_wvalid), .wready(nvdla_core2dbb_w_wready), .wdata(nvdla_core2dbb_w_wdata),
    .wstrb(nvdla_core2dbb_w_wstrb), .wlast(nvdla_core2dbb_w_wlast),
    .bvalid(nvdla_core2dbb_b_bvalid), .bready(nvdla_core2dbb_b_bready), .bid(nvdla_core2dbb_b_bid), .bresp(2'b00),
    .arvalid(nvdla_core2dbb_ar_arvalid), .arready(nvdla_core2dbb_ar_arready), .arid(nvdla_core2dbb_ar_arid),
    .araddr(nvdla_core2dbb_ar_araddr), .arlen(dbb_arlen), .arsize(), .arburst(),
    .rvalid(nvdla_core2dbb_r_rvalid), .rready(nvdla_core2dbb_r_rready), .rid(nvdla_core2dbb_r_rid),
    .rdata(nvdla_core2dbb_r_rdata), .rresp(2'b00), .rlast(nvdla_core2dbb_r_rlast)
  );

`ifdef NVDLA_SECONDARY_MEMIF_ENABLE
  logic [7:0] cvsram_awlen, cvsram_arlen;
  assign nvdla_core2cvsram_aw_awlen = cvsram_awlen[3:0];
  assign nvdla_core2cvsram_ar_arlen = cvsram_arlen[3:0];
  vp_axi_subordinate_port #(.NAME("sram0"), .DATA_WIDTH(CVSRAM_DATA_WIDTH), .ADDR_WIDTH(ADDR_WIDTH), .ID_WIDTH(8)) sram0 (
    .clk(dla_core_clk), .port(),
    .awvalid(nvdla_core2cvsram_aw_awvalid), .awready(nvdla_core2cvsram_aw_awready), .awid(nvdla_core2cvsram_aw_awid),
    .awaddr(nvdla_core2cvsram_aw_awaddr), .awlen(cvsram_awlen), .awsize(), .awburst(),
    .wvalid(nvdla_core2cvsram_w_wvalid), .wready(nvdla_core2cvsram_w_wready), .wdata(nvdla_core2cvsram_w_wdata),
    .wstrb(nvdla_core2cvsram_w_wstrb), .wlast(nvdla_core2cvsram_w_wlast),
    .bvalid(nvdla_core2cvsram_b_bvalid), .bready(nvdla_core2cvsram_b_bready), .bid(nvdla_core2cvsram_b_bid), .bresp(2'b00),
    .arvalid(nvdla_core2cvsram_ar_arvalid), .arready(nvdla_core2cvsram_ar_arready), .arid(nvdla_core2cvsram_ar_arid),
    .araddr(nvdla_core2cvsram_ar_araddr), .arlen(cvsram_arlen), .arsize(), .arburst(),
    .rvalid(nvdla_core2cvsram_r_rvalid), .rready(nvdla_core2cvsram_r_rready), .rid(nvdla_core2cvsram_r_rid),
    .rdata(nvdla_core2cvsram_r_rdata), .rresp(2'b00), .rlast(nvdla_core2cvsram_r_rlast)
  );
`endif
  // verilator lint_on PINCONNECTEMPTY
endmodule
