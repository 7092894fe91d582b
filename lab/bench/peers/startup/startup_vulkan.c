// Measures what the programs of `shadercache bench startup` cost in Vulkan: the same
// kernel in the same 48 variants as SPIR-V, with a pipeline cache in a file, from the
// start of the process to 48 verified results.
//
//   cc -O2 -o startup-vulkan lab/bench/peers/startup/startup_vulkan.c -lvulkan -lm
//   ./startup-vulkan DIR CACHE
//
// DIR/I.spv is the variant with tile I % 3, activation I / 3 % 4 and scale I / 12 + 1;
// scripts/measure makes them with glslangValidator. The first run writes CACHE, later
// ones read it. See startup.cu for the rest.

#include <vulkan/vulkan.h>

#include "startup.h"

static void check(VkResult r, const char *call) {
    if (r != VK_SUCCESS) {
        fprintf(stderr, "startup-vulkan: %s: error %d\n", call, r);
        exit(1);
    }
}

#define CHECK(call) check(call, #call)

// readFile returns a file's content, or NULL where there is none.
static void *readFile(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        *size = 0;
        return NULL;
    }
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    void *data = malloc(*size + 4);
    if (!data || fread(data, 1, *size, f) != *size) {
        fprintf(stderr, "startup-vulkan: cannot read %s\n", path);
        exit(1);
    }
    fclose(f);
    return data;
}

static VkPhysicalDevice gpu;
static VkDevice device;

// newBuffer makes a storage buffer that the host has mapped, in the GPU's memory where
// there is such.
static VkBuffer newBuffer(VkDeviceSize size, void **mapped) {
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VkBuffer buffer;
    CHECK(vkCreateBuffer(device, &info, NULL, &buffer));
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    VkPhysicalDeviceMemoryProperties types;
    vkGetPhysicalDeviceMemoryProperties(gpu, &types);
    VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    uint32_t type = 0;
    while (!(needs.memoryTypeBits >> type & 1 && (types.memoryTypes[type].propertyFlags & wanted) == wanted)) {
        if (++type == types.memoryTypeCount) {
            fprintf(stderr, "startup-vulkan: there is no memory for the host\n");
            exit(1);
        }
    }
    VkMemoryAllocateInfo allocation = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = type};
    VkDeviceMemory memory;
    CHECK(vkAllocateMemory(device, &allocation, NULL, &memory));
    CHECK(vkBindBufferMemory(device, buffer, memory, 0));
    CHECK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, mapped));
    return buffer;
}

