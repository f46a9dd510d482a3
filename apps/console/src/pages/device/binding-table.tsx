import type { DeviceView } from '@herald/client'
import { Button, Stack, Table } from '@mantine/core'
import { IconPlugConnectedX } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { putDevice } from '../../api/calls.ts'
import { shorten } from '../../calculations/format.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { CopyText } from '../../components/copy-text.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'

export function BindingTable({ device }: { device: DeviceView }) {
  const { t } = useTranslation()
  const { channel, format } = useLabels()
  const appId = useAppId()
  const queries = useQueryClient()
  const [unbinding, setUnbinding] = useState<DeviceView['bindings'][number]>()
  const removal = useMutation({
    mutationFn: ({ provider }: DeviceView['bindings'][number]) =>
      putDevice(appId, { device_guid: device.device_guid, bindings: [{ provider, device_token: null }] }),
    onSettled: async () => {
      setUnbinding(undefined)
      await queries.invalidateQueries({ queryKey: ['device', appId, device.device_guid] })
    },
  })
  const { bindings } = device
  if (bindings.length === 0) return <EmptyState icon={IconPlugConnectedX} title={t('device.bindingsEmpty')} />
  return (
    <Stack gap="sm">
      <ErrorAlert error={removal.error} />
      <WideTable label={t('device.bindings')} minWidth={640}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('app.channel')}</Table.Th>
            <Table.Th>{t('app.environment')}</Table.Th>
            <Table.Th>{t('device.token')}</Table.Th>
            <Table.Th>{t('device.registered')}</Table.Th>
            <Table.Th ta="end">{t('applications.actions')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {bindings.map((binding) => (
            <Table.Tr key={binding.channel}>
              <Table.Td>{channel(binding.channel)}</Table.Td>
              <Table.Td>
                {[t(`environment.${binding.environment}`), binding.region, binding.bundle_id]
                  .filter(Boolean)
                  .join(' · ')}
              </Table.Td>
              <Table.Td>
                <CopyText value={binding.device_token} shown={shorten(binding.device_token, 8)} />
              </Table.Td>
              <Table.Td className="nowrap">{format.time(binding.registered_at)}</Table.Td>
              <Table.Td ta="end">
                <Button size="xs" variant="default" onClick={() => setUnbinding(binding)}>
                  {t('device.unbind')}
                </Button>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </WideTable>
      <ConfirmDialog
        opened={unbinding !== undefined}
        danger
        title={t('device.unbindTitle', { name: channel(unbinding?.channel ?? '') })}
        text={t('device.unbindText')}
        button={t('device.unbind')}
        busy={removal.isPending}
        onConfirm={() => unbinding && removal.mutate(unbinding)}
        onClose={() => setUnbinding(undefined)}
      />
    </Stack>
  )
}
