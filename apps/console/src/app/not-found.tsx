import { Button, Paper } from '@mantine/core'
import { IconMapOff } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { AppLink } from '../components/app-link.tsx'
import { EmptyState } from '../components/empty-state.tsx'

export function NotFound() {
  const { t } = useTranslation()
  return (
    <Paper withBorder>
      <EmptyState page icon={IconMapOff} title={t('app.notFound')}>
        <Button component={AppLink} to="/" variant="default">
          {t('app.backToOverview')}
        </Button>
      </EmptyState>
    </Paper>
  )
}
