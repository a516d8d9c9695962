// A SystemC simulation beside a platform, with TLM-2.0 sockets: see docs/rtl.md, "SystemC".
//
// C++17, SystemC 2.3.4; link with libvp.a, -lsystemc, -lpthread, -ldl and -lm.
//
// A vp::partner is the way to the platform. Its ports are modules, and all of them belong to one partner: while it waits for the platform, the
// whole SystemC simulation waits. Edge n of the platform's clock, counted from 0, is at n periods of SystemC's time. What SystemC has done up to
// then, that time's first delta cycle included, is on the pins at this edge; what is seen there happens in SystemC at that time.

#ifndef VP_SYSTEMC_H
#define VP_SYSTEMC_H

#include "vp_systemc/cpu_port.h"
#include "vp_systemc/device_port.h"
#include "vp_systemc/dma_port.h"
#include "vp_systemc/memory_port.h"
#include "vp_systemc/partner.h"
#include "vp_systemc/platform.h"

#endif  // VP_SYSTEMC_H
