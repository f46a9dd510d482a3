import { Button, Group, Paper } from '@mantine/core'
import { IconApps } from '@tabler/icons-react'
import { type ComponentType, Fragment, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { useCurrentSession } from '../session/session.ts'
import { EmptyState } from './empty-state.tsx'

/** Returns the route of a page that needs one application. */
export function requireApplication(Page: ComponentType): { Component: ComponentType } {
  return {
    Component: () => (
      <RequireApplication>
        <Page />
      </RequireApplication>
    ),
  }
}

/** Asks the operator to select an application first. The key resets the page's state when another one is selected. */
export function RequireApplication({ children }: { children: ReactNode }) {
  const { t } = useTranslation()
  const { appId, applications, selectApplication } = useCurrentSession()
  if (appId !== undefined) return <Fragment key={appId}>{children}</Fragment>
  return (
    <Paper withBorder>
      {applications.length === 0 ? (
        <EmptyState page icon={IconApps} title={t('app.selectApplication')} text={t('app.noApplications')}>
          <Button component={Link} to="/applications">
            {t('nav.applications')}
          </Button>
        </EmptyState>
      ) : (
        <EmptyState page icon={IconApps} title={t('app.selectApplication')} text={t('app.selectHint')}>
          <Group gap="xs" justify="center">
            {applications.slice(0, 12).map(({ app_id, name }) => (
              <Button key={app_id} variant="default" onClick={() => selectApplication(app_id)}>
                {name}
              </Button>
            ))}
          </Group>
        </EmptyState>
      )}
    </Paper>
  )
}
