/**
 * @file library.h
 * TORCH_LIBRARY: functions that a candidate registers as operators are entries like bound ones.
 */
#pragma once

#include "rkb_torch/module.h"

namespace torch {

class Library
{
    pybind11::module_ &module_;

    /** "ns::name.overload(…) -> …" → "name" */
    static std::string plain_name(const std::string &text)
    {
        std::string name = text.substr(0, text.find('('));
        size_t colons = name.rfind("::");
        if (colons != std::string::npos)
            name = name.substr(colons + 2);
        return name.substr(0, name.find('.'));
    }

  public:
    explicit Library(pybind11::module_ &m) : module_(m) {}
    Library &def(const char *) { return *this; }
    template <typename F>
    Library &def(const char *name, F &&f)
    {
        return impl(name, std::forward<F>(f));
    }
    template <typename F>
    Library &impl(const char *name, F &&f)
    {
        module_.add(plain_name(name).c_str(), rkb::make_function(std::forward<F>(f)));
        return *this;
    }
    template <typename F>
    Library &impl(const char *name, c10::DeviceType, F &&f)
    {
        return impl(name, std::forward<F>(f));
    }
};

} // namespace torch

#define RKB_LIBRARY(id, variable)                                                                  \
    static void C10_CONCATENATE(rkb_library_, id)(::torch::Library &);                             \
    static ::rkb::register_module C10_CONCATENATE(rkb_library_entry_,                              \
                                                  id)(+[](::pybind11::module_ &m) {                \
        ::torch::Library library(m);                                                               \
        C10_CONCATENATE(rkb_library_, id)(library);                                                \
    });                                                                                            \
    static void C10_CONCATENATE(rkb_library_, id)(::torch::Library & variable)
#define TORCH_LIBRARY(ns, m) RKB_LIBRARY(C10_CONCATENATE(ns##_, __COUNTER__), m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) TORCH_LIBRARY(ns, m)
#define TORCH_LIBRARY_IMPL(ns, key, m) RKB_LIBRARY(C10_CONCATENATE(ns##_##key##_, __COUNTER__), m)
