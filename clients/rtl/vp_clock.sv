// The partner of the simulation: connects to the platform, resets the design, and ends the simulation with the platform.
module vp_clock #(
  // Where the platform is: "unix:PATH", "tcp:HOST:PORT", "inproc:nv_small"; "" takes it from the variable VP_CONNECT.
  parameter ADDRESS = "",
  // Outputs of the design depend on its inputs of the same edge.
  parameter bit SAME_EDGE = 0,
  // Edges by which what crosses is seen later, each way, for fewer messages. 0 is exact.
  parameter int QUANTUM = 0,
  // For how many edges the design is in reset. Those at the beginning are before the platform's first.
  parameter int RESET_EDGES = 16,
  // Edges behind those for which the pins stay idle, until the design has left its reset: synchronisers of the reset take some.
  parameter int SETTLE_EDGES = 0
) (
  input  logic clk,
  output logic rst_n
);
  import vp_pkg::*;

  vp_wave wave ();

  bit is_started;
  // Edges of the reset so far, the next one included.
  int passed = 1;

  initial rst_n = 0;

  always @(posedge clk)
    if (vp_dpi_status() == OVER) $finish(0);
    else if (vp_dpi_status() == FAILED) begin
`ifdef VERILATOR
      // $fatal aborts there, and leaves a core.
      vp_dpi_exit();
`elsif __ICARUS__
      // $fatal says more than the sentence.
      vp_dpi_exit();
`else
      $fatal(1, "%s", vp_dpi_error());
`endif
    end else if (is_started && !vp_dpi_in_reset()) begin
      passed <= 0;
      rst_n <= 1;
    end else begin
      passed <= passed + 1;
      rst_n <= passed >= RESET_EDGES;
      if (!is_started && passed >= RESET_EDGES + SETTLE_EDGES) begin
        vp_dpi_start(ADDRESS, SAME_EDGE, QUANTUM, RESET_EDGES + SETTLE_EDGES);
        is_started <= 1;
        passed <= 0;
      end
    end

`ifdef __ICARUS__
  // Neither version 11 nor 12 takes a call of what the package could have here.
  final $vp_close;
`else
  final vp_dpi_close();
`endif
endmodule
