import { Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { readIdentity, readSettings } from '../../api/calls.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Loading } from '../../components/loading.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { useAppId } from '../../session/session.ts'
import { IdentityPanel } from './identity-panel.tsx'
import { SettingsPanel } from './settings-panel.tsx'

export const page = { Component: SettingsPage }

function SettingsPage() {
  const { t } = useTranslation()
  const appId = useAppId()
  const settings = useQuery({ queryKey: ['settings', appId], queryFn: () => readSettings(appId) })
  const identity = useQuery({ queryKey: ['identity', appId], queryFn: () => readIdentity(appId) })
  if (settings.isPending || identity.isPending) return <Loading />
  return (
    <Stack>
      <PageHeader title={t('nav.settings')} lead={t('settings.lead')} />
      <ErrorAlert
        error={settings.error ?? identity.error}
        retry={() => (settings.error ? settings : identity).refetch()}
      />
      {settings.data && <SettingsPanel settings={settings.data} />}
      {identity.data !== undefined && <IdentityPanel identity={identity.data} />}
    </Stack>
  )
}
