/* A simulator of hardware beside a platform: see docs/rtl.md.
 *
 * Made from clients/c/src by cbindgen; a test of that crate says how. */

#ifndef VP_H
#define VP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A program that is linked with libvp.a needs -lpthread -ldl -lm as well. */

// Bytes of the widest data bus.
#define VP_WIDEST 64

// Edge at which the outputs of the hardware follow its inputs.
typedef enum {
  // The next edge: all outputs are registers. At each edge pins are sampled first, and seen then.
  VP_REACTION_NEXT_EDGE = 0,
  // The edge of the inputs, for some outputs. At each edge pins are seen first, and sampled then.
  VP_REACTION_SAME_EDGE = 1,
} vp_reaction;

// Result of a call.
typedef enum {
  // All is well.
  VP_STATUS_OK = 0,
  // The platform has ended, as it does when nobody needs it any more: the simulation may end.
  VP_STATUS_OVER = 1,
  // Something is wrong: `vp_error` says what.
  VP_STATUS_ERROR = -1,
} vp_status;

// Reason for which time is stopped.
typedef enum {
  // None: time runs.
  VP_STOP_WHY_RUNS = 0,
  // A debugger's request.
  VP_STOP_WHY_ASKED = 1,
  // The end of a step.
  VP_STOP_WHY_STEPPED = 2,
  // A breakpoint.
  VP_STOP_WHY_BREAKPOINT = 3,
} vp_stop_why;

// Length of a step.
typedef enum {
  // A step to the next clock edge.
  VP_STEP_BY_CYCLE = 0,
  // A step over the next instant at which something happens.
  VP_STEP_BY_EVENT = 1,
  // A step until a unit has ended a layer.
  VP_STEP_BY_LAYER = 2,
  // A step until a register has been accessed over its bus.
  VP_STEP_BY_ACCESS = 3,
} vp_step_by;

// Kind of event at which time stops.
typedef enum {
  // An access to a register.
  VP_BREAK_ON_REGISTER = 0,
  // The interrupt line goes high.
  VP_BREAK_ON_INTERRUPT = 1,
  // A unit begins a layer.
  VP_BREAK_ON_LAYER_BEGIN = 2,
  // A unit ends a layer.
  VP_BREAK_ON_LAYER_END = 3,
  // A burst of the device reaches memory.
  VP_BREAK_ON_MEMORY = 4,
  // A simulated time.
  VP_BREAK_ON_TIME = 5,
} vp_break_on;

// Direction of accesses.
typedef enum {
  // Reads and writes.
  VP_ACCESSES_ANY = 0,
  // Reads.
  VP_ACCESSES_READ = 1,
  // Writes.
  VP_ACCESSES_WRITE = 2,
} vp_accesses;

// A debugger of a platform that a server serves.
typedef struct vp_debugger vp_debugger;

// A partner of a platform.
typedef struct vp_partner vp_partner;

// State of simulated time: running, or stopped with the reason.
typedef struct {
  // Reason.
  vp_stop_why why;
  // Time of the stop in ps; 0 where time runs.
  uint64_t time;
  // Session that has stopped time; 0: none, it is stopped since the start.
  uint64_t by;
  // The first breakpoint that was hit; 0: none.
  uint32_t breakpoint;
} vp_stop;

// A breakpoint. Fields that do not belong to `on` are ignored.
typedef struct {
  // Kind of event.
  vp_break_on on;
  // `REGISTER`, `MEMORY`: direction of the accesses.
  vp_accesses access;
  // `REGISTER`: its byte address. `MEMORY`: the first byte. `TIME`: the time in ps.
  uint64_t at;
  // `MEMORY`: number of bytes from `at` on.
  uint64_t size;
  // `LAYER_BEGIN`, `LAYER_END`: the unit, such as `sdp`, NULL for any. `MEMORY`: the port, such as `dbb0`.
  const char *name;
  // `REGISTER`: true if only accesses with `value` count.
  bool has_value;
  // `REGISTER`: that value.
  uint32_t value;
  // Number of hits that are ignored before time stops.
  uint32_t skip;
  // True if the breakpoint is removed when it is hit.
  bool once;
} vp_breakpoint;

