/* What linux.c asks of the file that knows the kernel's driver, and what it has for it. */
#ifndef LINUX_H
#define LINUX_H

#include <stdint.h>

/* Loads the driver, opens /dev/uio0 and maps the registers; MAP_FAILED if they cannot be. */
volatile uint32_t *open_device(void);
/* Whether a register's value stands for an error of the bus, where no signal says so. */
int is_error(uint32_t value);

/* /dev/uio0 */
extern int device;
/* Says what cannot be done, if anything, and turns the machine off. */
void end(const char *what);
void load_module(const char *path, const char *options);

#endif
