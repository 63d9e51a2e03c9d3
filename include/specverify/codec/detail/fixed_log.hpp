// SPDX-License-Identifier: Apache-2.0
//! Computes log2 and 2^-x in 64-bit integers, for the survival function of gaps (codec/detail/gap_model.hpp).
//!
//! Guarantees: |log2_fixed(x) / 2^58 - log2 x| < 2^-41 and |exp2_fixed(y) / 2^63 - 2^-(y / 2^58)| < 2^-38. Bit-exact,
//!             constexpr, and monotone in the range that gap_model uses (checked by tests). The tables are round(2^63 *
//!             -log2(reciprocal / 2^17)) with reciprocal = ceil(2^25 / (256 + i)), and round(2^(63 - i / 256));
//!             tests/wire/decode_golden_test.py derives them.
#ifndef SPECVERIFY_CODEC_DETAIL_FIXED_LOG_HPP
#define SPECVERIFY_CODEC_DETAIL_FIXED_LOG_HPP

#include <specverify/config.hpp>
#include <specverify/cpp20.hpp>

#include <bit>
#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::uint64_t log2_table[256] = {
    0x0000000000000000, 0x00b84d6ac19a96b3, 0x016fdf461d2e4f7e, 0x0226b2a901f8f322, 0x02dcc4a62f553f0e,
    0x0392124c47c23eb5, 0x0446f724c9562516, 0x04fb126ff09deac3, 0x05ae613053e5d83a, 0x06613ff8a03122ea,
    0x07134ce8676ddba9, 0x07c484f6c7480aac, 0x087545c019de1798, 0x09258d4920213606, 0x09d4f831548808f8,
    0x0a8383614c819778, 0x0b31eff2c1334a97, 0x0bdf158d5bdee2b6, 0x0c8c18734da5685d, 0x0d38314ae3fa7d5d,
    0x0de3c077552a7038, 0x0e8ec3e1f64fb764, 0x0f393970ee5a2ea9, 0x0fe31f073ec368ff, 0x108c0d87c1ae1e2e,
    0x1134cc6cec6eca22, 0x11dc8f3a33d5598d, 0x12841ed563983cbb, 0x132aad4aa7356fba, 0x13d104eb4f39235b,
    0x1476564c741dc39f, 0x151b6d2affe9b503, 0x15bfe084d25de8db, 0x1663ae1fae1afd07, 0x17073c56f30b41db,
    0x17a9b816b33fef66, 0x184bf0a9b1899d15, 0x18ed7b32cbd5f734, 0x198ebf743d5589ea, 0x1a2f51d32bfc499e,
    0x1acf30032be78dcd, 0x1b6ec2d412106660, 0x1c0d9d8e94f119cc, 0x1cabbddf16e2d398, 0x1d498da330ae02cf,
    0x1de70b9782eea184, 0x1e83c98a2d142af6, 0x1f203266e1f5fc63, 0x1fbbd73e88fadeba, 0x205723b115ba93a2,
    0x20f1a8126dcc78fb, 0x218c3f70b51eaee2, 0x22260b61a8c0ef65, 0x22bf097b55c77a36, 0x2357a720d0f9f5af,
    0x23efe2f90e4fa6f1, 0x2487bba90c34e972, 0x251f2fd3d6f8381d, 0x25b5ccda378e4de1, 0x264c01e2e7a74a98,
    0x26e23f83faa647d2, 0x2777a0c347c2b7dc, 0x280c23253e53102e, 0x28a0aa48514a12a8, 0x2934c26d11320fda,
    0x29c86a2780e5580d, 0x2a5b2be6dae24f8d, 0x2aedee252ae93025, 0x2b7fc6cf0519755c, 0x2c119dcc3462efd4,
    0x2ca2fd28e71e8a28, 0x2d33e36ec897f4e8, 0x2dc3d8d8eec1fa3f, 0x2e53c82b449c1a32, 0x2ee339fa08ceaa7e,
    0x2f72a42a55172e79, 0x300116d652e2c0b7, 0x308f0783c219faf2, 0x311ced27fea8bde3, 0x31aa4e81f1140e10,
    0x32372a0d25624c01, 0x32c37e43b8b4c587, 0x334fc3866ee34678, 0x33db7f1d024d4f70, 0x3466af7d2d47f6d6,
    0x34f1531b546ac47a, 0x357be3c3e7a59e5f, 0x3605e547afcae988, 0x368fd2291f430bae, 0x3718b10eef618635,
    0x37a178e7865aa852, 0x382a293413c2ac65, 0x38b243f10ff75939, 0x3939c7881a1c9261, 0x39c1309dda766b8c,
    0x3a480015e043aa08, 0x3ace345624eb74f4, 0x3b544b147d8fe42a, 0x3bda43c95cf2dc22, 0x3c5f9de2416c85b7,
    0x3ce457c0451b366b, 0x3d68f085c715d510, 0x3ded67a68890b35b, 0x3e713b1a10350d21, 0x3ef4eb14569cc528,
    0x3f77f4d1da5a739b, 0x3ffad93d1980d33a, 0x407d14d7ad87ab89, 0x40ff29429102e4dd, 0x418115e9cd438bab,
    0x42025636bca5a030, 0x42836cdc3b4d7494, 0x4303d488df7d6df9, 0x438410a61f5750ea, 0x4404209ac61ea3ca,
    0x44837dfd80aa99f8, 0x4502ad49a502fe09, 0x4581ade3035c549d, 0x46007f2c8e5543fe, 0x467e9947ae621a6c,
    0x46fc821d35ea15bd, 0x477a390d302f449e, 0x47f735213124e6f1, 0x4873fd544aeaa19b, 0x48f09103b49d3f66,
    0x496cef8bcf6751a5, 0x49e9184827185128, 0x4a6480701d4375c5, 0x4adfb0c7f76bd577, 0x4b5aa8a88a0634fa,
    0x4bd56769d982e1a5, 0x4c4fec631b19934e, 0x4cc9aaf9b554ab96, 0x4d432dbb701ab14e, 0x4dbc73fcea7667be,
    0x4e360a17c0ccb821, 0x4eae484daedeca75, 0x4f26d5024ed9c536, 0x4f9f22815c6a37da, 0x5017301b94dd5dce,
    0x508e6e4d51d11c0a, 0x5105f9b0779eb298, 0x517cb39006afda0b, 0x51f32a0d4023bda4, 0x52695c75099b5375,
    0x52dfdab49ce1caa0, 0x5355833194f0a27f, 0x53cae57b7c5bf6c7, 0x544000dc597055d9, 0x54b4d49d7ea3990b,
    0x552960078c2e84af, 0x559da26271b10870, 0x56119af56fe1352b, 0x568549071a44fcf2, 0x56f8abdd58f6d185,
    0x576c56f9cff3753d, 0x57df21848cee2c01, 0x58519ea19f4a65eb, 0x58c3cd945315b408, 0x5935ad9f526cd042,
    0x59a7d40e951e2912, 0x5a19146bcc770beb, 0x5a8a9a682c33c2e3, 0x5afb381ab845933b, 0x5b6c1aa4bf9961fe,
    0x5bdcaa8288a584f7, 0x5c4ce6f2627b812d, 0x5cbccf3207c57e9a, 0x5d2c627ea11fec75, 0x5d9ba014c77f0cd2,
    0x5e0a873086a07568, 0x5e79b10efefd29fa, 0x5ee7e943f1797fb9, 0x5f5663697209076f, 0x5fc484b795f60e39,
    0x60324c678d84b6ff, 0x609fb9b2072e318c, 0x610d67fadc12c27c, 0x617a1e7e7705ad4c, 0x61e71527c473c59a,
    0x6253af0192b926df, 0x62bfeb41e1e5781c, 0x632bc91e3cf60e47, 0x6397e6215199a44a, 0x640305309387ec09,
    0x646e6287aab55214, 0x64d95f047c05a466, 0x654499a0ea12eed8, 0x65aed25df92b93a0, 0x66194857df524c67,
    0x66835af948273e54, 0x66edaaab92dc5d9c, 0x6756f48aff5a2492, 0x67c07a94bffe484a, 0x68299ac02e99469f,
    0x6892543c8e596fd0, 0x68fb493e80eec580, 0x6963d6a72aff6ec6, 0x69cbfba45fe2e15e, 0x6a33b763a38c3049,
    0x6a9bad8918516d39, 0x6b033982d53d5ec9, 0x6b6affacf6c1a88a, 0x6bd1b52f6bb7bccb, 0x6c38a3f1f1764265,
    0x6c9f25ef66f535d0, 0x6d05e0f37c8872ea, 0x6d6c2e3fae24736a, 0x6dd20cfd8b97db8e, 0x6e377c566ccd1c0d,
    0x6e9d2385a1c107cc, 0x6f025a59c8932e82, 0x6f67c8c60a202d42, 0x6fccc5df971fc5ad, 0x703150cd9e906295,
    0x7096129757327e80, 0x70fa613b91c533a1, 0x715e3be061931639, 0x71c24ca0f8918ba2, 0x7225e865eb84f588,
    0x72890e54412547db, 0x72ec699b01d0948d, 0x734f4e0cbd797e4f, 0x73b1bacd7e156806, 0x74145c1feb0f2aa1,
    0x7477323c4a0abd02, 0x74d8e1aab6772a97, 0x753b7315505bc183, 0x759cdc168abf92f1, 0x75fe7895200b5935,
    0x765f997e523c1dfb, 0x76c0ed98b04bcb08, 0x7721c51852c2824e, 0x7782cf7bc795b45d, 0x77e35c3dc7d5c63a,
    0x78441b9516f5881e, 0x78a3aacf91654f72, 0x79041d66322c30bb, 0x7964104a25f938e6, 0x79c38299c9be796a,
    0x7a2273738fe108ee, 0x7a824877142cc23a, 0x7ae0e8143a2b03ae, 0x7b3fb8469b39d728, 0x7b9eb940346ab3ef,
    0x7bfd368073fe4e85, 0x7c5b2f23bb186cc0, 0x7cb957b132bd77db, 0x7d16fa926a72847b, 0x7d74cd06703ca18b,
    0x7dd218bdbe79cf99, 0x7e2f93af5bc478a2, 0x7e8c86d29f7160f1, 0x7ee9a8d6984689b3, 0x7f4641f970ddd9fe,
    0x7fa309a24bafae52,
};

