import { Button, Group, Table, Text } from '@mantine/core'
import { IconApps } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import type { Application } from '../../api/records.ts'
import { CopyText } from '../../components/copy-text.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'
import { useCurrentSession } from '../../session/session.ts'

export function ApplicationTable({ onRotate }: { onRotate(application: Application): void }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const { applications, appId, selectApplication } = useCurrentSession()
  if (applications.length === 0)
    return <EmptyState icon={IconApps} title={t('applications.empty')} text={t('applications.emptyMore')} />
  return (
    <WideTable label={t('nav.applications')} minWidth={780}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('applications.name')}</Table.Th>
          <Table.Th>{t('signIn.appId')}</Table.Th>
          <Table.Th>{t('applications.created')}</Table.Th>
          <Table.Th aria-label={t('applications.switchTo')} />
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
            <Table.Td className="nowrap">
              <CopyText value={application.app_id} />
            </Table.Td>
            <Table.Td className="nowrap">{format.time(application.created_at)}</Table.Td>
            <Table.Td ta="end">
              <Group gap="xs" justify="flex-end" wrap="nowrap">
                <Button size="xs" variant="default" onClick={() => onRotate(application)}>
                  {t('applications.rotate')}
                </Button>
                {application.app_id === appId ? (
                  <StatusBadge tone="good">{t('applications.current')}</StatusBadge>
                ) : (
                  <Button size="xs" variant="default" onClick={() => selectApplication(application.app_id)}>
                    {t('applications.switchTo')}
                  </Button>
                )}
              </Group>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}
