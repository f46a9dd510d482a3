import { Paper, Stack } from '@mantine/core'
import { IconApps } from '@tabler/icons-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useWho } from '../../app/session.ts'
import { Empty } from '../../parts/empty.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Panel } from '../../parts/panel.tsx'
import { ApplicationTable } from './application-table.tsx'
import { CreateForm } from './create-form.tsx'
import { type Created, SecretDialog } from './secret-dialog.tsx'

export const page = { Component: ApplicationsPage }

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
