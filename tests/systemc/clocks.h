// Clocks, and what is clocked by them.

#include "orders.h"

SCENARIO(clock_edges) {
  sc_clock clock("clock", ns(10));
  method("rising", {&clock.posedge_event()}, [&] { say("rising", clock.read() ? "1" : "0"); }, false);
  method("falling", {&clock.negedge_event()}, [&] { say("falling", clock.read() ? "1" : "0"); }, false);
  sc_start(ns(32));
}

SCENARIO(clock_of_an_odd_period) {
  sc_clock clock("clock", sc_time(5, SC_PS));
  method("rising", {&clock.posedge_event()}, [&] { say("rising", "1"); }, false);
  method("falling", {&clock.negedge_event()}, [&] { say("falling", "0"); }, false);
  sc_start(sc_time(12, SC_PS));
}

// A register clocked from a signal: the value before the edge is taken.
SCENARIO(clocked_registers) {
  sc_clock clock("clock", ns(10));
  sc_signal<int> q1("q1", 0), q2("q2", 0);
  method("first", {&clock.posedge_event()}, [&] { q1.write(q1.read() + 1); }, false);
  method("second", {&clock.posedge_event()}, [&] { q2.write(q1.read()); }, false);
  method("monitor", {&clock.negedge_event()}, [&] { say("monitor", std::to_string(q1.read()) + " " + std::to_string(q2.read())); }, false);
  sc_start(ns(38));
}