// Functions that access a memory's bytes, if they are not in the library. Both access `length` bytes from an address on at once, and return how
// many of them they could; they are called while the edge is seen, and call nothing of this library.
typedef struct {
  // The functions' first argument.
  void *context;
  // Reads.
  size_t (*read)(void *context, uint64_t address, uint8_t *bytes, size_t length);
  // Writes.
  size_t (*write)(void *context, uint64_t address, const uint8_t *bytes, size_t length);
} vp_debug_target;

// R.
typedef struct {
  // RVALID.
  bool valid;
  // RLAST.
  bool last;
  // RRESP is not OKAY.
  bool error;
  // RID.
  uint16_t id;
  // RDATA: as many bytes as the bus is wide, the lowest address first.
  uint8_t data[VP_WIDEST];
} vp_read_data;

// B.
typedef struct {
  // BVALID.
  bool valid;
  // BRESP is not OKAY.
  bool error;
  // BID.
  uint16_t id;
} vp_response;

// The pins that an AXI subordinate drives.
typedef struct {
  // R.
  vp_read_data r;
  // B.
  vp_response b;
  // ARREADY.
  bool ar_ready;
  // AWREADY.
  bool aw_ready;
  // WREADY.
  bool w_ready;
} vp_axi_subordinate_pins;

// AR or AW.
typedef struct {
  // AxVALID.
  bool valid;
  // AxID.
  uint16_t id;
  // AxLEN and one: beats as wide as the bus, of incrementing addresses.
  uint16_t beats;
  // AxADDR.
  uint64_t address;
} vp_address;

// W.
typedef struct {
  // WVALID.
  bool valid;
  // WLAST.
  bool last;
  // WSTRB: byte i is written if bit i is set.
  uint64_t strobes;
  // WDATA, likewise.
  uint8_t data[VP_WIDEST];
} vp_write_data;

// The pins that an AXI manager drives.
typedef struct {
  // AR.
  vp_address ar;
  // AW.
  vp_address aw;
  // W.
  vp_write_data w;
  // RREADY.
  bool r_ready;
  // BREADY.
  bool b_ready;
} vp_axi_manager_pins;

// The pins that their target drives. Answers are pulses of one edge, in the order of the accesses.
typedef struct {
  // An access is taken.
  bool ready;
  // `value` is the word read.
  bool read_valid;
  // A write is over.
  bool write_complete;
  // The word read.
  uint32_t value;
} vp_register_target_pins;

// The pins that the initiator of register accesses drives.
typedef struct {
  // The access is there.
  bool valid;
  // The access is a write.
  bool write;
  // A write that is not answered.
  bool posted;
  // Byte address.
  uint32_t address;
  // The word to write.
  uint32_t value;
} vp_register_initiator_pins;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Becomes a partner of the platform at `address`: `tcp:HOST:PORT`, `tls:HOST:PORT` or `unix:PATH` of a server, or `inproc:NAME` for a platform in
// this process, where NAME is a built-in platform or a file of one. NULL: the address in the environment variable VP_CONNECT.
//
// A server that says nothing for 20 s, and does not answer that it is there, is taken for gone, and calls fail. VP_HEARTBEAT in the environment
// sets other seconds, or `none`, such as for a server in a debugger.
//
// What a server wants to be shown is in the environment, too: a token in VP_TOKEN or in the file VP_TOKEN_FILE, and for TLS the file VP_CA with
// the certificate of the authority that is trusted, and VP_CERTIFICATE and VP_KEY for a certificate to be shown.
//
// `quantum`: edges by which what crosses is seen later, each way, for fewer messages; 0 is exact. `reset_edges`: for how many edges
// `vp_in_reset` says so when the platform is put back.
//
// NULL: it could not be, and `vp_error(NULL)` says why.
//
// # Safety
// `address` is NULL or a text.
vp_partner *vp_connect(const char *address,
                       vp_reaction reaction,
                       uint32_t quantum,
                       uint32_t reset_edges);

// Leaves the platform. NULL is nothing.
//
// # Safety
// `partner` comes from `vp_connect`, and is not used afterwards.
void vp_close(vp_partner *partner);

