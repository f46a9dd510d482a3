import './test-device.css'
import { Button, Group, Paper, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { IconDeviceMobileMessage } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { useTranslation } from 'react-i18next'
import { notify } from '../../api/calls.ts'
import { useRequestId } from '../../api/request-id.ts'
import { shorten } from '../../calculations/format.ts'
import { CopyText } from '../../components/copy-text.tsx'
import { DescriptionList } from '../../components/description-list.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Panel } from '../../components/panel.tsx'
import { PushOutcome } from '../../components/push-outcome.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'
import { MessageCard } from './message-card.tsx'
import { testDeviceOf } from './test-device-store.ts'

export const page = { Component: TestDevicePage }

function TestDevicePage() {
  const { t } = useTranslation()
  const { format } = useLabels()
  const appId = useAppId()
  const store = testDeviceOf(appId)
  const device = useSyncExternalStore(store.subscribe, store.current)
  const { state, pushToken, messages } = device
  const connecting = state === 'connecting' || state === 'online' || state === 'waiting'
  const requestId = useRequestId()
  const testing = useMutation({
    mutationFn: async () => {
      const body = {
        audience: { push_token: [pushToken] },
        message: { title: t('device.test'), body: t('testDevice.testBody') },
      }
      const setting = { request_id: requestId.idFor(JSON.stringify(body)) }
      const { task_id } = await notify(appId, JSON.stringify({ ...body, setting }))
      return { taskId: task_id, guid: device.guid }
    },
    onSuccess: requestId.reset,
  })
  return (
    <Stack>
      <PageHeader title={t('nav.testDevice')} lead={t('testDevice.lead')} />
      <Paper withBorder p="md">
        <form
          onSubmit={(event) => {
            event.preventDefault()
            if (connecting) store.disconnect()
            else void store.connect()
          }}
        >
          <Stack gap="md">
            <Group align="flex-end" gap="sm">
              <TextInput
                className="grow"
                miw={220}
                maw={420}
                label={t('devices.guid')}
                value={device.guid}
                readOnly={connecting}
                required
                withAsterisk={false}
                error={device.isTaken && t('testDevice.taken')}
                onChange={({ currentTarget }) => store.setGuid(currentTarget.value)}
              />
              <Button
                type="submit"
                variant={connecting ? 'default' : 'filled'}
                loading={device.isRegistering}
              >
                {t(connecting ? 'testDevice.disconnect' : 'testDevice.connect')}
              </Button>
              <Button
                loading={testing.isPending}
                disabled={state !== 'online'}
                onClick={() => testing.mutate()}
              >
                {t('device.testSend')}
              </Button>
            </Group>
            <Text size="xs" c="dimmed" mt={-8}>
              {t(connecting ? 'testDevice.kept' : 'testDevice.guidHint')}
            </Text>
            <ErrorAlert error={device.problem ?? testing.error} />
            {testing.data && <PushOutcome key={testing.data.taskId} {...testing.data} />}
            <DescriptionList
              items={[
                [
                  t('testDevice.state'),
                  <StatusBadge key="state" tone={connectionTone(state)}>
                    {t(`connection.${state}`)}
                  </StatusBadge>,
                ],
                [t('send.badge'), format.number(device.badge)],
                [
                  t('device.pushToken'),
                  pushToken ? <CopyText key="token" value={pushToken} shown={shorten(pushToken)} /> : '–',
                ],
              ]}
            />
          </Stack>
        </form>
      </Paper>
      <Panel title={t('testDevice.messages')}>
        {messages.length === 0 ? (
          <EmptyState
            icon={IconDeviceMobileMessage}
            title={t('testDevice.empty')}
            text={t(state === 'online' ? 'testDevice.emptyConnected' : 'testDevice.emptyOffline')}
          />
        ) : (
          <SimpleGrid cols={{ base: 1, sm: 2 }} aria-live="polite">
            {messages.map((message) => (
              <MessageCard key={message.taskId} received={message} />
            ))}
          </SimpleGrid>
        )}
      </Panel>
    </Stack>
  )
}

function connectionTone(state: string) {
  if (state === 'online') return 'good'
  if (state === 'refused' || state === 'replaced') return 'bad'
  return state === 'closed' ? 'over' : 'waiting'
}