inline constexpr std::uint64_t exp2_table[256] = {
    0x8000000000000000, 0x7fa765aca88f6453, 0x7f4f08ae3dc7c426, 0x7ef6e8da4b544f9a, 0x7e9f06067a4360ba,
    0x7e47600890f223de, 0x7deff6b672f84e24, 0x7d98c9e62113e1fa, 0x7d41d96db915019d, 0x7ceb252375c9cf9b,
    0x7c94acddaeea5d3a, 0x7c3e7072d904a6ce, 0x7be86fb985689ddc, 0x7b92aa886214411c, 0x7b3d20b6399fc237,
    0x7ae7d219f329b948, 0x7a92be8a92436616, 0x7a3de5df36dcfeef, 0x79e947ef1d320d2d, 0x7994e4919db5d74e,
    0x7940bb9e2cffd89d, 0x78ecccec5bb84661, 0x78991853d684a285, 0x78459dac65f45bb5, 0x77f25ccdee6d7ae6,
    0x779f559070195e36, 0x774c87cc06d1812e, 0x76f9f358ea0c5249, 0x76a7980f6cca15c2, 0x765575c7fd81d5a0,
    0x76038c5b260e5eee, 0x75b1dba18b9b4c20, 0x75606373ee921c97, 0x750f23ab2a87593e, 0x74be1c203627c62b,
    0x746d4cac2325a155, 0x741cb5281e25ee34, 0x73cc556d6eadce5f, 0x737c2d55770fe711, 0x732c3cb9b459d38b,
    0x72dc8373be41a454, 0x728d015d47136b40, 0x723db6501b9ed447, 0x71eea2262324cb0c, 0x719fc4b95f452d29,
    0x71511de3ebec8913, 0x7102ad7fff41e9b4, 0x70b47367e994ae92, 0x70666f76154a7089, 0x7018a18506ccf314,
    0x6fcb096f5c782210, 0x6f7da70fce881bf9, 0x6f307a412f074892, 0x6ee382de69bc7bf8, 0x6e96c0c284192610,
    0x6e4a33c89d278e49, 0x6dfddbcbed791bab, 0x6db1b8a7c714a92b, 0x6d65ca379564e639, 0x6d1a1056dd26c382,
    0x6cce8ae13c57ebdb, 0x6c8339b26a25494e, 0x6c381ca636d99642, 0x6bed33988bcbfab5, 0x6ba27e656b4eb57a,
    0x6b57fce8f09dd17f, 0x6b0daeff4fcde703, 0x6ac39484d5bae8c5, 0x6a79ad55e7f6fd10, 0x6a2ff94f04b962b0,
    0x69e6784cc2cd61bd, 0x699d2a2bd181482a, 0x69540ec8f895722d, 0x690b2601182b5e56, 0x68c26fb128b4cd63,
    0x6879ebb63ae2edc6, 0x683199ed779592ca, 0x67e97a341fca775b, 0x67a18c678c8c8c61, 0x6759d0652ee352af,
    0x6712460a8fc24072, 0x66caed354ff83222, 0x6683c5c3281ee6e9, 0x663ccf91e88a8873, 0x65f60a7f79393e2e,
    0x65af7669d9c2cbe4, 0x6569132f21483ba7, 0x6522e0ad7e639312, 0x64dcdec3371793d1, 0x64970d4ea8bf8766,
    0x64516c2e47ff1623, 0x640bfb40a0b22959, 0x63c6ba6455dcd8ae, 0x6381a978219b628f, 0x633cc85ad5122fbd,
    0x62f816eb585de1ed, 0x62b39508aa836d6f, 0x626f4291e1603dd5, 0x622b1f66299a6599, 0x61e72b64c690d8af,
    0x61a3666d124bb204, 0x615fd05e7d6c83e4, 0x611c69188f1eb339, 0x60d9307ae507dd9a, 0x6096266533384a2b,
    0x60534ab7441b6546, 0x60109d50f86846d8, 0x5fce1e124712437c, 0x5f8bccdb3d398841, 0x5f49a98bfe1bc11c,
    0x5f07b404c304c9f1, 0x5ec5ec25db3f6a41, 0x5e8451cfac061b5f, 0x5e42e4e2b073d935, 0x5e01a53f7974fd86,
    0x5dc092c6adb825b8, 0x5d7fad59099f22fe, 0x5d3ef4d75f2ff504, 0x5cfe69229605cef5, 0x5cbe0a1bab4226df,
    0x5c7dd7a3b17dcf75, 0x5c3dd19bd0ba1c1a, 0x5bfdf7e546520f3e, 0x5bbe4a6164eb92f4, 0x5b7ec8f19468bbc9,
    0x5b3f737751d915c8, 0x5b0049d42f6afbb6, 0x5ac14be9d45cf869, 0x5a827999fcef3242, 0x5a43d2c67a54e0c0,
    0x5a05575132a5cc20, 0x59c7071c20cfd70c, 0x5988e20954889245, 0x594ae7faf23eda52, 0x590d18d3330c7f1e,
    0x58cf747464a7f584, 0x5891fac0e95612c8, 0x5854ab9b37dbd1e5, 0x581786e5db7022c2, 0x57da8c8373adc331,
    0x579dbc56b48521ba, 0x57611642662e4a33, 0x57249a29651adc07, 0x56e847eea1e80a49, 0x56ac1f752150a563,
    0x5670209ffc1f2e82, 0x56344b525f1ff495, 0x55f89f6f8b133af4, 0x55bd1cdad49f699c, 0x5581c377a44346f0,
    0x5546932976483b15, 0x550b8bd3dab49cbd, 0x54d0ad5a753e077c, 0x5495f7a0fd3bbb8e, 0x545b6a8b3d990704,
    0x542105fd14c7b869, 0x53e6c9da74b29ab5, 0x53acb60762affaae, 0x5372ca67f774358f, 0x533906e05f045106,
    0x52ff6b54d8a89c75, 0x52c5f7a9b6df5b77, 0x528cabc35f4f799d, 0x525387864abb4762, 0x521a8ad704f3404f,
    0x51e1b59a2cc8da3e, 0x51a907b474015dc9, 0x5170810a9f48c7cf, 0x513821818624b40c, 0x50ffe8fe12e750c4,
    0x50c7d76542a25b72, 0x508fec9c251a267c, 0x50582887dcb8a7e1, 0x50208b0d9e8090df, 0x4fe91412b2006e83,
    0x4fb1c37c7145d328, 0x4f7a993048d088d7, 0x4f439513b785cc80, 0x4f0cb70c4ea39210, 0x4ed5feffb1b3d155,
    0x4e9f6cd3967fdba8, 0x4e69006dc503ba65, 0x4e32b9b417619617, 0x4dfc988c79d52661, 0x4dc69cdceaa72a9c,
    0x4d90c68b7a20eb1e, 0x4d5b157e4a7fc325, 0x4d25899b8fe8b365, 0x4cf022c9905bfd32, 0x4cbae0eea3a8c63c,
    0x4c85c3f13360c4d5, 0x4c50cbb7bacbf4cb, 0x4c1bf828c6dc54b8, 0x4be7492af621abd6, 0x4bb2bea4f8bd5847,
    0x4b7e587d905625d1, 0x4b4a169b900c2d00, 0x4b15f8e5dc6cbab0, 0x4ae1ff436b663ff7, 0x4aae299b443c4a6b,
    0x4a7a77d47f7b84b1, 0x4a46e9d646edbf6a, 0x4a137f87d58e025b, 0x49e038d0777ca5e0, 0x49ad159789f37496,
    0x497a15c47b39d53e, 0x4947393eca98fcd6, 0x49147fee085028d6, 0x48e1e9b9d588e19b, 0x48af7689e44b44ea,
    0x487d2645f7725895, 0x484af8d5e2a06536, 0x4818ee218a3358ee, 0x47e70610e3393241, 0x47b5408bf36472e2,
    0x47839d7ad1009a90, 0x47521cc5a2e6a9e0, 0x4720be54a071ad01, 0x46ef821011734e6b, 0x46be67e04e28717c,
    0x468d6fadbf2dd4f3, 0x465c9960dd74bd4b, 0x462be4e23237a6ef, 0x45fb521a56ef0042, 0x45cae0f1f545eb73,
    0x459a9151c70f0819, 0x456a632296394492, 0x453a564d3cc4b723, 0x450a6abaa4b77ecd, 0x44daa053c812abd2,
    0x44aaf701b0c72fee, 0x447b6ead78aad636, 0x444c0740496d4294, 0x441cc0a35c8cf8ea, 0x43ed9abffb4c6bc9,
    0x43be957f7ea712b6, 0x438fb0cb4f468808, 0x4360ec8ce577ae44, 0x433248adc91fdd02, 0x4303c51791b21550,
    0x42d561b3e6243d8a, 0x42a71e6c7ce464af, 0x4278fb2b1bce0d15, 0x424af7d9981f7e98, 0x421d1461d66f2023,
    0x41ef50adcaa0d899, 0x41c1aca777db771b, 0x41942838f07e22a3, 0x4166c34c5615d0ec, 0x41397dcbd952c4a6,
    0x410c57a1b9fe12f6, 0x40df50b846ef302b, 0x40b268f9de0183ba, 0x4085a050ec0a036a, 0x4058f6a7ecccd5b6,
    0x402c6be96af2fb58,
};

