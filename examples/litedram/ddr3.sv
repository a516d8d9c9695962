// A DDR3-1600K of 8 Gbit devices, 8 bits wide, behind the DFI of a PHY whose clock is a quarter of the DRAM's. It checks each command against the
// figures of JESD79-3, in clocks of the DRAM; the first that comes too early ends the simulation. Its bytes are the platform's library's.
module ddr3 #(
  parameter int DATA_BITS = 8,
  // Of the PHY, in its clocks: from a command to its data on the DFI.
  parameter int READ_LATENCY = 9,
  parameter int WRITE_LATENCY = 1,
  // Address for the library of a byte of it.
  parameter longint BASE = 64'h8000_0000
) (
  input  logic                   clk,
  input  logic                   rst_n,
  input  int                     port,
  // The four commands of a clock of the PHY, and their data: the first is lowest.
  input  logic [3:0]             cs_n,
  input  logic [3:0]             ras_n,
  input  logic [3:0]             cas_n,
  input  logic [3:0]             we_n,
  input  logic [3:0][2:0]        bank,
  input  logic [3:0][15:0]       address,
  input  logic [DATA_BITS*8-1:0] wrdata,
  input  logic [DATA_BITS-1:0]   wrdata_mask,
  output logic [DATA_BITS*8-1:0] rddata
);
  import vp_pkg::*;

  localparam int SIZE = 16 + 3 + 11 + $clog2(DATA_BITS / 8);
  localparam longint FIRST = BASE >> SIZE << SIZE;
  localparam int BURST = 4, CL = 11, CWL = 8;
  localparam int tRCD = 11, tRP = 11, tRAS = 28, tRRD = 6, tFAW = 32, tCCD = 4, tRTP = 6, tWR = 12, tWTR = 6;
  localparam int tRFC = 280, tZQCS = 64, tREFI = 6240;
  localparam int tRTW = CL - CWL + tCCD + 2;

  // LiteDRAM's refresh does not wait for tRAS: an ACT in the last phase may be so many clocks too late for it.
  localparam int PREA_EARLY = 3;

  // The state is only read here, and by one command after the other within an edge.
  /* verilator lint_off BLKSEQ */
  // Numbers of clocks, from which on a command may come.
  int now, may_read, may_write, may_refresh, may_activate, refresh_due;
  int activates[4];
  int may_open[8], may_close[8], may_access[8];
  logic [15:0] row[8];
  logic [7:0] is_open;

  typedef struct packed {
    logic valid;
    longint place;
  } access_t;
  access_t writes[WRITE_LATENCY];
  logic [DATA_BITS*8-1:0] reads[READ_LATENCY];
  assign rddata = reads[READ_LATENCY-1];
  wire [DATA_BITS-1:0] strobes = ~wrdata_mask;

  int activated, precharged, read, written, refreshed, early;
  final
    $display("%0d ACT, %0d banks closed, %0d RD, %0d WR, %0d REF; %0d rows closed within tRAS by a refresh",
      activated, precharged, read, written, refreshed, early);

  function automatic longint place(int b, logic [15:0] column);
    return FIRST + (64'({row[b], 3'(b), column[11], column[9:0]}) << $clog2(DATA_BITS / 8));
  endfunction

  function automatic int later(int a, int b);
    return a > b ? a : b;
  endfunction

  task automatic check(string command, int b, logic is_right, int from);
    if (!is_right || now < from)
      vp_dpi_fail($sformatf("%s of bank %0d at clock %0d: %s", command, b, now,
        is_right ? $sformatf("not before %0d", from) : "its row is not as this needs it"));
  endtask

  task automatic close(int b, int from);
    is_open[b] = 0;
    precharged++;
    may_open[b] = later(may_open[b], from + tRP);
    may_refresh = later(may_refresh, from + tRP);
  endtask

  task automatic command(logic [2:0] pins, int b, logic [15:0] a, output access_t write, output access_t reading);
    write = '0;
    reading = '0;
    case (pins)
      3'b011: begin
        check("ACT", b, !is_open[b], later(may_open[b], later(may_activate, activates[3] + tFAW)));
        is_open[b] = 1;
        row[b] = a;
        activates = '{now, activates[0], activates[1], activates[2]};
        may_activate = now + tRRD;
        may_access[b] = now + tRCD;
        may_close[b] = now + tRAS;
        may_open[b] = now + tRAS + tRP;
        activated++;
      end
      3'b010:
        for (int each = 0; each < 8; each++)
          if ((a[10] || each == b) && is_open[each]) begin
            check("PRE", each, 1, may_close[each] - (a[10] ? PREA_EARLY : 0));
            if (now < may_close[each]) early++;
            close(each, now);
          end
      3'b101: begin
        check("RD", b, is_open[b], later(may_access[b], may_read));
        reading = '{1, place(b, a)};
        may_close[b] = later(may_close[b], now + tRTP);
        may_read = now + tCCD;
        may_write = later(may_write, now + tRTW);
        if (a[10]) close(b, may_close[b]);
        read++;
      end
      3'b100: begin
        check("WR", b, is_open[b], later(may_access[b], may_write));
        write = '{1, place(b, a)};
        may_close[b] = later(may_close[b], now + CWL + BURST + tWR);
        may_write = now + tCCD;
        may_read = later(may_read, now + CWL + BURST + tWTR);
        if (a[10]) close(b, may_close[b]);
        written++;
      end
      3'b001, 3'b110: begin
        check(pins[2] ? "ZQCS" : "REF", 0, is_open == 0, may_refresh);
        for (int each = 0; each < 8; each++) may_open[each] = now + (pins[2] ? tZQCS : tRFC);
        may_refresh = may_open[0];
        if (!pins[2]) begin
          if (now > refresh_due) vp_dpi_fail($sformatf("REF at clock %0d: due at %0d", now, refresh_due));
          refresh_due = now + 9 * tREFI;
          refreshed++;
        end
      end
      3'b111: ;
      default: check("a mode", 0, 0, 0);
    endcase
  endtask

  always @(posedge clk) begin
    access_t write, reading, each_write, each_read;
    logic [WIDEST-1:0] data;
    write = '0;
    reading = '0;
    for (int phase = 0; phase < 4; phase++) begin
      if (!cs_n[phase]) begin
        command({ras_n[phase], cas_n[phase], we_n[phase]}, int'(bank[phase]), address[phase], each_write, each_read);
        if (each_write.valid) write = each_write;
        if (each_read.valid) reading = each_read;
      end
      now = now + 1;
    end
    writes[0] <= write;
    for (int i = 1; i < WRITE_LATENCY; i++) writes[i] <= writes[i-1];
    if (writes[WRITE_LATENCY-1].valid)
      vp_dpi_memory_write(port, writes[WRITE_LATENCY-1].place, DATA_BITS, WIDEST'(wrdata), 64'(strobes));
    if (reading.valid) vp_dpi_memory_read(port, reading.place, DATA_BITS, data);
    reads[0] <= (DATA_BITS*8)'(data);
    for (int i = 1; i < READ_LATENCY; i++) reads[i] <= reads[i-1];
    if (!rst_n) begin
      now = 0;
      {may_read, may_write, may_refresh, may_activate} = '0;
      refresh_due = 9 * tREFI;
      activates = '{default: -1000};
      may_open = '{default: 0};
      is_open = 0;
      writes <= '{default: '0};
    end
  end
endmodule
