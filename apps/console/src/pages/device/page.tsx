import { Grid, Stack } from '@mantine/core'
import { IconDevices } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'react-router'
import { listDevices } from '../../api/calls.ts'
import { useAppId } from '../../app/session.ts'
import { shorten } from '../../figures/format.ts'
import { BackLink } from '../../parts/back-link.tsx'
import { CopyText } from '../../parts/copy-text.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Missing } from '../../parts/missing.tsx'
import { ofApplication } from '../../parts/of-application.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Panel } from '../../parts/panel.tsx'
import { StateMark } from '../../parts/state-mark.tsx'
import { Waiting } from '../../parts/waiting.tsx'
import { useWords } from '../../parts/words.ts'
import { BindingTable } from './binding-table.tsx'
import { LabelsPanel } from './labels-panel.tsx'
import { TestPanel } from './test-panel.tsx'
import { WhereToPanel } from './where-to-panel.tsx'

export const page = ofApplication(DevicePage)

const EVERY_MS = 5000

function DevicePage() {
  const { t } = useTranslation()
  const { format, platform } = useWords()
  const appId = useAppId()
  const guid = useSearchParams()[0].get('guid') ?? ''
  const query = useQuery({
    queryKey: ['device', appId, guid],
    queryFn: async () => (await listDevices(appId, { device_guid: guid, limit: 1 })).list[0] ?? null,
    refetchInterval: EVERY_MS,
  })
  const device = query.data
  if (query.isPending) return <Waiting />
  const list = { to: '/devices', name: t('device.back') }
  if (!device)
    return (
      <Missing
        title={guid}
        text={t('device.missing', { guid })}
        icon={IconDevices}
        list={list}
        query={query}
      />
    )
  return (
    <Stack>
      <PageHead title={device.device_guid} lead={<BackLink to={list.to}>{list.name}</BackLink>} />
      <Panel
        title={t('device.facts')}
        aside={
          <StateMark mood={device.online ? 'good' : 'over'}>
            {t(device.online ? 'devices.online' : 'devices.offline')}
          </StateMark>
        }
      >
        <Facts
          facts={[
            [t('devices.platform'), platform(device.platform ?? 'unknown')],
            [t('devices.user'), device.user_id === null ? '–' : String(device.user_id)],
            [t('device.badge'), format.number(device.badge)],
            [t('device.created'), format.time(device.created_at)],
            [
              t('device.pushToken'),
              <CopyText key="token" value={device.push_token} shown={shorten(device.push_token)} />,
            ],
          ]}
        />
      </Panel>
      <Panel title={t('device.bindings')}>
        <BindingTable bindings={device.bindings} />
      </Panel>
      <Grid>
        <Grid.Col span={{ base: 12, md: 6 }}>
          <LabelsPanel key={`${device.alias}/${device.tags.join('/')}`} device={device} />
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 6 }}>
          <Stack>
            <WhereToPanel device={device} />
            <TestPanel device={device} />
          </Stack>
        </Grid.Col>
      </Grid>
    </Stack>
  )
}
