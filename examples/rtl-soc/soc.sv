// A system with NVDLA, a CPU, an interrupt controller and a memory. The CPU has NVDLA at 0x1000_0000, the interrupt controller at
// 0x2000_0000, and a ROM with a layer's register writes at 0x3000_0000; NVDLA has the memory at 0x8000_0000.
module soc (
  input  logic clk,
  input  logic rst_n,
  // Of the memory, in edges.
  input  int   latency,
  output logic halted
);
  logic irq, bus_valid, bus_write, bus_done;
  logic [31:0] bus_addr, bus_wdata, bus_rdata;
  cpu cpu (.*);

  // 64 bits each: byte address and value.
  logic [63:0] writes[1024];

  wire is_nvdla = bus_addr[31:28] == 4'h1;
  wire is_interrupts = bus_addr[31:28] == 4'h2;
  logic csb_done, interrupts_done;
  logic [31:0] csb_rdata, interrupts_rdata;
  wire [63:0] write = writes[bus_addr[12:3]];
  assign bus_done = is_nvdla ? csb_done : is_interrupts ? interrupts_done : bus_valid;
  assign bus_rdata = is_nvdla ? csb_rdata : is_interrupts ? interrupts_rdata : bus_addr[2] ? write[31:0] : write[63:32];

  logic dla_intr;
  interrupts interrupts (
    .bus_valid(bus_valid && is_interrupts), .bus_addr(bus_addr[2:0]), .bus_done(interrupts_done), .bus_rdata(interrupts_rdata),
    .lines(dla_intr), .*
  );

  logic csb2nvdla_valid, csb2nvdla_ready, csb2nvdla_write, csb2nvdla_nposted, nvdla2csb_valid, nvdla2csb_wr_complete;
  logic [15:0] csb2nvdla_addr;
  logic [31:0] csb2nvdla_wdat, nvdla2csb_data;
  csb_bridge bridge (
    .bus_valid(bus_valid && is_nvdla), .bus_addr(bus_addr[17:0]), .bus_done(csb_done), .bus_rdata(csb_rdata), .*
  );

  logic awvalid, awready, wvalid, wready, wlast, bvalid, bready, arvalid, arready, rvalid, rready, rlast;
  logic [7:0] awid, bid, arid, rid, wstrb;
  logic [3:0] awlen, arlen;
  logic [31:0] awaddr, araddr;
  logic [63:0] wdata, rdata;

  // In its place, NV_nvdla has the same pins.
  vp_nvdla_pins nvdla (
    .dla_core_clk(clk), .dla_csb_clk(clk), .dla_reset_rstn(rst_n), .direct_reset_(1'b1), .test_mode(1'b0),
    .global_clk_ovr_on(1'b0), .tmc2slcg_disable_clock_gating(1'b0),
    .csb2nvdla_valid, .csb2nvdla_ready, .csb2nvdla_addr, .csb2nvdla_wdat, .csb2nvdla_write, .csb2nvdla_nposted,
    .nvdla2csb_valid, .nvdla2csb_data, .nvdla2csb_wr_complete,
    .nvdla_core2dbb_aw_awvalid(awvalid), .nvdla_core2dbb_aw_awready(awready), .nvdla_core2dbb_aw_awid(awid),
    .nvdla_core2dbb_aw_awlen(awlen), .nvdla_core2dbb_aw_awaddr(awaddr),
    .nvdla_core2dbb_w_wvalid(wvalid), .nvdla_core2dbb_w_wready(wready), .nvdla_core2dbb_w_wdata(wdata),
    .nvdla_core2dbb_w_wstrb(wstrb), .nvdla_core2dbb_w_wlast(wlast),
    .nvdla_core2dbb_b_bvalid(bvalid), .nvdla_core2dbb_b_bready(bready), .nvdla_core2dbb_b_bid(bid),
    .nvdla_core2dbb_ar_arvalid(arvalid), .nvdla_core2dbb_ar_arready(arready), .nvdla_core2dbb_ar_arid(arid),
    .nvdla_core2dbb_ar_arlen(arlen), .nvdla_core2dbb_ar_araddr(araddr),
    .nvdla_core2dbb_r_rvalid(rvalid), .nvdla_core2dbb_r_rready(rready), .nvdla_core2dbb_r_rid(rid),
    .nvdla_core2dbb_r_rlast(rlast), .nvdla_core2dbb_r_rdata(rdata),
    .dla_intr,
    .nvdla_pwrbus_ram_c_pd(0), .nvdla_pwrbus_ram_ma_pd(0), .nvdla_pwrbus_ram_mb_pd(0), .nvdla_pwrbus_ram_p_pd(0),
    .nvdla_pwrbus_ram_o_pd(0), .nvdla_pwrbus_ram_a_pd(0)
  );

  axi_memory memory (.*);

  vp_axi_checks #(.NAME("dbb")) checks (
    .arlen(8'(arlen)), .awlen(8'(awlen)), .rresp(2'b00), .bresp(2'b00), .*
  );
endmodule
