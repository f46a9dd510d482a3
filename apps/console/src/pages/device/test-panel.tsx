import type { DeviceView } from '@herald/client'
import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { notify } from '../../api/calls.ts'
import { useAppId } from '../../app/session.ts'
import { Accepted } from '../../parts/accepted.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Problem } from '../../parts/problem.tsx'

/** A push to this device alone. */
export function TestPanel({ device }: { device: DeviceView }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const [title, setTitle] = useState<string>()
  const [body, setBody] = useState<string>()
  const message = {
    title: title ?? t('device.testTitleDefault'),
    body: body ?? t('device.testBodyDefault'),
  }
  const sending = useMutation({
    mutationFn: () =>
      notify(appId, JSON.stringify({ audience: { push_token: [device.push_token] }, message })),
  })
  return (
    <Panel title={t('device.test')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          sending.mutate()
        }}
      >
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            {t('device.testHint')}
          </Text>
          <TextInput
            label={t('device.testTitle')}
            value={message.title}
            onChange={({ currentTarget }) => setTitle(currentTarget.value)}
          />
          <TextInput
            label={t('device.testBody')}
            value={message.body}
            onChange={({ currentTarget }) => setBody(currentTarget.value)}
          />
          {sending.isError && <Problem error={sending.error} />}
          {sending.data && <Accepted taskId={sending.data.task_id} />}
          <Group justify="flex-end">
            <Button type="submit" loading={sending.isPending}>
              {t('device.testSend')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Panel>
  )
}
