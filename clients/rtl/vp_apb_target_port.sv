// The design is the device, with an APB completer for its registers (AMBA APB Protocol Specification, ARM IHI 0024): this block is the
// requester. One access at a time; PSLVERR has no place in a platform's answers, and reads 0 then.
module vp_apb_target_port #(
  parameter NAME = "csb0",
  parameter int ADDR_WIDTH = 18
) (
  input  logic                  clk,
  input  logic                  rst_n,

  output logic                  psel,
  output logic                  penable,
  output logic [ADDR_WIDTH-1:0] paddr,
  output logic                  pwrite,
  output logic [31:0]           pwdata,
  output logic [3:0]            pstrb,
  input  logic                  pready,
  input  logic [31:0]           prdata,
  input  logic                  pslverr
);
  import vp_pkg::*;

  logic valid, ready, write, nposted, read_valid, write_complete;
  logic [ADDR_WIDTH-3:0] address;
  logic [31:0] value, read_value;

  vp_csb_target_port #(.NAME(NAME), .ADDR_WIDTH(ADDR_WIDTH - 2)) registers (
    .clk,
    .csb2nvdla_valid(valid), .csb2nvdla_ready(ready), .csb2nvdla_addr(address), .csb2nvdla_wdat(value),
    .csb2nvdla_write(write), .csb2nvdla_nposted(nposted),
    .nvdla2csb_valid(read_valid), .nvdla2csb_data(read_value), .nvdla2csb_wr_complete(write_complete)
  );

  always @(negedge clk)
    if (psel && penable) begin
      if (^pready === 1'bx) vp_dpi_unknown(registers.port, "transfer", "PREADY");
      if (pready && ^pslverr === 1'bx) vp_dpi_unknown(registers.port, "transfer", "PSLVERR");
    end

  logic is_answered;
  assign pstrb = pwrite ? 4'hf : 4'h0;

  always @(posedge clk) begin
    read_valid <= 0;
    write_complete <= 0;
    // The access is taken from the platform in the edge at which it becomes a transfer here.
    if (valid && ready) begin
      ready <= 0;
      psel <= 1;
      paddr <= {address, 2'b00};
      pwrite <= write;
      pwdata <= value;
      is_answered <= !write || nposted;
    end else if (psel && !penable) penable <= 1;
    else if (psel && pready) begin
      psel <= 0;
      penable <= 0;
      ready <= 1;
      read_valid <= !pwrite;
      read_value <= pslverr ? 0 : prdata;
      write_complete <= pwrite && is_answered;
    end else if (!psel) ready <= 1;
    if (!rst_n) begin
      ready <= 0;
      psel <= 0;
      penable <= 0;
    end
  end
endmodule
