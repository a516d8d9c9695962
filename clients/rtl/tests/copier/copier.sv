// A device: copies a burst of its platform's memory. Words: 0 source, 1 destination, 2 beats less one, 3 go and busy; a write of 0 there
// lowers the interrupt line.
module copier (
  input  logic        clk,
  input  logic        rst_n,

  input  logic        csb2nvdla_valid,
  output logic        csb2nvdla_ready,
  input  logic [15:0] csb2nvdla_addr,
  input  logic [31:0] csb2nvdla_wdat,
  input  logic        csb2nvdla_write,
  input  logic        csb2nvdla_nposted,
  output logic        nvdla2csb_valid,
  output logic [31:0] nvdla2csb_data,
  output logic        nvdla2csb_wr_complete,

  output logic        irq,

  output logic        arvalid,
  input  logic        arready,
  output logic [7:0]  arid,
  output logic [31:0] araddr,
  output logic [7:0]  arlen,
  input  logic        rvalid,
  output logic        rready,
  input  logic [7:0]  rid,
  input  logic [63:0] rdata,
  input  logic [1:0]  rresp,
  input  logic        rlast,
  output logic        awvalid,
  input  logic        awready,
  output logic [7:0]  awid,
  output logic [31:0] awaddr,
  output logic [7:0]  awlen,
  output logic        wvalid,
  input  logic        wready,
  output logic [63:0] wdata,
  output logic [7:0]  wstrb,
  output logic        wlast,
  input  logic        bvalid,
  output logic        bready,
  input  logic [7:0]  bid,
  input  logic [1:0]  bresp
);
  logic [31:0] words[4];
  logic [63:0] buffer[16];
  logic [3:0] beat;
  typedef enum logic [1:0] { IDLE, READ, WRITE, ANSWER } state_e;
  state_e state;

  assign arid = 1;
  assign awid = 1;
  assign araddr = words[0];
  assign awaddr = words[1];
  assign arlen = words[2][7:0];
  assign awlen = arlen;
  assign wdata = buffer[beat];
  assign wstrb = 8'hff;
  assign wlast = beat == words[2][3:0];

  always @(posedge clk) begin
    csb2nvdla_ready <= 1;
    nvdla2csb_valid <= csb2nvdla_valid && csb2nvdla_ready && !csb2nvdla_write;
    nvdla2csb_wr_complete <= csb2nvdla_valid && csb2nvdla_ready && csb2nvdla_write && csb2nvdla_nposted;
    nvdla2csb_data <= csb2nvdla_addr[1:0] == 3 ? 32'(state != IDLE) : words[csb2nvdla_addr[1:0]];
    if (csb2nvdla_valid && csb2nvdla_ready && csb2nvdla_write) begin
      words[csb2nvdla_addr[1:0]] <= csb2nvdla_wdat;
      if (csb2nvdla_addr[1:0] == 3 && csb2nvdla_wdat == 0) irq <= 0;
    end
    if (arready) arvalid <= 0;
    if (awready) awvalid <= 0;
    case (state)
      IDLE:
        if (words[3] == 1) begin
          words[3] <= 0;
          arvalid <= 1;
          rready <= 1;
          state <= READ;
        end
      READ:
        if (rvalid) begin
          buffer[beat] <= rdata;
          beat <= rlast ? 0 : beat + 1;
          if (rlast) begin
            rready <= 0;
            awvalid <= 1;
            wvalid <= 1;
            state <= WRITE;
          end
        end
      WRITE:
        if (wready) begin
          beat <= wlast ? 0 : beat + 1;
          if (wlast) begin
            wvalid <= 0;
            state <= ANSWER;
          end
        end
      ANSWER:
        if (bvalid) begin
          irq <= 1;
          state <= IDLE;
        end
    endcase
    if (!rst_n) begin
      for (int i = 0; i < 4; i++) words[i] <= 0;
      beat <= 0;
      state <= IDLE;
      {nvdla2csb_valid, nvdla2csb_wr_complete, irq, arvalid, awvalid, wvalid, rready} <= 0;
      bready <= 1;
    end
  end
endmodule
