import { Button, Group, Modal, Paper, Stack, Table, Text, TextInput } from '@mantine/core'
import { IconApps } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { createApplication } from '../../api/calls.ts'
import { useWho } from '../../app/session.ts'
import { CopyText } from '../../parts/copy-text.tsx'
import { Empty } from '../../parts/empty.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Problem } from '../../parts/problem.tsx'
import { StateMark } from '../../parts/state-mark.tsx'
import { WideTable } from '../../parts/wide-table.tsx'
import { useWords } from '../../parts/words.ts'

export const page = { Component: ApplicationsPage }

type Created = { name: string; app_id: string; app_secret: string }

function ApplicationsPage() {
  const { t } = useTranslation()
  const { session } = useWho()
  const [created, setCreated] = useState<Created>()
  if (session.role !== 'operator')
    return (
      <Paper withBorder>
        <Empty page icon={IconApps} title={t('applications.operatorOnly')} />
      </Paper>
    )
  return (
    <Stack>
      <PageHead title={t('applications.title')} lead={t('applications.lead')} />
      <CreateForm onCreated={setCreated} />
      <Panel title={t('applications.title')}>
        <ApplicationTable />
      </Panel>
      <SecretDialog created={created} onClose={() => setCreated(undefined)} />
    </Stack>
  )
}

function CreateForm({ onCreated }: { onCreated(created: Created): void }) {
  const { t } = useTranslation()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [packageName, setPackageName] = useState('')
  const creating = useMutation({
    mutationFn: async () => {
      const wish = { name: name.trim(), package_name: packageName.trim() }
      return { name: wish.name, ...(await createApplication(wish)) }
    },
    onSuccess: async (created) => {
      setName('')
      setPackageName('')
      onCreated(created)
      await queries.invalidateQueries({ queryKey: ['applications'] })
    },
  })
  return (
    <Panel title={t('applications.create')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          creating.mutate()
        }}
      >
        <Stack gap="sm">
          <Group align="flex-end" gap="sm">
            <TextInput
              className="grow"
              miw={200}
              label={t('applications.name')}
              value={name}
              maxLength={128}
              required
              withAsterisk={false}
              onChange={({ currentTarget }) => setName(currentTarget.value)}
            />
            <TextInput
              className="grow"
              miw={200}
              label={t('applications.packageName')}
              value={packageName}
              maxLength={255}
              onChange={({ currentTarget }) => setPackageName(currentTarget.value)}
            />
            <Button type="submit" loading={creating.isPending}>
              {t('applications.submit')}
            </Button>
          </Group>
          <Problem error={creating.error} />
        </Stack>
      </form>
    </Panel>
  )
}

function ApplicationTable() {
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

/** Closed by its button alone: a click beside it must not lose what cannot be shown again. */
function SecretDialog({ created, onClose }: { created: Created | undefined; onClose(): void }) {
  const { t } = useTranslation()
  return (
    <Modal
      opened={created !== undefined}
      onClose={onClose}
      title={t('applications.secretTitle')}
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      {created && (
        <Stack>
          <Text size="sm">{t('applications.secretText', { name: created.name })}</Text>
          <div>
            <Text size="xs" c="dimmed">
              {t('applications.appId')}
            </Text>
            <CopyText value={created.app_id} />
          </div>
          <div>
            <Text size="xs" c="dimmed">
              {t('applications.secret')}
            </Text>
            <CopyText value={created.app_secret} />
          </div>
          <Group justify="flex-end">
            <Button onClick={onClose}>{t('app.close')}</Button>
          </Group>
        </Stack>
      )}
    </Modal>
  )
}
