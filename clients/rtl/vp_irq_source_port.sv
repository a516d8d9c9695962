// The design drives an interrupt line of a platform.
module vp_irq_source_port #(
  parameter string NAME = "irq0"
) (
  input logic clk,
  input logic irq
);
  import vp_pkg::*;

  bit sample, see;
  vp_edges edges (.clk, .sample, .see);

  int port;
  initial port = vp_dpi_port(LINE_SOURCE, NAME, 0, 0, 0);

  always @(sample) vp_dpi_line_source_sample(port, irq);
  always @(see) vp_dpi_line_source_seen(port);
endmodule
