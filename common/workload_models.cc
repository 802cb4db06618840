#include "common/workload_models.h"

#include <string>

#include "common/error.h"

namespace doppler {
namespace {

constexpr std::int64_t kHalfBytes = 2;    // float16
constexpr std::int64_t kSingleBytes = 4;  // float32

// The five steps of the softmax of logits[kept, over] over the index `over`.
void add_softmax(Model& model, const std::string& logits, const std::string& result,
                 const std::string& kept, const std::string& over) {
  const std::string all = "[" + kept + "," + over + "]";
  const std::string row = "[" + kept + "]";
  model.add(result + ".max" + row + " = max " + logits + all);
  model.add(result + ".shift" + all + " = subtract " + logits + all + " " + result + ".max" + row);
  model.add(result + ".exp" + all + " = exp " + result + ".shift" + all);
  model.add(result + ".sum" + row + " = sum " + result + ".exp" + all);
  model.add(result + all + " = divide " + result + ".exp" + all + " " + result + ".sum" + row);
}

void add_rms_norm(Model& model, const std::string& input, const std::string& result) {
  model.add_input(result + ".gain[e]");
  model.add(result + ".square[b,s,e] = square " + input + "[b,s,e]");
  model.add(result + ".mean[b,s] = mean " + result + ".square[b,s,e]");
  model.add(result + ".rsqrt[b,s] = rsqrt " + result + ".mean[b,s]");
  model.add(result + ".scaled[b,s,e] = multiply " + input + "[b,s,e] " + result + ".rsqrt[b,s]");
  model.add(result + "[b,s,e] = multiply " + result + ".scaled[b,s,e] " + result + ".gain[e]");
}

// Queries, keys and values of `input`, rotary positions, softmax, values, output projection.
void add_attention(Model& model, const std::string& p, const std::string& input) {
  model.add_input(p + "rotary[s,k]");
  for (const std::string name : {"q", "k", "v"}) {
    model.add_input(p + "w" + name + "[e,h,k]");
    model.add(p + name + "[b,s,h,k] = matmul " + input + "[b,s,e] " + p + "w" + name + "[e,h,k]");
  }
  for (const std::string name : {"q", "k"}) {
    model.add(p + name + "r[b,s,h,k] = rotary " + p + name + "[b,s,h,k] " + p + "rotary[s,k]")
        .flops_per_point = 6;
  }
  model.add(p + "logits[b,h,s,t] = matmul " + p + "qr[b,s,h,k] " + p + "kr[b,t,h,k]");
  add_softmax(model, p + "logits", p + "weights", "b,h,s", "t");
  model.add(p + "mixed[b,s,h,k] = matmul " + p + "weights[b,h,s,t] " + p + "v[b,t,h,k]");
  model.add_input(p + "wo[h,k,e]");
  model.add(p + "attention[b,s,e] = matmul " + p + "mixed[b,s,h,k] " + p + "wo[h,k,e]");
}

void add_feed_forward(Model& model, const std::string& p, const std::string& input) {
  for (const std::string name : {"gate", "up"}) {
    model.add_input(p + "w" + name + "[e,f]");
    model.add(p + name + "[b,s,f] = matmul " + input + "[b,s,e] " + p + "w" + name + "[e,f]");
  }
  model.add(p + "silu[b,s,f] = silu " + p + "gate[b,s,f]").flops_per_point = 4;
  model.add(p + "gated[b,s,f] = multiply " + p + "silu[b,s,f] " + p + "up[b,s,f]");
  model.add_input(p + "wdown[f,e]");
  model.add(p + "down[b,s,e] = matmul " + p + "gated[b,s,f] " + p + "wdown[f,e]");
}

Model empty_llama(const std::string& name, const LlamaSize& size) {
  if (size.heads < 1 || size.width % size.heads != 0) {
    throw ConfigError("width: " + std::to_string(size.width) + " is not a multiple of heads, " +
                      std::to_string(size.heads));
  }
  Model model;
  model.name = name;
  model.element_bytes = kHalfBytes;
  model.extents = {{"b", size.batch},       {"s", size.sequence}, {"t", size.sequence},
                   {"e", size.width},       {"h", size.heads},    {"k", size.width / size.heads},
                   {"f", size.feed_forward}};
  return model;
}

// Returns the name of the last block's output.
std::string add_blocks(Model& model, std::string input, std::int64_t layers) {
  if (layers < 1) throw ConfigError("layers: must be at least 1");
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::string p = "l" + std::to_string(layer) + ".";
    add_rms_norm(model, input, p + "norm1");
    add_attention(model, p, p + "norm1");
    model.add(p + "middle[b,s,e] = add " + input + "[b,s,e] " + p + "attention[b,s,e]");
    add_rms_norm(model, p + "middle", p + "norm2");
    add_feed_forward(model, p, p + "norm2");
    model.add(p + "out[b,s,e] = add " + p + "middle[b,s,e] " + p + "down[b,s,e]");
    input = p + "out";
  }
  return input;
}

}  // namespace

