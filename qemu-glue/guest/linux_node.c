/* The device as a node of the device tree, or of what a module has made of a PCI function, through uio_pdrv_genirq. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux.h"
#include "script.h"

#define UIO "/sys/class/uio/uio0/"

/* What the driver has of the device, in one of its files. */
static void read_uio(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, size - 1);
    if (length < 0)
        end(path);
    text[length] = 0;
    close(file);
}

/* Bytes of registers. */
static size_t window(void)
{
    char text[32];
    read_uio(UIO "maps/map0/size", text, sizeof text);
    return strtoul(text, NULL, 0);
}

volatile uint32_t *open_device(void)
{
    /* The node's name stands on the kernel's command line, which leaves it in the environment. */
    const char *node = getenv("node");
    char options[64], name[64];
    if (!node)
        node = "nvidia,nv_small";
    mkdir("/sys", 0755);
    if (mount("sysfs", "/sys", "sysfs", 0, NULL))
        end("no /sys");
    if (!access("/pci_node.ko", R_OK)) {
        snprintf(options, sizeof options, "compatible=vp,tested+%s", node);
        load_module("/pci_node.ko", options);
    }
    load_module("/uio.ko", "");
    snprintf(options, sizeof options, "of_id=%s", node);
    load_module("/uio_pdrv_genirq.ko", options);
    device = open("/dev/uio0", O_RDWR | O_CLOEXEC);
    if (device < 0)
        end("/dev/uio0");
    read_uio(UIO "name", name, sizeof name);
    printf("node %s", name);
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
