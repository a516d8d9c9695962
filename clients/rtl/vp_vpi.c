/* The functions of vp_dpi.c as system tasks, for Icarus Verilog, which has VPI (IEEE 1800-2017, clause 36) and no DPI. A module that
 * `vvp` loads; clients/rtl/icarus builds it. vp_pkg.sv calls them. */

#include <vpi_user.h>

#include "vp_dpi.c"

#define WORDS (VP_WIDEST / 4)
#define MOST_ARGUMENTS 24

/* An argument. */
typedef union {
  uint8_t bit;
  int integer;
  long long number;
  uint32_t vector[WORDS];
  char text[TEXT];
} value;

/* A system task, and what its arguments are: b a bit, i an int, l a longint, v a vector of VP_WIDEST bytes, s a text. Those in capitals are
 * outputs. */
typedef struct {
  const char *name, *arguments;
  void (*call)(value *a);
} task;

static void port(value *a) {
  a[5].integer = vp_dpi_port(a[0].integer, a[1].text, a[2].integer, a[3].integer, a[4].integer);
}
static void start(value *a) { vp_dpi_start(a[0].text, a[1].bit, a[2].integer, a[3].integer); }
static void is_running(value *a) { a[0].bit = vp_dpi_is_running(); }
static void is_same(value *a) { a[0].bit = vp_dpi_is_same_edge(); }
static void get_status(value *a) { a[0].integer = vp_dpi_status(); }
static void in_reset(value *a) { a[0].bit = vp_dpi_in_reset(); }
static void get_time(value *a) { a[0].number = vp_dpi_time(); }
static void counter(value *a) { a[1].number = vp_dpi_counter(a[0].text); }
static void fail_with(value *a) { vp_dpi_fail(a[0].text); }
static void unknown(value *a) { vp_dpi_unknown(a[0].integer, a[1].text, a[2].text); }

static void close_partner(value *a) {
  (void)a;
  vp_dpi_close();
}

/* `exit` would end the simulator without its waveforms. */
static void end_failed(value *a) {
  (void)a;
  report();
  vpip_set_return_value(1);
  vpi_control(vpiFinish, 0);
}

static void memory_read(value *a) {
  vp_dpi_memory_read(a[0].integer, a[1].number, a[2].integer, a[3].vector);
}
static void memory_write(value *a) {
  vp_dpi_memory_write(a[0].integer, a[1].number, a[2].integer, a[3].vector, a[4].number);
}

static void axi_subordinate_sample(value *a) {
  vp_dpi_axi_subordinate_sample(a[0].integer, a[1].bit, a[2].bit, a[3].bit, a[4].bit, a[5].integer, a[6].vector,
                                a[7].bit, a[8].bit, a[9].bit, a[10].integer, a[11].bit);
}
static void axi_subordinate_seen(value *a) {
  vp_dpi_axi_subordinate_seen(a[0].integer, &a[1].bit, &a[2].integer, &a[3].number, &a[4].integer, &a[5].bit,
                              &a[6].integer, &a[7].number, &a[8].integer, &a[9].bit, a[10].vector, &a[11].number,
                              &a[12].bit, &a[13].bit, &a[14].bit);
}
static void axi_manager_sample(value *a) {
  vp_dpi_axi_manager_sample(a[0].integer, a[1].bit, a[2].integer, a[3].number, a[4].integer, a[5].integer,
                            a[6].integer, a[7].bit, a[8].integer, a[9].number, a[10].integer, a[11].integer,
                            a[12].integer, a[13].bit, a[14].vector, a[15].number, a[16].bit, a[17].bit, a[18].bit);
}
static void axi_manager_seen(value *a) {
  vp_dpi_axi_manager_seen(a[0].integer, &a[1].bit, &a[2].bit, &a[3].bit, &a[4].bit, &a[5].integer, a[6].vector,
                          &a[7].bit, &a[8].bit, &a[9].bit, &a[10].integer, &a[11].bit);
}