// The last error, as a sentence; with NULL, the reason for which there is no partner. The text stays valid until the next call that fails.
//
// # Safety
// `partner` is NULL or comes from `vp_connect`.
const char *vp_error(const vp_partner *partner);

// The first of the platform's warnings that was not taken yet, with its time in ps; NULL if there is none. The latest 64 are kept. The
// text stays valid until the next call.
//
// # Safety
// `partner` comes from `vp_connect`, `time` is NULL or can be written.
const char *vp_next_warning(vp_partner *partner,
                            uint64_t *time);

// The length of a clock cycle of the platform, in ps.
//
// # Safety
// `partner` comes from `vp_connect`.
uint64_t vp_period(const vp_partner *partner);

// The simulated time of the edge whose pins were seen last, in ps.
//
// # Safety
// `partner` comes from `vp_connect`.
uint64_t vp_time(const vp_partner *partner);

// Gives one of the platform's counters, such as `nvdla.cycles`, `dbb0.read.bursts` or `unit.SDP.busy`.
//
// # Safety
// `partner` comes from `vp_connect`, `name` is a text, `value` can be written.
vp_status vp_counter(vp_partner *partner,
                     const char *name,
                     uint64_t *value);

// Becomes a debugger of a platform at the server at `address`: `tcp:HOST:PORT`, `tls:HOST:PORT` or `unix:PATH`; NULL: the address in the
// environment variable VP_CONNECT. `platform`: the shared platform of that name, or `#3` for the one that session 3 has for itself; NULL: the only
// one there is. What a server wants to be shown is in the environment, as for `vp_connect`.
//
// It takes no part in the platform, and needs no clock: a program may be a partner in one thread and a debugger in another. When it leaves,
// its breakpoints go, and time goes on.
//
// NULL: it could not be, and `vp_debugger_error(NULL)` says why.
//
// # Safety
// `address` and `platform` are NULL or texts.
vp_debugger *vp_debugger_connect(const char *address,
                                 const char *platform);

// Leaves. NULL is nothing.
//
// # Safety
// `debugger` comes from `vp_debugger_connect`, and is not used afterwards.
void vp_debugger_close(vp_debugger *debugger);

// The last error, as a sentence; with NULL, the reason for which there is no debugger. The text stays valid until the next call that fails.
//
// # Safety
// `debugger` is NULL or comes from `vp_debugger_connect`.
const char *vp_debugger_error(const vp_debugger *debugger);

// Tells whether time is stopped, and why.
//
// # Safety
// `debugger` comes from `vp_debugger_connect`, `into` is NULL or can be written.
vp_status vp_debugger_state(vp_debugger *debugger, vp_stop *into);

// Has time stand, if it does not.
//
// # Safety
// `debugger` comes from `vp_debugger_connect`, `into` is NULL or can be written.
vp_status vp_debugger_stop(vp_debugger *debugger, vp_stop *into);

// Lets time go on, as far as others let it move: `vp_debugger_wait` waits until it stands again.
//
// # Safety
// `debugger` comes from `vp_debugger_connect`.
vp_status vp_debugger_continue(vp_debugger *debugger);

// Waits until time stands, for so many milliseconds of the wall clock at most: `why` is `RUNS` where it does not by then.
//
// # Safety
// `debugger` comes from `vp_debugger_connect`, `into` is NULL or can be written.
vp_status vp_debugger_wait(vp_debugger *debugger,
                           uint32_t milliseconds,
                           vp_stop *into);

// Lets time go on by so many steps, and waits until it stands again: in lockstep that takes another session which lets it move.
//
// # Safety
// `debugger` comes from `vp_debugger_connect`, `into` is NULL or can be written.
vp_status vp_debugger_step(vp_debugger *debugger,
                           vp_step_by by,
                           uint32_t count,
                           vp_stop *into);

// Has time stand where something happens, and gives the breakpoint's number, from 1.
//
// # Safety
// `debugger` comes from `vp_debugger_connect`, `breakpoint` can be read and has a text as its name if it has one, `number` is NULL or can be
// written.
vp_status vp_debugger_break(vp_debugger *debugger,
                            const vp_breakpoint *breakpoint,
                            uint32_t *number);

