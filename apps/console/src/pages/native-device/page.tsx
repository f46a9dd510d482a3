import { Button, Group, Paper, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { IconDeviceMobileMessage } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { notify } from '../../api/calls.ts'
import { useAppId } from '../../app/session.ts'
import { shorten } from '../../figures/format.ts'
import { CopyText } from '../../parts/copy-text.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Facts } from '../../parts/facts.tsx'
import { ofApplication } from '../../parts/of-application.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Problem } from '../../parts/problem.tsx'
import { StateMark } from '../../parts/state-mark.tsx'
import { useWords } from '../../parts/words.ts'
import { MessageCard } from './message-card.tsx'
import { useNativeDevice } from './use-native-device.ts'

export const page = ofApplication(NativeDevicePage)

function NativeDevicePage() {
  const { t } = useTranslation()
  const { format } = useWords()
  const appId = useAppId()
  const device = useNativeDevice(appId)
  const { state, pushToken, messages } = device
  const wanted = state === 'connecting' || state === 'online' || state === 'waiting'
  const toMyself = useMutation({
    mutationFn: () =>
      notify(
        appId,
        JSON.stringify({
          audience: { push_token: [pushToken] },
          message: { title: t('nativeDevice.selfTitle'), body: t('nativeDevice.selfBody') },
        }),
      ),
  })
  return (
    <Stack>
      <PageHead title={t('nativeDevice.title')} lead={t('nativeDevice.lead')} />
      <Paper withBorder p="md">
        <form
          onSubmit={(event) => {
            event.preventDefault()
            if (wanted) device.disconnect()
            else void device.connect()
          }}
        >
          <Stack gap="md">
            <Group align="flex-end" gap="sm">
              <TextInput
                className="grow"
                miw={220}
                maw={420}
                label={t('nativeDevice.guid')}
                value={device.guid}
                readOnly={wanted}
                required
                withAsterisk={false}
                onChange={({ currentTarget }) => device.setGuid(currentTarget.value)}
              />
              <Button type="submit" variant={wanted ? 'default' : 'filled'} loading={device.isRegistering}>
                {t(wanted ? 'nativeDevice.disconnect' : 'nativeDevice.connect')}
              </Button>
              {state === 'online' && (
                <Button loading={toMyself.isPending} onClick={() => toMyself.mutate()}>
                  {t('nativeDevice.sendHere')}
                </Button>
              )}
            </Group>
            <Text size="xs" c="dimmed" mt={-8}>
              {t('nativeDevice.guidHint')}
            </Text>
            <Problem error={device.problem ?? toMyself.error} />
            <Facts
              facts={[
                [
                  t('nativeDevice.state'),
                  <StateMark key="state" mood={moodOf(state)}>
                    {t(`connection.${state}`)}
                  </StateMark>,
                ],
                [t('nativeDevice.badge'), format.number(device.badge)],
                [
                  t('nativeDevice.pushToken'),
                  pushToken ? <CopyText key="token" value={pushToken} shown={shorten(pushToken)} /> : '–',
                ],
              ]}
            />
          </Stack>
        </form>
      </Paper>
      <Panel title={t('nativeDevice.messages')}>
        {messages.length === 0 ? (
          <Empty
            icon={IconDeviceMobileMessage}
            title={t('nativeDevice.empty')}
            text={t(state === 'online' ? 'nativeDevice.emptyConnected' : 'nativeDevice.emptyOffline')}
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

function moodOf(state: string) {
  if (state === 'online') return 'good'
  if (state === 'refused' || state === 'replaced') return 'bad'
  return state === 'closed' ? 'over' : 'waiting'
}
