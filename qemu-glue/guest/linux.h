/* What linux.c asks of the file that knows the kernel's driver, and what it has for it. */
#ifndef LINUX_H
#define LINUX_H

#include <stddef.h>
#include <stdint.h>

/* Loads the driver, opens /dev/uio0 and maps the registers; MAP_FAILED if they cannot be. */
volatile uint32_t *open_device(void);
/* The file that has the registers from its beginning on. After open_device. */
const char *registers_file(void);
/* Opens the memory that the device and the script share: an address is an offset in it. After open_device. */
int open_memory(void);
/* Whether a register's value stands for an error of the bus, where no signal says so. */
int is_error(uint32_t value);

/* /dev/uio0, or what else can be read when the device has interrupted, and how many bytes then. */
extern int device;
extern size_t interrupt_bytes;
/* Says what cannot be done, if anything, and turns the machine off. */
void end(const char *what);
void load_module(const char *path, const char *options);

#endif
