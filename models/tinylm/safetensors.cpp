// SPDX-License-Identifier: Apache-2.0
// Reads the JSON header and the tensors that it describes.
#include "safetensors.hpp"

#include <algorithm>
#include <utility>

#include "strict_json.hpp"

namespace tinylm {

namespace {

using nlohmann::json;
using byte_range = std::pair<std::size_t, std::size_t>;  // begin and end

std::string read_metadata(const json& entry, std::map<std::string, std::string>& metadata) {
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string()) return "safetensors: metadata " + key + " is no string";
    metadata[key] = value.get<std::string>();
  }
  return {};
}

bool describes_tensor(const json& entry) {
  const auto type = entry.find("dtype");
  const auto shape = entry.find("shape");
  const auto offsets = entry.find("data_offsets");
  return type != entry.end() && type->is_string() && shape != entry.end() && shape->is_array() &&
         offsets != entry.end() && offsets->is_array() && offsets->size() == 2 && (*offsets)[0].is_number_unsigned() &&
         (*offsets)[1].is_number_unsigned();
}

std::vector<float> read_values(const std::uint8_t* from, std::size_t count, bool half) {
  const std::size_t width = half ? 2 : 4;
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    for (std::size_t b = 0; b < width; ++b) bits |= std::uint32_t{from[i * width + b]} << (8 * b);
    values[i] = half ? half_to_float(static_cast<std::uint16_t>(bits)) : std::bit_cast<float>(bits);
  }
  return values;
}

outcome<tensor> read_tensor(const std::string& name, const json& entry, std::span<const std::uint8_t> data,
                            byte_range& range) {
  using bad = outcome<tensor>;
  if (!describes_tensor(entry)) return bad::failure("safetensors: " + name + " lacks dtype, shape or data_offsets");
  const json& type = *entry.find("dtype");
  const bool half = type == "F16";
  if (!half && type != "F32") return bad::failure("safetensors: " + name + " is neither F16 nor F32");
  const std::size_t width = half ? 2 : 4;
  tensor parsed;
  std::size_t count = 1;
  for (const auto& extent : *entry.find("shape")) {
    if (!extent.is_number_unsigned()) return bad::failure("safetensors: " + name + " has a bad shape");
    const auto length = extent.get<std::uint64_t>();
    if (length == 0 || length > data.size() / width / count)
      return bad::failure("safetensors: " + name + " has a shape beyond the file");
    count *= static_cast<std::size_t>(length);
    parsed.shape.push_back(static_cast<std::size_t>(length));
  }
  const json& offsets = *entry.find("data_offsets");
  const auto first = offsets[0].get<std::uint64_t>();
  const auto last = offsets[1].get<std::uint64_t>();
  if (first > last || last > data.size() || last - first != count * width) {
    return bad::failure("safetensors: " + name + " has data_offsets that do not fit its shape or the file");
  }
  parsed.values = read_values(data.data() + first, count, half);
  range = {static_cast<std::size_t>(first), static_cast<std::size_t>(last)};
  return parsed;
}

std::string uncovered(std::vector<byte_range> ranges, std::size_t size) {
  std::sort(ranges.begin(), ranges.end());
  std::size_t end = 0;
  for (const auto& [first, last] : ranges) {
    if (first != end) return "safetensors: tensors overlap or leave a gap";
    end = last;
  }
  return end != size ? "safetensors: bytes after the last tensor" : "";
}

}  // namespace

outcome<tensor_file> parse_safetensors(std::span<const std::uint8_t> bytes) {
  using bad = outcome<tensor_file>;
  if (bytes.size() < 8) return bad::failure("safetensors: shorter than its header length");
  std::uint64_t header_size = 0;
  for (std::size_t i = 0; i < 8; ++i) header_size |= std::uint64_t{bytes[i]} << (8 * i);
  if (header_size > bytes.size() - 8 || header_size > (1u << 20))
    return bad::failure("safetensors: header length beyond the file");
  const auto text = bytes.subspan(8, static_cast<std::size_t>(header_size));
  const auto data = bytes.subspan(8 + static_cast<std::size_t>(header_size));
  const auto header = strict_object({reinterpret_cast<const char*>(text.data()), text.size()});
  if (!header.ok()) return bad::failure("safetensors: bad header: " + header.error);

  tensor_file file;
  std::vector<byte_range> ranges;
  for (const auto& [name, entry] : header->items()) {
    if (!entry.is_object()) return bad::failure("safetensors: " + name + " is no JSON object");
    if (name == "__metadata__") {
      const std::string error = read_metadata(entry, file.metadata);
      if (!error.empty()) return bad::failure(error);
      continue;
    }
    auto parsed = read_tensor(name, entry, data, ranges.emplace_back());
    if (!parsed.ok()) return bad::failure(parsed.error);
    file.tensors.emplace(name, std::move(*parsed));
  }
  const std::string error = uncovered(std::move(ranges), data.size());
  if (!error.empty()) return bad::failure(error);
  return file;
}

}  // namespace tinylm
