// Each kind of rule that vp_axi_checks knows, broken once; kept ones between.
module checks;
  reg clk = 0;
  always #1 clk = !clk;

  reg rst_n = 0;
  reg arvalid = 0, arready = 1, rvalid = 0, rready = 1, rlast = 1, awvalid = 0, awready = 1, wvalid = 0, wready = 1;
  reg wlast = 1, bvalid = 0, bready = 1;
  reg [7:0] arid = 0, rid = 0, awid = 0, bid = 0, arlen = 0, awlen = 0, wstrb = 8'hff;
  reg [31:0] araddr = 0, awaddr = 0;
  reg [1:0] rresp = 0, bresp = 0;
  reg [63:0] rdata = 0, wdata = 0;

  vp_axi_checks #(.NAME("dbb0")) axi (
    .clk(clk), .rst_n(rst_n),
    .arvalid(arvalid), .arready(arready), .arid(arid), .araddr(araddr), .arlen(arlen),
    .rvalid(rvalid), .rready(rready), .rid(rid), .rdata(rdata), .rresp(rresp), .rlast(rlast),
    .awvalid(awvalid), .awready(awready), .awid(awid), .awaddr(awaddr), .awlen(awlen),
    .wvalid(wvalid), .wready(wready), .wdata(wdata), .wstrb(wstrb), .wlast(wlast),
    .bvalid(bvalid), .bready(bready), .bid(bid), .bresp(bresp)
  );

  // Pins for one edge.
  task edge_over;
    begin
      @(negedge clk);
      {arvalid, rvalid, awvalid, wvalid, bvalid} = 0;
      {arready, rready, awready, wready, bready} = 5'b11111;
    end
  endtask

  task expect_broken(input integer number);
    if (axi.broken != number) begin
      $display("%0d rules are broken, and not %0d", axi.broken, number);
      $finish;
    end
  endtask

  initial begin
    repeat (2) edge_over;
    rst_n = 1;
    // A read of two beats and a write of one, as they should be; the data of the write comes before its address.
    arvalid = 1; arlen = 1; arid = 3; edge_over;
    rvalid = 1; rid = 3; rlast = 0; edge_over;
    rvalid = 1; rlast = 1; rready = 0; wvalid = 1; edge_over;
    rvalid = 1; awvalid = 1; awid = 4; edge_over;
    bvalid = 1; bid = 4; edge_over;
    expect_broken(0);
    // Valid falls, and a payload changes, before ready.
    awvalid = 1; awready = 0; edge_over;
    edge_over;
    expect_broken(1);
    arvalid = 1; arready = 0; arlen = 0; edge_over;
    arvalid = 1; araddr = 64; edge_over;
    expect_broken(2);
    // Last too late, data for nobody, a response for nobody.
    rvalid = 1; rlast = 0; edge_over;
    expect_broken(3);
    rvalid = 1; rlast = 1; rid = 9; edge_over;
    expect_broken(4);
    bvalid = 1; edge_over;
    expect_broken(5);
    // Last of a write too early; across 4 KiB.
    awvalid = 1; awlen = 1; edge_over;
    wvalid = 1; edge_over;
    expect_broken(6);
    arvalid = 1; arid = 5; araddr = 32'hff8; arlen = 1; edge_over;
    expect_broken(7);
    $display("all seen");
    $finish;
  end
endmodule
