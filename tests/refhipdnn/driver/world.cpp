#include "world.hpp"

Problem::Problem(hipdnnHandle_t handle, size_t engine, int64_t threads) {
  reset();
  tx = make_tensor(1, HIPDNN_DATA_FLOAT, {1, 1, 3, 3}, {9, 9, 3, 1}, false);
  tw = make_tensor(2, HIPDNN_DATA_FLOAT, {1, 1, 2, 2}, {4, 4, 2, 1}, false);
  ty = make_tensor(3, HIPDNN_DATA_FLOAT, {1, 1, 2, 2}, {4, 4, 2, 1}, false);
  conv = Object(HIPDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  conv.set(HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tx);
  conv.set(HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tw);
  conv.set(HIPDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, ty);
  set_convolution(conv, {{0, 0}, {0, 0}, {1, 1}, {1, 1}, 1, HIPDNN_DATA_FLOAT});
  conv.finalize();
  graph = make_graph(handle, {&conv});
  std::vector<Object> configs = engine_configs(graph);
  if (engine >= configs.size()) {
    throw std::runtime_error("only " + std::to_string(configs.size()) + " engines");
  }
  config = std::move(configs[engine]);
  if (threads > 0) {
    Object choice(HIPDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    choice.set(HIPDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, HIPDNN_TYPE_CHAR, 11, "ref.threads");
    choice.set(HIPDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, threads);
    choice.finalize();
    config.set(HIPDNN_ATTR_ENGINECFG_KNOB_CHOICES, choice);
  }
  config.finalize();
}

Object Problem::pack(void *workspace) {
  return make_pack({1, 2, 3}, {x, w, y}, workspace);
}

void Problem::reset(float by) {
  factor = by;
  for (int i = 0; i < 9; i++) {
    x[i] = factor * static_cast<float>(i + 1);
  }
  for (int i = 0; i < 4; i++) {
    w[i] = 1;
    y[i] = -1;
  }
}

bool Problem::right() const {
  return y[0] == 12 * factor && y[1] == 16 * factor && y[2] == 24 * factor && y[3] == 28 * factor;
}

bool Problem::run(hipdnnHandle_t handle, Object &plan, void *workspace) {
  Object p = pack(workspace);
  CHECK(hipdnnBackendExecute, handle, plan.get(), p.get());
  return right();
}
