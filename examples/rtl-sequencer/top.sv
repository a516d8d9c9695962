// Has a sequencer in RTL run a layer. All else is the platform, at the address in VP_CONNECT.
module top;
  bit clk;
  initial forever #1 clk = !clk;

  logic rst_n;
  vp_clock clock (.clk, .rst_n);

  logic csb2nvdla_valid, csb2nvdla_ready, csb2nvdla_write, csb2nvdla_nposted;
  logic [15:0] csb2nvdla_addr;
  logic [31:0] csb2nvdla_wdat, nvdla2csb_data;
  logic nvdla2csb_valid, nvdla2csb_wr_complete;
  vp_csb_initiator_port csb0 (.*);

  logic irq;
  vp_irq_sink_port irq0 (.*);

  logic arvalid, arready, rvalid, rlast, awvalid, awready, wvalid, wready, bvalid;
  logic [7:0] rid, bid;
  logic [31:0] araddr, awaddr;
  logic [1:0] rresp, bresp;
  logic [63:0] rdata, wdata;
  vp_axi_manager_port dbb0 (
    .arid(8'd0), .arlen(8'd0), .arsize(3'd3), .arburst(2'd1), .awid(8'd0), .awlen(8'd0), .awsize(3'd3), .awburst(2'd1),
    .wstrb(8'hff), .wlast(1'b1), .rready(1'b1), .bready(1'b1), .*
  );

  logic loaded, done, checked;
  sequencer sequencer (.start(loaded), .*);

  int words, size;
  logic [31:0] result, crc;
  mover mover (.go(done), .*);
  layer layer (.*);

  string folder;
  initial
    if ($value$plusargs("layer=%s", folder) != 0) begin
      $readmemh({folder, "/writes.hex"}, sequencer.writes);
      $readmemh({folder, "/memory.hex"}, mover.image);
    end
endmodule
