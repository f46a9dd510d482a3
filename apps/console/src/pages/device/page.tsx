import { Grid, Group, Stack } from '@mantine/core'
import { IconDevices } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'react-router'
import { listDevices } from '../../api/calls.ts'
import { shorten } from '../../calculations/format.ts'
import { BackLink } from '../../components/back-link.tsx'
import { CopyText } from '../../components/copy-text.tsx'
import { DescriptionList } from '../../components/description-list.tsx'
import { Loading } from '../../components/loading.tsx'
import { MissingRecord } from '../../components/missing-record.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Panel } from '../../components/panel.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'
import { BindingForm } from './binding-form.tsx'
import { BindingTable } from './binding-table.tsx'
import { EditPanel } from './edit-panel.tsx'
import { ExplainPanel } from './explain-panel.tsx'
import { LabelList } from './label-list.tsx'
import { MessagePanel, useMessages } from './message-panel.tsx'
import { RemovalPanel } from './removal-panel.tsx'
import { TestPanel } from './test-panel.tsx'

export const page = { Component: DevicePage }

const REFRESH_MS = 5000

function DevicePage() {
  const { t } = useTranslation()
  const { format, platform } = useLabels()
  const appId = useAppId()
  const guid = useSearchParams()[0].get('guid') ?? ''
  const query = useQuery({
    queryKey: ['device', appId, guid],
    queryFn: async () => (await listDevices(appId, { device_guid: guid, limit: 1 })).list[0] ?? null,
    refetchInterval: REFRESH_MS,
  })
  const device = query.data
  const messages = useMessages(guid, Boolean(device))
  // The list of messages would move all that is below it.
  if (query.isPending || (device && messages.isPending)) return <Loading />
  const list = { to: '/devices', name: t('device.back') }
  if (!device)
    return (
      <MissingRecord
        title={guid}
        text={t('device.missing', { guid })}
        icon={IconDevices}
        list={list}
        query={query}
      />
    )
  return (
    <Stack>
      <PageHeader title={device.device_guid} lead={<BackLink to={list.to}>{list.name}</BackLink>} />
      <Panel
        title={t('device.details')}
        aside={
          <Group gap="xs">
            {!device.enabled && <StatusBadge tone="bad">{t('device.disabled')}</StatusBadge>}
            <StatusBadge tone={device.online ? 'good' : 'over'}>
              {t(device.online ? 'devices.online' : 'devices.offline')}
            </StatusBadge>
          </Group>
        }
      >
        <DescriptionList
          items={[
            [t('devices.platform'), platform(device.platform ?? 'unknown')],
            [t('devices.alias'), device.alias ?? '–'],
            [t('devices.user'), device.user_id === null ? '–' : String(device.user_id)],
            [t('device.locale'), device.locale ?? '–'],
            [t('device.timezone'), device.timezone ?? '–'],
            [t('device.appVersion'), device.app_version ?? '–'],
            [t('send.badge'), format.number(device.badge)],
            [t('device.created'), format.time(device.created_at)],
            [t('device.lastSeen'), format.time(device.last_seen) || '–'],
            [
              t('device.pushToken'),
              <CopyText key="token" value={device.push_token} shown={shorten(device.push_token)} />,
            ],
          ]}
        />
        <LabelList device={device} />
      </Panel>
      <MessagePanel guid={device.device_guid} query={messages} />
      <Panel title={t('device.bindings')}>
        <Stack gap="sm">
          <BindingTable device={device} />
          <BindingForm device={device} />
        </Stack>
      </Panel>
      <Grid>
        <Grid.Col span={{ base: 12, md: 6 }}>
          <EditPanel device={device} />
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 6 }}>
          <Stack>
            <ExplainPanel device={device} />
            <TestPanel device={device} />
            <RemovalPanel device={device} />
          </Stack>
        </Grid.Col>
      </Grid>
    </Stack>
  )
}
