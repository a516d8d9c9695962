// The design is NVDLA, such as its RTL (nvdla/hw, vmod/nvdla/top/NV_nvdla.v), with the pins of its top, NV_nvdla: this block is what is
// around it, clocks apart. With NVDLA_SECONDARY_MEMIF_ENABLE defined there are the pins of the second memory, as in the RTL.
module vp_nvdla_device_port #(
  // Of vp_clock.
  parameter ADDRESS = "",
  parameter bit SAME_EDGE = 0,
  parameter int RESET_EDGES = 16,
  // NVDLA takes requests 7 edges after its reset (vmod/nvdla/car/NV_NVDLA_core_reset.v, twice). For a driver that does not wait until it has
  // cleared its buffer: 8208.
  parameter int SETTLE_EDGES = 16,
  parameter int ADDR_WIDTH = 32,
`ifdef NVDLA_SECONDARY_MEMIF_ENABLE
  parameter int CVSRAM_DATA_WIDTH = 64,
`endif
  parameter int DATA_WIDTH = 64
) (
  // Of the design: `dla_core_clk` and `dla_csb_clk`.
  input  logic                    clk,
  output logic                    global_clk_ovr_on,
  output logic                    tmc2slcg_disable_clock_gating,
  output logic                    dla_reset_rstn,
  output logic                    direct_reset_,
  output logic                    test_mode,

  output logic                    csb2nvdla_valid,
  input  logic                    csb2nvdla_ready,
  output logic [15:0]             csb2nvdla_addr,
  output logic [31:0]             csb2nvdla_wdat,
  output logic                    csb2nvdla_write,
  output logic                    csb2nvdla_nposted,
  input  logic                    nvdla2csb_valid,
  input  logic [31:0]             nvdla2csb_data,
  input  logic                    nvdla2csb_wr_complete,

  input  logic                    nvdla_core2dbb_aw_awvalid,
  output logic                    nvdla_core2dbb_aw_awready,
  input  logic [7:0]              nvdla_core2dbb_aw_awid,
  input  logic [3:0]              nvdla_core2dbb_aw_awlen,
  input  logic [ADDR_WIDTH-1:0]   nvdla_core2dbb_aw_awaddr,
  input  logic                    nvdla_core2dbb_w_wvalid,
  output logic                    nvdla_core2dbb_w_wready,
  input  logic [DATA_WIDTH-1:0]   nvdla_core2dbb_w_wdata,
  input  logic [DATA_WIDTH/8-1:0] nvdla_core2dbb_w_wstrb,
  input  logic                    nvdla_core2dbb_w_wlast,
  output logic                    nvdla_core2dbb_b_bvalid,
  input  logic                    nvdla_core2dbb_b_bready,
  output logic [7:0]              nvdla_core2dbb_b_bid,
  input  logic                    nvdla_core2dbb_ar_arvalid,
  output logic                    nvdla_core2dbb_ar_arready,
  input  logic [7:0]              nvdla_core2dbb_ar_arid,
  input  logic [3:0]              nvdla_core2dbb_ar_arlen,
  input  logic [ADDR_WIDTH-1:0]   nvdla_core2dbb_ar_araddr,
  output logic                    nvdla_core2dbb_r_rvalid,
  input  logic                    nvdla_core2dbb_r_rready,
  output logic [7:0]              nvdla_core2dbb_r_rid,
  output logic                    nvdla_core2dbb_r_rlast,
  output logic [DATA_WIDTH-1:0]   nvdla_core2dbb_r_rdata,

`ifdef NVDLA_SECONDARY_MEMIF_ENABLE
  input  logic                           nvdla_core2cvsram_aw_awvalid,
  output logic                           nvdla_core2cvsram_aw_awready,
  input  logic [7:0]                     nvdla_core2cvsram_aw_awid,
  input  logic [3:0]                     nvdla_core2cvsram_aw_awlen,
  input  logic [ADDR_WIDTH-1:0]          nvdla_core2cvsram_aw_awaddr,
  input  logic                           nvdla_core2cvsram_w_wvalid,
  output logic                           nvdla_core2cvsram_w_wready,
  input  logic [CVSRAM_DATA_WIDTH-1:0]   nvdla_core2cvsram_w_wdata,
  input  logic [CVSRAM_DATA_WIDTH/8-1:0] nvdla_core2cvsram_w_wstrb,
  input  logic                           nvdla_core2cvsram_w_wlast,
  output logic                           nvdla_core2cvsram_b_bvalid,
  input  logic                           nvdla_core2cvsram_b_bready,
  output logic [7:0]                     nvdla_core2cvsram_b_bid,
  input  logic                           nvdla_core2cvsram_ar_arvalid,
  output logic                           nvdla_core2cvsram_ar_arready,
  input  logic [7:0]                     nvdla_core2cvsram_ar_arid,
  input  logic [3:0]                     nvdla_core2cvsram_ar_arlen,
  input  logic [ADDR_WIDTH-1:0]          nvdla_core2cvsram_ar_araddr,
  output logic                           nvdla_core2cvsram_r_rvalid,
  input  logic                           nvdla_core2cvsram_r_rready,
  output logic [7:0]                     nvdla_core2cvsram_r_rid,
  output logic                           nvdla_core2cvsram_r_rlast,
  output logic [CVSRAM_DATA_WIDTH-1:0]   nvdla_core2cvsram_r_rdata,
`endif

  input  logic                    dla_intr,

  output logic [31:0]             nvdla_pwrbus_ram_c_pd,
  output logic [31:0]             nvdla_pwrbus_ram_ma_pd,
  output logic [31:0]             nvdla_pwrbus_ram_mb_pd,
  output logic [31:0]             nvdla_pwrbus_ram_p_pd,
  output logic [31:0]             nvdla_pwrbus_ram_o_pd,
  output logic [31:0]             nvdla_pwrbus_ram_a_pd
);
  // verilator lint_off PINCONNECTEMPTY
  // Clocks are never gated: NVDLA's results and cycles are the same, and a simulator has fewer clocks.
  assign global_clk_ovr_on = 1;
  assign tmc2slcg_disable_clock_gating = 1;
  assign direct_reset_ = 1;
  assign test_mode = 0;
  assign nvdla_pwrbus_ram_c_pd = 0;
  assign nvdla_pwrbus_ram_ma_pd = 0;
  assign nvdla_pwrbus_ram_mb_pd = 0;
  assign nvdla_pwrbus_ram_p_pd = 0;
  assign nvdla_pwrbus_ram_o_pd = 0;
  assign nvdla_pwrbus_ram_a_pd = 0;

  vp_clock #(
    .ADDRESS(ADDRESS), .SAME_EDGE(SAME_EDGE), .RESET_EDGES(RESET_EDGES), .SETTLE_EDGES(SETTLE_EDGES)
  ) clock (.clk, .rst_n(dla_reset_rstn));

  vp_csb_target_port csb0 (.*);
  vp_irq_source_port irq0 (.clk, .irq(dla_intr));

  vp_axi_manager_port #(.NAME("dbb0"), .DATA_WIDTH(DATA_WIDTH), .ADDR_WIDTH(ADDR_WIDTH), .ID_WIDTH(8)) dbb0 (
    .clk,
    .awvalid(nvdla_core2dbb_aw_awvalid), .awready(nvdla_core2dbb_aw_awready), .awid(nvdla_core2dbb_aw_awid),
    .awaddr(nvdla_core2dbb_aw_awaddr), .awlen(8'(nvdla_core2dbb_aw_awlen)),
    .awsize(3'($clog2(DATA_WIDTH / 8))), .awburst(2'b01),
    .wvalid(nvdla_core2dbb_w_wvalid), .wready(nvdla_core2dbb_w_wready), .wdata(nvdla_core2dbb_w_wdata),
    .wstrb(nvdla_core2dbb_w_wstrb), .wlast(nvdla_core2dbb_w_wlast),
    .bvalid(nvdla_core2dbb_b_bvalid), .bready(nvdla_core2dbb_b_bready), .bid(nvdla_core2dbb_b_bid), .bresp(),
    .arvalid(nvdla_core2dbb_ar_arvalid), .arready(nvdla_core2dbb_ar_arready), .arid(nvdla_core2dbb_ar_arid),
    .araddr(nvdla_core2dbb_ar_araddr), .arlen(8'(nvdla_core2dbb_ar_arlen)),
    .arsize(3'($clog2(DATA_WIDTH / 8))), .arburst(2'b01),
    .rvalid(nvdla_core2dbb_r_rvalid), .rready(nvdla_core2dbb_r_rready), .rid(nvdla_core2dbb_r_rid),
    .rdata(nvdla_core2dbb_r_rdata), .rresp(), .rlast(nvdla_core2dbb_r_rlast)
  );

`ifdef NVDLA_SECONDARY_MEMIF_ENABLE
  vp_axi_manager_port #(.NAME("sram0"), .DATA_WIDTH(CVSRAM_DATA_WIDTH), .ADDR_WIDTH(ADDR_WIDTH), .ID_WIDTH(8)) sram0 (
    .clk,
    .awvalid(nvdla_core2cvsram_aw_awvalid), .awready(nvdla_core2cvsram_aw_awready), .awid(nvdla_core2cvsram_aw_awid),
    .awaddr(nvdla_core2cvsram_aw_awaddr), .awlen(8'(nvdla_core2cvsram_aw_awlen)),
    .awsize(3'($clog2(CVSRAM_DATA_WIDTH / 8))), .awburst(2'b01),
    .wvalid(nvdla_core2cvsram_w_wvalid), .wready(nvdla_core2cvsram_w_wready), .wdata(nvdla_core2cvsram_w_wdata),
    .wstrb(nvdla_core2cvsram_w_wstrb), .wlast(nvdla_core2cvsram_w_wlast),
    .bvalid(nvdla_core2cvsram_b_bvalid), .bready(nvdla_core2cvsram_b_bready), .bid(nvdla_core2cvsram_b_bid), .bresp(),
    .arvalid(nvdla_core2cvsram_ar_arvalid), .arready(nvdla_core2cvsram_ar_arready), .arid(nvdla_core2cvsram_ar_arid),
    .araddr(nvdla_core2cvsram_ar_araddr), .arlen(8'(nvdla_core2cvsram_ar_arlen)),
    .arsize(3'($clog2(CVSRAM_DATA_WIDTH / 8))), .arburst(2'b01),
    .rvalid(nvdla_core2cvsram_r_rvalid), .rready(nvdla_core2cvsram_r_rready), .rid(nvdla_core2cvsram_r_rid),
    .rdata(nvdla_core2cvsram_r_rdata), .rresp(), .rlast(nvdla_core2cvsram_r_rlast)
  );
`endif
  // verilator lint_on PINCONNECTEMPTY
endmodule
