// Methods: initialization, sensitivity, and the forms of `next_trigger`.

#include "orders.h"

SCENARIO(initialization) {
  sc_event event("event");
  thread("thread 1", [&] { say("thread 1", "runs"); });
  method("method 1", {&event}, [&] { say("method 1", "called"); });
  method("quiet", {&event}, [&] { say("quiet", "called"); }, false);
  thread("thread 2", [&] { say("thread 2", "runs"); });
  method("method 2", {}, [&] { say("method 2", "called"); });
  event.notify(ns(1));
  sc_start();
}

SCENARIO(a_sensitivity_list) {
  sc_event a("a"), b("b"), c("c");
  method("method", {&a, &b}, [&] { say("method", "called"); }, false);
  thread("actor", [&] {
    for (sc_event* event : {&a, &b, &c, &a}) { wait(ns(1)); say("actor", event->basename()); event->notify(); }
  });
  sc_start();
}

SCENARIO(next_trigger_after_time) {
  sc_event event("event");
  int calls = 0;
  method("method", {&event}, [&] {
    say("method", "call " + std::to_string(++calls));
    if (calls <= 3) next_trigger(ns(10));
  });
  // Of no effect while the method waits for time; then the static sensitivity holds again.
  thread("actor", [&] { for (int at = 0; at < 5; ++at) { wait(ns(8)); say("actor", "notifies"); event.notify(); } });
  sc_start();
}

SCENARIO(next_trigger_after_no_time) {
  int calls = 0;
  method("method", {}, [&] {
    say("method", "call " + std::to_string(++calls));
    if (calls <= 3) next_trigger(SC_ZERO_TIME);
  });
  sc_start();
}

SCENARIO(next_trigger_on_an_event) {
  sc_event fixed("fixed"), other("other");
  int calls = 0;
  method("method", {&fixed}, [&] {
    say("method", "call " + std::to_string(++calls));
    if (calls == 2) next_trigger(other);
  });
  thread("actor", [&] {
    for (sc_event* event : {&other, &fixed, &fixed, &other, &other, &fixed}) {
      wait(ns(1)); say("actor", event->basename()); event->notify();
    }
  });
  sc_start();
}

SCENARIO(next_trigger_on_any) {
  sc_event fixed("fixed"), a("a"), b("b");
  int calls = 0;
  method("method", {&fixed}, [&] {
    say("method", "call " + std::to_string(++calls));
    if (calls <= 2) next_trigger(a | b);
  });
  thread("actor", [&] {
    for (sc_event* event : {&fixed, &b, &fixed, &a, &b, &fixed}) {
      wait(ns(1)); say("actor", event->basename()); event->notify();
    }
  });
  sc_start();
}

SCENARIO(next_trigger_on_an_event_or_after_time) {
  sc_event fixed("fixed"), other("other");
  int calls = 0;
  method("method", {&fixed}, [&] {
    say("method", "call " + std::to_string(++calls));
    if (calls <= 3) next_trigger(ns(10), other);
  });
  thread("actor", [&] {
    wait(ns(4)); say("actor", "other"); other.notify();
    wait(ns(2)); say("actor", "fixed"); fixed.notify();
    wait(ns(18)); say("actor", "other"); other.notify(); // the time-out was at 14
    wait(ns(6)); say("actor", "other"); other.notify();
    wait(ns(2)); say("actor", "fixed"); fixed.notify();
  });
  sc_start();
}

// Both in one instant are one call.
SCENARIO(next_trigger_on_an_event_or_after_time_at_once) {
  sc_event other("other");
  int calls = 0;
  method("method", {}, [&] {
    say("method", "call " + std::to_string(++calls));
    if (calls == 1) next_trigger(ns(10), other);
    if (calls == 2) next_trigger(ns(100));
  });
  other.notify(ns(10));
  sc_start();
}

SCENARIO(the_last_next_trigger_counts) {
  sc_event event("event");
  int calls = 0;
  method("method", {}, [&] {
    say("method", "call " + std::to_string(++calls));
    if (calls == 1) { next_trigger(event); next_trigger(ns(3)); }
    if (calls == 2) { next_trigger(ns(3)); next_trigger(event); }
  });
  thread("listener", [&] { wait(event); say("listener", "woken"); });
  event.notify(ns(1));
  thread("actor", [&] { wait(ns(20)); say("actor", "notifies"); event.notify(); });
  sc_start();
}

// A method that waits for an event of its own list by next_trigger is called once by it.
SCENARIO(next_trigger_on_an_event_of_the_list) {
  sc_event event("event");
  int calls = 0;
  method("method", {&event}, [&] {
    say("method", "call " + std::to_string(++calls));
    if (calls == 1) next_trigger(event);
  });
  thread("actor", [&] { for (int at = 0; at < 3; ++at) { wait(ns(1)); event.notify(SC_ZERO_TIME); } });
  sc_start();
}

// An immediate notification while the method runs comes too early for what it asks for next.
SCENARIO(next_trigger_and_its_own_notification) {
  sc_event event("event");
  int calls = 0;
  method("method", {}, [&] {
    say("method", "call " + std::to_string(++calls));
    next_trigger(event);
    event.notify();
  });
  thread("actor", [&] { wait(ns(2)); say("actor", "notifies"); event.notify(); });
  sc_start();
}
