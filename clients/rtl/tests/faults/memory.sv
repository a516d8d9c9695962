// A memory behind `dbb0` that goes wrong at its ninth beat of read data, in the way that +fault= names.
module memory;
  bit clk;
  initial forever #1 clk = !clk;

  logic rst_n;
  vp_clock clock (.clk, .rst_n);

  reg [8*16-1:0] fault;
  initial if (!$value$plusargs("fault=%s", fault)) fault = "none";

  int port;
  logic arvalid, arready, rvalid, rready, rlast, awvalid, awready, wvalid, wready, wlast, bvalid, bready;
  logic [7:0] arid, rid, awid, bid, arlen, awlen;
  logic [31:0] araddr, awaddr;
  logic [2:0] arsize, awsize;
  logic [1:0] arburst, awburst, rresp, bresp;
  logic [63:0] rdata, wdata;
  logic [7:0] wstrb;
  vp_axi_subordinate_port dbb0 (.*);

  // What a memory without fault drives.
  logic good_arready, good_rvalid, good_rlast;
  logic [7:0] good_rid;
  memory_fixed good (
    .latency(20), .arready(good_arready), .rvalid(good_rvalid), .rlast(good_rlast), .rid(good_rid), .*
  );

  int beats;
  wire is_wrong = beats == 8 && good_rvalid;
  always @(posedge clk) if (rst_n && good_rvalid && rready) beats <= beats + 1;

  assign arready = is_wrong && fault == "arready" ? 1'bx : good_arready;
  assign rvalid = is_wrong && fault == "rvalid" ? 1'bx : good_rvalid;
  assign rlast = is_wrong && fault == "rlast" ? 1'bz : good_rlast;
  assign rid = is_wrong && fault == "rid" ? 8'hxx : is_wrong && fault == "other_id" ? 8'h5a : good_rid;
  always @(posedge clk) if (is_wrong && fault == "finish") $finish;
endmodule
