// A platform's device in RTL.
module device;
  bit clk;
  initial forever #1 clk = !clk;

  logic rst_n;
  vp_clock #(.RESET_EDGES(5), .SETTLE_EDGES(4)) clock (.clk, .rst_n);

  // As NVDLA's: the reset ends edges behind the pin, and accesses before are lost.
  logic [3:0] released;
  always @(posedge clk) released <= {released[2:0], rst_n};

  logic csb2nvdla_valid, csb2nvdla_ready, csb2nvdla_write, csb2nvdla_nposted;
  logic [15:0] csb2nvdla_addr;
  logic [31:0] csb2nvdla_wdat, nvdla2csb_data;
  logic nvdla2csb_valid, nvdla2csb_wr_complete;
  vp_csb_target_port csb (.*);

  logic irq;
  vp_irq_source_port line (.*);

  logic arvalid, arready, rvalid, rready, rlast, awvalid, awready, wvalid, wready, wlast, bvalid, bready;
  logic [7:0] arid, rid, awid, bid, arlen, awlen;
  logic [31:0] araddr, awaddr;
  logic [1:0] rresp, bresp;
  logic [63:0] rdata, wdata;
  logic [7:0] wstrb;
  vp_axi_manager_port dbb0 (.arsize(3'd3), .arburst(2'd1), .awsize(3'd3), .awburst(2'd1), .*);
  vp_axi_checks #(.NAME("dbb0")) checks (.*);

  copier copier (.rst_n(released[3]), .*);
endmodule
