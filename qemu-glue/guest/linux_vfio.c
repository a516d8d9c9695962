/* The device as a PCI function behind an IOMMU, through vfio-pci: the kernel maps the program's own memory for it, at the addresses that
 * the script has, and interrupts by messages. */

#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux.h"
#include "script.h"

/* Bytes of registers, and the memory that the script's trace has. */
#define WINDOW 0x40000
#define MEMORY 0x80000000
#define BYTES 0x21000
#define DEVICES "/sys/bus/pci/devices"
/* Of the configuration: PCI Local Bus Specification 3.0, 6.2.2. */
enum { COMMAND = 4, MEMORY_SPACE = 1 << 1, BUS_MASTER = 1 << 2 };

static int container, function, has_pin;

static void load_modules(void)
{
    /* Newer kernels have the second in the first, or in the third. */
    static const char *const modules[] = { "irqbypass", "vfio_virqfd", "vfio", "vfio_iommu_type1", "vfio-pci-core", "vfio-pci" };
    for (size_t at = 0; at < sizeof modules / sizeof *modules; at++) {
        char path[64];
        snprintf(path, sizeof path, "/%s.ko", modules[at]);
        if (!access(path, R_OK))
            load_module(path, at == 3 ? "allow_unsafe_interrupts=1" : "");
    }
}

/* The name of the function's folder, and the number of its group. */
static int find(char *name, size_t length)
{
    int drivers = open("/sys/bus/pci/drivers/vfio-pci/new_id", O_WRONLY | O_CLOEXEC);
    if (drivers < 0 || write(drivers, "1af4 10f0", 9) != 9)
        end("new_id");
    DIR *all = opendir("/sys/bus/pci/drivers/vfio-pci");
    for (struct dirent *entry; all && (entry = readdir(all));)
        if (strchr(entry->d_name, ':'))
            snprintf(name, length, "%s", entry->d_name);
    char path[300], link[300] = "";
    snprintf(path, sizeof path, DEVICES "/%s/iommu_group", name);
    if (!*name || readlink(path, link, sizeof link - 1) < 0)
        end("no group: no IOMMU");
    return atoi(strrchr(link, '/') + 1);
}

static void set_interrupt(uint32_t index)
{
    struct {
        struct vfio_irq_set set;
        int32_t file;
    } wanted = { .set = { .argsz = sizeof wanted, .flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
                          .index = index, .count = 1 },
                 .file = device };
    if (ioctl(function, VFIO_DEVICE_SET_IRQS, &wanted))
        end("interrupts");
}

volatile uint32_t *open_device(void)
{
    char name[256] = "", path[300];
    mkdir("/sys", 0755);
    if (mount("sysfs", "/sys", "sysfs", 0, NULL))
        end("no /sys");
    load_modules();
    snprintf(path, sizeof path, "/dev/vfio/%d", find(name, sizeof name));
    container = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
    int group = open(path, O_RDWR | O_CLOEXEC);
    if (container < 0 || group < 0 || ioctl(group, VFIO_GROUP_SET_CONTAINER, &container) ||
        ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1_IOMMU))
        end(path);
    function = ioctl(group, VFIO_GROUP_GET_DEVICE_FD, name);
    struct vfio_region_info registers = { .argsz = sizeof registers, .index = VFIO_PCI_BAR0_REGION_INDEX };
    struct vfio_region_info configuration = { .argsz = sizeof configuration, .index = VFIO_PCI_CONFIG_REGION_INDEX };
    if (function < 0 || ioctl(function, VFIO_DEVICE_GET_REGION_INFO, &registers) ||
        ioctl(function, VFIO_DEVICE_GET_REGION_INFO, &configuration))
        end(name);
    uint16_t command = MEMORY_SPACE | BUS_MASTER;
    if (pwrite(function, &command, sizeof command, (off_t)configuration.offset + COMMAND) != sizeof command)
        end("the configuration cannot be written");
    device = eventfd(0, EFD_CLOEXEC);
    interrupt_bytes = 8;
    const char *messages = getenv("messages");
    messages = messages ? messages : "msi-x";
    has_pin = !strcmp(messages, "none");
    set_interrupt(has_pin                    ? VFIO_PCI_INTX_IRQ_INDEX
                  : !strcmp(messages, "msi") ? VFIO_PCI_MSI_IRQ_INDEX
                                             : VFIO_PCI_MSIX_IRQ_INDEX);
    printf("interrupts by %s\n", has_pin ? "the pin" : messages);
    return mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, function, (off_t)registers.offset);
}

const char *registers_file(void)
{
    return "";
}

int open_memory(void)
{
    int file = memfd_create("memory", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, MEMORY + BYTES))
        return -1;
    void *mapped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, MEMORY);
    struct vfio_iommu_type1_dma_map map = { .argsz = sizeof map, .flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
                                            .vaddr = (uintptr_t)mapped, .iova = MEMORY, .size = BYTES };
    /* A driver that has forgotten it, if the kernel's command line says so. */
    if (mapped == MAP_FAILED || (!getenv("unmapped") && ioctl(container, VFIO_IOMMU_MAP_DMA, &map)))
        end("memory cannot be mapped for the device");
    return file;
}

int is_error(uint32_t value)
{
    return value == 0xffffffff;
}

void interrupt_served(void)
{
    struct vfio_irq_set set = { .argsz = sizeof set, .flags = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_UNMASK,
                                .index = VFIO_PCI_INTX_IRQ_INDEX, .count = 1 };
    /* The pin is masked since. */
    if (has_pin && ioctl(function, VFIO_DEVICE_SET_IRQS, &set))
        end("the interrupt cannot be unmasked");
}