// Takes a breakpoint away.
//
// # Safety
// `debugger` comes from `vp_debugger_connect`.
vp_status vp_debugger_clear(vp_debugger *debugger, uint32_t number);

// Returns a register's value without the side effects of a read: in group 0 or 1, or, with -1, in the one that accesses go to.
//
// # Safety
// `debugger` comes from `vp_debugger_connect`, `value` is NULL or can be written.
vp_status vp_debugger_register(vp_debugger *debugger,
                               uint64_t address,
                               int32_t group,
                               uint32_t *value);

// Reads bytes of a memory by its port's name, such as `dbb0`, beside the bus, whoever has it.
//
// # Safety
// `debugger` comes from `vp_debugger_connect`, `memory` is a text, `bytes` has room for `length`.
vp_status vp_debugger_memory(vp_debugger *debugger,
                             const char *memory,
                             uint64_t address,
                             uint8_t *bytes,
                             size_t length);

// Returns the platform's state: sessions and what each waits for, ports, units, the interrupt line, the last register accesses, and unfinished work. A line each,
// a name, a space and what is known of it, as `vp status --json` has them (docs/inside.md). Of the server's reports of stops that no
// call has wanted the latest 64 are kept; `stops.left_out` is there if there were more, with their number since the last call.
// NULL: `vp_debugger_error` says why. The text stays valid until the next call of this function.
//
// # Safety
// `debugger` comes from `vp_debugger_connect`.
const char *vp_debugger_inspect(vp_debugger *debugger);

// Reads bytes of the memory that this side is at a port of `vp_axi_subordinate`: what a loader has put there, or the pins.
//
// # Safety
// `partner` comes from `vp_connect`; `bytes` has room for `length`.
vp_status vp_memory_read(vp_partner *partner,
                         int32_t port,
                         uint64_t address,
                         uint8_t *bytes,
                         size_t length);

// Writes bytes of that memory.
//
// # Safety
// `partner` comes from `vp_connect`; `bytes` has `length` of them.
vp_status vp_memory_write(vp_partner *partner,
                          int32_t port,
                          uint64_t address,
                          const uint8_t *bytes,
                          size_t length);

// Keeps the bytes of a memory elsewhere: loaders and debuggers of the platform reach them by these functions, and
// `vp_memory_read` and `vp_memory_write` have nothing to do with them.
//
// # Safety
// `partner` comes from `vp_connect`, `target` can be read, and its functions can be called with its context as long as there is the partner.
vp_status vp_memory_debug_target(vp_partner *partner,
                                 int32_t port,
                                 const vp_debug_target *target);

// Takes a memory port as the memory behind it: bursts of the platform come to these pins.
//
// The port's number, or -1: `vp_error` says why.
//
// # Safety
// `partner` comes from `vp_connect`, `name` is a text.
int32_t vp_axi_subordinate(vp_partner *partner, const char *name);

// The pins that this side drives there are like this at the edge.
//
// # Safety
// `partner` comes from `vp_connect`, `pins` can be read.
vp_status vp_axi_subordinate_sample(vp_partner *partner,
                                    int32_t port,
                                    const vp_axi_subordinate_pins *pins);

// Gives the pins that the platform drives there, as they are seen at the edge. Waits for the platform, if it must.
//
// # Safety
// `partner` comes from `vp_connect`, `pins` can be written.
vp_status vp_axi_subordinate_seen(vp_partner *partner,
                                  int32_t port,
                                  vp_axi_manager_pins *pins);

// Takes a memory port as a master of bursts to the platform's memory.
//
// The port's number, or -1: `vp_error` says why.
//
// # Safety
// `partner` comes from `vp_connect`, `name` is a text.
int32_t vp_axi_manager(vp_partner *partner, const char *name);

// The pins that this side drives there are like this at the edge.
//
// # Safety
// `partner` comes from `vp_connect`, `pins` can be read.
vp_status vp_axi_manager_sample(vp_partner *partner, int32_t port, const vp_axi_manager_pins *pins);

