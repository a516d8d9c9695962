// A master at `dbb0` of a platform whose memory keeps it waiting, and which goes wrong then, in the way that +fault= names.
module manager;
  bit clk;
  initial forever #1 clk = !clk;

  logic rst_n;
  vp_clock clock (.clk, .rst_n);

  reg [8*16-1:0] fault;
  initial if (!$value$plusargs("fault=%s", fault)) fault = "none";

  logic arvalid, arready, rvalid, rready, rlast, awvalid, awready, wvalid, wready, wlast, bvalid, bready;
  logic [7:0] arid, rid, awid, bid, arlen, awlen;
  logic [31:0] araddr, awaddr;
  logic [2:0] arsize, awsize;
  logic [1:0] arburst, awburst, rresp, bresp;
  logic [63:0] rdata, wdata;
  logic [7:0] wstrb;
  vp_axi_manager_port dbb0 (.*);

  assign {awvalid, wvalid} = 2'b00;
  assign {rready, bready} = 2'b11;
  assign arsize = fault == "size" ? 3'd2 : 3'd3;
  assign arburst = fault == "burst" ? 2'd2 : 2'd1;

  // The first read waits for its data, and the second for the first.
  always @(posedge clk) begin
    arvalid <= rst_n && !(fault == "fall" && arvalid && !arready);
    arid <= 0;
    araddr <= fault == "change" && arvalid && !arready ? 32'h8000_0040 : 32'h8000_0000;
    arlen <= 1;
    if (rvalid && rlast) begin
      $display("nothing is wrong");
      $finish;
    end
  end
endmodule
