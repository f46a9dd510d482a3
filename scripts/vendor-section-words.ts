import type { CarryingWord } from '@herald/channels/cards'
import type { Language } from './generated-sections.ts'

/** The words of the generated sections; all else in them comes from the cards. */
export type Words = {
  /** Between the entries of a list. */
  comma: string
  vendorsHead: string[]
  receipts: string
  noReceipts: string
  field: string
  fieldsHead: string[]
  carrying: Readonly<Record<CarryingWord, string>>
  picture: string
  withRemark: string
  /** The remarks of the vendors, in the line of a field. */
  remarks(name: string, said: readonly { vendor: string; remark: string }[]): string
  onlyOwn(object: string): string
  /** A vendor's object that also has the fields of `message.android`. */
  inherits(object: string, inheritsChannel: boolean, hasOwn: boolean): string
  number(min: number, max: number, whole: boolean): string
  list(maxItems: number): string
  object: string
  record(names: string): string
  text: string
  textOfBytes(max: number): string
  textOfCharacters(max: number): string
}

export const wordsOf: Readonly<Record<Language, Words>> = {
  en: {
    comma: ', ',
    vendorsHead: [
      '`provider`',
      'vendor',
      'channel',
      'word in `ospush_sequence`',
      'fields of a message',
      'receipts',
      'marketing per device and day',
    ],
    receipts: 'yes',
    noReceipts: 'no',
    field: 'field',
    fieldsHead: ['field', 'values', 'meaning'],
    carrying: { yes: 'yes', app: 'app', certificate: 'certificate', no: '–' },
    picture: 'picture: ',
    withRemark: 'with a remark:',
    remarks: (name, said) =>
      `${name}: ${said.map(({ vendor, remark }) => `${vendor}: ${remark}`).join('. ')}.`,
    onlyOwn: (object) => `${object}:`,
    inherits: (object, inheritsChannel, hasOwn) =>
      `${object} has the [fields of \`message.android\`](README.md#message-fields); what it leaves out is taken from \`message.android\`${
        inheritsChannel ? '' : ', except `channel_id`, which is registered per vendor'
      }.${hasOwn ? ' Its own fields:' : ''}`,
    number: (min, max, whole) => `${whole ? 'integer' : 'number'} from ${min} to ${max}`,
    list: (maxItems) => `up to ${maxItems} texts`,
    object: 'JSON object',
    record: (names) => `object: ${names}`,
    text: 'text',
    textOfBytes: (max) => `text, at most ${max} bytes`,
    textOfCharacters: (max) => `text, at most ${max} characters`,
  },
  zh: {
    comma: '、',
    vendorsHead: [
      '`provider`',
      '厂商',
      '通道',
      '`ospush_sequence` 中的名称',
      '消息中的对象',
      '回执',
      '每台设备每日营销消息数',
    ],
    receipts: '有',
    noReceipts: '无',
    field: '字段',
    fieldsHead: ['字段', '取值', '含义'],
    carrying: { yes: '支持', app: '应用', certificate: '配置', no: '–' },
    picture: '图片：',
    withRemark: '有附加说明：',
    remarks: (name, said) =>
      `${name}：${said.map(({ vendor, remark }) => `${vendor}（${remark}）`).join('、')}。`,
    onlyOwn: (object) => `${object}：`,
    inherits: (object, inheritsChannel, hasOwn) =>
      `${object} 支持 [\`message.android\` 的字段](README.md#消息字段)，没有填写的取自 \`message.android\`${
        inheritsChannel ? '' : '，但 `channel_id` 除外，它要在各厂商分别登记'
      }。${hasOwn ? '自有字段：' : ''}`,
    number: (min, max, whole) => `${min} 到 ${max} 的${whole ? '整数' : '数字'}`,
    list: (maxItems) => `最多 ${maxItems} 项文本`,
    object: 'JSON 对象',
    record: (names) => `对象：${names}`,
    text: '文本',
    textOfBytes: (max) => `文本，最多 ${max} 字节`,
    textOfCharacters: (max) => `文本，最多 ${max} 个字符`,
  },
}
