import { Anchor, Button, Group, List, Stack, Text, ThemeIcon } from '@mantine/core'
import { IconCheck, IconCircleDashed } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { addSimulatedCredentials, listCertificates, listDevices, listTasks } from '../../api/calls.ts'
import { AppLink } from '../../components/app-link.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Panel } from '../../components/panel.tsx'
import { useDocsLink } from '../../session/docs-link.ts'
import { useCurrentSession } from '../../session/session.ts'

const REFRESH_MS = 5000
const storageKey = (appId: string) => `herald.set-up.${appId}`

/** The steps from a new application to its first push; nothing for an application that has made them, or for all applications. */
export function SetupChecklist() {
  const { appId } = useCurrentSession()
  if (appId === undefined || localStorage.getItem(storageKey(appId)) !== null) return null
  return <Checklist appId={appId} />
}

function Checklist({ appId }: { appId: string }) {
  const { t } = useTranslation()
  const docs = useDocsLink()
  const { data } = useQuery({
    queryKey: ['set-up', appId],
    queryFn: () => readSteps(appId),
    refetchInterval: ({ state: { data } }) => (data && !isSetUp(data) ? REFRESH_MS : false),
  })
  if (!data || isSetUp(data)) return null
  return (
    <Panel title={t('setUp.title')}>
      <List
        component="ol"
        listStyleType="none"
        spacing="md"
        className="steps"
        styles={{ itemWrapper: { alignItems: 'flex-start' } }}
      >
        <Step name="credentials" done={data.credentials}>
          <Button component={AppLink} to="/certificates" size="xs" variant="default">
            {t('setUp.addCredentials')}
          </Button>
          <SimulatedButton appId={appId} />
        </Step>
        <Step name="device" done={data.device}>
          <Button component={AppLink} to="/test-device" size="xs" variant="default">
            {t('setUp.testDevice')}
          </Button>
          <Anchor href={docs} target="_blank" size="sm">
            {t('setUp.sdk')}
          </Anchor>
        </Step>
        <Step name="push" done={data.push}>
          <Button component={AppLink} to="/send" size="xs" variant="default">
            {t('setUp.send')}
          </Button>
        </Step>
      </List>
    </Panel>
  )
}

type Steps = { credentials: boolean; device: boolean; push: boolean }
/** An application that uses the native channel alone needs no credentials. */
const isSetUp = ({ device, push }: Steps) => device && push

async function readSteps(appId: string): Promise<Steps> {
  const [certificates, devices, tasks] = await Promise.all([
    listCertificates(appId),
    listDevices(appId, { limit: 1 }),
    listTasks(appId, { limit: 1 }),
  ])
  const steps = {
    credentials: certificates.length > 0,
    device: devices.list.length > 0,
    push: tasks.list.length > 0,
  }
  // Later visits make no calls.
  if (isSetUp(steps)) localStorage.setItem(storageKey(appId), '1')
  return steps
}

function Step({ name, done, children }: { name: keyof Steps; done: boolean; children: ReactNode }) {
  const { t } = useTranslation()
  return (
    <List.Item
      data-step={name}
      data-done={done}
      icon={
        <ThemeIcon variant={done ? 'filled' : 'light'} radius="xl" size={26}>
          {done ? (
            <IconCheck size={16} role="img" aria-label={t('setUp.done')} />
          ) : (
            <IconCircleDashed size={16} role="img" aria-label={t('setUp.open')} />
          )}
        </ThemeIcon>
      }
    >
      <Stack gap={4}>
        <Text fw={600}>{t(`setUp.${name}`)}</Text>
        {!done && (
          <>
            <Text size="sm" c="dimmed">
              {t(`setUp.${name}Text`)}
            </Text>
            <Group gap="xs">{children}</Group>
          </>
        )}
      </Stack>
    </List.Item>
  )
}

/** Only where vendors are simulated. */
function SimulatedButton({ appId }: { appId: string }) {
  const { t } = useTranslation()
  const { session } = useCurrentSession()
  const queries = useQueryClient()
  const adding = useMutation({
    mutationFn: () => addSimulatedCredentials(appId),
    onSuccess: () =>
      Promise.all(
        ['set-up', 'overview', 'certificates'].map((name) =>
          queries.invalidateQueries({ queryKey: [name, appId] }),
        ),
      ),
  })
  if (session.simulated.length === 0) return null
  return (
    <>
      <Button size="xs" loading={adding.isPending} onClick={() => adding.mutate()}>
        {t('setUp.simulated')}
      </Button>
      <ErrorAlert error={adding.error} />
    </>
  )
}
