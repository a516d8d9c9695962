// The design sees an interrupt line of a platform.
module vp_irq_sink_port #(
  parameter NAME = "irq0"
) (
  input  logic clk,
  output logic irq
);
  import vp_pkg::*;

  bit sample, see;
  vp_edges edges (.clk, .sample, .see);

  int port;
  initial port = vp_dpi_port(LINE_SINK, NAME, 0, 0, 0);

  always @(sample) vp_dpi_line_sink_sample(port);
  always @(see) irq <= vp_dpi_line_sink_seen(port);

  initial irq = 0;
endmodule
