import type { DeviceView } from '@herald/client'
import { Button, Group, Stack, TagsInput, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { changeAlias, changeTags } from '../../api/calls.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Panel } from '../../components/panel.tsx'
import { useAppId } from '../../session/session.ts'

export function AliasTagsPanel({ device }: { device: DeviceView }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const queries = useQueryClient()
  const [alias, setAlias] = useState(device.alias ?? '')
  const [tags, setTags] = useState(device.tags)
  const trimmed = alias.trim()
  const newAlias = trimmed !== (device.alias ?? '')
  const newTags = tags.join('\n') !== device.tags.join('\n')
  const hasNoUser = device.user_id === null
  const blocked =
    hasNoUser && ((newAlias && trimmed === '') || (newTags && tags.length === 0 && device.tags.length > 0))
  const saving = useMutation({
    mutationFn: async () => {
      if (newAlias) await changeAlias(appId, device, trimmed)
      if (newTags) await changeTags(appId, device, tags)
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['device', appId, device.device_guid] }),
  })
  return (
    <Panel title={t('device.aliasAndTags')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          saving.mutate()
        }}
      >
        <Stack gap="sm">
          <TextInput
            label={t('devices.alias')}
            value={alias}
            maxLength={128}
            onChange={({ currentTarget }) => setAlias(currentTarget.value)}
          />
          <TagsInput
            label={t('devices.tags')}
            description={t('device.tagsHint')}
            value={tags}
            maxTags={100}
            acceptValueOnBlur
            onChange={setTags}
          />
          {hasNoUser && (
            <Text size="xs" c="dimmed">
              {t('device.noUserHint')}
            </Text>
          )}
          {saving.isError && <ErrorAlert error={saving.error} />}
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