int main(int argc, char **argv) {
    double started = processStart();
    if (argc != 3) {
        fprintf(stderr, "usage: startup-vulkan DIR CACHE\n");
        return 2;
    }
    static Work work;
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo instanceInfo = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
    VkInstance instance;
    CHECK(vkCreateInstance(&instanceInfo, NULL, &instance));
    uint32_t one = 1;
    VkResult listed = vkEnumeratePhysicalDevices(instance, &one, &gpu);
    if (listed != VK_INCOMPLETE) {
        check(listed, "vkEnumeratePhysicalDevices");
    }
    VkPhysicalDeviceProperties about;
    vkGetPhysicalDeviceProperties(gpu, &about);
    VkQueueFamilyProperties families[16];
    uint32_t familyCount = 16, family = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(gpu, &familyCount, families);
    while (family < familyCount && !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT)) {
        ++family;
    }
    float priority = 1;
    VkDeviceQueueCreateInfo queueInfo = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueFamilyIndex = family, .queueCount = 1, .pQueuePriorities = &priority};
    VkDeviceCreateInfo deviceInfo = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queueInfo};
    CHECK(vkCreateDevice(gpu, &deviceInfo, NULL, &device));
    VkQueue queue;
    vkGetDeviceQueue(device, family, 0, &queue);
    double opened = seconds();

    makeWork(&work);
    void *mapped[3];
    VkBuffer buffers[3];
    for (int i = 0; i < 3; ++i) {
        buffers[i] = newBuffer(sizeof work.a, &mapped[i]);
    }
    memcpy(mapped[0], work.a, sizeof work.a);
    memcpy(mapped[1], work.b, sizeof work.b);
    VkDescriptorSetLayoutBinding bindings[3];
    for (uint32_t i = 0; i < 3; ++i) {
        bindings[i] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    }
    VkDescriptorSetLayoutCreateInfo setInfo = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 3, .pBindings = bindings};
    VkDescriptorSetLayout setLayout;
    CHECK(vkCreateDescriptorSetLayout(device, &setInfo, NULL, &setLayout));
    VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 20};
    VkPipelineLayoutCreateInfo layoutInfo = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &setLayout,
        .pushConstantRangeCount = 1, .pPushConstantRanges = &push};
    VkPipelineLayout layout;
    CHECK(vkCreatePipelineLayout(device, &layoutInfo, NULL, &layout));
    VkDescriptorPoolSize poolSize = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3};
    VkDescriptorPoolCreateInfo poolInfo = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &poolSize};
    VkDescriptorPool pool;
    CHECK(vkCreateDescriptorPool(device, &poolInfo, NULL, &pool));
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, .descriptorPool = pool, .descriptorSetCount = 1, .pSetLayouts = &setLayout};
    VkDescriptorSet set;
    CHECK(vkAllocateDescriptorSets(device, &allocate, &set));
    for (uint32_t i = 0; i < 3; ++i) {
        VkDescriptorBufferInfo range = {buffers[i], 0, VK_WHOLE_SIZE};
        VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set, .dstBinding = i, .descriptorCount = 1,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .pBufferInfo = &range};
        vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
    }
    VkCommandPoolCreateInfo commandInfo = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT, .queueFamilyIndex = family};
    VkCommandPool commandPool;
    CHECK(vkCreateCommandPool(device, &commandInfo, NULL, &commandPool));
    VkCommandBufferAllocateInfo bufferInfo = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = commandPool, .commandBufferCount = 1};
    VkCommandBuffer commands;
    CHECK(vkAllocateCommandBuffers(device, &bufferInfo, &commands));
    VkFenceCreateInfo fenceInfo = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence;
    CHECK(vkCreateFence(device, &fenceInfo, NULL, &fence));

    double begun = seconds();
    VkPipelineCacheCreateInfo cacheInfo = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    cacheInfo.pInitialData = readFile(argv[2], &cacheInfo.initialDataSize);
    VkPipelineCache cache;
    CHECK(vkCreatePipelineCache(device, &cacheInfo, NULL, &cache));
    for (int i = 0; i < programs; ++i) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%d.spv", argv[1], i);
        VkShaderModuleCreateInfo moduleInfo = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        moduleInfo.pCode = readFile(path, &moduleInfo.codeSize);
        if (!moduleInfo.pCode) {
            fprintf(stderr, "startup-vulkan: there is no %s\n", path);
            return 1;
        }
        VkShaderModule module;
        CHECK(vkCreateShaderModule(device, &moduleInfo, NULL, &module));
        VkComputePipelineCreateInfo pipelineInfo = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .layout = layout,
            .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = VK_SHADER_STAGE_COMPUTE_BIT, .module = module, .pName = "main"}};
        VkPipeline pipeline;
        CHECK(vkCreateComputePipelines(device, cache, 1, &pipelineInfo, NULL, &pipeline));
        for (int k = 0; k < SIDE * SIDE; ++k) {
            memcpy((float *)mapped[2] + k, &poisonWord, 4);
        }
        VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
        CHECK(vkBeginCommandBuffer(commands, &begin));
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
        int sizes[5] = {SIDE, SIDE, SIDE, 0, SIDE};
        vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof sizes, sizes);
        uint32_t grid = (uint32_t)((SIDE + tileOf(i) - 1) / tileOf(i));
        vkCmdDispatch(commands, grid, grid, 1);
        VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT, .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
        vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
        CHECK(vkEndCommandBuffer(commands));
        VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
        CHECK(vkQueueSubmit(queue, 1, &submit, fence));
        CHECK(vkWaitForFences(device, 1, &fence, VK_TRUE, 10000000000ull));
        CHECK(vkResetFences(device, 1, &fence));
        memcpy(work.results[i], mapped[2], sizeof work.c);
    }
    double done = seconds();
    int code = report(cacheInfo.initialDataSize ? "Vulkan with a pipeline cache" : "Vulkan without a pipeline cache", about.deviceName, &work, started, opened, done - begun);
    if (!cacheInfo.initialDataSize) {
        size_t size = 0;
        CHECK(vkGetPipelineCacheData(device, cache, &size, NULL));
        void *data = malloc(size);
        CHECK(vkGetPipelineCacheData(device, cache, &size, data));
        FILE *f = fopen(argv[2], "wb");
        if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0) {
            fprintf(stderr, "startup-vulkan: cannot write %s\n", argv[2]);
            return 1;
        }
    }
    return code;
}
