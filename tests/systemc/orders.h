// What all scenarios share: how they say what happens, and how they are found by name.

#ifndef ORDERS_H
#define ORDERS_H

#define SC_INCLUDE_DYNAMIC_PROCESSES
#include <functional>
#include <iostream>
#include <string>
#include <systemc>
#include <utility>
#include <vector>

using namespace sc_core;

inline sc_time ns(double n) { return sc_time(n, SC_NS); }

// One line: time in picoseconds, delta cycle, who, what. Who drives the simulation speaks between delta cycles.
inline void say(const std::string& who, const std::string& what) {
  std::cout << static_cast<sc_dt::uint64>(sc_time_stamp().to_seconds() * 1e12 + 0.5) << ' '
            << (who == "main" ? "-" : std::to_string(sc_delta_count())) << ' ' << who << ' ' << what << '\n';
}

inline sc_process_handle thread(const char* name, std::function<void()> body) { return sc_spawn(std::move(body), name); }

inline sc_process_handle method(const char* name, std::vector<const sc_event*> sensitive, std::function<void()> body,
                                bool initialize = true) {
  sc_spawn_options options;
  options.spawn_method();
  for (const sc_event* event : sensitive) options.set_sensitivity(event);
  if (!initialize) options.dont_initialize();
  return sc_spawn(std::move(body), name, &options);
}

struct Scenario {
  std::string name;
  void (*run)();
};

inline std::vector<Scenario>& scenarios() {
  static std::vector<Scenario> all;
  return all;
}

struct Register {
  Register(const char* name, void (*run)()) { scenarios().push_back({name, run}); }
};

#define SCENARIO(name)                              \
  static void name();                               \
  static const Register register_##name(#name, name); \
  static void name()

#endif
