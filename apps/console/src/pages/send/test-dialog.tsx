import type { DeviceView } from '@herald/client'
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { notify } from '../../api/calls.ts'
import { useRequestId } from '../../api/request-id.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Loading } from '../../components/loading.tsx'
import { PushOutcome } from '../../components/push-outcome.tsx'
import { TaskAccepted } from '../../components/task-accepted.tsx'
import { useAppId } from '../../session/session.ts'
import type { Draft } from './draft.ts'
import { requestText } from './request.ts'
import { TestDeviceList } from './test-device-list.tsx'
import { listTestDevices, loadUnselected, MAX_TEST_DEVICES, storeUnselected } from './test-devices.ts'

type Props = { draft: Draft; onClose(): void }

/** Sends the draft to test devices first. */
export function TestDialog({ opened, ...props }: Props & { opened: boolean }) {
  const { t } = useTranslation()
  return (
    <Modal
      opened={opened}
      onClose={props.onClose}
      size="lg"
      title={t('test.title')}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      <Test {...props} />
    </Modal>
  )
}

function Test(props: Props) {
  const { t } = useTranslation()
  const appId = useAppId()
  const query = useQuery({ queryKey: ['test-devices', appId], queryFn: () => listTestDevices(appId) })
  if (query.isPending) return <Loading />
  if (!query.data) return <ErrorAlert error={query.error} retry={query.refetch} />
  return (
    <Stack gap="md">
      <Text size="sm">{t('test.text')}</Text>
      <TestForm {...props} devices={query.data} />
    </Stack>
  )
}

function TestForm({ draft, devices, onClose }: Props & { devices: DeviceView[] }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const [unselected, setUnselected] = useState(() => loadUnselected(appId))
  const chosen = devices.filter(({ device_guid }) => !unselected.includes(device_guid))
  const isTooLong = chosen.length > MAX_TEST_DEVICES
  const select = (guid: string, selected: boolean) =>
    setUnselected((before) => {
      const others = before.filter((one) => one !== guid)
      return selected ? others : [...others, guid]
    })
  useEffect(() => storeUnselected(appId, unselected), [appId, unselected])
  const requestId = useRequestId()
  const sending = useMutation({
    mutationFn: async () => {
      const pushTokens = chosen.map(({ push_token }) => push_token)
      const text = (id: string) => requestText(draft, { kind: 'test', pushTokens, requestId: id })
      const { task_id } = await notify(appId, text(requestId.idFor(text(''))))
      return { taskId: task_id, guids: chosen.map(({ device_guid }) => device_guid) }
    },
    onSuccess: requestId.reset,
  })
  const sent = sending.data
  return (
    <>
      <TestDeviceList
        devices={devices}
        selected={chosen.map(({ device_guid }) => device_guid)}
        onSelect={select}
      />
      {isTooLong && (
        <Text size="sm" c="var(--herald-warning)" role="alert">
          {t('test.tooMany', { max: MAX_TEST_DEVICES })}
        </Text>
      )}
      <ErrorAlert error={sending.error} />
      {sent && (
        <Stack gap="xs">
          <TaskAccepted taskId={sent.taskId} />
          {sent.guids.map((guid) => (
            <PushOutcome key={`${sent.taskId} ${guid}`} taskId={sent.taskId} guid={guid} />
          ))}
        </Stack>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          {t('app.close')}
        </Button>
        <Button
          disabled={chosen.length === 0 || isTooLong}
          aria-disabled={sending.isPending}
          data-disabled={sending.isPending || undefined}
          onClick={() => {
            if (!sending.isPending) sending.mutate()
          }}
        >
          {t('test.send')}
        </Button>
      </Group>
    </>
  )
}
