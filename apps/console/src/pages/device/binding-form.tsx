import type { DeviceView, NewBinding } from '@herald/client'
import { publicName, vendorChannels } from '@herald/domain'
import { Button, Group, NativeSelect, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { putDevice } from '../../api/calls.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'

const channels = vendorChannels.map(publicName) as NewBinding['provider'][]

/** Adds a vendor token, or replaces the one of the channel. */
export function BindingForm({ device }: { device: DeviceView }) {
  const { t } = useTranslation()
  const { channel } = useLabels()
  const appId = useAppId()
  const queries = useQueryClient()
  const [provider, setProvider] = useState(channels[0]!)
  const [token, setToken] = useState('')
  const [environment, setEnvironment] = useState<0 | 1>(1)
  const [bundleId, setBundleId] = useState('')
  const saving = useMutation({
    mutationFn: () => {
      const bundle = bundleId.trim()
      const binding = {
        provider,
        device_token: token.trim(),
        environment,
        ...(bundle && { bundle_id: bundle }),
      }
      return putDevice(appId, { device_guid: device.device_guid, bindings: [binding] })
    },
    onSuccess: async () => {
      setToken('')
      setBundleId('')
      await queries.invalidateQueries({ queryKey: ['device', appId, device.device_guid] })
    },
  })
  return (
    <details>
      <summary>{t('device.addBinding')}</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          saving.mutate()
        }}
      >
        <Stack gap="sm" mt="sm">
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <NativeSelect
              label={t('app.channel')}
              value={provider}
              onChange={({ currentTarget }) => setProvider(currentTarget.value as NewBinding['provider'])}
              data={channels.map((name) => ({ value: String(name), label: channel(String(name)) }))}
            />
            <NativeSelect
              label={t('app.environment')}
              value={String(environment)}
              onChange={({ currentTarget }) => setEnvironment(currentTarget.value === '0' ? 0 : 1)}
              data={[
                { value: '1', label: t('environment.1') },
                { value: '0', label: t('environment.0') },
              ]}
            />
            <TextInput
              label={t('device.token')}
              value={token}
              required
              withAsterisk={false}
              onChange={({ currentTarget }) => setToken(currentTarget.value)}
            />
            <TextInput
              label={t('device.bundleId')}
              value={bundleId}
              onChange={({ currentTarget }) => setBundleId(currentTarget.value)}
            />
          </SimpleGrid>
          <ErrorAlert error={saving.error} />
          <Group justify="flex-end">
            <Button type="submit" variant="default" loading={saving.isPending}>
              {t('device.bind')}
            </Button>
          </Group>
        </Stack>
      </form>
    </details>
  )
}
