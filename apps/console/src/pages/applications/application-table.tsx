import { ActionIcon, Button, Group, Menu, Table, Text } from '@mantine/core'
import { IconApps, IconDots, IconKey, IconPencil } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { useOverviewQuery } from '../../api/overview-query.ts'
import type { Application } from '../../api/records.ts'
import { channelsByApplication } from '../../calculations/alerts.ts'
import { CopyText } from '../../components/copy-text.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { TimeText } from '../../components/time-text.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { pathIn } from '../../session/application-path.ts'
import { useCurrentSession } from '../../session/session.ts'

const REFRESH_MS = 15_000

type Props = { onRename(application: Application): void; onRotate(application: Application): void }

export function ApplicationTable({ onRename, onRotate }: Props) {
  const { t } = useTranslation()
  const { applications, appId } = useCurrentSession()
  const { data } = useOverviewQuery(undefined, REFRESH_MS)
  if (applications.length === 0)
    return <EmptyState icon={IconApps} title={t('applications.empty')} text={t('applications.emptyMore')} />
  const channels = data && channelsByApplication(data, data.at)
  return (
    <WideTable label={t('applications.all')} minWidth={300}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('applications.name')}</Table.Th>
          <Table.Th visibleFrom="md">{t('signIn.appId')}</Table.Th>
          <Table.Th visibleFrom="xs">{t('applications.channels')}</Table.Th>
          <Table.Th visibleFrom="lg">{t('applications.created')}</Table.Th>
          <Table.Th ta="end">{t('applications.actions')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {applications.map((application) => (
          <Table.Tr key={application.app_id}>
            <Table.Td className="breaks">
              {application.name}
              {application.package_name && (
                <Text size="xs" c="dimmed">
                  {application.package_name}
                </Text>
              )}
            </Table.Td>
            <Table.Td visibleFrom="md">
              <CopyText value={application.app_id} />
            </Table.Td>
            <Table.Td visibleFrom="xs">
              {channels && <Channels {...channels.get(application.app_id)} />}
            </Table.Td>
            <Table.Td visibleFrom="lg">
              <TimeText at={application.created_at} />
            </Table.Td>
            <Table.Td ta="end">
              <Group gap="xs" justify="flex-end" wrap="nowrap">
                {application.app_id === appId ? (
                  <StatusBadge tone="good">{t('applications.current')}</StatusBadge>
                ) : (
                  <Button size="xs" variant="default" component={Link} to={pathIn(application.app_id, '/')}>
                    {t('applications.switchTo')}
                  </Button>
                )}
                <Menu position="bottom-end">
                  <Menu.Target>
                    <ActionIcon
                      variant="default"
                      size={30}
                      aria-label={t('applications.more', { name: application.name })}
                    >
                      <IconDots size={16} aria-hidden />
                    </ActionIcon>
                  </Menu.Target>
                  <Menu.Dropdown>
                    <Menu.Item
                      leftSection={<IconPencil size={16} aria-hidden />}
                      onClick={() => onRename(application)}
                    >
                      {t('applications.rename')}
                    </Menu.Item>
                    <Menu.Item
                      leftSection={<IconKey size={16} aria-hidden />}
                      onClick={() => onRotate(application)}
                    >
                      {t('applications.rotate')}
                    </Menu.Item>
                  </Menu.Dropdown>
                </Menu>
              </Group>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}

function Channels({ total = 0, problems = 0 }: { total?: number; problems?: number }) {
  const { t } = useTranslation()
  if (total === 0) return <Text size="sm">{t('applications.noChannels')}</Text>
  if (problems === 0) return <Text size="sm">{total}</Text>
  return <StatusBadge tone="bad">{t('applications.problems', { problems, total })}</StatusBadge>
}
