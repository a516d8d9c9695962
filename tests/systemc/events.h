// Events: the phases of a delta cycle, what a notification does to an outstanding one, order among equals.

#include "orders.h"

SCENARIO(phases) {
  sc_signal<int> signal("signal", 0);
  sc_event now("now"), later("later");
  thread("immediate", [&] { wait(now); say("immediate", "reads " + std::to_string(signal.read())); });
  thread("delta", [&] { wait(later); say("delta", "reads " + std::to_string(signal.read())); });
  thread("actor", [&] {
    signal.write(1);
    later.notify(SC_ZERO_TIME);
    now.notify();
    say("actor", "reads " + std::to_string(signal.read()));
  });
  sc_start();
}

SCENARIO(immediate_reaches_who_waits) {
  sc_event event("event");
  thread("before", [&] { wait(event); say("before", "woken"); });
  thread("notifier", [&] { event.notify(); say("notifier", "done"); });
  thread("after", [&] { say("after", "begins to wait"); wait(event); say("after", "woken"); });
  sc_start();
}

// Each case at its own time, all on one event with one listener.
SCENARIO(notify_rules) {
  sc_event event("event");
  thread("listener", [&] { for (;;) { wait(event); say("listener", "woken"); } });
  thread("actor", [&] {
    auto next = [&](const char* what) { wait(ns(100)); say("actor", what); };
    next("immediate cancels timed"); event.notify(ns(5)); event.notify();
    next("immediate cancels delta"); event.notify(SC_ZERO_TIME); event.notify();
    next("delta replaces timed"); event.notify(ns(5)); event.notify(SC_ZERO_TIME);
    next("timed does not replace delta"); event.notify(SC_ZERO_TIME); event.notify(ns(5));
    next("earlier replaces later"); event.notify(ns(7)); event.notify(ns(2));
    next("later does not replace earlier"); event.notify(ns(2)); event.notify(ns(7));
    next("twice for one time is once"); event.notify(ns(3)); event.notify(ns(3));
    next("after no time is delta"); event.notify(ns(0));
    next("delta twice is once"); event.notify(SC_ZERO_TIME); event.notify(SC_ZERO_TIME);
    next("cancel timed"); event.notify(ns(5)); event.cancel();
    next("cancel delta"); event.notify(SC_ZERO_TIME); event.cancel();
    next("cancel nothing"); event.cancel();
    next("cancel and again"); event.notify(ns(1)); event.cancel(); event.notify(ns(4));
    next("cancel delta and again"); event.notify(SC_ZERO_TIME); event.cancel(); event.notify(SC_ZERO_TIME);
    next("immediate cannot be cancelled"); event.notify(); event.cancel();
    next("end");
  });
  sc_start();
}

// A notification that is outstanding is moved by others, later.
SCENARIO(notify_pending_from_elsewhere) {
  sc_event event("event");
  thread("listener", [&] { for (;;) { wait(event); say("listener", "woken"); } });
  thread("first", [&] { event.notify(ns(20)); say("first", "for 20"); });
  thread("second", [&] { wait(ns(5)); event.notify(ns(5)); say("second", "for 10"); });
  thread("third", [&] { wait(ns(7)); event.notify(ns(9)); say("third", "for 16, ignored"); });
  thread("fourth", [&] { wait(ns(12)); event.notify(ns(8)); say("fourth", "for 20"); wait(ns(4)); event.cancel(); });
  sc_start();
}

SCENARIO(a_thread_does_not_wake_itself) {
  sc_event event("event");
  thread("self", [&] { event.notify(); say("self", "notified"); wait(event); say("self", "woken"); });
  sc_start();
}

SCENARIO(a_method_does_not_wake_itself) {
  sc_event event("event");
  int calls = 0;
  method("self", {&event}, [&] { say("self", "call " + std::to_string(++calls)); event.notify(); });
  thread("other", [&] { wait(ns(1)); say("other", "notifies"); event.notify(); });
  sc_start();
}

// By a delta notification it does.
SCENARIO(a_method_wakes_itself_in_the_next_delta_cycle) {
  sc_event event("event");
  int calls = 0;
  method("self", {&event}, [&] {
    say("self", "call " + std::to_string(++calls));
    if (calls < 4) event.notify(SC_ZERO_TIME);
  });
  sc_start();
}

SCENARIO(a_method_notified_twice_runs_once) {
  sc_event a("a"), b("b");
  method("method", {&a, &b}, [&] { say("method", "called"); }, false);
  thread("actor", [&] {
    a.notify(); b.notify();
    say("actor", "immediate");
    wait(ns(1));
    a.notify(SC_ZERO_TIME); b.notify(SC_ZERO_TIME);
    say("actor", "delta");
    wait(ns(1));
    a.notify(ns(1)); b.notify(ns(1));
    say("actor", "timed");
    wait(ns(2));
    a.notify(SC_ZERO_TIME); wait(SC_ZERO_TIME); b.notify();
    say("actor", "delta, then immediate");
  });
  sc_start();
}

