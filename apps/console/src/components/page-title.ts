import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'

/** Sets the window title; undefined leaves it unchanged. */
export function usePageTitle(title: string | undefined): void {
  const { t } = useTranslation()
  const name = t('app.name')
  useEffect(() => {
    if (title !== undefined) document.title = `${title} · ${name}`
  }, [title, name])
}
