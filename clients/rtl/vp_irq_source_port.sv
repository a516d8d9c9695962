// The design drives an interrupt line of a platform.
module vp_irq_source_port #(
  parameter NAME = "irq0"
) (
  input logic clk,
  input logic irq
);
  import vp_pkg::*;

  bit sample, see;
  vp_edges edges (.clk, .sample, .see);

  int port;
  initial port = vp_dpi_port(LINE_SOURCE, NAME, 0, 0, 0);

  always @(sample) begin
    if (^irq === 1'bx) vp_dpi_unknown(port, "level", "irq");
    vp_dpi_line_source_sample(port, irq);
  end
  always @(see) vp_dpi_line_source_seen(port);
endmodule
