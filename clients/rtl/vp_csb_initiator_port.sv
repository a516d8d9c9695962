// The design is the CPU, or what accesses registers for it, with NVDLA's pins of a register bus, CSB: this block is the device's side.
module vp_csb_initiator_port #(
  parameter NAME = "csb0",
  // Bits of a word's address.
  parameter int ADDR_WIDTH = 16
) (
  input  logic                  clk,

  input  logic                  csb2nvdla_valid,
  output logic                  csb2nvdla_ready,
  input  logic [ADDR_WIDTH-1:0] csb2nvdla_addr,
  input  logic [31:0]           csb2nvdla_wdat,
  input  logic                  csb2nvdla_write,
  input  logic                  csb2nvdla_nposted,

  output logic                  nvdla2csb_valid,
  output logic [31:0]           nvdla2csb_data,
  output logic                  nvdla2csb_wr_complete
);
  import vp_pkg::*;

  bit sample, see;
  vp_edges edges (.clk, .sample, .see);

  int port;
  initial port = vp_dpi_port(REGISTER_INITIATOR, NAME, 0, ADDR_WIDTH + 2, 0);

  always @(sample) begin
    if (^csb2nvdla_valid === 1'bx) vp_dpi_unknown(port, "request", "csb2nvdla_valid");
    if (csb2nvdla_valid && ^{csb2nvdla_addr, csb2nvdla_write} === 1'bx)
      vp_dpi_unknown(port, "request", "csb2nvdla_addr or csb2nvdla_write");
    if (csb2nvdla_valid && csb2nvdla_write && ^csb2nvdla_nposted === 1'bx)
      vp_dpi_unknown(port, "request", "csb2nvdla_nposted");
    vp_dpi_register_initiator_sample(port, csb2nvdla_valid, 32'(csb2nvdla_addr) << 2, csb2nvdla_wdat,
      csb2nvdla_write, csb2nvdla_write && !csb2nvdla_nposted);
  end

  bit seen_ready, seen_read_valid, seen_write_complete;
  int seen_value;

  always @(see) begin
    vp_dpi_register_initiator_seen(port, seen_ready, seen_read_valid, seen_value, seen_write_complete);
    csb2nvdla_ready <= seen_ready;
    nvdla2csb_valid <= seen_read_valid;
    nvdla2csb_data <= seen_value;
    nvdla2csb_wr_complete <= seen_write_complete;
  end

  initial begin
    csb2nvdla_ready = 0;
    nvdla2csb_valid = 0;
    nvdla2csb_wr_complete = 0;
  end
endmodule
