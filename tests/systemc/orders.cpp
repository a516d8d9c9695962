// Small scenarios whose order of events is recorded from SystemC: the kernel is held to what they print.
//
//   orders          lists the scenarios
//   orders NAME     runs one
//
// One scenario a run: SystemC has one simulation a process.

#include "orders.h"

#include "channels.h"
#include "clocks.h"
#include "events.h"
#include "life.h"
#include "methods.h"
#include "processes.h"
#include "waits.h"

int sc_main(int argc, char* argv[]) {
  // Reports of SystemC about a thing that a scenario does on purpose are not part of the record.
  sc_report_handler::set_actions(SC_WARNING, SC_DO_NOTHING);
  sc_report_handler::set_actions(SC_INFO, SC_DO_NOTHING);
  for (const Scenario& scenario : scenarios()) {
    if (argc < 2) {
      std::cout << scenario.name << '\n';
    } else if (scenario.name == argv[1]) {
      scenario.run();
      std::cout << std::flush;
      return 0;
    }
  }
  return argc < 2 ? 0 : 2;
}
