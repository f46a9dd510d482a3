import { describe, expect, it } from '@jest/globals'
import { HpackDecoder } from '../src/hpack/decoder.ts'
import { type Field, HpackEncoder } from '../src/hpack/encoder.ts'

const hex = (text: string): Buffer => Buffer.from(text.replace(/\s/g, ''), 'hex')

function decodeAll(blocks: readonly string[], before = ''): string[][] {
  const decoder = new HpackDecoder(65_536)
  return blocks.map((block, at) => {
    const bytes = hex((at === 0 ? before : '') + block)
    return decoder.decode(bytes, 0, bytes.length).fields
  })
}

const plainRequests = [
  '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
  '8286 84be 5808 6e6f 2d63 6163 6865',
  '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
]
const huffmanRequests = [
  '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
  '8286 84be 5886 a8eb 1064 9cbf',
  '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
]
const requests = [
  [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'www.example.com'],
  [
    ':method',
    'GET',
    ':scheme',
    'http',
    ':path',
    '/',
    ':authority',
    'www.example.com',
    'cache-control',
    'no-cache',
  ],
  [
    ...[':method', 'GET', ':scheme', 'https', ':path', '/index.html', ':authority', 'www.example.com'],
    ...['custom-key', 'custom-value'],
  ],
]

const plainResponses = [
  `4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e
   1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
  '4803 3330 37c1 c0bf',
  `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d
   4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572
   7369 6f6e 3d31`,
]
const huffmanResponses = [
  `4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b
   97c8 e9ae 82ae 43d3`,
  '4883 640e ffc1 c0bf',
  `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf
   cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07`,
]
const cookie = 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'
const place = 'https://www.example.com'
const [early, late] = ['Mon, 21 Oct 2013 20:13:21 GMT', 'Mon, 21 Oct 2013 20:13:22 GMT']
const responses = [
  [':status', '302', 'cache-control', 'private', 'date', early, 'location', place],
  [':status', '307', 'cache-control', 'private', 'date', early, 'location', place],
  [
    ...[':status', '200', 'cache-control', 'private', 'date', late, 'location', place],
    ...['content-encoding', 'gzip', 'set-cookie', cookie],
  ],
]
/** Appendices C.5 and C.6 assume a table of 256 bytes, so that entries are evicted. */
const tableOf256 = '3f e1 01'

describe('the examples of RFC 7541 appendix C', () => {
  it.each([
    [
      'C.2.1, a literal that is indexed',
      '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572',
      ['custom-key', 'custom-header'],
    ],
    ['C.2.2, a literal that is not indexed', '040c 2f73 616d 706c 652f 7061 7468', [':path', '/sample/path']],
    ['C.2.3, a literal never indexed', '1008 7061 7373 776f 7264 0673 6563 7265 74', ['password', 'secret']],
    ['C.2.4, an indexed field', '82', [':method', 'GET']],
  ])('decode %s', (_name, block, fields) => {
    expect(decodeAll([block])).toEqual([fields])
  })

  it('decode the requests of C.3, plain, and C.4, Huffman coded, over one table', () => {
    expect(decodeAll(plainRequests)).toEqual(requests)
    expect(decodeAll(huffmanRequests)).toEqual(requests)
  })

  it('decode the responses of C.5 and C.6, whose table evicts', () => {
    expect(decodeAll(plainResponses, tableOf256)).toEqual(responses)
    expect(decodeAll(huffmanResponses, tableOf256)).toEqual(responses)
  })

  it('are what the encoder writes for the requests of C.3', () => {
    const encoder = new HpackEncoder()
    const written = requests.map((flat) => {
      const fields: Field[] = []
      for (let at = 0; at < flat.length; at += 2) fields.push({ name: flat[at]!, value: flat[at + 1]! })
      const { head, tail } = encoder.compile(fields.slice(0, 4), fields.slice(4))
      return Buffer.concat([head, tail]).toString('hex')
    })
    expect(written).toEqual(plainRequests.map((block) => hex(block).toString('hex')))
  })
})