// Gives the pins that the platform drives there, as they are seen at the edge. Waits for the platform, if it must.
//
// # Safety
// `partner` comes from `vp_connect`, `pins` can be written.
vp_status vp_axi_manager_seen(vp_partner *partner,
                              int32_t port,
                              vp_axi_subordinate_pins *pins);

// Takes a register port as the device: the platform's CPU accesses these pins.
//
// The port's number, or -1: `vp_error` says why.
//
// # Safety
// `partner` comes from `vp_connect`, `name` is a text.
int32_t vp_register_target(vp_partner *partner, const char *name);

// The pins that this side drives there are like this at the edge.
//
// # Safety
// `partner` comes from `vp_connect`, `pins` can be read.
vp_status vp_register_target_sample(vp_partner *partner,
                                    int32_t port,
                                    const vp_register_target_pins *pins);

// Gives the pins that the platform drives there, as they are seen at the edge. Waits for the platform, if it must.
//
// # Safety
// `partner` comes from `vp_connect`, `pins` can be written.
vp_status vp_register_target_seen(vp_partner *partner,
                                  int32_t port,
                                  vp_register_initiator_pins *pins);

// Takes a register port as the CPU.
//
// The port's number, or -1: `vp_error` says why.
//
// # Safety
// `partner` comes from `vp_connect`, `name` is a text.
int32_t vp_register_initiator(vp_partner *partner, const char *name);

// The pins that this side drives there are like this at the edge.
//
// # Safety
// `partner` comes from `vp_connect`, `pins` can be read.
vp_status vp_register_initiator_sample(vp_partner *partner,
                                       int32_t port,
                                       const vp_register_initiator_pins *pins);

// Gives the pins that the platform drives there, as they are seen at the edge. Waits for the platform, if it must.
//
// # Safety
// `partner` comes from `vp_connect`, `pins` can be written.
vp_status vp_register_initiator_seen(vp_partner *partner,
                                     int32_t port,
                                     vp_register_target_pins *pins);

// Takes an interrupt line as its source: the device.
//
// The port's number, or -1: `vp_error` says why.
//
// # Safety
// `partner` comes from `vp_connect`, `name` is a text.
int32_t vp_line_source(vp_partner *partner, const char *name);

// The line has this level at the edge.
//
// # Safety
// `partner` comes from `vp_connect`.
vp_status vp_line_source_sample(vp_partner *partner, int32_t port, bool level);

// The edge is seen there: nothing is, but it has its turn like all ports.
//
// # Safety
// `partner` comes from `vp_connect`.
vp_status vp_line_source_seen(vp_partner *partner, int32_t port);

// Takes an interrupt line as its sink: the CPU.
//
// The port's number, or -1: `vp_error` says why.
//
// # Safety
// `partner` comes from `vp_connect`, `name` is a text.
int32_t vp_line_sink(vp_partner *partner, const char *name);

// Gives the level that the line has at the edge. Waits for the platform, if it must.
//
// # Safety
// `partner` comes from `vp_connect`, `level` can be written.
vp_status vp_line_sink_seen(vp_partner *partner, int32_t port, bool *level);

// The edge is sampled there: nothing is driven, but it has its turn like all ports.
//
// # Safety
// `partner` comes from `vp_connect`.
vp_status vp_line_sink_sample(vp_partner *partner, int32_t port);

// Bytes of a memory port's data bus; 0 for other ports.
//
// # Safety
// `partner` comes from `vp_connect`.
uint32_t vp_width(vp_partner *partner, int32_t port);

// Returns true if the hardware at a port has to be in reset, because the platform was put back.
//
// # Safety
// `partner` comes from `vp_connect`.
bool vp_in_reset(vp_partner *partner, int32_t port);

// Ends the partner for a rule that pins of this side break at the edge at which they are to be sampled, and that the library cannot see,
// such as bits that are neither 0 nor 1. `vp_error` names the port, the channel, the edge and the rule.
//
// # Safety
// `partner` comes from `vp_connect`, `channel` and `rule` are texts.
vp_status vp_violation(vp_partner *partner,
                       int32_t port,
                       const char *channel,
                       const char *rule);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* VP_H */
