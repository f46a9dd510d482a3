import { Anchor, Paper, Stack } from '@mantine/core'
import { IconApps } from '@tabler/icons-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import type { Application } from '../../api/records.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Panel } from '../../components/panel.tsx'
import { SecretDialog } from '../../components/secret-dialog.tsx'
import { SuccessAlert } from '../../components/success-alert.tsx'
import { pathIn } from '../../session/application-path.ts'
import { useCurrentSession } from '../../session/session.ts'
import { ApplicationTable } from './application-table.tsx'
import { type Created, CreateForm } from './create-form.tsx'
import { RenameDialog } from './rename-dialog.tsx'
import { RotateDialog } from './rotate-dialog.tsx'

export const page = { Component: ApplicationsPage }

function ApplicationsPage() {
  const { t } = useTranslation()
  const { session } = useCurrentSession()
  const [created, setCreated] = useState<Created>()
  const [next, setNext] = useState<Created>()
  const [renaming, setRenaming] = useState<Application>()
  const [rotating, setRotating] = useState<Application>()
  if (session.role !== 'operator')
    return (
      <Paper withBorder>
        <EmptyState page icon={IconApps} title={t('applications.operatorOnly')} />
      </Paper>
    )
  return (
    <Stack>
      <PageHeader title={t('nav.applications')} lead={t('applications.lead')} />
      <CreateForm
        onCreated={(application) => {
          setCreated(application)
          setNext(application)
        }}
      />
      {next && !created && (
        <SuccessAlert>
          {t('applications.next', { name: next.name })}{' '}
          <Anchor component={Link} to={pathIn(next.app_id, '/')} inherit underline="always">
            {t('applications.setUp')}
          </Anchor>
        </SuccessAlert>
      )}
      <Panel title={t('applications.all')}>
        <ApplicationTable onRename={setRenaming} onRotate={setRotating} />
      </Panel>
      <RenameDialog application={renaming} onClose={() => setRenaming(undefined)} />
      <RotateDialog
        application={rotating}
        onRotated={(renewed) => {
          setRotating(undefined)
          setCreated(renewed)
        }}
        onClose={() => setRotating(undefined)}
      />
      <SecretDialog
        secret={
          created && {
            text: t('applications.secretText', { name: created.name }),
            values: [
              [t('signIn.appId'), created.app_id],
              [t('signIn.appSecret'), created.app_secret],
            ],
          }
        }
        onClose={() => setCreated(undefined)}
      />
    </Stack>
  )
}
