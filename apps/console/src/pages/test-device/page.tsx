import { Button, Group, Paper, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { IconDeviceMobileMessage } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { notify } from '../../api/calls.ts'
import { shorten } from '../../calculations/format.ts'
import { CopyText } from '../../components/copy-text.tsx'
import { DescriptionList } from '../../components/description-list.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Panel } from '../../components/panel.tsx'
import { requireApplication } from '../../components/require-application.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'
import { MessageCard } from './message-card.tsx'
import { useTestDevice } from './use-test-device.ts'

export const page = requireApplication(TestDevicePage)

function TestDevicePage() {
  const { t } = useTranslation()
  const { format } = useLabels()
  const appId = useAppId()
  const device = useTestDevice(appId)
  const { state, pushToken, messages } = device
  const connecting = state === 'connecting' || state === 'online' || state === 'waiting'
  const testing = useMutation({
    mutationFn: () =>
      notify(
        appId,
        JSON.stringify({
          audience: { push_token: [pushToken] },
          message: { title: t('device.test'), body: t('testDevice.testBody') },
        }),
      ),
  })
  return (
    <Stack>
      <PageHeader title={t('nav.testDevice')} lead={t('testDevice.lead')} />
      <Paper withBorder p="md">
        <form
          onSubmit={(event) => {
            event.preventDefault()
            if (connecting) device.disconnect()
            else void device.connect()
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
                onChange={({ currentTarget }) => device.setGuid(currentTarget.value)}
              />
              <Button
                type="submit"
                variant={connecting ? 'default' : 'filled'}
                loading={device.isRegistering}
              >
                {t(connecting ? 'testDevice.disconnect' : 'testDevice.connect')}
              </Button>
              {state === 'online' && (
                <Button loading={testing.isPending} onClick={() => testing.mutate()}>
                  {t('device.testSend')}
                </Button>
              )}
            </Group>
            <Text size="xs" c="dimmed" mt={-8}>
              {t('testDevice.guidHint')}
            </Text>
            <ErrorAlert error={device.problem ?? testing.error} />
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
