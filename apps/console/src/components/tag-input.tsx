import { Group, TagsInput, type TagsInputProps, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { listTags } from '../api/calls.ts'
import { useLabels } from '../i18n/labels.ts'
import { useAppId } from '../session/session.ts'

type Props = Omit<TagsInputProps, 'data' | 'filter' | 'renderOption' | 'searchValue'>

/** Counting stops here: a tag may have millions of devices. */
const COUNTED = 1000
const SUGGESTIONS = 20
/** While somebody types, tags are asked for once. */
const TYPING_MS = 150

/** Tags of the application, suggested by their first characters with the number of their devices. Others can be typed as well. */
export function TagInput({ onSearchChange, onOptionSubmit, ...props }: Props) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const appId = useAppId()
  const [typed, setTyped] = useState('')
  const [prefix] = useDebouncedValue(typed.trim(), TYPING_MS)
  const [used, setUsed] = useState(false)
  const query = useQuery({
    queryKey: ['tags', appId, prefix],
    queryFn: () =>
      listTags(appId, { limit: SUGGESTIONS, count_up_to: COUNTED + 1, ...(prefix !== '' && { prefix }) }),
    enabled: used,
    placeholderData: keepPreviousData,
    // Suggestions are a convenience: without them tags can still be typed.
    retry: false,
  })
  const counts = new Map(query.data?.list.map(({ tag, devices }) => [tag, devices]))
  const countOf = (tag: string) => {
    const devices = counts.get(tag) ?? 0
    return devices > COUNTED
      ? t('tags.moreThan', { n: format.number(COUNTED) })
      : t(devices === 1 ? 'tags.device' : 'tags.devices', { n: format.number(devices) })
  }
  return (
    <TagsInput
      {...props}
      data={[...counts.keys()]}
      // Until the answer to the last key arrives, the suggestions are those for a shorter text. Mantine's own filter ignores case.
      filter={({ options, search }) =>
        options.filter((option) => 'value' in option && option.value.startsWith(search.trim()))
      }
      // Mantine calls it for typed texts too.
      onOptionSubmit={(tag) => {
        if (counts.has(tag)) onOptionSubmit?.(tag)
      }}
      searchValue={typed}
      onSearchChange={(text) => {
        setTyped(text)
        onSearchChange?.(text)
      }}
      onFocus={(event) => {
        setUsed(true)
        props.onFocus?.(event)
      }}
      renderOption={({ option }) => (
        <Group justify="space-between" wrap="nowrap" w="100%" gap="sm">
          <span className="breaks">{option.value}</span>
          <Text span size="xs" c="dimmed" className="nowrap">
            {countOf(option.value)}
          </Text>
        </Group>
      )}
    />
  )
}