struct reciprocal_table {
  std::uint32_t of[256] = {};
  constexpr reciprocal_table() noexcept {
    for (std::uint32_t i = 0; i < 256; ++i) of[i] = ((std::uint32_t{1} << 25) + 255 + i) / (256 + i);
  }
};
inline constexpr reciprocal_table reciprocals{};

//! Returns the high half of a 64 x 64-bit product.
[[nodiscard]] constexpr std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) noexcept {
#if defined(__SIZEOF_INT128__)
  __extension__ using wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<wide>(a) * b) >> 64);
#else
  const std::uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
  const std::uint64_t middle = a1 * b0 + ((a0 * b0) >> 32);
  const std::uint64_t other = a0 * b1 + (middle & 0xffffffffu);
  return a1 * b1 + (middle >> 32) + (other >> 32);
#endif
}

inline constexpr unsigned log2_fraction_bits = 58;

//! Returns log2(x) * 2^58 for x in [1, 2^26).
[[nodiscard]] constexpr std::uint64_t log2_fixed(std::uint32_t x) noexcept {
  const unsigned width = static_cast<unsigned>(std::bit_width(x));
  const std::uint32_t scaled = x << (26 - width);
  const std::uint32_t index = (scaled >> 17) & 255u;
  // scaled * reciprocal = 2^42 (1 + z), z < 2^-7.9
  const std::uint64_t z = (scaled * std::uint64_t{reciprocals.of[index]} - (std::uint64_t{1} << 42)) << 22;
  // z (c1 - z c2 + z^2 (c3 - z c4)) with c_i = 2^63 log2(e) / i.
  const std::uint64_t upper = 0x3d8e13b87407fae9u - multiply_high(z, 0x2e2a8eca5705fc2fu);
  const std::uint64_t lower = 0xb8aa3b295c17f0bcu - multiply_high(z, 0x5c551d94ae0bf85eu);
  const std::uint64_t sum = lower + multiply_high(multiply_high(z, z), upper);
  return (static_cast<std::uint64_t>(width - 1) << log2_fraction_bits) +
         ((log2_table[index] + multiply_high(z, sum)) >> 5);
}

