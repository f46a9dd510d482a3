import { useTranslation } from 'react-i18next'
import { noteIn } from '../i18n/note-texts.ts'

/** A sentence of the API in the reader's language, otherwise as it is. */
export function NoteText({ children }: { children: string }) {
  const { i18n } = useTranslation()
  const translated = noteIn(i18n.language, children)
  return translated === undefined ? (
    <span lang="en" data-from="api">
      {children}
    </span>
  ) : (
    translated
  )
}
