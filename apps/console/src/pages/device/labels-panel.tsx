import type { DeviceView } from '@herald/client'
import { Button, Group, Stack, TagsInput, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { changeAlias, changeTags } from '../../api/calls.ts'
import { useAppId } from '../../app/session.ts'
import { Panel } from '../../parts/panel.tsx'
import { Problem } from '../../parts/problem.tsx'

/** Alias and tags, saved together. */
export function LabelsPanel({ device }: { device: DeviceView }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const queries = useQueryClient()
  const [alias, setAlias] = useState(device.alias ?? '')
  const [tags, setTags] = useState(device.tags)
  const wanted = alias.trim()
  const newAlias = wanted !== (device.alias ?? '')
  const newTags = tags.join('\n') !== device.tags.join('\n')
  const ownerless = device.user_id === null
  const blocked =
    ownerless && ((newAlias && wanted === '') || (newTags && tags.length === 0 && device.tags.length > 0))
  const saving = useMutation({
    mutationFn: async () => {
      if (newAlias) await changeAlias(appId, device, wanted)
      if (newTags) await changeTags(appId, device, tags)
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['device', appId, device.device_guid] }),
  })
  return (
    <Panel title={t('device.labels')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          saving.mutate()
        }}
      >
        <Stack gap="sm">
          <TextInput
            label={t('device.alias')}
            value={alias}
            maxLength={128}
            onChange={({ currentTarget }) => setAlias(currentTarget.value)}
          />
          <TagsInput
            label={t('device.tags')}
            description={t('device.tagsHint')}
            value={tags}
            maxTags={100}
            acceptValueOnBlur
            onChange={setTags}
          />
          {ownerless && (
            <Text size="xs" c="dimmed">
              {t('device.ownerless')}
            </Text>
          )}
          {saving.isError && <Problem error={saving.error} />}
          <Group justify="flex-end">
            <Button
              type="submit"
              variant="default"
              disabled={blocked || (!newAlias && !newTags)}
              loading={saving.isPending}
            >
              {t('app.save')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Panel>
  )
}
