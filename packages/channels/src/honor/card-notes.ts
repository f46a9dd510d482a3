import type { NoteTexts } from '../card.ts'

/** Chinese texts of the adapter's notes and warnings, except for those that all vendors share. */
export const noteTexts = {
  'Honor shows no pictures in marketing messages: the address is sent in the data.':
    '荣耀的营销类消息不显示图片，图片地址放在数据中发送。',
  'Honor has no custom sounds: the sound depends on the importance.':
    '荣耀不支持自定义提示音，提示音由重要程度决定。',
} as const satisfies NoteTexts
