// A platform's device in RTL, with NVDLA's pins.
module device;
  bit clk;
  initial forever #1 clk = !clk;

  logic csb2nvdla_valid, csb2nvdla_ready, csb2nvdla_write, csb2nvdla_nposted;
  logic [15:0] csb2nvdla_addr;
  logic [31:0] csb2nvdla_wdat, nvdla2csb_data;
  logic nvdla2csb_valid, nvdla2csb_wr_complete;

  logic rst_n, irq;
  // As NVDLA's: the reset ends edges behind the pin, and accesses before are lost.
  logic [3:0] released;
  always @(posedge clk) released <= {released[2:0], rst_n};

  logic arvalid, arready, rvalid, rready, rlast, awvalid, awready, wvalid, wready, wlast, bvalid, bready;
  logic [7:0] arid, rid, awid, bid, arlen, awlen;
  logic [31:0] araddr, awaddr;
  logic [1:0] rresp, bresp;
  logic [63:0] rdata, wdata;
  logic [7:0] wstrb;
  assign rresp = 0;
  assign bresp = 0;

  // verilator lint_off PINCONNECTEMPTY
  vp_nvdla_device_port around (
    .clk, .dla_reset_rstn(rst_n), .global_clk_ovr_on(), .tmc2slcg_disable_clock_gating(), .direct_reset_(), .test_mode(),
    .csb2nvdla_valid, .csb2nvdla_ready, .csb2nvdla_addr, .csb2nvdla_wdat, .csb2nvdla_write, .csb2nvdla_nposted,
    .nvdla2csb_valid, .nvdla2csb_data, .nvdla2csb_wr_complete,
    .nvdla_core2dbb_aw_awvalid(awvalid), .nvdla_core2dbb_aw_awready(awready), .nvdla_core2dbb_aw_awid(awid),
    .nvdla_core2dbb_aw_awlen(awlen[3:0]), .nvdla_core2dbb_aw_awaddr(awaddr),
    .nvdla_core2dbb_w_wvalid(wvalid), .nvdla_core2dbb_w_wready(wready), .nvdla_core2dbb_w_wdata(wdata),
    .nvdla_core2dbb_w_wstrb(wstrb), .nvdla_core2dbb_w_wlast(wlast),
    .nvdla_core2dbb_b_bvalid(bvalid), .nvdla_core2dbb_b_bready(bready), .nvdla_core2dbb_b_bid(bid),
    .nvdla_core2dbb_ar_arvalid(arvalid), .nvdla_core2dbb_ar_arready(arready), .nvdla_core2dbb_ar_arid(arid),
    .nvdla_core2dbb_ar_arlen(arlen[3:0]), .nvdla_core2dbb_ar_araddr(araddr),
    .nvdla_core2dbb_r_rvalid(rvalid), .nvdla_core2dbb_r_rready(rready), .nvdla_core2dbb_r_rid(rid),
    .nvdla_core2dbb_r_rlast(rlast), .nvdla_core2dbb_r_rdata(rdata),
    .dla_intr(irq),
    .nvdla_pwrbus_ram_c_pd(), .nvdla_pwrbus_ram_ma_pd(), .nvdla_pwrbus_ram_mb_pd(), .nvdla_pwrbus_ram_p_pd(),
    .nvdla_pwrbus_ram_o_pd(), .nvdla_pwrbus_ram_a_pd()
  );
  // verilator lint_on PINCONNECTEMPTY
  vp_axi_checks #(.NAME("dbb0")) checks (.*);

  copier copier (.rst_n(released[3]), .*);
endmodule
