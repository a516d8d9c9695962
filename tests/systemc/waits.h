// Threads: the forms of `wait`.

#include "orders.h"

SCENARIO(wait_for_time) {
  thread("thread", [&] {
    say("thread", "begins");
    wait(ns(3)); say("thread", "after 3 ns");
    wait(SC_ZERO_TIME); say("thread", "after a delta cycle");
    wait(ns(0)); say("thread", "after 0 ns");
    wait(ns(4)); say("thread", "after 4 ns");
  });
  thread("other", [&] { wait(ns(3)); say("other", "after 3 ns"); wait(ns(4)); say("other", "after 4 ns"); });
  sc_start();
}

SCENARIO(wait_for_an_event) {
  sc_event event("event");
  thread("thread", [&] {
    wait(event); say("thread", "woken");
    wait(event); say("thread", "woken again");
    wait(event); say("thread", "never");
  });
  thread("actor", [&] {
    wait(ns(1)); event.notify();
    wait(ns(1)); event.notify(SC_ZERO_TIME);
    say("actor", "done");
  });
  sc_start();
}

// An event that fires while nobody waits is forgotten.
SCENARIO(an_event_has_no_memory) {
  sc_event event("event");
  thread("late", [&] { wait(ns(2)); say("late", "begins to wait"); wait(event); say("late", "woken"); });
  thread("actor", [&] { wait(ns(1)); event.notify(); wait(ns(4)); say("actor", "again"); event.notify(); });
  sc_start();
}

SCENARIO(wait_for_any) {
  sc_event a("a"), b("b"), c("c");
  thread("thread", [&] {
    wait(a | b | c); say("thread", "first");
    wait(a | b | c); say("thread", "second");
    wait(a | b); say("thread", "third");
  });
  b.notify(ns(2));
  c.notify(ns(5));
  a.notify(ns(9));
  sc_start();
}

// Two of a list in one delta cycle are one wake-up, and what comes after finds the list empty.
SCENARIO(wait_for_any_of_several_at_once) {
  sc_event a("a"), b("b"), late("late");
  thread("thread", [&] {
    wait(a | b); say("thread", "woken");
    wait(late); say("thread", "late");
  });
  thread("actor", [&] {
    wait(ns(1)); a.notify(SC_ZERO_TIME); b.notify(SC_ZERO_TIME);
    wait(ns(1)); a.notify(); b.notify(); say("actor", "again");
    wait(ns(1)); late.notify();
  });
  sc_start();
}

SCENARIO(wait_for_all) {
  sc_event a("a"), b("b"), c("c");
  thread("thread", [&] { wait(a & b & c); say("thread", "all"); wait(a & b); say("thread", "both"); });
  thread("actor", [&] {
    wait(ns(1)); b.notify(); say("actor", "b");
    wait(ns(1)); b.notify(); say("actor", "b again");
    wait(ns(1)); a.notify(SC_ZERO_TIME); say("actor", "a");
    wait(ns(1)); c.notify(); say("actor", "c");
    wait(ns(1)); a.notify(SC_ZERO_TIME); b.notify(SC_ZERO_TIME); say("actor", "a and b");
  });
  sc_start();
}

SCENARIO(wait_for_an_event_or_time) {
  sc_event event("event");
  thread("thread", [&] {
    sc_time from = sc_time_stamp();
    wait(ns(10), event); say("thread", sc_time_stamp() - from < ns(10) ? "event" : "time");
    from = sc_time_stamp();
    wait(ns(10), event); say("thread", sc_time_stamp() - from < ns(10) ? "event" : "time");
    wait(event); say("thread", "the next event");
  });
  thread("actor", [&] { wait(ns(4)); event.notify(); wait(ns(26)); event.notify(); say("actor", "done"); });
  sc_start();
}

// Both in one instant: one wake-up, nothing is left over.
SCENARIO(wait_for_an_event_or_time_at_once) {
  sc_event event("event"), late("late");
  thread("thread", [&] {
    wait(ns(10), event); say("thread", "woken");
    wait(late); say("thread", "late");
  });
  thread("early", [&] { event.notify(ns(10)); late.notify(ns(15)); });
  sc_start();
}

SCENARIO(wait_for_an_event_or_a_delta_cycle) {
  sc_event event("event");
  thread("thread", [&] {
    wait(SC_ZERO_TIME, event); say("thread", "first");
    wait(SC_ZERO_TIME, event); say("thread", "second");
    wait(event); say("thread", "third");
  });
  thread("actor", [&] { event.notify(); say("actor", "now"); wait(ns(1)); event.notify(); });
  sc_start();
}

SCENARIO(wait_for_any_or_time) {
  sc_event a("a"), b("b");
  thread("thread", [&] {
    wait(ns(10), a | b); say("thread", "first");
    wait(ns(10), a | b); say("thread", "second");
    wait(ns(10), a | b); say("thread", "third");
  });
  b.notify(ns(3));
  a.notify(ns(20));
  sc_start();
}

SCENARIO(wait_for_all_or_time) {
  sc_event a("a"), b("b");
  thread("thread", [&] {
    wait(ns(10), a & b); say("thread", "first");
    wait(ns(10), a & b); say("thread", "second");
  });
  thread("actor", [&] {
    wait(ns(3)); a.notify();
    wait(ns(9)); b.notify(); say("actor", "b, too late");
    wait(ns(1)); a.notify();
    wait(ns(1)); b.notify(); say("actor", "both");
  });
  sc_start();
}

// The delta cycle of a wait and of a notification are the same one.
SCENARIO(a_wait_for_no_time_and_a_delta_notification) {
  sc_event event("event");
  thread("listener", [&] { wait(event); say("listener", "woken"); });
  thread("actor", [&] { event.notify(SC_ZERO_TIME); wait(SC_ZERO_TIME); say("actor", "goes on"); });
  sc_start();
}

SCENARIO(static_sensitivity_of_a_thread) {
  sc_event a("a"), b("b");
  sc_spawn_options options;
  options.set_sensitivity(&a);
  options.set_sensitivity(&b);
  sc_spawn([&] { for (;;) { say("thread", "runs"); wait(); } }, "thread", &options);
  sc_spawn_options quiet;
  quiet.set_sensitivity(&a);
  quiet.dont_initialize();
  sc_spawn([&] { for (;;) { say("quiet", "runs"); wait(); } }, "quiet", &quiet);
  thread("actor", [&] {
    wait(ns(1)); a.notify();
    wait(ns(1)); b.notify();
    wait(ns(1)); a.notify(SC_ZERO_TIME); b.notify(SC_ZERO_TIME);
  });
  sc_start();
}
