// The design is the device, with NVDLA's pins of its register bus, CSB: this block is the CPU's side.
module vp_csb_target_port #(
  parameter NAME = "csb0",
  // Bits of a word's address.
  parameter int ADDR_WIDTH = 16
) (
  input  logic                  clk,

  output logic                  csb2nvdla_valid,
  input  logic                  csb2nvdla_ready,
  output logic [ADDR_WIDTH-1:0] csb2nvdla_addr,
  output logic [31:0]           csb2nvdla_wdat,
  output logic                  csb2nvdla_write,
  output logic                  csb2nvdla_nposted,

  input  logic                  nvdla2csb_valid,
  input  logic [31:0]           nvdla2csb_data,
  input  logic                  nvdla2csb_wr_complete
);
  import vp_pkg::*;

  bit sample, see;
  vp_edges edges (.clk, .sample, .see);

  int port;
  initial port = vp_dpi_port(REGISTER_TARGET, NAME, 0, ADDR_WIDTH + 2, 0);

  always @(sample) begin
    if (^csb2nvdla_ready === 1'bx) vp_dpi_unknown(port, "request", "csb2nvdla_ready");
    if (^nvdla2csb_valid === 1'bx) vp_dpi_unknown(port, "response", "nvdla2csb_valid");
    if (^nvdla2csb_wr_complete === 1'bx) vp_dpi_unknown(port, "response", "nvdla2csb_wr_complete");
    vp_dpi_register_target_sample(port, csb2nvdla_ready, nvdla2csb_valid, nvdla2csb_data, nvdla2csb_wr_complete);
  end

  bit seen_valid, seen_write, seen_posted;
  int seen_address, seen_value;

  always @(see) begin
    vp_dpi_register_target_seen(port, seen_valid, seen_address, seen_value, seen_write, seen_posted);
    csb2nvdla_valid <= seen_valid;
    csb2nvdla_addr <= ADDR_WIDTH'(seen_address >> 2);
    csb2nvdla_wdat <= seen_value;
    csb2nvdla_write <= seen_write;
    csb2nvdla_nposted <= !seen_posted;
  end

  initial csb2nvdla_valid = 0;
endmodule