SCENARIO(waiters_of_one_event) {
  sc_event event("event");
  thread("third", [&] { wait(ns(3)); wait(event); say("third", "woken"); });
  thread("first", [&] { wait(ns(1)); wait(event); say("first", "woken"); });
  thread("second", [&] { wait(ns(2)); wait(event); say("second", "woken"); });
  event.notify(ns(5));
  sc_start();
}

SCENARIO(methods_sensitive_to_one_event) {
  sc_event event("event");
  thread("start", [] { say("start", "runs"); });
  method("a", {&event}, [&] { say("a", "called"); }, false);
  method("b", {&event}, [&] { say("b", "called"); }, false);
  method("c", {&event}, [&] { say("c", "called"); }, false);
  event.notify(ns(5));
  sc_start();
}

SCENARIO(methods_and_threads_on_one_event) {
  sc_event event("event");
  thread("thread 1", [&] { wait(event); say("thread 1", "woken"); });
  method("method 1", {&event}, [&] { say("method 1", "called"); }, false);
  thread("thread 2", [&] { wait(event); say("thread 2", "woken"); });
  method("method 2", {&event}, [&] { say("method 2", "called"); }, false);
  event.notify(ns(5));
  sc_start();
}

SCENARIO(delta_notifications_of_several_events) {
  sc_event a("a"), b("b"), c("c");
  thread("a", [&] { wait(a); say("a", "woken"); });
  thread("b", [&] { wait(b); say("b", "woken"); });
  thread("c", [&] { wait(c); say("c", "woken"); });
  thread("actor", [&] { b.notify(SC_ZERO_TIME); a.notify(SC_ZERO_TIME); c.notify(SC_ZERO_TIME); say("actor", "b a c"); });
  sc_start();
}

SCENARIO(timed_notifications_of_several_events) {
  sc_event a("a"), b("b"), c("c");
  thread("a", [&] { wait(a); say("a", "woken"); });
  thread("b", [&] { wait(b); say("b", "woken"); });
  thread("c", [&] { wait(c); say("c", "woken"); });
  b.notify(ns(5));
  a.notify(ns(5));
  c.notify(ns(5));
  sc_start();
}

SCENARIO(immediate_notifications_of_several_events) {
  sc_event a("a"), b("b"), c("c");
  thread("a", [&] { wait(a); say("a", "woken"); });
  thread("b", [&] { wait(b); say("b", "woken"); });
  thread("c", [&] { wait(c); say("c", "woken"); });
  thread("actor", [&] { b.notify(); a.notify(); c.notify(); say("actor", "b a c"); });
  sc_start();
}

// A notification for the present time of a wait that ends then too: one instant, one delta cycle.
SCENARIO(times_that_meet) {
  sc_event event("event");
  for (const char* name : {"a", "b", "c", "d"}) {
    static const int starts[] = {0, 1, 5, 5};
    int start = starts[name[0] - 'a'];
    thread(name, [name, start] { wait(ns(start)); wait(ns(100 - start)); say(name, "arrives"); });
  }
  thread("listener", [&] { wait(event); say("listener", "woken"); });
  event.notify(ns(100));
  sc_start();
}

// Ping-pong of two methods by delta notification: who runs in which delta cycle.
SCENARIO(delta_cycles_one_after_another) {
  sc_event ping("ping"), pong("pong");
  int rounds = 0;
  thread("start", [] { say("start", "runs"); });
  method("ping", {&ping}, [&] { say("ping", "called"); pong.notify(SC_ZERO_TIME); }, false);
  method("pong", {&pong}, [&] { say("pong", "called"); if (++rounds < 3) ping.notify(SC_ZERO_TIME); }, false);
  ping.notify(ns(1));
  sc_start();
}

// Immediate notification keeps the delta cycle, however long the chain.
SCENARIO(a_chain_of_immediate_notifications) {
  sc_event a("a"), b("b"), c("c");
  thread("last", [&] { wait(c); say("last", "woken"); });
  thread("middle", [&] { wait(b); say("middle", "woken"); c.notify(); });
  thread("first", [&] { wait(a); say("first", "woken"); b.notify(); });
  thread("actor", [&] { wait(ns(1)); say("actor", "notifies"); a.notify(); });
  sc_start();
}

// A notification of which nobody takes notice is no delta cycle.
SCENARIO(notifications_without_listeners) {
  sc_event nobody("nobody"), somebody("somebody");
  thread("listener", [&] { for (;;) { wait(somebody); say("listener", "woken"); } });
  thread("actor", [&] {
    nobody.notify(SC_ZERO_TIME);
    wait(ns(1));
    say("actor", "after a delta notification");
    nobody.notify(ns(1));
    wait(ns(2));
    say("actor", "after a timed notification");
    somebody.notify(SC_ZERO_TIME);
    wait(ns(1));
    say("actor", "after one with a listener");
  });
  sc_start();
}
