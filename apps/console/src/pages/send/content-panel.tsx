import { SegmentedControl, Stack, Textarea, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Panel } from '../../components/panel.tsx'
import type { Change, Draft } from './draft.ts'
import type { FieldProps } from './form-fields.ts'
import { LengthHint } from './length-hint.tsx'
import { PictureHint } from './picture-hint.tsx'

type Props = { draft: Draft; change: Change; field: FieldProps }

export function ContentPanel({ draft, change, field }: Props) {
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
          {...field('title')}
          label={t('send.messageTitle')}
          description={<LengthHint text={draft.title} part="title" />}
          value={draft.title}
          onChange={({ currentTarget }) => change({ title: currentTarget.value })}
        />
        <Textarea
          {...field('body')}
          label={t('send.body')}
          description={<LengthHint text={draft.body} part="body" />}
          value={draft.body}
          autosize
          minRows={2}
          maxRows={8}
          onChange={({ currentTarget }) => change({ body: currentTarget.value })}
        />
        <TextInput
          {...field('attachmentUrl')}
          label={t('send.attachment')}
          description={<PictureHint draft={draft} />}
          inputMode="url"
          value={draft.attachmentUrl}
          withAsterisk={draft.type === 'image'}
          onChange={({ currentTarget }) => change({ attachmentUrl: currentTarget.value })}
        />
        <TextInput
          {...field('url')}
          label={t('send.url')}
          description={t('send.urlHint')}
          inputMode="url"
          value={draft.url}
          onChange={({ currentTarget }) => change({ url: currentTarget.value })}
        />
      </Stack>
    </Panel>
  )
}
