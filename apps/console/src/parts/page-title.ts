import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'

/** Names the window after the page; without a name it stays as it is. */
export function usePageTitle(title: string | undefined): void {
  const { t } = useTranslation()
  const name = t('app.name')
  useEffect(() => {
    if (title !== undefined) document.title = `${title} · ${name}`
  }, [title, name])
}
