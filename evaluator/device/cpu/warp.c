#include "evaluator/device/cpu/model_internal.h"

#include <string.h>

/*
 * A warp operation completes when every lane that its mask names, and that has not ended, has come
 * to an operation of the same kind with the same mask. Lanes of different masks do not wait for
 * each other, so half warps and tiles are independent. CUDA leaves undefined what happens when a
 * named lane waits elsewhere. An H200 was seen to let __syncwarp pass, so it does here; with a
 * shuffle it hangs or not, as the code around it is compiled: here the block ends as a deadlock
 * that names the places.
 */

static rkb_warp_t *warp_of(const rkb_cuda_thread_t *thread)
{
    return &rkb_block.warps[thread->linear / RKB_WARP];
}

/* First thread of the warp: lane 0. */
static rkb_cuda_thread_t *lanes_of(const rkb_cuda_thread_t *thread)
{
    return &rkb_block.threads[thread->linear / RKB_WARP * RKB_WARP];
}

static bool is_complete(const rkb_warp_t *warp, const rkb_group_t *group)
{
    return (group->mask & warp->alive & ~group->arrived) == 0;
}

/* Hands out the results and makes everyone but `self` ready. */
static void complete(rkb_warp_t *warp, rkb_group_t *group, rkb_cuda_thread_t *lanes,
                     const rkb_cuda_thread_t *self)
{
    uint32_t ballot = 0;
    for (uint32_t left = group->arrived; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        if (group->kind != RKB_WAIT_EXCHANGE && lanes[lane].operand)
            ballot |= 1u << lane;
        if (group->kind == RKB_WAIT_EXCHANGE) {
            static const unsigned char zeros[RKB_LANE_BYTES];
            unsigned source = (unsigned)lanes[lane].operand % RKB_WARP;
            bool takes_part = group->arrived >> source & 1u;
            memcpy(lanes[lane].result, takes_part ? lanes[source].value : zeros, RKB_LANE_BYTES);
        }
    }
    for (uint32_t left = group->arrived; left; left &= left - 1) {
        rkb_cuda_thread_t *thread = &lanes[__builtin_ctz(left)];
        thread->ballot = ballot;
        if (thread != self)
            rkb_queue_push(&rkb_block.ready, thread);
    }
    *group = warp->groups[--warp->ngroups];
}

static void converge(rkb_cuda_thread_t *self, rkb_wait_t kind, uint32_t mask, const void *place)
{
    rkb_warp_t *warp = warp_of(self);
    uint32_t own = 1u << self->linear % RKB_WARP;
    mask |= own;
    self->mask = mask;
    unsigned i = 0;
    while (i < warp->ngroups && (warp->groups[i].mask != mask || warp->groups[i].kind != kind ||
                                 warp->groups[i].place != place))
        i++;
    if (i == warp->ngroups)
        warp->groups[warp->ngroups++] = (rkb_group_t){mask, 0, kind, place};
    rkb_group_t *group = &warp->groups[i];
    group->arrived |= own;
    if (is_complete(warp, group))
        complete(warp, group, lanes_of(self), self);
    else
        rkb_block_wait(kind);
}

void rkb_warp_lane_ended(rkb_cuda_thread_t *thread)
{
    rkb_warp_t *warp = warp_of(thread);
    for (unsigned i = 0; i < warp->ngroups;) {
        if (is_complete(warp, &warp->groups[i]))
            complete(warp, &warp->groups[i], lanes_of(thread), NULL); /* another moves to i */
        else
            i++;
    }
}

void rkb_rt_warp_sync(uint32_t mask)
{
    converge(rkb_block_thread("__syncwarp"), RKB_WAIT_SYNC, mask, NULL);
}

void rkb_rt_warp_exchange(uint32_t mask, const void *in, void *out, size_t bytes, int source)
{
    rkb_cuda_thread_t *self = rkb_block_thread("a warp shuffle");
    if (bytes > RKB_LANE_BYTES)
        rkb_rt_unsupported("a warp exchange of more than 16 bytes");
    memcpy(self->value, in, bytes);
    self->operand = source;
    converge(self, RKB_WAIT_EXCHANGE, mask, NULL);
    memcpy(out, self->result, bytes);
}

uint32_t rkb_rt_warp_ballot(uint32_t mask, int predicate)
{
    rkb_cuda_thread_t *self = rkb_block_thread("a warp vote");
    self->operand = predicate != 0;
    converge(self, RKB_WAIT_BALLOT, mask, NULL);
    return self->ballot & self->mask;
}

/*
 * The lanes that stand together: those that come to the same place before anything else in the
 * block needs them to move on. So a lane waits there until all live lanes of its warp have come, or
 * until nobody else can run (rkb_warp_settle).
 */
uint32_t rkb_rt_warp_active(void)
{
    rkb_cuda_thread_t *self = rkb_block_thread("__activemask");
    self->operand = 1;
    converge(self, RKB_WAIT_ACTIVE, UINT32_MAX, __builtin_return_address(0));
    return self->ballot;
}

bool rkb_warp_settle(void)
{
    unsigned nwarps = (rkb_block.nthreads + RKB_WARP - 1) / RKB_WARP;
    for (unsigned w = 0; w < nwarps; w++) {
        rkb_warp_t *warp = &rkb_block.warps[w];
        for (unsigned i = 0; i < warp->ngroups; i++) {
            if (warp->groups[i].kind == RKB_WAIT_ACTIVE || warp->groups[i].kind == RKB_WAIT_SYNC) {
                complete(warp, &warp->groups[i], &rkb_block.threads[w * RKB_WARP], NULL);
                return true;
            }
        }
    }
    return false;
}

int rkb_rt_lane(void)
{
    return (int)(rkb_block_thread("the lane number")->linear % RKB_WARP);
}
