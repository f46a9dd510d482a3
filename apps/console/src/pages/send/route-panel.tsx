import { Checkbox, NativeSelect, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Panel } from '../../components/panel.tsx'
import type { Change, Draft } from './draft.ts'
import { SequenceList } from './sequence-list.tsx'

type Props = { draft: Draft; change: Change }

export function RoutePanel({ draft, change }: Props) {
  const { t } = useTranslation()
  return (
    <Panel title={t('send.route')}>
      <Stack gap="sm">
        <NativeSelect
          label={t('send.strategy')}
          value={draft.strategy}
          onChange={({ currentTarget }) => change({ strategy: currentTarget.value as Draft['strategy'] })}
          data={(['combined', 'nativepush_only', 'ospush_only'] as const).map((value) => ({
            value,
            label: t(`send.${value}`),
          }))}
        />
        {draft.strategy !== 'nativepush_only' && (
          <SequenceList sequence={draft.sequence} onChange={(sequence) => change({ sequence })} />
        )}
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <TextInput
            type="datetime-local"
            label={t('send.beginAt')}
            value={draft.beginAt}
            onChange={({ currentTarget }) => change({ beginAt: currentTarget.value })}
          />
          <TextInput
            type="datetime-local"
            label={t('send.endAt')}
            value={draft.endAt}
            onChange={({ currentTarget }) => change({ endAt: currentTarget.value })}
          />
          <TextInput
            inputMode="numeric"
            label={t('send.ttl')}
            description={t('send.ttlHint')}
            value={draft.ttl}
            onChange={({ currentTarget }) => change({ ttl: currentTarget.value })}
          />
          <TextInput
            inputMode="numeric"
            label={t('send.speed')}
            description={t('send.speedHint')}
            value={draft.speed}
            onChange={({ currentTarget }) => change({ speed: currentTarget.value })}
          />
          <NativeSelect
            label={t('send.priority')}
            value={draft.priority}
            onChange={({ currentTarget }) => change({ priority: currentTarget.value as Draft['priority'] })}
            data={[
              { value: '', label: t('send.priorityAuto') },
              { value: 'high', label: t('send.high') },
              { value: 'normal', label: t('send.normal') },
            ]}
          />
          <NativeSelect
            label={t('send.messageClass')}
            value={draft.messageClass}
            onChange={({ currentTarget }) =>
              change({ messageClass: currentTarget.value as Draft['messageClass'] })
            }
            data={[
              { value: '', label: t('send.classDefault') },
              { value: 'service', label: t('send.service') },
              { value: 'marketing', label: t('send.marketing') },
            ]}
          />
        </SimpleGrid>
        <TextInput
          label={t('tasks.campaign')}
          description={t('send.campaignHint')}
          value={draft.campaign}
          maxLength={64}
          onChange={({ currentTarget }) => change({ campaign: currentTarget.value })}
        />
        <Checkbox
          label={t('send.events')}
          description={t('send.eventsHint')}
          checked={draft.events}
          onChange={({ currentTarget }) => change({ events: currentTarget.checked })}
        />
        <TextInput
          label={t('send.requestId')}
          description={t('send.requestIdHint')}
          value={draft.requestId}
          onChange={({ currentTarget }) => change({ requestId: currentTarget.value })}
        />
      </Stack>
    </Panel>
  )
}
