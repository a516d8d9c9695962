/* The partner of a simulation, for SystemVerilog: vp.h with scalars and bit vectors. See docs/rtl.md. Simulators call these functions by
 * DPI, and Icarus Verilog the system tasks that vp_vpi.c makes of them.
 *
 * Blocks name their ports before time moves; `vp_dpi_start` connects and takes them all, so that each takes part from the same
 * edge on. What goes wrong is kept, and every later call does nothing: vp_clock.sv asks once a cycle, and ends the simulation. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vp.h"

/* As in svdpi.h (IEEE 1800-2017, H.10.1), which simulators without DPI do not have. */
typedef uint8_t svBit;
typedef uint32_t svBitVecVal;

/* Verilator compiles this as C++. */
#ifdef __cplusplus
extern "C" {
#endif

#define MOST_PORTS 64
#define TEXT 512

typedef struct {
  char name[64];
  int kind;
  int32_t port;
  unsigned data_width, address_width, id_width;
} port_entry;

typedef int32_t (*attach_function)(vp_partner *, const char *);

/* In the order of `port_kind_e` in vp_pkg.sv. */
static const attach_function attach[] = {vp_axi_subordinate,    vp_axi_manager, vp_register_target,
                                         vp_register_initiator, vp_line_source, vp_line_sink};

static vp_partner *partner;
static vp_status status;
static char text[TEXT];
static port_entry ports[MOST_PORTS];
static int port_count;
static bool is_same_edge;

static void fail(const char *format, ...) {
  if (status != VP_STATUS_OK) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  status = VP_STATUS_ERROR;
}

/* Keeps what came of a call of the library's. */
static bool done(vp_status result) {
  if (result == VP_STATUS_OK) return true;
  if (status == VP_STATUS_OK) {
    snprintf(text, sizeof text, "%s", vp_error(partner));
    status = result;
  }
  return false;
}

/* The design's pins break a rule that the library does not see. */
static void violate(const port_entry *port, const char *channel, const char *format, ...) {
  char rule[TEXT];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(rule, sizeof rule, format, arguments);
  va_end(arguments);
  if (status == VP_STATUS_OK) done(vp_violation(partner, port->port, channel, rule));
}

/* The port of that number, if the simulation goes on. */
static const port_entry *entry(int number) {
  if (!partner || status != VP_STATUS_OK) return NULL;
  return number >= 0 && number < port_count ? &ports[number] : NULL;
}

/* Bytes of a vector, the lowest first, on a host of either byte order. */
static void to_bytes(uint8_t *bytes, const svBitVecVal *words) {
  for (unsigned i = 0; i < VP_WIDEST; i++) bytes[i] = (uint8_t)(words[i / 4] >> (8 * (i % 4)));
}

static void from_bytes(svBitVecVal *words, const uint8_t *bytes) {
  for (unsigned i = 0; i < VP_WIDEST / 4; i++) {
    const uint8_t *b = bytes + 4 * i;
    words[i] = b[0] | (svBitVecVal)b[1] << 8 | (svBitVecVal)b[2] << 16 | (svBitVecVal)b[3] << 24;
  }
}

static void check_width(const port_entry *port, const char *what, uint64_t value, unsigned width) {
  if (width < 64 && value >> width)
    fail("port %s: %s 0x%llx does not fit the block's %u bits", port->name, what, (unsigned long long)value, width);
}

int vp_dpi_port(int kind, const char *name, int data_width, int address_width, int id_width) {
  if (partner) fail("port %s: its block comes after the first edge", name);
  if (port_count == MOST_PORTS) fail("port %s: a simulation has %d ports at most", name, MOST_PORTS);
  if (status != VP_STATUS_OK) return -1;
  port_entry *port = &ports[port_count];
  snprintf(port->name, sizeof port->name, "%s", name);
  port->kind = kind;
  port->data_width = (unsigned)data_width;
  port->address_width = (unsigned)address_width;
  port->id_width = (unsigned)id_width;
  return port_count++;
}

void vp_dpi_start(const char *address, svBit same_edge, int quantum, int reset_edges) {
  if (partner || status != VP_STATUS_OK) return;
  is_same_edge = same_edge;
  vp_reaction reaction = same_edge ? VP_REACTION_SAME_EDGE : VP_REACTION_NEXT_EDGE;
  partner = vp_connect(*address ? address : NULL, reaction, (uint32_t)quantum, (uint32_t)reset_edges);
  if (!partner) {
    fail("%s", vp_error(NULL));
    return;
  }
  if (port_count == 0) fail("no block of the simulation takes a port");
  for (port_entry *port = ports; port < ports + port_count; port++) {
    port->port = attach[port->kind](partner, port->name);
    if (port->port < 0) {
      done(VP_STATUS_ERROR);
      return;
    }
    unsigned width = 8 * vp_width(partner, port->port);
    if (port->data_width && width != port->data_width)
      fail("port %s is %u bits wide: DATA_WIDTH of its block is %u", port->name, width, port->data_width);
  }
}

svBit vp_dpi_is_running(void) { return partner && status == VP_STATUS_OK; }

svBit vp_dpi_is_same_edge(void) { return is_same_edge; }

int vp_dpi_status(void) { return (int)status; }

const char *vp_dpi_error(void) { return text; }

long long vp_dpi_time(void) { return partner ? (long long)vp_time(partner) : 0; }

/* What the platform warns of. */
static void tell_warnings(void) {
  uint64_t time;
  for (const char *warning; (warning = vp_next_warning(partner, &time));)
    fprintf(stderr, "warning: at %llu ps: %s\n", (unsigned long long)time, warning);
}

/* vp_clock.sv asks once an edge. */
svBit vp_dpi_in_reset(void) {
  tell_warnings();
  for (int i = 0; partner && i < port_count; i++)
    if (vp_in_reset(partner, ports[i].port)) return 1;
  return 0;
}

void vp_dpi_unknown(int number, const char *channel, const char *pins) {
  const port_entry *port = entry(number);
  if (port) violate(port, channel, "%s has to be 0 or 1 in each bit, and is X or Z", pins);
}

void vp_dpi_close(void) {
  tell_warnings();
  vp_close(partner);
  partner = NULL;
}

/* What a simulation that cannot go on does before it ends. */
static void report(void) {
  fprintf(stderr, "error: %s\n", text);
  vp_dpi_close();
}

void vp_dpi_exit(void) {
  report();
  exit(1);
}

void vp_dpi_fail(const char *what) { fail("%s", what); }

long long vp_dpi_counter(const char *name) {
  uint64_t value = 0;
  if (partner && status == VP_STATUS_OK) done(vp_counter(partner, name, &value));
  return (long long)value;
}

void vp_dpi_memory_read(int number, long long address, int bytes, svBitVecVal *data) {
  const port_entry *port = entry(number);
  uint8_t read[VP_WIDEST] = {0};
  if (port && bytes > 0 && bytes <= VP_WIDEST)
    done(vp_memory_read(partner, port->port, (uint64_t)address, read, (size_t)bytes));
  from_bytes(data, read);
}

void vp_dpi_memory_write(int number, long long address, int bytes, const svBitVecVal *data, long long strobes) {
  const port_entry *port = entry(number);
  uint8_t written[VP_WIDEST];
  if (!port || bytes > VP_WIDEST) return;
  to_bytes(written, data);
  for (int first = 0, end; first < bytes; first = end + 1) {
    for (end = first; end < bytes && (uint64_t)strobes >> end & 1;) end++;
    if (end > first)
      done(vp_memory_write(partner, port->port, (uint64_t)address + (unsigned)first, written + first,
                           (size_t)(end - first)));
  }
}

void vp_dpi_axi_subordinate_sample(int number, svBit arready, svBit awready, svBit wready, svBit rvalid, int rid,
                                   const svBitVecVal *rdata, svBit rlast, svBit rerror, svBit bvalid, int bid,
                                   svBit berror) {
  const port_entry *port = entry(number);
  if (!port) return;
  vp_axi_subordinate_pins pins;
  memset(&pins, 0, sizeof pins);
  pins.ar_ready = arready;
  pins.aw_ready = awready;
  pins.w_ready = wready;
  pins.r.valid = rvalid;
  pins.r.id = (uint16_t)rid;
  pins.r.last = rlast;
  pins.r.error = rerror;
  pins.b.valid = bvalid;
  pins.b.id = (uint16_t)bid;
  pins.b.error = berror;
  if (rvalid) to_bytes(pins.r.data, rdata);
  done(vp_axi_subordinate_sample(partner, port->port, &pins));
}

static void give_address(const port_entry *port, const char *channel, const vp_address *from, svBit *valid, int *id,
                         long long *address, int *length) {
  *valid = from->valid;
  *id = from->id;
  *address = (long long)from->address;
  *length = from->valid ? from->beats - 1 : 0;
  if (!from->valid) return;
  check_width(port, channel, from->address, port->address_width);
  check_width(port, "id", from->id, port->id_width);
}

void vp_dpi_axi_subordinate_seen(int number, svBit *arvalid, int *arid, long long *araddr, int *arlen, svBit *awvalid,
                                 int *awid, long long *awaddr, int *awlen, svBit *wvalid, svBitVecVal *wdata,
                                 long long *wstrb, svBit *wlast, svBit *rready, svBit *bready) {
  const port_entry *port = entry(number);
  vp_axi_manager_pins pins;
  memset(&pins, 0, sizeof pins);
  static const port_entry none = {"", 0, 0, 0, 0, 0};
  if (port) done(vp_axi_subordinate_seen(partner, port->port, &pins));
  if (!port) port = &none;
  give_address(port, "ARADDR", &pins.ar, arvalid, arid, araddr, arlen);
  give_address(port, "AWADDR", &pins.aw, awvalid, awid, awaddr, awlen);
  *wvalid = pins.w.valid;
  *wstrb = (long long)pins.w.strobes;
  *wlast = pins.w.last;
  from_bytes(wdata, pins.w.data);
  *rready = pins.r_ready;
  *bready = pins.b_ready;
}

static void check_burst(const port_entry *port, const char *channel, int size, int burst, int length) {
  /* A burst of one beat increments nothing. */
  if (burst != 1 && length != 0)
    violate(port, channel, "a burst of type %d: a platform takes incrementing ones (1)", burst);
  if (8u << size != port->data_width)
    violate(port, channel, "beats of %u bits: a platform takes whole ones, of %u", 8u << size, port->data_width);
}

void vp_dpi_axi_manager_sample(int number, svBit arvalid, int arid, long long araddr, int arlen, int arsize,
                               int arburst, svBit awvalid, int awid, long long awaddr, int awlen, int awsize,
                               int awburst, svBit wvalid, const svBitVecVal *wdata, long long wstrb, svBit wlast,
                               svBit rready, svBit bready) {
  const port_entry *port = entry(number);
  if (!port) return;
  if (arvalid) check_burst(port, "AR", arsize, arburst, arlen);
  if (awvalid) check_burst(port, "AW", awsize, awburst, awlen);
  vp_axi_manager_pins pins;
  memset(&pins, 0, sizeof pins);
  pins.ar.valid = arvalid;
  pins.ar.id = (uint16_t)arid;
  pins.ar.beats = (uint16_t)(arlen + 1);
  pins.ar.address = (uint64_t)araddr;
  pins.aw.valid = awvalid;
  pins.aw.id = (uint16_t)awid;
  pins.aw.beats = (uint16_t)(awlen + 1);
  pins.aw.address = (uint64_t)awaddr;
  pins.w.valid = wvalid;
  pins.w.last = wlast;
  pins.w.strobes = (uint64_t)wstrb;
  pins.r_ready = rready;
  pins.b_ready = bready;
  if (wvalid) to_bytes(pins.w.data, wdata);
  if (status == VP_STATUS_OK) done(vp_axi_manager_sample(partner, port->port, &pins));
}

void vp_dpi_axi_manager_seen(int number, svBit *arready, svBit *awready, svBit *wready, svBit *rvalid, int *rid,
                             svBitVecVal *rdata, svBit *rlast, svBit *rerror, svBit *bvalid, int *bid,
                             svBit *berror) {
  const port_entry *port = entry(number);
  vp_axi_subordinate_pins pins;
  memset(&pins, 0, sizeof pins);
  if (port) done(vp_axi_manager_seen(partner, port->port, &pins));
  *arready = pins.ar_ready;
  *awready = pins.aw_ready;
  *wready = pins.w_ready;
  *rvalid = pins.r.valid;
  *rid = pins.r.id;
  from_bytes(rdata, pins.r.data);
  *rlast = pins.r.last;
  *rerror = pins.r.error;
  *bvalid = pins.b.valid;
  *bid = pins.b.id;
  *berror = pins.b.error;
}

void vp_dpi_register_target_sample(int number, svBit ready, svBit read_valid, int value, svBit write_complete) {
  const port_entry *port = entry(number);
  if (!port) return;
  vp_register_target_pins pins;
  pins.ready = ready;
  pins.read_valid = read_valid;
  pins.write_complete = write_complete;
  pins.value = (uint32_t)value;
  done(vp_register_target_sample(partner, port->port, &pins));
}

void vp_dpi_register_target_seen(int number, svBit *valid, int *address, int *value, svBit *write, svBit *posted) {
  const port_entry *port = entry(number);
  vp_register_initiator_pins pins;
  memset(&pins, 0, sizeof pins);
  if (port && done(vp_register_target_seen(partner, port->port, &pins)) && pins.valid)
    check_width(port, "address", pins.address, port->address_width);
  *valid = pins.valid;
  *address = (int)pins.address;
  *value = (int)pins.value;
  *write = pins.write;
  *posted = pins.posted;
}

void vp_dpi_register_initiator_sample(int number, svBit valid, int address, int value, svBit write, svBit posted) {
  const port_entry *port = entry(number);
  if (!port) return;
  vp_register_initiator_pins pins;
  pins.valid = valid;
  pins.write = write;
  pins.posted = posted;
  pins.address = (uint32_t)address;
  pins.value = (uint32_t)value;
  done(vp_register_initiator_sample(partner, port->port, &pins));
}

void vp_dpi_register_initiator_seen(int number, svBit *ready, svBit *read_valid, int *value, svBit *write_complete) {
  const port_entry *port = entry(number);
  vp_register_target_pins pins;
  memset(&pins, 0, sizeof pins);
  if (port) done(vp_register_initiator_seen(partner, port->port, &pins));
  *ready = pins.ready;
  *read_valid = pins.read_valid;
  *value = (int)pins.value;
  *write_complete = pins.write_complete;
}

void vp_dpi_line_source_sample(int number, svBit level) {
  const port_entry *port = entry(number);
  if (port) done(vp_line_source_sample(partner, port->port, level));
}

void vp_dpi_line_source_seen(int number) {
  const port_entry *port = entry(number);
  if (port) done(vp_line_source_seen(partner, port->port));
}

void vp_dpi_line_sink_sample(int number) {
  const port_entry *port = entry(number);
  if (port) done(vp_line_sink_sample(partner, port->port));
}

svBit vp_dpi_line_sink_seen(int number) {
  const port_entry *port = entry(number);
  bool level = false;
  if (port) done(vp_line_sink_seen(partner, port->port, &level));
  return level;
}

#ifdef __cplusplus
}
#endif
