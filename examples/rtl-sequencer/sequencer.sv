// Has NVDLA run a layer: makes its register writes, one an edge, waits for its interrupts, and clears them until all have come.
module sequencer #(
  parameter int LENGTH = 1024
) (
  input  logic        clk,
  input  logic        rst_n,
  // It begins, and all interrupts have come.
  input  logic        start,
  output logic        done,
  input  logic        irq,

  output logic        csb2nvdla_valid,
  input  logic        csb2nvdla_ready,
  output logic [15:0] csb2nvdla_addr,
  output logic [31:0] csb2nvdla_wdat,
  output logic        csb2nvdla_write,
  output logic        csb2nvdla_nposted,
  input  logic        nvdla2csb_valid,
  input  logic [31:0] nvdla2csb_data
);
  localparam logic [31:0] GLB_INTR_STATUS = 32'h100c;

  // Byte address and value. Address 0 ends them, with the interrupts to come, as bits of GLB.S_INTR_STATUS, for its value.
  logic [63:0] writes[LENGTH];

  typedef enum logic [2:0] { IDLE, WRITE, WAIT, READ, ANSWER, CLEAR, DONE } state_e;
  state_e state;
  logic [$clog2(LENGTH)-1:0] at;
  logic [31:0] left, status;

  logic [31:0] address, value;
  assign {address, value} = writes[at];
  wire is_last = address == 0;
  wire [31:0] accessed = state == WRITE ? address : GLB_INTR_STATUS;

  assign csb2nvdla_valid = state == READ || state == CLEAR || (state == WRITE && !is_last);
  assign csb2nvdla_write = state != READ;
  assign csb2nvdla_nposted = 0;
  assign csb2nvdla_addr = accessed[17:2];
  assign csb2nvdla_wdat = state == WRITE ? value : status;
  assign done = state == DONE;

  always @(posedge clk)
    if (!rst_n) begin
      state <= IDLE;
      at <= 0;
    end else
      case (state)
        IDLE: if (start) state <= WRITE;
        WRITE:
          if (is_last) begin
            left <= value;
            state <= WAIT;
          end else if (csb2nvdla_ready) at <= at + 1;
        WAIT:
          if (left == 0) state <= DONE;
          else if (irq) state <= READ;
        READ: if (csb2nvdla_ready) state <= ANSWER;
        ANSWER:
          if (nvdla2csb_valid) begin
            status <= nvdla2csb_data;
            state <= CLEAR;
          end
        CLEAR:
          if (csb2nvdla_ready) begin
            left <= left & ~status;
            state <= WAIT;
          end
        default: ;
      endcase
endmodule
