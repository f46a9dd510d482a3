import { SimpleGrid, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { secondsOf } from '../../calculations/local-time.ts'
import { zoneText } from '../../calculations/time-zone.ts'
import { Panel } from '../../components/panel.tsx'
import type { Change, Draft } from './draft.ts'
import type { FieldProps } from './form-fields.ts'

type Props = { draft: Draft; change: Change; field: FieldProps }

export function SchedulePanel({ draft, change, field }: Props) {
  const { t, i18n } = useTranslation()
  /** The offset is that of the entered time: it may be on the other side of a change of the clocks. */
  const zoneOf = (value: string) => {
    const at = secondsOf(value)
    return t('send.zone', { zone: zoneText(i18n.language, at === undefined ? Date.now() : at * 1000) })
  }
  return (
    <Panel title={t('send.schedule')}>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput
          {...field('beginAt')}
          type="datetime-local"
          label={t('send.beginAt')}
          description={`${t('send.beginHint')} ${zoneOf(draft.beginAt)}`}
          value={draft.beginAt}
          onChange={({ currentTarget }) => change({ beginAt: currentTarget.value })}
        />
        <TextInput
          {...field('endAt')}
          type="datetime-local"
          label={t('send.endAt')}
          description={`${t('send.endHint')} ${zoneOf(draft.endAt)}`}
          value={draft.endAt}
          onChange={({ currentTarget }) => change({ endAt: currentTarget.value })}
        />
        <TextInput
          {...field('speed')}
          inputMode="numeric"
          label={t('send.speed')}
          description={t('send.speedHint')}
          value={draft.speed}
          onChange={({ currentTarget }) => change({ speed: currentTarget.value })}
        />
        <TextInput
          {...field('campaign')}
          label={t('tasks.campaign')}
          description={t('send.campaignHint')}
          value={draft.campaign}
          maxLength={64}
          onChange={({ currentTarget }) => change({ campaign: currentTarget.value })}
        />
      </SimpleGrid>
    </Panel>
  )
}
