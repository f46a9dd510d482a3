import { strategies } from '@herald/domain'
import { Checkbox, NativeSelect, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { Change, Draft } from './draft.ts'
import type { FieldProps } from './form-fields.ts'
import { SequenceList } from './sequence-list.tsx'

type Props = { draft: Draft; change: Change; field: FieldProps }

export function RoutingFields({ draft, change, field }: Props) {
  const { t } = useTranslation()
  return (
    <Stack gap="sm">
      <NativeSelect
        {...field('strategy')}
        label={t('send.strategy')}
        value={draft.strategy}
        onChange={({ currentTarget }) => change({ strategy: currentTarget.value as Draft['strategy'] })}
        data={[
          { value: '', label: t('send.strategyDefault') },
          ...strategies.map((value) => ({ value, label: t(`send.${value}`) })),
        ]}
      />
      {draft.strategy !== 'nativepush_only' && (
        <SequenceList
          id={field('sequence').id}
          sequence={draft.sequence}
          onChange={(sequence) => change({ sequence })}
        />
      )}
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput
          {...field('ttl')}
          inputMode="numeric"
          label={t('send.ttl')}
          description={t('send.ttlHint')}
          value={draft.ttl}
          onChange={({ currentTarget }) => change({ ttl: currentTarget.value })}
        />
        <NativeSelect
          {...field('priority')}
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
          {...field('messageClass')}
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
        <TextInput
          {...field('requestId')}
          label={t('send.requestId')}
          description={t('send.requestIdHint')}
          value={draft.requestId}
          maxLength={128}
          onChange={({ currentTarget }) => change({ requestId: currentTarget.value })}
        />
      </SimpleGrid>
      <Checkbox
        {...field('events')}
        label={t('send.events')}
        description={t('send.eventsHint')}
        checked={draft.events}
        onChange={({ currentTarget }) => change({ events: currentTarget.checked })}
      />
    </Stack>
  )
}
