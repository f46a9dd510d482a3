import { vendorChannels } from '@herald/domain'
import { Alert } from '@mantine/core'
import { IconFlask } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { Outlet } from 'react-router'
import { useLabels } from '../i18n/labels.ts'
import { useCurrentSession } from '../session/session.ts'
import { AccountMenu } from './account-menu.tsx'
import { AlertBar } from './alert-bar.tsx'
import { ApplicationPicker } from './application-picker.tsx'
import { Frame } from './frame.tsx'
import { useKeptFocus } from './keep-focus.ts'

export default function Shell() {
  const { session, appId } = useCurrentSession()
  useKeptFocus()
  return (
    <Frame
      appId={appId}
      operator={session.role === 'operator'}
      header={
        <>
          <ApplicationPicker />
          <AccountMenu />
        </>
      }
    >
      <SimulatedBanner channels={session.simulated} />
      <AlertBar />
      <Outlet />
    </Frame>
  )
}

/** No real phone gets a push of these channels. */
function SimulatedBanner({ channels }: { channels: readonly string[] }) {
  const { t } = useTranslation()
  const { channel, format } = useLabels()
  if (channels.length === 0) return null
  return (
    <Alert
      mb="md"
      py={6}
      color="violet"
      variant="light"
      icon={<IconFlask size={18} aria-hidden />}
      className="simulated"
    >
      {channels.length === vendorChannels.length
        ? t('app.simulatedAll')
        : t('app.simulated', { channels: format.list(channels.map(channel)) })}
    </Alert>
  )
}
