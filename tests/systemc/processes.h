// Processes that are started, end and are ended while the simulation runs.

#include "orders.h"

SCENARIO(spawn_during_evaluation) {
  thread("before", [&] { say("before", "runs"); wait(ns(1)); say("before", "goes on"); });
  thread("parent", [&] {
    say("parent", "spawns");
    thread("child", [] { say("child", "runs"); wait(ns(1)); say("child", "goes on"); });
    say("parent", "has spawned");
  });
  thread("after", [&] { say("after", "runs"); });
  sc_start();
}

SCENARIO(spawn_at_a_later_time) {
  thread("parent", [&] {
    wait(ns(5));
    for (const char* name : {"a", "b"}) {
      thread(name, [name] { say(name, "runs"); thread("grandchild", [] { say("grandchild", "runs"); }); });
    }
    say("parent", "has spawned");
    wait(SC_ZERO_TIME);
    say("parent", "a delta cycle later");
  });
  sc_start();
}

SCENARIO(spawn_a_method) {
  sc_event event("event");
  thread("parent", [&] {
    wait(ns(1));
    method("eager", {&event}, [] { say("eager", "called"); });
    method("quiet", {&event}, [] { say("quiet", "called"); }, false);
    say("parent", "has spawned");
    wait(ns(1));
    event.notify();
  });
  sc_start();
}

SCENARIO(the_end_of_a_process) {
  sc_process_handle worker = thread("worker", [&] { wait(ns(3)); say("worker", "returns"); });
  thread("watcher", [&] {
    wait(worker.terminated_event());
    say("watcher", worker.terminated() ? "it has ended" : "it lives");
  });
  thread("other", [&] { wait(ns(3)); say("other", "runs"); });
  sc_start();
}

SCENARIO(kill_a_process_that_waits) {
  sc_event event("event");
  sc_process_handle victim = thread("victim", [&] { say("victim", "waits"); wait(event); say("victim", "woken"); });
  thread("watcher", [&] { wait(victim.terminated_event()); say("watcher", "it has ended"); });
  thread("killer", [&] {
    wait(ns(2));
    victim.kill();
    say("killer", victim.terminated() ? "it has ended" : "it lives");
    event.notify();
    victim.kill();
    say("killer", "twice is once");
  });
  sc_start();
}

// Runnable in the same evaluation phase, but its turn has not come.
SCENARIO(kill_a_process_that_is_runnable) {
  sc_event event("event");
  sc_process_handle victim;
  thread("killer", [&] { wait(event); victim.kill(); say("killer", "has killed"); });
  victim = thread("victim", [&] { wait(event); say("victim", "woken"); });
  thread("actor", [&] { wait(ns(1)); event.notify(); say("actor", "notifies"); });
  sc_start();
}

SCENARIO(kill_a_process_that_has_not_begun) {
  thread("killer", [&] {
    sc_process_handle child = thread("child", [] { say("child", "runs"); });
    child.kill();
    say("killer", "has killed");
  });
  sc_start();
}

SCENARIO(kill_a_method) {
  sc_event event("event");
  sc_process_handle victim = method("victim", {&event}, [&] { say("victim", "called"); }, false);
  thread("killer", [&] {
    wait(ns(1)); event.notify();
    wait(ns(1)); victim.kill(); say("killer", "has killed");
    event.notify();
    wait(ns(1)); event.notify(SC_ZERO_TIME);
    wait(ns(1)); say("killer", "is done");
  });
  sc_start();
}

SCENARIO(a_process_that_kills_itself) {
  thread("self", [&] {
    say("self", "runs");
    wait(ns(1));
    sc_get_current_process_handle().kill();
    say("self", "after its end");
    wait(ns(1));
    say("self", "is alive");
  });
  sc_start();
}
