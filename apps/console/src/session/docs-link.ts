import { useTranslation } from 'react-i18next'

/** The address of the API reference in the reader's language; `call` is the anchor of a call, such as `put-admin-app`. */
export function useDocsLink(call?: string): string {
  const { i18n } = useTranslation()
  return `/docs?lang=${i18n.language}${call === undefined ? '' : `#${call}`}`
}
