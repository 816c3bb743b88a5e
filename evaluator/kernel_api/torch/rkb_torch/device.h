/**
 * @file device.h
 * Devices, layouts and memory formats. There is one device of each kind: cpu and cuda:0.
 */
#pragma once

#include "rkb_abi.h"
#include "rkb_torch/error.h"

#include <cstring>

namespace c10 {

enum class DeviceType : int8_t { CPU = 0, CUDA = 1 };
constexpr DeviceType kCPU = DeviceType::CPU;
constexpr DeviceType kCUDA = DeviceType::CUDA;
using DeviceIndex = int8_t;

struct Device final {
    using Type = DeviceType;

  private:
    DeviceType type_;
    DeviceIndex index_;

  public:
    Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
    Device(const std::string &name) : type_(DeviceType::CPU), index_(-1)
    {
        size_t colon = name.find(':');
        std::string kind = name.substr(0, colon);
        if (kind == "cuda")
            type_ = DeviceType::CUDA;
        else if (kind != "cpu")
            rkb::fail_with("invalid device string: " + name);
        if (colon != std::string::npos)
            index_ = static_cast<DeviceIndex>(std::stoi(name.substr(colon + 1)));
    }
    Device(const char *name) : Device(std::string(name)) {}

    DeviceType type() const { return type_; }
    DeviceIndex index() const { return index_; }
    bool has_index() const { return index_ != -1; }
    bool is_cuda() const { return type_ == DeviceType::CUDA; }
    bool is_cpu() const { return type_ == DeviceType::CPU; }
    void set_index(DeviceIndex index) { index_ = index; }
    std::string str() const
    {
        std::string text = is_cuda() ? "cuda" : "cpu";
        return has_index() ? text + ":" + std::to_string(index_) : text;
    }
    bool operator==(const Device &o) const { return type_ == o.type_ && index_ == o.index_; }
    bool operator!=(const Device &o) const { return !(*this == o); }
};

inline std::string DeviceTypeName(DeviceType type, bool lower_case = false)
{
    if (type == DeviceType::CUDA)
        return lower_case ? "cuda" : "CUDA";
    return lower_case ? "cpu" : "CPU";
}

enum class Layout : int8_t { Strided, Sparse };
constexpr Layout kStrided = Layout::Strided;
constexpr Layout kSparse = Layout::Sparse;

enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

enum class Backend { CPU, CUDA, Undefined };

template <typename Traits>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, DeviceType type)
{
    return out << DeviceTypeName(type, true);
}
template <typename Traits>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out,
                                             const Device &device)
{
    return out << device.str();
}

} // namespace c10

namespace c10 {

inline void rkb_append(std::string &out, const c10::Device &device)
{
    out += device.str();
}
inline void rkb_append(std::string &out, c10::DeviceType type)
{
    out += c10::DeviceTypeName(type, true);
}

} // namespace c10
