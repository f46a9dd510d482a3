import { Button, Group, Paper } from '@mantine/core'
import { IconApps } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { EmptyState } from '../components/empty-state.tsx'
import { pathIn } from '../session/application-path.ts'
import { useCurrentSession } from '../session/session.ts'

type Props = {
  /** The path within the application that is opened then. */
  path: string
  title: string
  text: string
}

/** Asks for an application, because the URL names none or one that does not exist. */
export function SelectApplication({ path, title, text }: Props) {
  const { t } = useTranslation()
  const { session, appId, applications } = useCurrentSession()
  return (
    <Paper withBorder>
      <EmptyState page icon={IconApps} title={title} text={text}>
        {session.role === 'application' ? (
          <Button component={Link} to={pathIn(appId, '/')} variant="default">
            {t('app.backToOverview')}
          </Button>
        ) : applications.length === 0 ? (
          <Button component={Link} to="/applications">
            {t('nav.applications')}
          </Button>
        ) : (
          <Group gap="xs" justify="center">
            {applications.slice(0, 12).map(({ app_id, name }) => (
              <Button key={app_id} component={Link} to={pathIn(app_id, path)} variant="default">
                {name}
              </Button>
            ))}
          </Group>
        )}
      </EmptyState>
    </Paper>
  )
}
