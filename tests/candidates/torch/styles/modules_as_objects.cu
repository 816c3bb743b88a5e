//! args f32[2,3] none none
//! error UNSUPPORTED attribute 'weight'
#include <torch/extension.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

static torch::Tensor get(const py::object& module, const char* name) {
    return module.attr(name).cast<torch::Tensor>();
}

torch::Tensor forward(torch::Tensor x, py::object params, py::object training) {
    bool is_training = training.is_none() ? false : training.cast<bool>();
    if (py::isinstance<py::dict>(params)) {
        py::dict d = params.cast<py::dict>();
        for (auto item : d) {
            std::string key = py::str(item.first).cast<std::string>();
            if (key == "weight") return item.second.cast<torch::Tensor>();
        }
        return params["weight"].cast<torch::Tensor>();
    }
    try {
        auto w = params.attr("get")("weight").cast<torch::Tensor>();
    } catch (const py::cast_error&) {
        return x;
    } catch (const py::error_already_set&) {
        return x;
    } catch (...) {
    }
    if (py::hasattr(params, "weight")) return get(params, "weight");
    return torch::dropout(get(params, "weight"), 0.5, is_training);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "modules as objects", py::arg("x"), py::arg("params"),
          py::arg("is_training") = py::none());
}
