/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Memory in huge pages. A node's model is some hundred kilobytes, of which each cycle touches places all over: in pages of
// 4 KiB, a machine's nodes take more of them than a processor holds translations for.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace gyre {

class HugePages {
public:
    // `size` bytes at a multiple of `align`, a power of two up to a page. Throws std::bad_alloc without memory.
    void* take(size_t size, size_t align) {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (Chunk& chunk : chunks_) {
            if (void* memory = chunk.take(size, align)) return memory;
        }
        chunks_.push_back(map(size));
        return chunks_.back().take(size, align);
    }

    // Gives back what `take` gave.
    void give(void* memory) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto at = reinterpret_cast<uintptr_t>(memory);
        const auto chunk = std::find_if(chunks_.begin(), chunks_.end(), [&](const Chunk& c) { return at - c.begin < c.size; });
        if (--chunk->live != 0) return;
        chunk->used = 0;
        // One stays for the next machine.
        if (chunks_.size() > 1) {
            munmap(reinterpret_cast<void*>(chunk->begin), chunk->size);
            chunks_.erase(chunk);
        }
    }

private:
    static constexpr size_t kPage = size_t{2} << 20;
    // Address space; pages come as they are used.
    static constexpr size_t kChunk = size_t{32} << 20;

    struct Chunk {
        uintptr_t begin;
        size_t size;
        size_t used;  // bytes from the begin on
        size_t live;  // blocks that were not given back

        void* take(size_t bytes, size_t align) {
            const size_t first = (used + align - 1) & ~(align - 1);
            if (first > size || size - first < bytes) return nullptr;
            used = first + bytes;
            live++;
            return reinterpret_cast<void*>(begin + first);
        }
    };

    static Chunk map(size_t bytes) {
        const size_t size = (std::max(bytes, kChunk) + kPage - 1) & ~(kPage - 1);
        void* const mapped = mmap(nullptr, size + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) throw std::bad_alloc();
        const auto from = reinterpret_cast<uintptr_t>(mapped);
        const uintptr_t begin = (from + kPage - 1) & ~(kPage - 1);
        if (begin != from) munmap(mapped, begin - from);
        if (begin != from + kPage) munmap(reinterpret_cast<void*>(begin + size), from + kPage - begin);
        // Where the system has no huge pages, small ones do.
        madvise(reinterpret_cast<void*>(begin), size, MADV_HUGEPAGE);
        return {begin, size, 0, 0};
    }

    std::mutex mutex_;
    std::vector<Chunk> chunks_;
};

}  // namespace gyre
