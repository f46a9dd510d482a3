import { publicName } from '@herald/domain'
import { Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useLabels } from '../../i18n/labels.ts'
import { cutsOf, lengthOf, type TextPart } from './text-limits.ts'

/** The length of a text, and which vendors cut it. */
export function LengthHint({ text, part }: { text: string; part: TextPart }) {
  const { t } = useTranslation()
  const { format, channel } = useLabels()
  if (text.trim() === '') return null
  const cuts = cutsOf(text, part)
  return (
    <>
      {t('send.length', { n: format.number(lengthOf(text.trim())) })}
      {cuts.length > 0 && (
        <Text span inherit c="var(--herald-warning)">
          {' '}
          {t('send.lengthCut', {
            vendors: cuts
              .map(({ vendor, max }) => t('send.lengthCutAt', { name: channel(publicName(vendor)), n: max }))
              .join(t('send.lengthSeparator')),
          })}
        </Text>
      )}
    </>
  )
}
