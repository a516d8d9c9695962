// The accelerator as the device of a platform.
module top;
  bit clk;
  initial forever #1 clk = !clk;

  logic rst_n;
  vp_clock clock (.clk, .rst_n);

  logic psel, penable, pwrite, pready, pslverr;
  logic [17:0] paddr;
  logic [31:0] pwdata, prdata;
  logic [3:0] pstrb;
  assign pslverr = 0;
  vp_apb_target_port csb0 (.*);

  logic irq;
  vp_irq_source_port irq0 (.*);

  logic arvalid, arready, rvalid, rready, rlast, awvalid, awready, wvalid, wready, wlast, bvalid, bready;
  logic [7:0] arid, rid, awid, bid, arlen, awlen, wstrb;
  logic [31:0] araddr, awaddr;
  logic [1:0] rresp, bresp;
  logic [63:0] rdata, wdata;
  assign awid = 0;
  assign wstrb = 8'hff;
  vp_axi_manager_port dbb0 (.arsize(3'd3), .arburst(2'd1), .awsize(3'd3), .awburst(2'd1), .*);
  vp_axi_checks #(.NAME("dbb0")) checks (.*);

  adder adder (.*);
endmodule
