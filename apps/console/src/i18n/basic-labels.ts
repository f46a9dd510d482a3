import { HeraldError } from '@herald/client'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { splitDuration } from '../calculations/duration.ts'
import { formatIn } from '../calculations/format.ts'
import { type ErrorText, errorTextIn } from './error-texts.ts'

/** Numbers, times and errors in the current language. Apart from the other labels, so that the sign-in page does not load the vendors' cards. */
export function useBasicLabels() {
  const { t, i18n } = useTranslation()
  const language = i18n.language
  return useMemo(() => {
    const errorText = (error: unknown): ErrorText => {
      // Code 0: no response, or a response that is not from Herald.
      if (!(error instanceof HeraldError) || error.code !== 0) return errorTextIn(language, error)
      const { status } = error
      return { translated: status === 0 ? t('app.noResponse') : t('app.unexpectedResponse', { status }) }
    }
    return {
      errorText,
      format: formatIn(language),
      duration: (seconds: number) =>
        splitDuration(seconds)
          .map(({ unit, n }) => t(`duration.${unit}`, { n }))
          .join(' ') || t('duration.now'),
    }
  }, [t, language])
}
