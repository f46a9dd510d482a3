import { NativeSelect, Stack, TagsInput, type TagsInputProps, Text } from '@mantine/core'
import { type ClipboardEvent, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Panel } from '../../components/panel.tsx'
import { TagInput } from '../../components/tag-input.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { addPasted, MAX_VALUES, splitTyped, splitValues } from './audience-list.ts'
import type { AudienceKind, Change, Draft, ListKind } from './draft.ts'
import type { FieldProps } from './form-fields.ts'

type Props = { draft: Draft; change: Change; field: FieldProps }

export function AudiencePanel({ draft, change, field }: Props) {
  const { t } = useTranslation()
  return (
    <Panel title={t('send.audience')}>
      <Stack gap="sm">
        <NativeSelect
          label={t('send.audienceKind')}
          value={draft.audienceKind}
          onChange={({ currentTarget }) => change({ audienceKind: currentTarget.value as AudienceKind })}
          data={[
            { value: 'tag', label: t('send.audienceTag') },
            { value: 'alias', label: t('send.audienceAlias') },
            { value: 'user_id', label: t('send.audienceUser') },
            { value: 'push_token', label: t('send.audienceToken') },
            { value: 'activity', label: t('send.audienceActivity') },
            { value: 'all', label: t('send.audienceAll') },
          ]}
        />
        {draft.audienceKind === 'all' ? (
          <Text size="sm" c="dimmed" id={field('audience').id} tabIndex={-1}>
            {t('send.audienceAllHint')}
          </Text>
        ) : (
          <ValueList
            key={draft.audienceKind}
            kind={draft.audienceKind}
            list={draft.audience[draft.audienceKind]}
            field={field}
            onChange={(kind, list) => change({ audience: { ...draft.audience, [kind]: list } })}
          />
        )}
      </Stack>
    </Panel>
  )
}

type ListProps = {
  kind: ListKind
  list: string[]
  field: FieldProps
  onChange(kind: ListKind, list: string[]): void
}

function ValueList({ kind, list, field, onChange }: ListProps) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const [refused, setRefused] = useState<{ given: number; total: number }>()
  /** The last suggestion that was chosen. */
  const chosen = useRef<string>(undefined)
  const { id, error } = field('audience')

  /** A paste of several values is handled here, before Mantine: it would drop what exceeds a limit, and line breaks. */
  function paste(event: ClipboardEvent): void {
    const text = event.clipboardData.getData('text/plain')
    if (splitValues(text).length < 2) return
    event.preventDefault()
    event.stopPropagation()
    const pasted = addPasted(list, text)
    if ('refused' in pasted) {
      setRefused(pasted.refused)
      return
    }
    setRefused(undefined)
    onChange(kind, pasted.list)
  }

  const props: TagsInputProps = {
    id,
    label: t('send.audienceList'),
    description: `${t('send.audienceHint')} ${t('send.audienceCount', { n: format.number(list.length) })}`,
    value: list,
    splitChars: [',', ';', '，', '；'],
    clearable: true,
    clearButtonProps: { 'aria-label': t('send.audienceClear') },
    acceptValueOnBlur: true,
    // Tags, aliases and tokens that differ in case are different.
    isDuplicate: (value, present) => present.includes(value),
    error: refused
      ? t('send.audienceRefused', {
          given: format.number(refused.given),
          total: format.number(refused.total),
          max: format.number(MAX_VALUES),
        })
      : error,
    errorProps: { role: 'alert' },
    onChange: (values) => {
      setRefused(undefined)
      onChange(kind, splitTyped(values, [...list, chosen.current]))
    },
  }
  return (
    <div onPasteCapture={paste}>
      {kind === 'tag' ? (
        <TagInput
          {...props}
          onOptionSubmit={(tag) => {
            chosen.current = tag
          }}
        />
      ) : (
        <TagsInput {...props} />
      )}
    </div>
  )
}