Model ffnn_model(const FfnnSize& size, std::int32_t parts) {
  Model model;
  model.name = "ffnn";
  model.element_bytes = kSingleBytes;
  model.extents = {{"b", size.batch}, {"i", size.inputs}, {"h", size.hidden}, {"o", size.outputs}};
  for (const char* input : {"x[b,i]", "w1[i,h]", "w2[h,o]"}) model.add_input(input);
  model.add("z1[b,h] = matmul x[b,i] w1[i,h]");
  model.add("h1[b,h] = relu z1[b,h]");
  model.add("z2[b,o] = matmul h1[b,h] w2[h,o]");
  for (ModelOperation& operation : model.operations) {
    operation.partition = {{"b", parts}, {"h", parts}};
  }
  const std::size_t first = model.operations.size();
  add_softmax(model, "z2", "y", "b", "o");
  for (std::size_t i = first; i < model.operations.size(); ++i) {
    model.operations[i].partition = {{"b", parts * parts}};
  }
  return model;
}

Model llama_blocks_model(const LlamaSize& size, std::int64_t layers) {
  Model model = empty_llama(layers == 1 ? "llama-block" : "llama-blocks", size);
  model.add_input("x[b,s,e]");
  add_blocks(model, "x", layers);
  return model;
}

Model llama_model(const LlamaSize& size, std::int64_t layers) {
  Model model = empty_llama(layers == 1 ? "llama-layer" : "llama", size);
  model.extents["v"] = size.vocabulary;
  model.add_input("tokens[b,s]");
  model.add_input("embedding[v,e]");
  // A gather reads one row of the table per token, whatever the vocabulary: the table's rows that
  // are read are an input.
  model.add_input("rows[b,s,e]");
  model.add("x[b,s,e] = gather tokens[b,s] rows[b,s,e]");
  const std::string last = add_blocks(model, "x", layers);
  add_rms_norm(model, last, "final");
  // The last token of each sequence, by a sum against a mask; then the logits.
  model.add_input("last[s]");
  model.add("state[b,e] = select final[b,s,e] last[s]").flops_per_point = 1;
  model.add("logits[b,v] = matmul state[b,e] embedding[v,e]");
  return model;
}

Model attention_model(const LlamaSize& size) {
  Model model = empty_llama("attention", size);
  model.add_input("x[b,s,e]");
  add_attention(model, "", "x");
  return model;
}

Model mlp_training_model(const MlpSize& size) {
  Model model;
  model.name = "mlp-training";
  model.element_bytes = kSingleBytes;
  model.extents = {{"b", size.batch},
                   {"i", size.inputs},
                   {"h", size.hidden},
                   {"g", size.hidden},
                   {"o", size.outputs}};
  for (const char* input : {"x[b,i]", "target[b,o]", "w1[i,h]", "w2[h,g]", "w3[g,o]"}) {
    model.add_input(input);
  }
  model.add("z1[b,h] = matmul x[b,i] w1[i,h]");
  model.add("h1[b,h] = relu z1[b,h]");
  model.add("z2[b,g] = matmul h1[b,h] w2[h,g]");
  model.add("h2[b,g] = relu z2[b,g]");
  model.add("y[b,o] = matmul h2[b,g] w3[g,o]");
  model.add("dy[b,o] = subtract y[b,o] target[b,o]");
  model.add("dw3[g,o] = matmul h2[b,g] dy[b,o]");
  model.add("dh2[b,g] = matmul dy[b,o] w3[g,o]");
  model.add("dz2[b,g] = relu-gradient dh2[b,g] h2[b,g]");
  model.add("dw2[h,g] = matmul h1[b,h] dz2[b,g]");
  model.add("dh1[b,h] = matmul dz2[b,g] w2[h,g]");
  model.add("dz1[b,h] = relu-gradient dh1[b,h] h1[b,h]");
  model.add("dw1[i,h] = matmul x[b,i] dz1[b,h]");
  model.add("new-w1[i,h] = step w1[i,h] dw1[i,h]").flops_per_point = 2;
  model.add("new-w2[h,g] = step w2[h,g] dw2[h,g]").flops_per_point = 2;
  model.add("new-w3[g,o] = step w3[g,o] dw3[g,o]").flops_per_point = 2;
  return model;
}

Model mixture_of_experts_model(const ExpertsSize& size) {
  Model model;
  model.name = "mixture-of-experts";
  model.element_bytes = kHalfBytes;
  model.extents = {{"b", size.tokens},
                   {"e", size.width},
                   {"x", size.experts},
                   {"c", size.capacity},
                   {"f", size.feed_forward}};
  for (const char* input :
       {"tokens[b,e]", "wgate[e,x]", "route[b,x,c]", "w1[x,e,f]", "w2[x,f,e]"}) {
    model.add_input(input);
  }
  model.add("gate[b,x] = matmul tokens[b,e] wgate[e,x]");
  add_softmax(model, "gate", "score", "b", "x");
  model.add("scored[b,x,c] = multiply route[b,x,c] score[b,x]");
  model.add("dispatched[x,c,e] = matmul route[b,x,c] tokens[b,e]");
  model.add("hidden[x,c,f] = matmul dispatched[x,c,e] w1[x,e,f]");
  model.add("active[x,c,f] = gelu hidden[x,c,f]").flops_per_point = 8;
  model.add("expert[x,c,e] = matmul active[x,c,f] w2[x,f,e]");
  model.add("out[b,e] = matmul scored[b,x,c] expert[x,c,e]");
  return model;
}

}  // namespace doppler
