import type { DeviceView, Erasure } from '@herald/client'
import { Button, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { erase, removeDevice } from '../../api/calls.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Panel } from '../../components/panel.tsx'
import { TypedConfirmDialog } from '../../components/typed-confirm-dialog.tsx'
import { useAppNavigate } from '../../session/application-path.ts'
import { useAppId } from '../../session/session.ts'

/** Removes the device, or erases it or its person with everything that names them. */
export function RemovalPanel({ device }: { device: DeviceView }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const queries = useQueryClient()
  const navigate = useAppNavigate()
  const [removing, setRemoving] = useState(false)
  const [erasing, setErasing] = useState<Target>()
  const leave = async () => {
    await navigate('/devices')
    queries.removeQueries({ queryKey: ['device', appId, device.device_guid] })
    await queries.invalidateQueries({ queryKey: ['devices'] })
  }
  const removal = useMutation({
    mutationFn: () => removeDevice(appId, device.device_guid),
    onSuccess: leave,
    onError: () => setRemoving(false),
  })
  const erasure = useMutation({ mutationFn: (body: Erasure) => erase(appId, body), onSuccess: leave })
  return (
    <Panel title={t('device.removal')}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {t('device.removalHint')}
        </Text>
        <ErrorAlert error={removal.error} />
        <Group gap="xs">
          <Button variant="default" onClick={() => setRemoving(true)}>
            {t('device.remove')}
          </Button>
          {targetsOf(device).map((target) => (
            <Button
              key={target.kind}
              variant="default"
              onClick={() => {
                erasure.reset()
                setErasing(target)
              }}
            >
              {t(`device.${target.kind}`)}
            </Button>
          ))}
        </Group>
      </Stack>
      <ConfirmDialog
        opened={removing}
        danger
        title={t('device.removeTitle')}
        text={t('device.removeText')}
        button={t('device.remove')}
        busy={removal.isPending}
        onConfirm={() => removal.mutate()}
        onClose={() => setRemoving(false)}
      />
      <TypedConfirmDialog
        opened={erasing !== undefined}
        title={t(`device.${erasing?.kind ?? 'eraseDevice'}`)}
        text={t(`device.${erasing?.kind ?? 'eraseDevice'}Text`)}
        name={erasing?.name ?? ''}
        button={t('device.erase')}
        busy={erasure.isPending}
        onConfirm={() => erasing && erasure.mutate(erasing.body)}
        onClose={() => setErasing(undefined)}
      >
        <ErrorAlert error={erasure.error} />
      </TypedConfirmDialog>
    </Panel>
  )
}

type Target = { kind: 'eraseDevice' | 'eraseAlias' | 'eraseUser'; name: string; body: Erasure }

function targetsOf({ device_guid, alias, user_id }: DeviceView): Target[] {
  return [
    { kind: 'eraseDevice', name: device_guid, body: { device_guid } },
    ...(alias === null ? [] : [{ kind: 'eraseAlias', name: alias, body: { alias } } as const]),
    ...(user_id === null ? [] : [{ kind: 'eraseUser', name: String(user_id), body: { user_id } } as const]),
  ]
}
