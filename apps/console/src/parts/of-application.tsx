import { Button, Group, Paper } from '@mantine/core'
import { IconApps } from '@tabler/icons-react'
import { type ComponentType, Fragment, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { useWho } from '../app/session.ts'
import { Empty } from './empty.tsx'

/** The route of a page that shows one application. */
export function ofApplication(Page: ComponentType): { Component: ComponentType } {
  return {
    Component: () => (
      <OfApplication>
        <Page />
      </OfApplication>
    ),
  }
}

/** The operator of several applications chooses one first; another choice begins anew, with nothing of the former. */
export function OfApplication({ children }: { children: ReactNode }) {
  const { t } = useTranslation()
  const { appId, applications, choose } = useWho()
  if (appId !== undefined) return <Fragment key={appId}>{children}</Fragment>
  return (
    <Paper withBorder>
      {applications.length === 0 ? (
        <Empty page icon={IconApps} title={t('app.chooseFirst')} text={t('app.noApplications')}>
          <Button component={Link} to="/applications">
            {t('nav.applications')}
          </Button>
        </Empty>
      ) : (
        <Empty page icon={IconApps} title={t('app.chooseFirst')} text={t('app.chooseWhy')}>
          <Group gap="xs" justify="center">
            {applications.slice(0, 12).map(({ app_id, name }) => (
              <Button key={app_id} variant="default" onClick={() => choose(app_id)}>
                {name}
              </Button>
            ))}
          </Group>
        </Empty>
      )}
    </Paper>
  )
}
