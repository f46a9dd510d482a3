/** The permutation of RFC 2268, section 2. */
const pi = Buffer.from(
  'd978f9c419ddb5ed28e9fd794aa0d89dc67e37832b76538e624c6488448bfba2' +
    '179a59f587b34f1361456d8d09817d32bd8f40eb86b77b0bf09521225c6b4e82' +
    '54d66593ce60b21c7356c014a78cf1dc1275ca1f3bbee4d1423dd430a33cb626' +
    '6fbf0eda4669075727f21d9bbc944303f811c7f690ef3ee706c3d52fc8661ed7' +
    '08e8eade8052eef784aa72ac354d6a2a961ad2715a1549744b9fd05e0418a4ec' +
    'c2e0416e0f51cbcc2491af50a1f47039997c3a8523b8b47afc02365b25559731' +
    '2d5dfa98e38a92ae05df2910676cbac9d300e6cfe19ea82c6316013f58e289a9' +
    '0d38341bab33ffb0bb480c5fb9b1cd2ec5f3db47e5a59c770aa62068fe7fc1ad',
  'hex',
)

/**
 * RC2 in CBC mode, decryption only (RFC 2268). Keychain still exports .p12 files whose certificates are encrypted with 40-bit RC2,
 * which Node's OpenSSL no longer supports.
 */
export function decryptRc2Cbc(key: Buffer, iv: Buffer, data: Buffer): Buffer {
  if (data.length === 0 || data.length % 8 !== 0) throw new Error('not whole blocks')
  const words = expandKey(key)
  const plain = Buffer.alloc(data.length)
  for (let at = 0; at < data.length; at += 8) {
    decryptBlock(words, data, at, plain)
    const previous = at === 0 ? iv : data.subarray(at - 8, at)
    for (let i = 0; i < 8; i++) plain[at + i]! ^= previous[i]!
  }
  const padding = plain[plain.length - 1]!
  if (padding < 1 || padding > 8 || !plain.subarray(-padding).every((byte) => byte === padding))
    throw new Error('bad padding')
  return plain.subarray(0, plain.length - padding)
}

/** The effective key length is that of the key, as in PKCS#12. */
function expandKey(key: Buffer): Uint16Array {
  const bytes = Buffer.alloc(128)
  key.copy(bytes)
  for (let i = key.length; i < 128; i++) bytes[i] = pi[(bytes[i - 1]! + bytes[i - key.length]!) & 0xff]!
  bytes[128 - key.length] = pi[bytes[128 - key.length]!]!
  for (let i = 127 - key.length; i >= 0; i--) bytes[i] = pi[bytes[i + 1]! ^ bytes[i + key.length]!]!
  return Uint16Array.from({ length: 64 }, (_, i) => bytes.readUInt16LE(i * 2))
}

const rotations = [1, 2, 3, 5]

function decryptBlock(words: Uint16Array, data: Buffer, at: number, out: Buffer): void {
  const r = [0, 2, 4, 6].map((offset) => data.readUInt16LE(at + offset))
  let next = 63
  const mix = () => {
    for (let i = 3; i >= 0; i--) {
      const by = rotations[i]!
      const turned = ((r[i]! >>> by) | (r[i]! << (16 - by))) & 0xffff
      const [a, b, c] = [r[(i + 3) & 3]!, r[(i + 2) & 3]!, r[(i + 1) & 3]!]
      r[i] = (turned - words[next--]! - (a & b) - (~a & c)) & 0xffff
    }
  }
  const mash = () => {
    for (let i = 3; i >= 0; i--) r[i] = (r[i]! - words[r[(i + 3) & 3]! & 63]!) & 0xffff
  }
  for (let round = 0; round < 5; round++) mix()
  mash()
  for (let round = 0; round < 6; round++) mix()
  mash()
  for (let round = 0; round < 5; round++) mix()
  for (let i = 0; i < 4; i++) out.writeUInt16LE(r[i]!, at + i * 2)
}
