// A device of four words behind AXI4-Lite, or with APB=1 behind APB, that takes its time for each access.
module device #(
  parameter int APB = 0
);
  bit clk;
  initial forever #1 clk = !clk;

  logic rst_n;
  vp_clock clock (.clk, .rst_n);

  logic [31:0] words[4];

  if (APB != 0) begin : apb
    logic psel, penable, pwrite, pready, pslverr;
    logic [17:0] paddr;
    logic [31:0] pwdata, prdata;
    logic [3:0] pstrb;
    vp_apb_target_port port (.*);

    assign pslverr = 0;
    assign prdata = words[paddr[3:2]];

    always @(posedge clk) begin
      pready <= psel && penable && !pready;
      if (psel && penable && pready && pwrite && pstrb == 4'hf) words[paddr[3:2]] <= pwdata;
    end
  end else begin : axi
    logic arvalid, arready, rvalid, rready, awvalid, awready, wvalid, wready, bvalid, bready;
    logic [17:0] araddr, awaddr;
    logic [2:0] arprot, awprot;
    logic [31:0] rdata, wdata;
    logic [3:0] wstrb;
    logic [1:0] rresp, bresp;
    vp_axi4lite_target_port port (.*);

    assign {rresp, bresp} = 0;

    always @(posedge clk) begin
      // Address and data of a write are taken apart from each other.
      arready <= arvalid && !arready;
      awready <= awvalid && !awready;
      wready <= awready;
      if (arvalid && arready) begin
        rvalid <= 1;
        rdata <= words[araddr[3:2]];
      end else if (rready) rvalid <= 0;
      if (wvalid && wready) begin
        bvalid <= 1;
        if (wstrb == 4'hf) words[awaddr[3:2]] <= wdata;
      end else if (bready) bvalid <= 0;
      if (!rst_n) {arready, awready, wready, rvalid, bvalid} <= 0;
    end
  end
endmodule