static void register_target_sample(value *a) {
  vp_dpi_register_target_sample(a[0].integer, a[1].bit, a[2].bit, a[3].integer, a[4].bit);
}
static void register_target_seen(value *a) {
  vp_dpi_register_target_seen(a[0].integer, &a[1].bit, &a[2].integer, &a[3].integer, &a[4].bit, &a[5].bit);
}
static void register_initiator_sample(value *a) {
  vp_dpi_register_initiator_sample(a[0].integer, a[1].bit, a[2].integer, a[3].integer, a[4].bit, a[5].bit);
}
static void register_initiator_seen(value *a) {
  vp_dpi_register_initiator_seen(a[0].integer, &a[1].bit, &a[2].bit, &a[3].integer, &a[4].bit);
}

static void line_source_sample(value *a) { vp_dpi_line_source_sample(a[0].integer, a[1].bit); }
static void line_source_seen(value *a) { vp_dpi_line_source_seen(a[0].integer); }
static void line_sink_sample(value *a) { vp_dpi_line_sink_sample(a[0].integer); }
static void line_sink_seen(value *a) { a[1].bit = vp_dpi_line_sink_seen(a[0].integer); }

static const task tasks[] = {
    {"$vp_port", "isiiiI", port},
    {"$vp_start", "sbii", start},
    {"$vp_is_running", "B", is_running},
    {"$vp_is_same_edge", "B", is_same},
    {"$vp_status", "I", get_status},
    {"$vp_in_reset", "B", in_reset},
    {"$vp_close", "", close_partner},
    {"$vp_exit", "", end_failed},
    {"$vp_time", "L", get_time},
    {"$vp_counter", "sL", counter},
    {"$vp_fail", "s", fail_with},
    {"$vp_unknown", "iss", unknown},
    {"$vp_memory_read", "iliV", memory_read},
    {"$vp_memory_write", "ilivl", memory_write},
    {"$vp_axi_subordinate_sample", "ibbbbivbbbib", axi_subordinate_sample},
    {"$vp_axi_subordinate_seen", "iBILIBILIBVLBBB", axi_subordinate_seen},
    {"$vp_axi_manager_sample", "ibiliiibiliiibvlbbb", axi_manager_sample},
    {"$vp_axi_manager_seen", "iBBBBIVBBBIB", axi_manager_seen},
    {"$vp_register_target_sample", "ibbib", register_target_sample},
    {"$vp_register_target_seen", "iBIIBB", register_target_seen},
    {"$vp_register_initiator_sample", "ibiibb", register_initiator_sample},
    {"$vp_register_initiator_seen", "iBBIB", register_initiator_seen},
    {"$vp_line_source_sample", "ib", line_source_sample},
    {"$vp_line_source_seen", "i", line_source_seen},
    {"$vp_line_sink_sample", "i", line_sink_sample},
    {"$vp_line_sink_seen", "iB", line_sink_seen},
};

/* Where a call's arguments are. */
typedef struct {
  vpiHandle arguments[MOST_ARGUMENTS];
} call_site;

/* X and Z become 0: the blocks look for them first. */
static void read_words(vpiHandle argument, uint32_t *words, int count) {
  s_vpi_value from;
  from.format = vpiVectorVal;
  vpi_get_value(argument, &from);
  int width = vpi_get(vpiSize, argument);
  for (int i = 0; i < count; i++) {
    bool is_there = 32 * i < width;
    words[i] = is_there ? (uint32_t)from.value.vector[i].aval & ~(uint32_t)from.value.vector[i].bval : 0;
  }
}

static void write_words(vpiHandle argument, const uint32_t *words, int count) {
  s_vpi_vecval vector[WORDS];
  for (int i = 0; i < count; i++) {
    vector[i].aval = (PLI_INT32)words[i];
    vector[i].bval = 0;
  }
  s_vpi_value to;
  to.format = vpiVectorVal;
  to.value.vector = vector;
  vpi_put_value(argument, &to, NULL, vpiNoDelay);
}

