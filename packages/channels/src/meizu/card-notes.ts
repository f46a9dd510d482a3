import type { NoteTexts } from '../card.ts'

/** Chinese texts of the adapter's notes and warnings, except for those that all vendors share. */
export const noteTexts = {
  'Meizu shows the picture in place of big_text.': '魅族会用图片代替长文本（big_text）。',
  'Meizu has no badge field.': '魅族没有角标字段。',
} as const satisfies NoteTexts
