import type { DeviceView } from '@herald/client'
import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { notify } from '../../api/calls.ts'
import { useRequestId } from '../../api/request-id.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Panel } from '../../components/panel.tsx'
import { PushOutcome } from '../../components/push-outcome.tsx'
import { TaskAccepted } from '../../components/task-accepted.tsx'
import { useAppId } from '../../session/session.ts'

export function TestPanel({ device }: { device: DeviceView }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const [title, setTitle] = useState<string>()
  const [body, setBody] = useState<string>()
  const message = {
    title: title ?? t('device.test'),
    body: body ?? t('device.testBody'),
  }
  const requestId = useRequestId()
  const sending = useMutation({
    mutationFn: () => {
      const body = { audience: { push_token: [device.push_token] }, message }
      const setting = { request_id: requestId.idFor(JSON.stringify(body)) }
      return notify(appId, JSON.stringify({ ...body, setting }))
    },
    onSuccess: requestId.reset,
  })
  return (
    <Panel title={t('device.test')}>
      {/* No form: Enter in a field must not send. */}
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {t('device.testHint')}
        </Text>
        <TextInput
          label={t('send.messageTitle')}
          value={message.title}
          onChange={({ currentTarget }) => setTitle(currentTarget.value)}
        />
        <TextInput
          label={t('send.body')}
          value={message.body}
          onChange={({ currentTarget }) => setBody(currentTarget.value)}
        />
        <Group justify="flex-end">
          <Button loading={sending.isPending} onClick={() => sending.mutate()}>
            {t('device.testSend')}
          </Button>
        </Group>
        {sending.isError && <ErrorAlert error={sending.error} />}
        {sending.data && (
          <>
            <TaskAccepted taskId={sending.data.task_id} />
            <PushOutcome taskId={sending.data.task_id} guid={device.device_guid} />
          </>
        )}
      </Stack>
    </Panel>
  )
}
