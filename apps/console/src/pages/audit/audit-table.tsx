import { type AuditEntry, toExactJson } from '@herald/client'
import { Anchor, Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { AppLink } from '../../components/app-link.tsx'
import { WideTable } from '../../components/wide-table.tsx'
import { useLabels } from '../../i18n/labels.ts'

export function AuditTable({ entries }: { entries: AuditEntry[] }) {
  const { t } = useTranslation()
  const { format, auditAction } = useLabels()
  return (
    <WideTable label={t('nav.audit')} minWidth={340}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('audit.action')}</Table.Th>
          <Table.Th>{t('audit.actor')}</Table.Th>
          <Table.Th>{t('audit.detail')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {entries.map((entry) => (
          <Table.Tr key={entry.id} data-action={entry.action}>
            <Table.Td>
              {auditAction(entry.action)}
              <Text size="xs" c="dimmed">
                {format.time(entry.at)}
              </Text>
            </Table.Td>
            <Table.Td className="breaks" data-from="api">
              {entry.actor}
              <Text size="xs" c="dimmed">
                {entry.address}
              </Text>
            </Table.Td>
            <Table.Td className="breaks" data-from="api">
              <Detail detail={entry.detail} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}

function Detail({ detail }: { detail: AuditEntry['detail'] }) {
  return Object.entries(detail).map(([name, value]) => (
    <Text key={name} size="xs">
      {name}:{' '}
      {name === 'task_id' ? (
        <Anchor component={AppLink} to={`/tasks/${String(value)}`} size="xs">
          {String(value)}
        </Anchor>
      ) : typeof value === 'object' ? (
        toExactJson(value)
      ) : (
        String(value)
      )}
    </Text>
  ))
}
