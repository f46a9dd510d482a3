import type { DeviceView } from '@herald/client'
import { ActionIcon, Alert, Anchor, Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'
import { storedTestDevice } from '../../session/test-device-id.ts'
import { type Added, addTestDevice, MAX_TEST_DEVICES, removeTestDevice } from './test-devices.ts'

type Props = {
  devices: readonly DeviceView[]
  /** Ids of the devices that the test is sent to. */
  selected: readonly string[]
  onSelect(guid: string, selected: boolean): void
}

/** The test devices of the application, of which the test is sent to those that are ticked. */
export function TestDeviceList({ devices, selected, onSelect }: Props) {
  const { t } = useTranslation()
  const { channel } = useLabels()
  const appId = useAppId()
  const queries = useQueryClient()
  const reload = () => queries.invalidateQueries({ queryKey: ['test-devices', appId] })
  const removing = useMutation({
    mutationFn: (guid: string) => removeTestDevice(appId, guid),
    onSettled: reload,
  })
  const nameOf = ({ alias, bindings }: DeviceView) =>
    [alias, ...bindings.map((binding) => channel(binding.channel))].filter(Boolean).join(' · ')
  return (
    <Stack gap="xs">
      <Text size="sm" fw={500}>
        {t('test.devices')}
      </Text>
      <Text size="xs" c="dimmed">
        {t(devices.length === 0 ? 'test.none' : 'test.shared')}
      </Text>
      {devices.map((device) => (
        <Group key={device.device_guid} gap="xs" wrap="nowrap" justify="space-between" align="flex-start">
          <Checkbox
            checked={selected.includes(device.device_guid)}
            label={<span className="breaks">{device.device_guid}</span>}
            description={nameOf(device)}
            onChange={({ currentTarget }) => onSelect(device.device_guid, currentTarget.checked)}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={t('test.remove', { device: device.device_guid })}
            loading={removing.isPending && removing.variables === device.device_guid}
            onClick={() => removing.mutate(device.device_guid)}
          >
            <IconX size={16} aria-hidden />
          </ActionIcon>
        </Group>
      ))}
      <ErrorAlert error={removing.error} />
      <AddDevice
        devices={devices}
        onAdded={async (guids) => {
          await reload()
          for (const guid of guids) onSelect(guid, true)
        }}
      />
    </Stack>
  )
}

type AddProps = { devices: readonly DeviceView[]; onAdded(guids: string[]): Promise<void> }

function AddDevice({ devices, onAdded }: AddProps) {
  const { t } = useTranslation()
  const appId = useAppId()
  const [text, setText] = useState('')
  const adding = useMutation({
    mutationFn: (name: string): Promise<Added> => addTestDevice(appId, name, devices),
    onSuccess: async (added) => {
      if (!('guids' in added)) return
      setText('')
      await onAdded(added.guids)
    },
  })
  const own = storedTestDevice(appId)
  const added = adding.data
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (text.trim() !== '' && !adding.isPending) adding.mutate(text.trim())
        }}
      >
        <Group align="flex-end" gap="xs" wrap="nowrap">
          <TextInput
            className="grow"
            label={t('test.add')}
            value={text}
            // Of a vendor token, the longest of these.
            maxLength={2048}
            data-autofocus={devices.length === 0 || undefined}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
          />
          <Button type="submit" variant="default" loading={adding.isPending}>
            {t('test.addButton')}
          </Button>
        </Group>
      </form>
      {own !== undefined && !devices.some(({ device_guid }) => device_guid === own) && (
        <div>
          <Anchor component="button" type="button" size="sm" onClick={() => adding.mutate(own)}>
            {t('test.addBrowser', { device: own })}
          </Anchor>
        </div>
      )}
      {added && 'unknown' in added && (
        <Alert role="alert" color="orange" variant="light">
          {t('test.unknown', { name: added.unknown })}
        </Alert>
      )}
      {added && 'tooMany' in added && (
        <Alert role="alert" color="orange" variant="light">
          {t('test.tooMany', { max: MAX_TEST_DEVICES })}
        </Alert>
      )}
      <ErrorAlert error={adding.error} />
    </>
  )
}
