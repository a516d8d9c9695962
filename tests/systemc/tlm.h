// What models of transactions use: payload event queues and quantum keepers.

#include "orders.h"
#include <tlm>
#include <tlm_utils/peq_with_get.h>
#include <tlm_utils/tlm_quantumkeeper.h>

struct Item { int number; };

SCENARIO(payload_event_queue) {
  tlm_utils::peq_with_get<Item> queue("queue");
  Item items[] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}};
  thread("target", [&] {
    for (;;) {
      while (Item* item = queue.get_next_transaction()) say("target", "takes " + std::to_string(item->number));
      say("target", "nothing due");
      wait(queue.get_event());
    }
  });
  thread("initiator", [&] {
    queue.notify(items[1], ns(20));
    queue.notify(items[2], ns(10));
    queue.notify(items[3], ns(20));
    queue.notify(items[4], ns(10));
    queue.notify(items[5], SC_ZERO_TIME);
    wait(ns(20));
    say("initiator", "one more for now");
    queue.notify(items[6], SC_ZERO_TIME);
    queue.notify(items[0], ns(3));
  });
  sc_start();
}

SCENARIO(payload_event_queue_emptied) {
  tlm_utils::peq_with_get<Item> queue("queue");
  Item items[] = {{0}, {1}, {2}};
  thread("target", [&] {
    for (;;) {
      wait(queue.get_event());
      while (Item* item = queue.get_next_transaction()) say("target", "takes " + std::to_string(item->number));
    }
  });
  thread("initiator", [&] {
    queue.notify(items[0], ns(10));
    queue.notify(items[1], ns(20));
    wait(ns(5));
    queue.cancel_all();
    wait(ns(20));
    say("initiator", "again");
    queue.notify(items[2], ns(1));
  });
  sc_start();
}

// The end of a quantum is a multiple of it, wherever the process has started.
SCENARIO(quantum_keeper) {
  tlm_utils::tlm_quantumkeeper::set_global_quantum(ns(100));
  thread("initiator", [&] {
    wait(ns(30));
    tlm_utils::tlm_quantumkeeper keeper;
    keeper.reset();
    for (int at = 0; at < 12; ++at) {
      keeper.inc(ns(25));
      if (keeper.need_sync()) { keeper.sync(); say("initiator", "synchronized"); }
    }
    say("initiator", "ahead by " + std::to_string(static_cast<int>(keeper.get_local_time().to_seconds() * 1e9 + 0.5)) + " ns");
  });
  sc_start();
}