//! Returns 2^(-y / 2^58) * 2^63 for y below 64 * 2^58. A result below 1 is 0.
[[nodiscard]] constexpr std::uint64_t exp2_fixed(std::uint64_t y) noexcept {
  const unsigned whole = static_cast<unsigned>(y >> log2_fraction_bits);
  const std::uint32_t index = static_cast<std::uint32_t>(y >> (log2_fraction_bits - 8)) & 255u;
  const std::uint64_t rest = (y & ((std::uint64_t{1} << (log2_fraction_bits - 8)) - 1)) << 6;
  // 2^-r = 1 - r (d1 - r (d2 - r d3)) with d_i = 2^64 ln(2)^i / i!.
  const std::uint64_t sum =
      0xb17217f7d1cf79acu - multiply_high(rest, 0x3d7f7bff058b1d51u - multiply_high(rest, 0x0e35846b82505fc6u));
  const std::uint64_t base = exp2_table[index];
  return (base - multiply_high(multiply_high(base, rest), sum)) >> whole;
}

//! Returns -log2(level / 2^40) * 2^58 within about 2^-17, for level in [1, 2^40].
[[nodiscard]] constexpr std::uint64_t level_exponent_guess(std::uint64_t level) noexcept {
  const unsigned width = static_cast<unsigned>(std::bit_width(level));
  const std::uint32_t scaled = static_cast<std::uint32_t>(level << (41 - width) >> 15);
  const std::uint32_t index = (scaled >> 17) & 255u;
  const std::uint64_t z = (scaled * std::uint64_t{reciprocals.of[index]} - (std::uint64_t{1} << 42)) << 22;
  const std::uint64_t sum = 0xb8aa3b295c17f0bcu - multiply_high(z, 0x5c551d94ae0bf85eu);
  const std::uint64_t known = (static_cast<std::uint64_t>(width - 1) << log2_fraction_bits) +
                              ((log2_table[index] + multiply_high(z, sum)) >> 5);
  constexpr std::uint64_t top = std::uint64_t{40} << log2_fraction_bits;
  return known < top ? top - known : 0;
}

//! Returns (1 - 2^(-y / 2^58)) * 2^64 within about 2^-28, for y below 64 * 2^58.
[[nodiscard]] constexpr std::uint64_t exp2_loss_guess(std::uint64_t y) noexcept {
  const unsigned whole = static_cast<unsigned>(y >> log2_fraction_bits);
  const std::uint32_t index = static_cast<std::uint32_t>(y >> (log2_fraction_bits - 8)) & 255u;
  const std::uint64_t rest = (y & ((std::uint64_t{1} << (log2_fraction_bits - 8)) - 1)) << 6;
  const std::uint64_t sum = 0xb17217f7d1cf79acu - multiply_high(rest, 0x3d7f7bff058b1d51u);
  const std::uint64_t base = exp2_table[index];
  return ((std::uint64_t{1} << 63) - ((base - multiply_high(base, multiply_high(rest, sum))) >> whole)) << 1;
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
