#include "evaluator/verify/verify_internal.h"

int64_t rkb_shape_numel(const int64_t *sizes, int ndim)
{
    int64_t numel = 1;
    for (int d = 0; d < ndim; d++)
        numel *= sizes[d];
    return numel;
}

void rkb_walk_begin(rkb_walk_t *walk, const rkb_output_view_t *view)
{
    *walk = (rkb_walk_t){.base = view->base,
                         .element_size = (int64_t)rkb_element_size(view->dtype),
                         .numel = rkb_shape_numel(view->sizes, view->ndim)};
    for (int d = 0; d < view->ndim; d++) {
        int64_t size = view->sizes[d], stride = view->strides[d], span;
        int last = walk->ndim - 1;
        if (last >= 0 && !__builtin_mul_overflow(size, stride, &span) &&
            walk->strides[last] == span) {
            walk->sizes[last] *= size;
            walk->strides[last] = stride;
        } else {
            walk->sizes[walk->ndim] = size;
            walk->strides[walk->ndim] = stride;
            walk->ndim++;
        }
    }
}

bool rkb_walk_next(rkb_walk_t *walk, rkb_run_t *run)
{
    if (walk->linear >= walk->numel)
        return false;
    *run = (rkb_run_t){.base = walk->base + walk->offset * walk->element_size,
                       .linear = walk->linear,
                       .stride = 1,
                       .count = 1};
    int last = walk->ndim - 1;
    if (last < 0) {
        walk->linear = walk->numel;
        return true;
    }
    int64_t left = walk->sizes[last] - walk->index[last];
    run->count = left < RKB_RUN ? left : RKB_RUN;
    run->stride = walk->strides[last];
    walk->linear += run->count;
    walk->index[last] += run->count;
    walk->offset += run->count * walk->strides[last];
    for (int d = last; d > 0 && walk->index[d] == walk->sizes[d]; d--) {
        walk->offset += walk->strides[d - 1] - walk->sizes[d] * walk->strides[d];
        walk->index[d] = 0;
        walk->index[d - 1]++;
    }
    return true;
}

const void *rkb_view_element(const rkb_output_view_t *view, int64_t linear)
{
    int64_t offset = 0;
    for (int d = view->ndim - 1; d >= 0; d--) {
        offset += linear % view->sizes[d] * view->strides[d];
        linear /= view->sizes[d];
    }
    return (const unsigned char *)view->base + offset * (int64_t)rkb_element_size(view->dtype);
}
