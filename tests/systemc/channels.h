// Channels: signals, FIFOs, semaphores and mutexes.

#include "orders.h"

SCENARIO(signal_last_write_wins) {
  sc_signal<int, SC_MANY_WRITERS> signal("signal", 0);
  method("reader", {&signal.value_changed_event()}, [&] { say("reader", std::to_string(signal.read())); }, false);
  thread("a", [&] { signal.write(1); signal.write(2); say("a", "reads " + std::to_string(signal.read())); });
  thread("b", [&] { wait(ns(1)); signal.write(3); });
  thread("c", [&] { wait(ns(2)); signal.write(4); signal.write(3); say("c", "back to 3"); });
  sc_start();
}

SCENARIO(signal_written_with_its_own_value) {
  sc_signal<int> signal("signal", 5);
  method("reader", {&signal.value_changed_event()}, [&] { say("reader", std::to_string(signal.read())); }, false);
  thread("writer", [&] {
    signal.write(5); say("writer", "the same");
    wait(ns(1)); signal.write(9); signal.write(5); say("writer", "there and back");
    wait(ns(1)); signal.write(6); say("writer", "another");
  });
  sc_start();
}

SCENARIO(signal_edges) {
  sc_signal<bool> line("line", false);
  method("rising", {&line.posedge_event()}, [&] { say("rising", line.read() ? "1" : "0"); }, false);
  method("falling", {&line.negedge_event()}, [&] { say("falling", line.read() ? "1" : "0"); }, false);
  thread("driver", [&] {
    for (bool level : {true, true, false, true, false}) { line.write(level); say("driver", level ? "1" : "0"); wait(ns(1)); }
  });
  sc_start();
}

SCENARIO(signal_edge_and_change_waiters) {
  sc_signal<bool> line("line", false);
  thread("edge", [&] { wait(line.posedge_event()); say("edge", "woken"); });
  thread("change", [&] { wait(line.value_changed_event()); say("change", "woken"); });
  thread("driver", [&] { wait(ns(1)); line.write(true); });
  sc_start();
}

SCENARIO(signal_with_two_readers) {
  sc_signal<int> signal("signal", 0);
  thread("reader 1", [&] { for (;;) { wait(signal.value_changed_event()); say("reader 1", std::to_string(signal.read())); } });
  thread("reader 2", [&] { for (;;) { wait(signal.value_changed_event()); say("reader 2", std::to_string(signal.read())); } });
  thread("writer", [&] { for (int value = 1; value < 4; ++value) { signal.write(value); wait(ns(1)); } });
  sc_start();
}

SCENARIO(signals_swapped) {
  sc_signal<int, SC_MANY_WRITERS> a("a", 1), b("b", 2);
  thread("a to b", [&] { b.write(a.read()); });
  thread("b to a", [&] { a.write(b.read()); });
  thread("reader", [&] {
    wait(SC_ZERO_TIME);
    say("reader", "a = " + std::to_string(a.read()) + ", b = " + std::to_string(b.read()));
  });
  sc_start();
}

// Three gates in a row: one delta cycle each.
SCENARIO(signals_through_gates) {
  sc_signal<int> a("a", 0), b("b", 0), c("c", 0), d("d", 0);
  method("b", {&a.value_changed_event()}, [&] { say("b", std::to_string(a.read())); b.write(a.read() + 1); }, false);
  method("c", {&b.value_changed_event()}, [&] { say("c", std::to_string(b.read())); c.write(b.read() + 1); }, false);
  method("d", {&c.value_changed_event()}, [&] { say("d", std::to_string(c.read())); d.write(c.read() + 1); }, false);
  method("end", {&d.value_changed_event()}, [&] { say("end", std::to_string(d.read())); }, false);
  thread("driver", [&] { wait(ns(1)); a.write(10); wait(ns(1)); a.write(20); });
  sc_start();
}

SCENARIO(signal_written_before_the_start) {
  sc_signal<int> signal("signal", 0);
  method("reader", {&signal.value_changed_event()}, [&] { say("reader", std::to_string(signal.read())); });
  signal.write(3);
  sc_start();
}

// Another signal, which nobody looks at, changes nothing.
static void notified_before_the_start(bool written) {
  sc_event event("event");
  sc_signal<int> other("other", 0);
  thread("thread", [&] { wait(event); say("thread", "goes on"); });
  method("method", {&event}, [&] { say("method", "is called"); }, false);
  event.notify(SC_ZERO_TIME);
  if (written) other.write(1);
  sc_start();
}

SCENARIO(notified_before_the_start) { notified_before_the_start(false); }
SCENARIO(notified_and_written_before_the_start) { notified_before_the_start(true); }

SCENARIO(signal_without_listeners) {
  sc_signal<int> signal("signal", 0);
  thread("writer", [&] {
    for (int value = 1; value < 4; ++value) { signal.write(value); wait(ns(1)); say("writer", std::to_string(signal.read())); }
  });
  sc_start();
}

