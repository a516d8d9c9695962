// The design is the device, with an AXI4-Lite subordinate for its registers (AMBA AXI and ACE Protocol Specification, ARM IHI 0022, part B):
// this block is the manager. One access at a time; an error of the response has no place in a platform's answers, and reads 0 then.
module vp_axi4lite_target_port #(
  parameter NAME = "csb0",
  parameter int ADDR_WIDTH = 18
) (
  input  logic                  clk,
  input  logic                  rst_n,

  output logic                  arvalid,
  input  logic                  arready,
  output logic [ADDR_WIDTH-1:0] araddr,
  output logic [2:0]            arprot,
  input  logic                  rvalid,
  output logic                  rready,
  input  logic [31:0]           rdata,
  input  logic [1:0]            rresp,

  output logic                  awvalid,
  input  logic                  awready,
  output logic [ADDR_WIDTH-1:0] awaddr,
  output logic [2:0]            awprot,
  output logic                  wvalid,
  input  logic                  wready,
  output logic [31:0]           wdata,
  output logic [3:0]            wstrb,
  input  logic                  bvalid,
  output logic                  bready,
  input  logic [1:0]            bresp
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

  always @(negedge clk) begin
    if (arvalid && ^arready === 1'bx) vp_dpi_unknown(registers.port, "AR", "ARREADY");
    if (awvalid && ^awready === 1'bx) vp_dpi_unknown(registers.port, "AW", "AWREADY");
    if (wvalid && ^wready === 1'bx) vp_dpi_unknown(registers.port, "W", "WREADY");
    if (^rvalid === 1'bx) vp_dpi_unknown(registers.port, "R", "RVALID");
    if (rvalid && ^rresp === 1'bx) vp_dpi_unknown(registers.port, "R", "RRESP");
    if (^bvalid === 1'bx) vp_dpi_unknown(registers.port, "B", "BVALID");
    if (bvalid && ^bresp === 1'bx) vp_dpi_unknown(registers.port, "B", "BRESP");
  end

  logic is_open, is_answered;
  assign arprot = 3'b000;
  assign awprot = 3'b000;
  assign wstrb = 4'hf;
  assign awaddr = araddr;

  always @(posedge clk) begin
    read_valid <= 0;
    write_complete <= 0;
    if (arready) arvalid <= 0;
    if (awready) awvalid <= 0;
    if (wready) wvalid <= 0;
    if (valid && ready) begin
      ready <= 0;
      is_open <= 1;
      araddr <= {address, 2'b00};
      wdata <= value;
      arvalid <= !write;
      awvalid <= write;
      wvalid <= write;
      is_answered <= !write || nposted;
    end else if (is_open && (rvalid || bvalid)) begin
      is_open <= 0;
      ready <= 1;
      read_valid <= rvalid;
      read_value <= rresp[1] ? 0 : rdata;
      write_complete <= bvalid && is_answered;
    end else if (!is_open) ready <= 1;
    rready <= 1;
    bready <= 1;
    if (!rst_n) begin
      ready <= 0;
      is_open <= 0;
      {arvalid, awvalid, wvalid, rready, bready} <= 0;
    end
  end
endmodule
