import { HeraldError } from '@herald/client'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { splitDuration } from '../figures/duration.ts'
import { formatIn } from '../figures/format.ts'
import { en } from '../words/en.ts'
import { type Refusal, refusalIn } from '../words/refusals.ts'

/** Numbers, times and the names that come from the API, in the language of the moment. */
export function useWords() {
  const { t, i18n } = useTranslation()
  const language = i18n.language
  return useMemo(() => {
    const named =
      <Kind extends 'channel' | 'taskState' | 'fate' | 'platform'>(kind: Kind) =>
      // A name the API has learnt since is shown as it is.
      (name: string) =>
        Object.hasOwn(en[kind], name) ? t(`${kind}.${name}` as 'channel.apns') : name
    const refusal = (error: unknown): Refusal => {
      // No code: what answered, if anything did, was not Herald.
      if (!(error instanceof HeraldError) || error.code !== 0) return refusalIn(language, error)
      const { status } = error
      return { sentence: status === 0 ? t('app.noAnswer') : t('app.strangeAnswer', { status }) }
    }
    return {
      refusal,
      format: formatIn(language),
      channel: named('channel'),
      taskState: named('taskState'),
      fate: named('fate'),
      platform: named('platform'),
      duration: (seconds: number) =>
        splitDuration(seconds)
          .map(({ unit, n }) => t(`duration.${unit}`, { n }))
          .join(' ') || t('duration.now'),
    }
  }, [t, language])
}
