// An accelerator: adds two vectors of 32-bit numbers in memory. Registers on APB, by byte address:
//
//   0x00  IDENTITY  0x56414444
//   0x04  STATUS    bit 0: a sum is done, and the interrupt high; write 1 to clear. Bit 1: busy
//   0x08  COUNT     beats of 64 bits to add, two numbers each; a write starts it, unless it is busy
//   0x0c  A, 0x10 B, 0x14 SUM  addresses, multiples of 128
//   0x18  CYCLES    of the last sum
//
// On AXI it reads 16 beats of each vector at most, writes their sum, and goes on with the next.
module adder (
  input  logic        clk,
  input  logic        rst_n,

  input  logic        psel,
  input  logic        penable,
  input  logic        pwrite,
  input  logic [17:0] paddr,
  input  logic [31:0] pwdata,
  output logic        pready,
  output logic [31:0] prdata,

  output logic        irq,

  output logic        arvalid,
  input  logic        arready,
  output logic [7:0]  arid,
  output logic [31:0] araddr,
  output logic [7:0]  arlen,
  input  logic        rvalid,
  output logic        rready,
  input  logic [7:0]  rid,
  input  logic [63:0] rdata,
  output logic        awvalid,
  input  logic        awready,
  output logic [31:0] awaddr,
  output logic [7:0]  awlen,
  output logic        wvalid,
  input  logic        wready,
  output logic [63:0] wdata,
  output logic        wlast,
  input  logic        bvalid,
  output logic        bready
);
  localparam logic [31:0] IDENTITY = 32'h56414444;

  typedef enum logic [1:0] { IDLE, READ, WRITE, ANSWER } state_e;
  state_e state;
  logic [31:0] left, a, b, sum, cycles;

  // Both vectors are read at once, as ids 0 and 1; a beat of one waits for the other's.
  logic [63:0] beats[2][16];
  logic [4:0]  have[2], written;
  logic [1:0]  asked;
  wire [4:0]   length = left < 16 ? left[4:0] : 5'd16;

  assign arvalid = state == READ && asked != 2;
  assign arid = 8'(asked[0]);
  assign araddr = asked[0] ? b : a;
  assign arlen = 8'(length) - 1;
  assign rready = 1;
  assign awaddr = sum;
  assign awlen = arlen;
  assign wvalid = state == WRITE && written != length;
  assign wdata[31:0] = beats[0][written[3:0]][31:0] + beats[1][written[3:0]][31:0];
  assign wdata[63:32] = beats[0][written[3:0]][63:32] + beats[1][written[3:0]][63:32];
  assign wlast = written == length - 1;
  assign bready = 1;

  assign pready = 1;
  wire is_write = psel && penable && pwrite;
  always_comb
    case (paddr[4:2])
      0: prdata = IDENTITY;
      1: prdata = {30'd0, state != IDLE, irq};
      2: prdata = left;
      3: prdata = a;
      4: prdata = b;
      5: prdata = sum;
      6: prdata = cycles;
      default: prdata = 0;
    endcase

  always @(posedge clk) begin
    if (state != IDLE) cycles <= cycles + 1;
    if (is_write && paddr[4:2] == 1 && pwdata[0]) irq <= 0;
    case (state)
      IDLE:
        if (is_write)
          case (paddr[4:2])
            2:
              if (pwdata != 0) begin
                left <= pwdata;
                cycles <= 0;
                state <= READ;
              end
            3: a <= pwdata;
            4: b <= pwdata;
            5: sum <= pwdata;
            default: ;
          endcase
      READ: begin
        if (arvalid && arready) asked <= asked + 1;
        if (rvalid) begin
          beats[rid[0]][have[rid[0]][3:0]] <= rdata;
          have[rid[0]] <= have[rid[0]] + 1;
        end
        if (have[0] == length && have[1] == length) begin
          awvalid <= 1;
          state <= WRITE;
        end
      end
      WRITE: begin
        if (awready) awvalid <= 0;
        if (wvalid && wready) written <= written + 1;
        if (written == length && !awvalid) state <= ANSWER;
      end
      default: ;
    endcase
    // The response may come with the state that waits for it, or an edge before.
    if (bvalid) begin
      {asked, have[0], have[1], written} <= 0;
      a <= a + 128;
      b <= b + 128;
      sum <= sum + 128;
      left <= left - 32'(length);
      state <= left == 32'(length) ? IDLE : READ;
      if (left == 32'(length)) irq <= 1;
    end
    if (!rst_n) begin
      state <= IDLE;
      {irq, awvalid, asked, have[0], have[1], written} <= 0;
      {left, a, b, sum, cycles} <= 0;
    end
  end
endmodule
