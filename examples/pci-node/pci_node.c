// SPDX-License-Identifier: MIT
/* A module of Linux for drivers that look for a node of the device tree, such as NVIDIA's opendla: gives them a PCI function.
 *
 *   insmod pci_node.ko [compatible=nvidia,nv_small+NAME…]
 *
 * Each function 1af4:10f0, as a platform of `vp` is over vfio-user, becomes a platform device with BAR 0, one interrupt, and memory as the
 * function may access it. The device's node is in no device tree: it is made here and has the names that drivers compare.
 *
 * Other functions: `echo VENDOR DEVICE > /sys/bus/pci/drivers/pci_node/new_id`. */

#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/slab.h>

#ifndef CONFIG_OF
#error "this kernel has no device trees (CONFIG_OF), so drivers find no node in it, nor in a module"
#endif

static char *compatible = "nvidia,nv_small+nvidia,nvdla_2";
module_param(compatible, charp, 0444);
MODULE_PARM_DESC(compatible, "names of the node, most specific first, with + between them");

struct made_node {
	struct device_node node;
	struct property names, coherent;
	/* Each ends with a zero. */
	char text[];
};

struct function {
	struct made_node *made;
	struct platform_device *device;
};

static void free_node(struct kobject *object)
{
	kfree(container_of(object, struct made_node, node.kobj));
}

/* Of the module's own: the kernel does not export that of a device tree's nodes. */
static const struct kobj_type node_type = { .release = free_node };

/* The node of the host bridge, which says of all functions behind it where they reach memory, and if caches are coherent; NULL where
 * firmware describes the machine by ACPI. */
static struct device_node *bridge_node(struct pci_dev *pci)
{
	return dev_of_node(pci_find_host_bridge(pci->bus)->dev.parent);
}

static struct made_node *make_node(struct pci_dev *pci)
{
	size_t length = strlen(compatible) + 1;
	struct made_node *made = kzalloc(struct_size(made, text, length), GFP_KERNEL);
	int failed;

	if (!made)
		return NULL;
	memcpy(made->text, compatible, length);
	strreplace(made->text, '+', '\0');
	made->names.name = "compatible";
	made->names.value = made->text;
	made->names.length = length;
	made->node.name = "accelerator";
	made->node.full_name = "accelerator";
	made->node.properties = &made->names;
	made->node.parent = bridge_node(pci);
	if (!made->node.parent && dev_is_dma_coherent(&pci->dev)) {
		made->coherent.name = "dma-coherent";
		made->names.next = &made->coherent;
	}
	fwnode_init(&made->node.fwnode, &of_fwnode_ops);
	/* Its folder is where the device's link `of_node` leads. */
	failed = kobject_init_and_add(&made->node.kobj, &node_type, &pci->dev.kobj, "accelerator");
	if (failed) {
		kobject_put(&made->node.kobj);
		return NULL;
	}
	return made;
}

/* An IOMMU translates what the function accesses, by what is mapped for the function. Drivers map for the platform device, which has none. */
static bool is_translated(struct pci_dev *pci)
{
#ifdef CONFIG_IOMMU_API
	struct iommu_domain *domain = iommu_get_domain_for_dev(&pci->dev);

	return domain && domain->type != IOMMU_DOMAIN_IDENTITY;
#else
	return false;
#endif
}

static int add_device(struct pci_dev *pci, struct function *function)
{
	int interrupt = pci_irq_vector(pci, 0);
	struct resource resources[] = {
		{
			.start = pci_resource_start(pci, 0),
			.end = pci_resource_end(pci, 0),
			.flags = IORESOURCE_MEM,
			.name = pci_name(pci),
			/* The driver requests it: this module does not. */
			.parent = &pci->resource[0],
		},
		{ .start = interrupt, .end = interrupt, .flags = IORESOURCE_IRQ, .name = pci_name(pci) },
	};
	struct platform_device_info info = {
		.parent = &pci->dev,
		.fwnode = &function->made->node.fwnode,
		.name = "accelerator",
		.id = PLATFORM_DEVID_AUTO,
		.res = resources,
		.num_res = ARRAY_SIZE(resources),
		.dma_mask = dma_get_mask(&pci->dev),
	};

	function->device = platform_device_register_full(&info);
	return PTR_ERR_OR_ZERO(function->device);
}

static int probe(struct pci_dev *pci, const struct pci_device_id *id)
{
	struct function *function;
	int failed;

	if (!(pci_resource_flags(pci, 0) & IORESOURCE_MEM))
		return dev_err_probe(&pci->dev, -ENODEV, "BAR 0 is not memory\n");
	if (is_translated(pci))
		return dev_err_probe(&pci->dev, -EOPNOTSUPP,
				     "an IOMMU translates what this function accesses: boot with iommu.passthrough=1\n");
	function = devm_kzalloc(&pci->dev, sizeof(*function), GFP_KERNEL);
	if (!function)
		return -ENOMEM;
	failed = pci_enable_device(pci);
	if (failed)
		return failed;
	/* Addresses of nv_small have 32 bits, and opendla writes no others. */
	failed = dma_set_mask_and_coherent(&pci->dev, DMA_BIT_MASK(32));
	if (failed)
		goto disable;
	pci_set_master(pci);
	/* By a message where it can be: a driver that shares no interrupt may then have it. */
	failed = pci_alloc_irq_vectors(pci, 1, 1, PCI_IRQ_ALL_TYPES);
	if (failed < 0)
		goto disable;
	function->made = make_node(pci);
	if (!function->made) {
		failed = -ENOMEM;
		goto free_vectors;
	}
	failed = add_device(pci, function);
	if (failed)
		goto put_node;
	pci_set_drvdata(pci, function);
	dev_info(&pci->dev, "%s is %pR and interrupt %d, for drivers of %s\n", dev_name(&function->device->dev),
		 &pci->resource[0], pci_irq_vector(pci, 0), compatible);
	return 0;

put_node:
	kobject_put(&function->made->node.kobj);
free_vectors:
	pci_free_irq_vectors(pci);
disable:
	pci_disable_device(pci);
	return failed;
}

static void remove(struct pci_dev *pci)
{
	struct function *function = pci_get_drvdata(pci);

	/* Its driver lets it go first. */
	platform_device_unregister(function->device);
	kobject_put(&function->made->node.kobj);
	pci_free_irq_vectors(pci);
	pci_disable_device(pci);
}

static const struct pci_device_id functions[] = { { PCI_DEVICE(0x1af4, 0x10f0) }, {} };
MODULE_DEVICE_TABLE(pci, functions);

static struct pci_driver pci_node = {
	.name = "pci_node",
	.id_table = functions,
	.probe = probe,
	.remove = remove,
};
module_pci_driver(pci_node);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Gives a PCI function to a driver that looks for a node of the device tree");
