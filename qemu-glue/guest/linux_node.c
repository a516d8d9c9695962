/* The device as a node of the device tree, through uio_pdrv_genirq. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux.h"
#include "script.h"

/* Bytes of registers, as the driver has them from the device tree. */
static size_t window(void)
{
    char text[32] = "";
    int file = open("/sys/class/uio/uio0/maps/map0/size", O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, text, sizeof text - 1) < 0)
        end("the size of the registers");
    close(file);
    return strtoul(text, NULL, 0);
}

volatile uint32_t *open_device(void)
{
    /* The node's name stands on the kernel's command line, which leaves it in the environment. */
    const char *node = getenv("node");
    char options[64];
    snprintf(options, sizeof options, "of_id=%s", node ? node : "nvidia,nv_small");
    mkdir("/sys", 0755);
    if (mount("sysfs", "/sys", "sysfs", 0, NULL))
        end("no /sys");
    load_module("/uio.ko", "");
    load_module("/uio_pdrv_genirq.ko", options);
    device = open("/dev/uio0", O_RDWR | O_CLOEXEC);
    if (device < 0)
        end("/dev/uio0");
    return mmap(NULL, window(), PROT_READ | PROT_WRITE, MAP_SHARED, device, 0);
}

const char *registers_file(void)
{
    return "/dev/uio0";
}

int open_memory(void)
{
    return open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
}

int is_error(uint32_t value)
{
    /* There is SIGBUS. */
    (void)value;
    return 0;
}

void interrupt_served(void)
{
    uint32_t enable = 1;
    if (write(device, &enable, sizeof enable) != sizeof enable)
        end("the interrupt cannot be enabled");
}
