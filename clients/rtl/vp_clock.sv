// The partner of the simulation: connects to the platform, resets the design, and ends the simulation with the platform.
module vp_clock #(
  // Where the platform is: "unix:PATH", "tcp:HOST:PORT", "inproc:nv_small"; "" takes it from the variable VP_CONNECT.
  parameter string ADDRESS = "",
  // Outputs of the design depend on its inputs of the same edge.
  parameter bit SAME_EDGE = 0,
  // Edges by which what crosses is seen later, each way, for fewer messages. 0 is exact.
  parameter int QUANTUM = 0,
  // For how many edges the design is in reset. Those at the beginning are before the platform's first.
  parameter int RESET_EDGES = 16
) (
  input  logic clk,
  output logic rst_n
);
  import vp_pkg::*;

  vp_wave wave ();

  bit is_started;
  int left = RESET_EDGES;

  initial rst_n = 0;

  always @(posedge clk)
    if (vp_dpi_status() == OVER) $finish(0);
    else if (vp_dpi_status() == FAILED) begin
`ifdef VERILATOR
      // $fatal aborts there, and leaves a core.
      vp_dpi_exit();
`else
      $fatal(1, "%s", vp_dpi_error());
`endif
    end else if (is_started) rst_n <= !vp_dpi_in_reset();
    else if (left > 1) left <= left - 1;
    else begin
      vp_dpi_start(ADDRESS, SAME_EDGE, QUANTUM, RESET_EDGES);
      is_started <= 1;
      rst_n <= 1;
    end

  final vp_dpi_close();
endmodule
