import { Checkbox, NativeSelect, SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { Change, Draft } from './draft.ts'
import type { FieldProps } from './form-fields.ts'
import { LengthHint } from './length-hint.tsx'

type Props = { draft: Draft; change: Change; field: FieldProps }

/** The parts of a message that few pushes need. */
export function MoreContent({ draft, change, field }: Props) {
  const { t } = useTranslation()
  return (
    <Stack gap="sm">
      <Textarea
        {...field('bigText')}
        label={t('send.bigText')}
        description={
          <>
            {t('send.bigTextHint')} <LengthHint text={draft.bigText} part="bigText" />
          </>
        }
        value={draft.bigText}
        autosize
        minRows={1}
        maxRows={8}
        onChange={({ currentTarget }) => change({ bigText: currentTarget.value })}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput
          {...field('badge')}
          label={t('send.badge')}
          description={t('send.badgeHint')}
          value={draft.badge}
          onChange={({ currentTarget }) => change({ badge: currentTarget.value })}
        />
        <TextInput
          {...field('sound')}
          label={t('send.sound')}
          description={t('send.soundHint')}
          value={draft.sound}
          onChange={({ currentTarget }) => change({ sound: currentTarget.value })}
        />
        <TextInput
          {...field('collapseKey')}
          label={t('send.collapseKey')}
          description={t('send.collapseKeyHint')}
          value={draft.collapseKey}
          onChange={({ currentTarget }) => change({ collapseKey: currentTarget.value })}
        />
        <NativeSelect
          {...field('foreground')}
          label={t('send.foreground')}
          description={t('send.foregroundHint')}
          value={draft.foreground}
          data={[
            { value: '', label: t('send.foregroundShow') },
            { value: 'hide', label: t('send.foregroundHide') },
          ]}
          onChange={({ currentTarget }) => change({ foreground: currentTarget.value as Draft['foreground'] })}
        />
      </SimpleGrid>
      <Checkbox
        {...field('urgent')}
        label={t('send.urgent')}
        description={t('send.urgentHint')}
        checked={draft.urgent}
        onChange={({ currentTarget }) => change({ urgent: currentTarget.checked })}
      />
      <Textarea
        {...field('ext')}
        label={t('send.ext')}
        description={t('send.extHint')}
        placeholder='{"order": 1024}'
        classNames={{ input: 'code' }}
        value={draft.ext}
        autosize
        minRows={2}
        maxRows={10}
        onChange={({ currentTarget }) => change({ ext: currentTarget.value })}
      />
    </Stack>
  )
}
