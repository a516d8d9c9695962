// A CPU and a master of bursts in RTL, at a platform of the same process, say after how many edges things come.
module cpu;
  bit clk;
  initial forever #1 clk = !clk;

  logic rst_n;
  vp_clock #(.ADDRESS("inproc:nv_small")) clock (.clk, .rst_n);

  logic csb2nvdla_valid, csb2nvdla_ready, csb2nvdla_write, csb2nvdla_nposted;
  logic [15:0] csb2nvdla_addr;
  logic [31:0] csb2nvdla_wdat, nvdla2csb_data;
  logic nvdla2csb_valid, nvdla2csb_wr_complete;
  vp_csb_initiator_port csb (.*);

  logic irq;
  vp_irq_sink_port line (.*);

  logic arvalid, arready, rvalid, rready, rlast, awvalid, awready, wvalid, wready, wlast, bvalid, bready;
  logic [7:0] arid, rid, awid, bid, arlen, awlen;
  logic [31:0] araddr, awaddr;
  logic [1:0] rresp, bresp;
  logic [63:0] rdata, wdata;
  logic [7:0] wstrb;
  vp_axi_manager_port dbb0 (.arsize(3'd3), .arburst(2'd1), .awsize(3'd3), .awburst(2'd1), .*);
  vp_axi_checks #(.NAME("dbb0")) checks (.*);

  // verilator lint_off BLKSEQ
  int now, since;
  always @(posedge clk) now <= now + 1;

  // A posted write gets no answer.
  task automatic access(input [15:0] word, input bit write, input bit nposted, input [31:0] value);
    csb2nvdla_valid <= 1;
    csb2nvdla_addr <= word;
    csb2nvdla_write <= write;
    csb2nvdla_nposted <= nposted;
    csb2nvdla_wdat <= value;
    do @(posedge clk); while (!csb2nvdla_ready);
    since = now;
    csb2nvdla_valid <= 0;
    if (!write || nposted) begin
      do @(posedge clk); while (!nvdla2csb_valid && !nvdla2csb_wr_complete);
      if (write) $display("word %h is written after %0d edges", word, now - since);
      else $display("word %h is %h after %0d edges", word, nvdla2csb_data, now - since);
    end
  endtask

  task automatic write_burst(input [31:0] address, input [7:0] length, input [63:0] first);
    awvalid <= 1;
    awaddr <= address;
    awlen <= length;
    awid <= 7;
    for (int beat = 0; beat <= 32'(length); beat++) begin
      wvalid <= 1;
      wdata <= first + 64'(beat);
      wstrb <= 8'hff;
      wlast <= beat == 32'(length);
      do begin
        @(posedge clk);
        if (awready) awvalid <= 0;
      end while (!wready);
    end
    since = now;
    wvalid <= 0;
    do @(posedge clk); while (!bvalid);
    $display("%0d beats are written as %0d %0d edges after the last", length + 1, bid, now - since);
  endtask

  task automatic read_burst(input [31:0] address, input [7:0] length);
    arvalid <= 1;
    araddr <= address;
    arlen <= length;
    arid <= 9;
    do @(posedge clk); while (!arready);
    since = now;
    arvalid <= 0;
    do begin
      do @(posedge clk); while (!rvalid);
      $display("beat %0d of %0d comes after %0d edges, last %0d", rdata, rid, now - since, rlast);
    end while (!rlast);
  endtask

  assign {rready, bready} = 2'b11;
  initial {csb2nvdla_valid, arvalid, awvalid, wvalid} = 0;

  // Not in an `initial`, where this Verilator does not keep nonblocking assignments apart.
  always begin
    wait (rst_n);
    @(posedge clk);
    access(16'h0400, 0, 0, 0);
    // The set register of the interrupt controller, then its status.
    access(16'h0402, 1, 0, 1);
    do @(posedge clk); while (!irq);
    $display("the line is high after %0d edges", now - since);
    access(16'h0403, 0, 0, 0);
    access(16'h0403, 1, 1, 1);
    while (irq) @(posedge clk);
    $display("the line is low after %0d edges", now - since);
    write_burst(32'h8000_0100, 3, 40);
    read_burst(32'h8000_0108, 1);
    $display("done");
    $finish;
  end

  initial begin
    #20000 $display("it does not end");
    $finish;
  end
endmodule