SCENARIO(fifo_of_depth_one) {
  sc_fifo<int> fifo("fifo", 1);
  thread("producer", [&] { for (int item = 1; item <= 4; ++item) { fifo.write(item); say("producer", std::to_string(item)); } });
  thread("consumer", [&] { for (int at = 1; at <= 4; ++at) { int item = fifo.read(); say("consumer", std::to_string(item)); } });
  sc_start();
}

SCENARIO(fifo_with_a_slow_consumer) {
  sc_fifo<int> fifo("fifo", 2);
  thread("producer", [&] { for (int item = 1; item <= 5; ++item) { fifo.write(item); say("producer", std::to_string(item)); } });
  thread("consumer", [&] { for (int at = 1; at <= 5; ++at) { wait(ns(10)); int item = fifo.read(); say("consumer", std::to_string(item)); } });
  sc_start();
}

SCENARIO(fifo_counts) {
  sc_fifo<int> fifo("fifo", 3);
  auto counts = [&](const char* who, const char* what) {
    say(who, std::string(what) + ": " + std::to_string(fifo.num_available()) + " available, " + std::to_string(fifo.num_free()) + " free");
  };
  thread("thread", [&] {
    counts("thread", "empty");
    bool taken = fifo.nb_write(1); fifo.nb_write(2); fifo.nb_write(3);
    bool more = fifo.nb_write(4);
    counts("thread", "written");
    say("thread", std::string(taken ? "taken" : "refused") + ", then " + (more ? "taken" : "refused"));
    int item = 0;
    bool got = fifo.nb_read(item);
    say("thread", got ? "got" : "nothing yet");
    wait(SC_ZERO_TIME);
    counts("thread", "a delta cycle later");
    fifo.nb_read(item);
    say("thread", "got " + std::to_string(item));
    counts("thread", "read");
    more = fifo.nb_write(5);
    say("thread", more ? "taken" : "refused");
    wait(SC_ZERO_TIME);
    counts("thread", "a delta cycle later");
  });
  sc_start();
}

SCENARIO(fifo_events) {
  sc_fifo<int> fifo("fifo", 4);
  method("written", {&fifo.data_written_event()}, [&] { say("written", std::to_string(fifo.num_available())); }, false);
  method("read", {&fifo.data_read_event()}, [&] { say("read", std::to_string(fifo.num_free())); }, false);
  thread("thread", [&] {
    fifo.write(1); fifo.write(2); wait(ns(1));
    fifo.read(); wait(ns(1));
    fifo.read(); fifo.write(3); wait(ns(1));
    fifo.write(4);
  });
  sc_start();
}

SCENARIO(fifo_with_two_readers_and_two_writers) {
  sc_fifo<int> fifo("fifo", 1);
  for (const char* name : {"reader 1", "reader 2"})
    thread(name, [&, name] { for (int at = 0; at < 2; ++at) { int item = fifo.read(); say(name, std::to_string(item)); } });
  thread("writer 1", [&] { for (int item : {11, 12}) { fifo.write(item); say("writer 1", std::to_string(item)); } });
  thread("writer 2", [&] { for (int item : {21, 22}) { fifo.write(item); say("writer 2", std::to_string(item)); } });
  sc_start();
}

SCENARIO(semaphore) {
  sc_semaphore permits("permits", 2);
  for (const char* name : {"a", "b", "c", "d"})
    thread(name, [&, name] {
      permits.wait();
      say(name, "has a permit");
      wait(ns(10));
      say(name, "gives it back");
      permits.post();
    });
  sc_start();
}

SCENARIO(semaphore_without_waiting) {
  sc_semaphore permits("permits", 1);
  thread("thread", [&] {
    say("thread", permits.trywait() == 0 ? "has it" : "none");
    say("thread", permits.trywait() == 0 ? "has it" : "none");
    permits.post();
    permits.post();
    say("thread", std::to_string(permits.get_value()));
  });
  sc_start();
}

// Who holds the lock gives it up and wants it again at once, while another waits.
SCENARIO(mutex_wanted_again) {
  sc_mutex mutex("mutex");
  for (const char* name : {"a", "b"})
    thread(name, [&, name] {
      for (int at = 0; at < 2; ++at) {
        mutex.lock();
        say(name, "locks");
        wait(ns(10));
        mutex.unlock();
        say(name, "unlocks");
      }
    });
  sc_start();
}

SCENARIO(mutex_wanted_by_three) {
  sc_mutex mutex("mutex");
  for (const char* name : {"a", "b", "c"})
    thread(name, [&, name] { mutex.lock(); say(name, "locks"); wait(ns(5)); say(name, "unlocks"); mutex.unlock(); });
  sc_start();
}
