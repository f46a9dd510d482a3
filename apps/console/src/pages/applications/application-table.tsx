import { Button, Table, Text } from '@mantine/core'
import { IconApps } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { useWho } from '../../app/session.ts'
import { CopyText } from '../../parts/copy-text.tsx'
import { Empty } from '../../parts/empty.tsx'
import { StateMark } from '../../parts/state-mark.tsx'
import { WideTable } from '../../parts/wide-table.tsx'
import { useWords } from '../../parts/words.ts'

export function ApplicationTable() {
  const { t } = useTranslation()
  const { format } = useWords()
  const { applications, appId, choose } = useWho()
  if (applications.length === 0)
    return <Empty icon={IconApps} title={t('applications.empty')} text={t('applications.emptyMore')} />
  return (
    <WideTable label={t('applications.title')} minWidth={680}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('applications.name')}</Table.Th>
          <Table.Th>{t('applications.appId')}</Table.Th>
          <Table.Th>{t('applications.created')}</Table.Th>
          <Table.Th aria-label={t('applications.look')} />
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
              {application.app_id === appId ? (
                <StateMark mood="good">{t('applications.chosen')}</StateMark>
              ) : (
                <Button size="xs" variant="default" onClick={() => choose(application.app_id)}>
                  {t('applications.look')}
                </Button>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}
