import { Alert, Anchor, Button, Group, Modal, Stack, TagsInput, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { findDevices, notify } from '../../api/calls.ts'
import { useRequestId } from '../../api/request-id.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { PushOutcome } from '../../components/push-outcome.tsx'
import { TaskAccepted } from '../../components/task-accepted.tsx'
import { useAppId } from '../../session/session.ts'
import { storedTestDevice } from '../../session/test-device-id.ts'
import { distinct, splitValues } from './audience-list.ts'
import type { Draft } from './draft.ts'
import { requestText } from './request.ts'
import { loadTestDevices, MAX_TEST_DEVICES, storeTestDevices } from './test-devices.ts'

type Props = { draft: Draft; onClose(): void }

/** Sends the draft to the devices of its author first. */
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
      <TestForm {...props} />
    </Modal>
  )
}

function TestForm({ draft, onClose }: Props) {
  const { t } = useTranslation()
  const appId = useAppId()
  const [list, setList] = useState(() => loadTestDevices(appId))
  const change = (values: string[]) => {
    const next = distinct(values.flatMap(splitValues))
    setList(next)
    storeTestDevices(appId, next)
  }
  const own = storedTestDevice(appId)
  const requestId = useRequestId()
  const sending = useMutation({
    mutationFn: async () => {
      const found = await Promise.all(
        list.map(async (name) => ({ name, found: await findDevices(appId, name, MAX_TEST_DEVICES) })),
      )
      const devices = new Map(
        found.flatMap(({ found: some }) => some?.list ?? []).map((device) => [device.push_token, device]),
      )
      const unknown = found.filter(({ found: some }) => !some).map(({ name }) => name)
      if (devices.size === 0 || devices.size > MAX_TEST_DEVICES) return { unknown, tooMany: devices.size }
      const text = (id: string) =>
        requestText(draft, { kind: 'test', pushTokens: [...devices.keys()], requestId: id })
      const { task_id } = await notify(appId, text(requestId.idFor(text(''))))
      requestId.reset()
      return { unknown, taskId: task_id, guids: [...devices.values()].map(({ device_guid }) => device_guid) }
    },
  })
  const tooLong = list.length > MAX_TEST_DEVICES
  const result = sending.data
  return (
    <Stack gap="md">
      <Text size="sm">{t('test.text')}</Text>
      <TagsInput
        label={t('test.devices')}
        description={t('test.devicesHint')}
        value={list}
        splitChars={[',', ';', '\n']}
        isDuplicate={(value, present) => present.includes(value)}
        acceptValueOnBlur
        openOnFocus={false}
        data-autofocus
        error={tooLong && t('test.tooMany', { max: MAX_TEST_DEVICES })}
        onChange={change}
      />
      {own !== undefined && !list.includes(own) && (
        <Anchor component="button" type="button" size="sm" onClick={() => change([...list, own])}>
          {t('test.addBrowser', { device: own })}
        </Anchor>
      )}
      <ErrorAlert error={sending.error} />
      {result && result.unknown.length > 0 && (
        <Alert role="alert" color="orange" variant="light">
          {t('test.unknown', { names: result.unknown.join(', ') })}
        </Alert>
      )}
      {result?.tooMany !== undefined && result.tooMany > MAX_TEST_DEVICES && (
        <Alert role="alert" color="orange" variant="light">
          {t('test.tooMany', { max: MAX_TEST_DEVICES })}
        </Alert>
      )}
      {result?.taskId !== undefined && (
        <Stack gap="xs">
          <TaskAccepted taskId={result.taskId} />
          {result.guids?.map((guid) => (
            <PushOutcome key={`${result.taskId} ${guid}`} taskId={result.taskId!} guid={guid} />
          ))}
        </Stack>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          {t('app.close')}
        </Button>
        <Button
          disabled={list.length === 0 || tooLong}
          aria-disabled={sending.isPending}
          data-disabled={sending.isPending || undefined}
          onClick={() => {
            if (!sending.isPending) sending.mutate()
          }}
        >
          {t('test.send')}
        </Button>
      </Group>
    </Stack>
  )
}
