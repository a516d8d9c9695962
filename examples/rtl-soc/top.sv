// Has the system run a layer. +latency=CYCLES is of the memory.
module top;
  bit clk;
  initial forever #1 clk = !clk;

  bit rst_n;
  int edges;
  always @(posedge clk) begin
    edges <= edges + 1;
    rst_n <= edges >= 10;
  end

  int latency;
  logic halted;
  soc soc (.*);

  string folder;
  initial begin
    if ($value$plusargs("latency=%d", latency) == 0) latency = 50;
    if ($value$plusargs("layer=%s", folder) != 0) begin
      $readmemh({folder, "/writes.hex"}, soc.writes);
      $readmemh({folder, "/memory.hex"}, soc.memory.words);
    end
  end

  int words, size;
  logic [31:0] result, crc;
  always @(posedge clk) if (halted) crc <= soc.memory.crc(result, size);
  logic checked;
  always @(posedge clk) checked <= halted;
  layer layer (.*);
endmodule