static void get(char kind, vpiHandle argument, value *into) {
  uint32_t words[2];
  if (kind == 's') {
    s_vpi_value from;
    from.format = vpiStringVal;
    vpi_get_value(argument, &from);
    snprintf(into->text, sizeof into->text, "%s", from.value.str);
  } else if (kind == 'v') {
    read_words(argument, into->vector, WORDS);
  } else {
    read_words(argument, words, 2);
    if (kind == 'b') into->bit = words[0] & 1;
    if (kind == 'i') into->integer = (int)words[0];
    if (kind == 'l') into->number = (long long)((uint64_t)words[1] << 32 | words[0]);
  }
}

static void put(char kind, vpiHandle argument, const value *from) {
  if (kind == 'V') {
    write_words(argument, from->vector, WORDS);
    return;
  }
  uint64_t number = 0;
  if (kind == 'B') number = from->bit;
  if (kind == 'I') number = (uint32_t)from->integer;
  if (kind == 'L') number = (uint64_t)from->number;
  uint32_t words[2] = {(uint32_t)number, (uint32_t)(number >> 32)};
  write_words(argument, words, kind == 'L' ? 2 : 1);
}

static PLI_INT32 compile(PLI_BYTE8 *data) {
  const task *called = (const task *)(void *)data;
  vpiHandle call = vpi_handle(vpiSysTfCall, NULL);
  call_site *site = (call_site *)calloc(1, sizeof *site);
  size_t count = 0;
  vpiHandle arguments = vpi_iterate(vpiArgument, call);
  for (vpiHandle argument; arguments && (argument = vpi_scan(arguments)); count++)
    if (site && count < MOST_ARGUMENTS) site->arguments[count] = argument;
  if (!site || count != strlen(called->arguments)) {
    fprintf(stderr, "error: %s:%d: %s has %d arguments, and takes %d: vp_pkg.sv and the module are of different versions\n",
            vpi_get_str(vpiFile, call), (int)vpi_get(vpiLineNo, call), called->name, (int)count,
            (int)strlen(called->arguments));
    vpip_set_return_value(1);
    vpi_control(vpiFinish, 0);
  }
  vpi_put_userdata(call, site);
  return 0;
}

static PLI_INT32 run(PLI_BYTE8 *data) {
  const task *called = (const task *)(void *)data;
  const call_site *site = (const call_site *)vpi_get_userdata(vpi_handle(vpiSysTfCall, NULL));
  /* Each value is written before it is read, but for the rest of vectors. */
  value values[MOST_ARGUMENTS];
  for (int i = 0; called->arguments[i]; i++)
    if (called->arguments[i] >= 'a') get(called->arguments[i], site->arguments[i], &values[i]);
  called->call(values);
  for (int i = 0; called->arguments[i]; i++)
    if (called->arguments[i] < 'a') put(called->arguments[i], site->arguments[i], &values[i]);
  return 0;
}

static PLI_INT32 finish(p_cb_data data) {
  (void)data;
  vp_dpi_close();
  return 0;
}

static void add_tasks(void) {
  for (const task *added = tasks; added < tasks + sizeof tasks / sizeof *tasks; added++) {
    s_vpi_systf_data data;
    memset(&data, 0, sizeof data);
    data.type = vpiSysTask;
    data.tfname = added->name;
    data.compiletf = compile;
    data.calltf = run;
    data.user_data = (PLI_BYTE8 *)(void *)added;
    vpi_register_systf(&data);
  }
  /* A `final` block calls no tasks there. */
  s_cb_data end;
  memset(&end, 0, sizeof end);
  end.reason = cbEndOfSimulation;
  end.cb_rtn = finish;
  vpi_register_cb(&end);
}

void (*vlog_startup_routines[])(void) = {add_tasks, NULL};
