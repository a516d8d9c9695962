// LiteDRAM's controller and a DDR3 behind `dbb0`.
module top #(
  parameter int DATA_WIDTH = 64
);
  bit clk;
  initial forever #1 clk = !clk;

  logic rst_n;
  vp_clock clock (.clk, .rst_n);

  localparam int ADDR_WIDTH = 32, ID_WIDTH = 8;
  // A burst of the DRAM is a beat.
  localparam int DATA_BITS = DATA_WIDTH / 8;
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

  logic [3:0] dfi_cs_n, dfi_ras_n, dfi_cas_n, dfi_we_n;
  logic [3:0][2:0] dfi_bank;
  logic [3:0][15:0] dfi_address;
  logic [DATA_BITS*8-1:0] dfi_wrdata, dfi_rddata;
  logic [DATA_BITS-1:0] dfi_wrdata_mask;

  // 16 bits of row, 3 of bank, 11 of column.
  localparam int SIZE = 16 + 3 + 11 + $clog2(DATA_BITS / 8);
  litedram_core core (
    .sys_clk(clk), .sys_rst(!rst_n), .araddr(SIZE'(araddr)), .awaddr(SIZE'(awaddr)), .*
  );

  ddr3 #(.DATA_BITS(DATA_BITS)) dram (
    .cs_n(dfi_cs_n), .ras_n(dfi_ras_n), .cas_n(dfi_cas_n), .we_n(dfi_we_n), .bank(dfi_bank), .address(dfi_address),
    .wrdata(dfi_wrdata), .wrdata_mask(dfi_wrdata_mask), .rddata(dfi_rddata), .*
  );
endmodule
