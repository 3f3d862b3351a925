// The part of QEMU's TCG plugin interface, version 1, that this plugin uses. Debian packages QEMU without its plugin
// header; these declarations follow the documentation ("QEMU TCG Plugins" in QEMU's developer manual) and bind at load.
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

using qemu_plugin_id_t = uint64_t;
using qemu_plugin_meminfo_t = uint32_t;
struct qemu_info_t {
  const char* target_name;  // "arm", "riscv32"; more follows
};
struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_CB_RW_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, qemu_plugin_tb*));
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, void*), void* data);

size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb* tb);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb* tb, size_t index);
uint64_t qemu_plugin_insn_vaddr(const qemu_plugin_insn* insn);
const void* qemu_plugin_insn_data(const qemu_plugin_insn* insn);
size_t qemu_plugin_insn_size(const qemu_plugin_insn* insn);

void qemu_plugin_register_vcpu_insn_exec_inline(qemu_plugin_insn* insn, qemu_plugin_op op, void* counter, uint64_t add);
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn* insn, void (*callback)(unsigned vcpu, void* data),
                                            qemu_plugin_cb_flags flags, void* data);
void qemu_plugin_register_vcpu_mem_cb(qemu_plugin_insn* insn,
                                      void (*callback)(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
                                                       void* data),
                                      qemu_plugin_cb_flags flags, qemu_plugin_mem_rw rw, void* data);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

}  // extern "C"
