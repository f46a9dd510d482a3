import {
  Checkbox,
  JsonInput,
  NativeSelect,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Textarea,
  TextInput,
} from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Panel } from '../../components/panel.tsx'
import type { Change, Draft } from './draft.ts'

type Props = { draft: Draft; change: Change; invalidExt: boolean }

export function ContentPanel({ draft, change, invalidExt }: Props) {
  const { t } = useTranslation()
  return (
    <Panel title={t('send.content')}>
      <Stack gap="sm">
        <SegmentedControl
          aria-label={t('send.type')}
          value={draft.type}
          onChange={(type) => change({ type: type as Draft['type'] })}
          data={[
            { value: 'text', label: t('send.typeText') },
            { value: 'image', label: t('send.typeImage') },
            { value: 'cmd', label: t('send.typeCmd') },
          ]}
        />
        <TextInput
          label={t('send.messageTitle')}
          value={draft.title}
          onChange={({ currentTarget }) => change({ title: currentTarget.value })}
        />
        <Textarea
          label={t('send.body')}
          value={draft.body}
          autosize
          minRows={2}
          maxRows={8}
          onChange={({ currentTarget }) => change({ body: currentTarget.value })}
        />
        <Textarea
          label={t('send.bigText')}
          description={t('send.bigTextHint')}
          value={draft.bigText}
          autosize
          minRows={1}
          maxRows={8}
          onChange={({ currentTarget }) => change({ bigText: currentTarget.value })}
        />
        <TextInput
          label={t('send.attachment')}
          description={t('send.attachmentHint')}
          type="url"
          value={draft.attachmentUrl}
          required={draft.type === 'image'}
          withAsterisk={draft.type === 'image'}
          onChange={({ currentTarget }) => change({ attachmentUrl: currentTarget.value })}
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <TextInput
            label={t('send.badge')}
            description={t('send.badgeHint')}
            value={draft.badge}
            onChange={({ currentTarget }) => change({ badge: currentTarget.value })}
          />
          <TextInput
            label={t('send.sound')}
            description={t('send.soundHint')}
            value={draft.sound}
            onChange={({ currentTarget }) => change({ sound: currentTarget.value })}
          />
        </SimpleGrid>
        <TextInput
          label={t('send.url')}
          description={t('send.urlHint')}
          value={draft.url}
          onChange={({ currentTarget }) => change({ url: currentTarget.value })}
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <TextInput
            label={t('send.collapseKey')}
            description={t('send.collapseKeyHint')}
            value={draft.collapseKey}
            onChange={({ currentTarget }) => change({ collapseKey: currentTarget.value })}
          />
          <NativeSelect
            label={t('send.foreground')}
            description={t('send.foregroundHint')}
            value={draft.foreground}
            data={[
              { value: '', label: t('send.foregroundShow') },
              { value: 'hide', label: t('send.foregroundHide') },
            ]}
            onChange={({ currentTarget }) =>
              change({ foreground: currentTarget.value as Draft['foreground'] })
            }
          />
        </SimpleGrid>
        <Checkbox
          label={t('send.urgent')}
          description={t('send.urgentHint')}
          checked={draft.urgent}
          onChange={({ currentTarget }) => change({ urgent: currentTarget.checked })}
        />
        <JsonInput
          label={t('send.ext')}
          description={t('send.extHint')}
          placeholder='{"order": 1024}'
          value={draft.ext}
          autosize
          minRows={2}
          maxRows={10}
          error={invalidExt && t('app.invalidJson')}
          onChange={(ext) => change({ ext })}
        />
      </Stack>
    </Panel>
  )
}
