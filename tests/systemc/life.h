// The life of a simulation: runs up to a time, pauses, stops.

#include "orders.h"

static int ticked = 0;

static void ticker(int ticks) {
  thread("ticker", [ticks] { for (int at = 0; at < ticks; ++at) { wait(ns(10)); ++ticked; say("ticker", "tick"); } });
}

static void main_says(const std::string& what) { say("main", what + ": " + std::to_string(ticked)); }

SCENARIO(run_between_events) {
  ticker(3);
  sc_start(ns(5)); main_says("5 ns");
  sc_start(ns(10)); main_says("10 ns more");
  sc_start(ns(1)); main_says("1 ns more");
  sc_start();
  main_says("to the end");
}

// What happens exactly at the end of a span.
SCENARIO(run_up_to_an_event) {
  ticker(3);
  sc_start(ns(10)); main_says("10 ns");
  sc_start(ns(10)); main_says("10 ns more");
  sc_start();
  main_says("to the end");
}

SCENARIO(run_beyond_the_last_event) {
  ticker(1);
  sc_start(ns(50)); main_says("50 ns");
  sc_start(ns(50)); main_says("50 ns more");
}

SCENARIO(pause_in_a_delta_cycle) {
  thread("pauser", [&] {
    wait(ns(1));
    say("pauser", "pauses");
    sc_pause();
    say("pauser", "to the end of its turn");
    wait(SC_ZERO_TIME);
    say("pauser", "goes on");
    wait(ns(1));
    say("pauser", "at the end");
  });
  thread("other", [&] { wait(ns(1)); say("other", "in the same delta cycle"); wait(SC_ZERO_TIME); say("other", "goes on"); });
  sc_start();
  say("main", "paused");
  sc_start();
  say("main", "done");
}

SCENARIO(stop_in_a_delta_cycle) {
  sc_signal<int> signal("signal", 0);
  thread("stopper", [&] { wait(ns(1)); signal.write(1); say("stopper", "stops"); sc_stop(); wait(SC_ZERO_TIME); say("stopper", "goes on"); });
  thread("other", [&] { wait(ns(1)); say("other", "in the same delta cycle"); });
  sc_start();
  say("main", "reads " + std::to_string(signal.read()));
}

// Notified between two runs, by whoever drives the simulation.
SCENARIO(notified_between_runs) {
  sc_event event("event");
  thread("listener", [&] { for (;;) { wait(event); say("listener", "woken"); } });
  sc_start(ns(5));
  event.notify(ns(3)); say("main", "in 3 ns");
  sc_start(ns(10));
  event.notify(SC_ZERO_TIME); say("main", "in a delta cycle");
  sc_start(ns(1));
  say("main", "end");
}

SCENARIO(run_for_no_time) {
  thread("thread", [&] {
    for (int at = 0; at < 3; ++at) { say("thread", std::to_string(at)); wait(SC_ZERO_TIME); }
    say("thread", "returns");
  });
  sc_start(SC_ZERO_TIME); say("main", "once");
  sc_start(SC_ZERO_TIME); say("main", "twice");
  sc_start();
  say("main", "to the end");
}
