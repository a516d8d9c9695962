// Waveforms: `+wave=FILE.vcd` has the simulation write those of the whole design. Verilator needs --trace when it builds.
module vp_wave;
  string file;
  initial
    if ($value$plusargs("wave=%s", file) != 0) begin
      $dumpfile(file);
      $dumpvars;
    end
endmodule
