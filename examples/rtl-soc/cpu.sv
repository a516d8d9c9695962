// A CPU of four registers that runs one program from its ROM: it has NVDLA run a layer, and sleeps until it is done. An access on its
// bus holds `bus_valid` until `bus_done`.
module cpu (
  input  logic        clk,
  input  logic        rst_n,
  input  logic        irq,
  output logic        halted,

  output logic        bus_valid,
  output logic        bus_write,
  output logic [31:0] bus_addr,
  output logic [31:0] bus_wdata,
  input  logic        bus_done,
  input  logic [31:0] bus_rdata
);
  // rd <- imm << 16, rd + imm, rd + rs, rd & ~rs, [rs + imm]; [rs + imm] <- rd; to imm if rd is zero, or not; until an interrupt; for ever.
  typedef enum logic [3:0] { LUI, ADDI, ADD, BIC, LD, ST, BZ, BNZ, WFI, HALT } op_e;

  localparam int LENGTH = 18;
  localparam logic [15:0] GLB_INTR_STATUS = 16'h100c;
  // Operation, rd, rs, imm.
  localparam logic [23:0] PROGRAM[LENGTH] = '{
    /*  0 */ {LUI,  2'd2, 2'd0, 16'h1000},  // r2: NVDLA
    /*  1 */ {LUI,  2'd3, 2'd0, 16'h2000},  // r3: the interrupt controller
    /*  2 */ {ADDI, 2'd0, 2'd0, 16'd1},
    /*  3 */ {ST,   2'd0, 2'd3, 16'd0},     // enables line 0
    /*  4 */ {LUI,  2'd3, 2'd0, 16'h3000},  // r3: the layer's register writes
    /*  5 */ {LD,   2'd0, 2'd3, 16'd0},
    /*  6 */ {LD,   2'd1, 2'd3, 16'd4},
    /*  7 */ {BZ,   2'd0, 2'd0, 16'd12},    // that was the last: r1 is the interrupts to come
    /*  8 */ {ADD,  2'd0, 2'd2, 16'd0},
    /*  9 */ {ST,   2'd1, 2'd0, 16'd0},
    /* 10 */ {ADDI, 2'd3, 2'd0, 16'd8},
    /* 11 */ {BNZ,  2'd2, 2'd0, 16'd5},
    /* 12 */ {WFI,  2'd0, 2'd0, 16'd0},
    /* 13 */ {LD,   2'd0, 2'd2, GLB_INTR_STATUS},
    /* 14 */ {ST,   2'd0, 2'd2, GLB_INTR_STATUS},
    /* 15 */ {BIC,  2'd1, 2'd0, 16'd0},
    /* 16 */ {BNZ,  2'd1, 2'd0, 16'd12},
    /* 17 */ {HALT, 2'd0, 2'd0, 16'd0}
  };

  logic [4:0]  at;
  logic [31:0] registers[4];

  op_e         op;
  logic [3:0]  code;
  logic [1:0]  rd, rs;
  logic [15:0] imm;
  assign {code, rd, rs, imm} = PROGRAM[at];
  assign op = op_e'(code);

  assign bus_valid = rst_n && (op == LD || op == ST);
  assign bus_write = op == ST;
  assign bus_addr = registers[rs] + 32'(imm);
  assign bus_wdata = registers[rd];
  assign halted = rst_n && op == HALT;

  always @(posedge clk)
    if (!rst_n) begin
      at <= 0;
      for (int i = 0; i < 4; i++) registers[i] <= 0;
    end else begin
      at <= at + 1;
      case (op)
        LUI: registers[rd] <= {imm, 16'd0};
        ADDI: registers[rd] <= registers[rd] + 32'(imm);
        ADD: registers[rd] <= registers[rd] + registers[rs];
        BIC: registers[rd] <= registers[rd] & ~registers[rs];
        LD:
          if (bus_done) registers[rd] <= bus_rdata;
          else at <= at;
        ST: if (!bus_done) at <= at;
        BZ: if (registers[rd] == 0) at <= imm[4:0];
        BNZ: if (registers[rd] != 0) at <= imm[4:0];
        WFI: if (!irq) at <= at;
        default: at <= at;
      endcase
    end
endmodule
